// The stale files of centers: what killed creators and removers left.
internal import CTidings
public import Tidings

extension SharedNotificationCenter {
    /// A file that is not needed any more, left by a killed creator or remover of a center.
    ///
    /// ```swift
    /// import TidingsAdministration
    ///
    /// for staleFile in try SharedNotificationCenter.staleFiles() {
    ///     print(staleFile.file, staleFile.kind, staleFile.memory)
    /// }
    /// ```
    public struct StaleFile: Hashable, Sendable {
        /// The reason why a file is stale; see ``SharedNotificationCenter/staleFiles(in:)``.
        public enum Kind: Sendable {
            /// A creator was killed before its center was finished.
            case unfinishedCenter
            /// The writers file (second file) of a center that some users may only read. The center is gone, or was
            /// never finished.
            case writersFile
            /// A center whose remover was killed. The next process that opens the name completes the removal.
            case halfRemovedCenter
        }
        /// The file's name in the directory.
        public var file: String
        /// The reason why it is stale.
        public var kind: Kind
        /// Memory that the file takes, or took, in bytes.
        public var memory: UInt64
        /// Whether the file has been deleted.
        public var isDeleted: Bool
    }

    /// The stale files of this user's centers: what killed creators and removers left.
    ///
    /// ```swift
    /// import TidingsAdministration
    ///
    /// let memory = try SharedNotificationCenter.staleFiles().reduce(0) { $0 + $1.memory }
    /// print("\(memory) bytes could be given back")
    /// ```
    ///
    /// Files that a process is still working on are not included.
    ///
    /// - Parameter directory: the directory of the centers; `nil`: `$TIDINGS_DIRECTORY`, or else `/dev/shm`.
    /// - Throws: ``SharedNotificationError``: `.notFound` or `.notPermitted` if the directory can't be read.
    public static func staleFiles(in directory: String? = nil) throws(SharedNotificationError) -> [StaleFile] {
        try findStaleFiles(in: directory, deletes: false)
    }

    /// Deletes the stale files of this user's centers: what killed creators and removers left.
    ///
    /// ```swift
    /// import TidingsAdministration
    ///
    /// for staleFile in try SharedNotificationCenter.deleteStaleFiles() where !staleFile.isDeleted {
    ///     print("\(staleFile.file) is still there")
    /// }
    /// ```
    ///
    /// Promise: a file stays if a process is still working on it, if a center needs it, or if it does not belong to a
    /// center.
    ///
    /// - Parameter directory: as in ``staleFiles(in:)``.
    /// - Returns: the files that were found; see ``StaleFile/isDeleted``.
    /// - Throws: ``SharedNotificationError``: `.notFound` or `.notPermitted` if the directory can't be read.
    @discardableResult
    public static func deleteStaleFiles(in directory: String? = nil) throws(SharedNotificationError) -> [StaleFile] {
        try findStaleFiles(in: directory, deletes: true)
    }
}

private func findStaleFiles(
    in directory: String?, deletes: Bool
) throws(SharedNotificationError) -> [SharedNotificationCenter.StaleFile] {
    var found: [SharedNotificationCenter.StaleFile] = []
    // The C library uses the pointer only during the call.
    let result = withUnsafeMutablePointer(to: &found) { found in
        tidings_stale_files(directory, deletes, noteStaleFile, found)
    }
    guard result >= 0 else { throw SharedNotificationError(errno: -result) }
    return found
}

/// The callback of `tidings_stale_files`; `context` points to an array.
private func noteStaleFile(context: UnsafeMutableRawPointer?, staleFile: UnsafePointer<tidings_stale_file>?) -> Bool {
    guard let context, let staleFile = staleFile?.pointee else { return false }
    let kind: SharedNotificationCenter.StaleFile.Kind =
        switch Int(staleFile.kind) {
        case TIDINGS_STALE_FILE_WRITERS_FILE: .writersFile
        case TIDINGS_STALE_FILE_REMOVED: .halfRemovedCenter
        default: .unfinishedCenter
        }
    context.assumingMemoryBound(to: [SharedNotificationCenter.StaleFile].self).pointee.append(
        .init(
            file: String(cString: staleFile.file), kind: kind, memory: staleFile.memory, isDeleted: staleFile.deleted))
    return true
}
