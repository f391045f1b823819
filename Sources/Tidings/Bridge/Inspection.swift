// Reads a center's state for `Statistics`, `Participant`, `ObservedName` and `Orphans`, and for the commands `stat` and
// `doctor`.
internal import CTidings
import Glibc

#if MUTANTS
    import TidingsCoding
#endif

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CenterHandle {
    func statistics() throws(SharedNotificationError) -> SharedNotificationCenter.Statistics {
        let raw = try rawStatistics()
        #if MUTANT_REVOKED_CONVERTED  // Found by: fuzz swift
            if isMutant("REVOKED_CONVERTED") { _ = Int(raw.revoked) }
        #endif
        return SharedNotificationCenter.Statistics(
            posted: raw.posted, oldestSequence: raw.retained_from, revoked: raw.revoked, fileSize: raw.file_size,
            memory: raw.memory, maximumPayloadSize: raw.maximum_payload, slots: Int(raw.slots),
            participants: Int(raw.participants), participantLimit: Int(raw.participants_max),
            observers: Int(raw.observers), observerLimit: Int(raw.observers_max),
            observersAsleep: Int(raw.observers_asleep), observersLossless: Int(raw.observers_lossless),
            names: Int(raw.names), nameLimit: Int(raw.names_max), chunks: Int(raw.chunks_used),
            chunkLimit: Int(raw.chunks_max), formatVersion: Int(raw.format_version), undecodable: 0, missed: 0)
    }

    func participants() throws(SharedNotificationError) -> [SharedNotificationCenter.Participant] {
        var found: [SharedNotificationCenter.Participant] = []
        for index in 0..<(try rawStatistics().participants_max) {
            var info = tidings_participant_info()
            guard tidings_participant(center, index, &info) == 0 else { continue }
            var own = tidings_participant_observers()
            tidings_participant_observers_get(center, index, &own)
            #if MUTANT_JOINED_CONVERTED  // Found by: fuzz swift
                if isMutant("JOINED_CONVERTED") { _ = Int64(info.joined_at_ns) }
            #endif
            found.append(
                SharedNotificationCenter.Participant(
                    index: Int(index), pid: info.pid, uid: info.uid, executable: Self.text(&info.executable),
                    isAlive: info.alive, isOwn: info.own,
                    joinedAt: Date(timeIntervalSince1970: Double(info.joined_at_ns) / 1e9),
                    observers: Int(own.observers), observersLossless: Int(own.lossless),
                    behind: Int(clamping: own.behind)))
        }
        return found
    }

    func observedNames() throws(SharedNotificationError) -> [SharedNotificationCenter.ObservedName] {
        var found: [SharedNotificationCenter.ObservedName] = []
        for index in 0..<(try rawStatistics().names_max) {
            var info = tidings_name_info()
            let result = tidings_name(center, index, &info)
            if result == -ERANGE { break }
            guard result == 0 else { continue }
            let (name, subject) = (Self.text(&info.name), Self.text(&info.subject))
            found.append(
                SharedNotificationCenter.ObservedName(
                    name: info.prefix ? .init(beginningWith: name) : .init(name),
                    subject: subject.isEmpty ? nil : subject, observers: Int(info.observers),
                    isRetained: info.retained, isPrefix: info.prefix))
        }
        return found
    }

    func orphans() throws(SharedNotificationError) -> SharedNotificationCenter.Orphans {
        var raw = tidings_orphans()
        let result = tidings_orphans_get(center, &raw)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        var orphans = SharedNotificationCenter.Orphans()
        orphans.participants = Int(raw.participants)
        orphans.observers = Int(raw.observers)
        orphans.losslessObservers = Int(raw.observers_lossless)
        orphans.names = Int(raw.names)
        orphans.payloads = Int(raw.payloads)
        orphans.claims = Int(raw.claims)
        orphans.isEvictionUnfinished = raw.evictions != 0
        orphans.unfinishedRevocations = Int(raw.verdicts)
        orphans.heldSlots = Int(raw.slots_held)
        orphans.slotHolder = raw.slots_held > 0 ? raw.holder : nil
        return orphans
    }

    static func staleFiles(
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

    /// The executable of the participant at that index, if it still belongs to that process.
    func executable(ofParticipant index: UInt32, pid: Int32) -> String? {
        var info = tidings_participant_info()
        guard tidings_participant(center, index, &info) == 0, info.pid == pid else { return nil }
        let name = Self.text(&info.executable)
        return name.isEmpty ? nil : name
    }

    private func rawStatistics() throws(SharedNotificationError) -> tidings_statistics {
        var raw = tidings_statistics()
        let result = tidings_statistics_get(center, &raw)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        return raw
    }

    /// The text of a C character array, up to its NUL or its end: another process may have overwritten the NUL.
    private static func text<Characters>(_ characters: inout Characters) -> String {
        withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
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
