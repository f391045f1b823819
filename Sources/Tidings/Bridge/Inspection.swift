internal import CTidings
import Glibc

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// What `stat` and `doctor` look at.
extension CenterHandle {
    func statistics() throws(SharedNotificationError) -> SharedNotificationCenter.Statistics {
        let raw = try rawStatistics()
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
            found.append(
                SharedNotificationCenter.Participant(
                    index: Int(index), pid: info.pid, uid: info.uid, executable: Self.text(&info.executable),
                    isAlive: info.alive, isOwn: info.own,
                    joinedAt: Date(timeIntervalSince1970: Double(info.joined_at_ns) / 1e9)))
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
            let subject = Self.text(&info.subject)
            found.append(
                SharedNotificationCenter.ObservedName(
                    name: .init(Self.text(&info.name)), subject: subject.isEmpty ? nil : subject,
                    observers: Int(info.observers), isRetained: info.retained))
        }
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
