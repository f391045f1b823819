// The list of this user's centers, and their default directory.
internal import CTidings
import Glibc
public import Tidings

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension SharedNotificationCenter {
    /// The names of this user's centers, sorted. Their files are not opened.
    ///
    /// ```swift
    /// import TidingsAdministration
    ///
    /// for name in try SharedNotificationCenter.centers() { print(name) }
    /// ```
    ///
    /// - Parameter directory: the directory of the centers; `nil`: `$TIDINGS_DIRECTORY`, or else `/dev/shm`.
    /// - Throws: ``SharedNotificationError``: `.notPermitted` if the directory may not be read, `.notFound` if it can't
    ///   be read for another reason.
    public static func centers(in directory: String? = nil) throws(SharedNotificationError) -> [String] {
        let directory = directory ?? defaultDirectory
        // The segment's naming rule (CShim/src/segment): the user's number separates the centers of different users.
        let prefix = "tidings.\(geteuid())."
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory)
                .filter { $0.hasPrefix(prefix) && $0.utf8.count > prefix.utf8.count }
                .map { String($0.dropFirst(prefix.count)) }
                // Excludes writers files and unfinished centers.
                .filter { !$0.hasPrefix(".") }
                .sorted()
        } catch {
            let denied = (error as? CocoaError)?.code == .fileReadNoPermission
            throw SharedNotificationError(
                denied ? .notPermitted : .notFound,
                message: "can't list centers in \(directory): \(denied ? "not permitted" : "no such directory")")
        }
    }

    /// The directory of centers if no configuration names one: `$TIDINGS_DIRECTORY`, or else `/dev/shm`.
    ///
    /// A program that runs with more rights than its caller (a set-user-ID program, for instance) ignores the variable.
    public static var defaultDirectory: String { String(cString: tidings_default_directory()) }

    /// The path of the center's file, for messages. A sealed center has `/memfd:` and its name. Not an interface.
    public var path: String { withCenter { String(cString: tidings_path($0)) } }
}
