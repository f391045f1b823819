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

// What `stat` and `doctor` look at.
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

    func remains() throws(SharedNotificationError) -> SharedNotificationCenter.Remains {
        var raw = tidings_remains()
        let result = tidings_remains_get(center, &raw)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
        var remains = SharedNotificationCenter.Remains()
        remains.participants = Int(raw.participants)
        remains.observers = Int(raw.observers)
        remains.losslessObservers = Int(raw.observers_lossless)
        remains.names = Int(raw.names)
        remains.payloads = Int(raw.payloads)
        remains.claims = Int(raw.claims)
        remains.isEvictionUnfinished = raw.evictions != 0
        remains.unfinishedRevocations = Int(raw.verdicts)
        remains.heldSlots = Int(raw.slots_held)
        remains.slotHolder = raw.slots_held > 0 ? raw.holder : nil
        return remains
    }

    static func leftovers(
        in directory: String?, deletes: Bool
    ) throws(SharedNotificationError) -> [SharedNotificationCenter.Leftover] {
        var found: [SharedNotificationCenter.Leftover] = []
        // The pointer is used during the call only.
        let result = withUnsafeMutablePointer(to: &found) { found in
            tidings_leftovers(directory, deletes, noteLeftover, found)
        }
        guard result >= 0 else { throw SharedNotificationError(errno: -result) }
        return found
    }

    /// The executable of whoever holds that place now, if it is that process.
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

    /// A C array of characters that ends with a zero, or with itself: another process may have spoiled it.
    private static func text<Characters>(_ characters: inout Characters) -> String {
        withUnsafeBytes(of: &characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

/// For `tidings_leftovers`, with a pointer to an array.
private func noteLeftover(context: UnsafeMutableRawPointer?, leftover: UnsafePointer<tidings_leftover>?) -> Bool {
    guard let context, let leftover = leftover?.pointee else { return false }
    let kind: SharedNotificationCenter.Leftover.Kind =
        switch Int(leftover.kind) {
        case TIDINGS_LEFTOVER_COMPANION: .companion
        case TIDINGS_LEFTOVER_REMOVED: .halfRemovedCenter
        default: .unfinishedCenter
        }
    context.assumingMemoryBound(to: [SharedNotificationCenter.Leftover].self).pointee.append(
        .init(
            file: String(cString: leftover.file), kind: kind, memory: leftover.memory, isDeleted: leftover.deleted))
    return true
}
