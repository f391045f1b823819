// Presence through the C library: announcing, watching, notices, and the participants that are present.
internal import CTidings
import Glibc

extension CenterHandle {
    /// - Parameter nanoseconds: how long a lossless observer may hold the notice back.
    func announce(role: String, will: EncodedWill?, nanoseconds: Int64) throws(SharedNotificationError) {
        let result = withUTF8(role) { role in
            guard let will else {
                return tidings_announce(center, role!.baseAddress, role!.count, nil, nanoseconds)
            }
            return will.withC { tidings_announce(center, role!.baseAddress, role!.count, $0, nanoseconds) }
        }
        guard result == 0 else {
            // The C library returns EINVAL for each text that can't be used, and for a retained will with a subject.
            let isNameInvalid =
                role.isRole && will.map { !($0.options.isRetained && $0.options.subject != nil) } ?? false
            throw SharedNotificationError(errno: -result, invalid: isNameInvalid ? .invalidName : .invalidArgument)
        }
    }

    /// Reports deaths of other participants from here on.
    func watchPresence() throws(SharedNotificationError) {
        let result = tidings_presence_watch(center)
        guard result == 0 else { throw SharedNotificationError(errno: -result) }
    }

    /// Ends the announcement, or watching.
    func withdraw() {
        // It fails only if there is nothing to withdraw.
        _ = tidings_withdraw(center)
    }

    /// The participants that are announced now. Reads each entry of the center once.
    var present: [SharedNotificationCenter.Participant] { presentEntries.map(\.participant) }

    /// This participant, if it is announced.
    var ownPresence: SharedNotificationCenter.Participant? { presentEntries.first(where: \.isOwn)?.participant }

    private var presentEntries: [(participant: SharedNotificationCenter.Participant, isOwn: Bool)] {
        var found: [(SharedNotificationCenter.Participant, Bool)] = []
        var index: UInt32 = 0
        while true {
            var info = tidings_participant_info()
            let result = tidings_participant(center, index, &info)
            // A center has at most 4,096 participants.
            if result == -ERANGE || index >= 4096 { return found }
            if result == 0, info.announced {
                let participant = SharedNotificationCenter.Participant(
                    pid: info.pid, uid: info.uid, id: info.presence_id, role: String(untilNUL: &info.role),
                    executable: String(untilNUL: &info.executable))
                found.append((participant, info.own))
            }
            index += 1
        }
    }
}

extension SharedNotificationCenter.Name {
    /// The name of the notices of presence.
    static let presence = Self(TIDINGS_PRESENCE_NAME)
}

/// A notice of presence.
struct PresenceNotice {
    var participant: SharedNotificationCenter.Participant
    /// `nil`: the participant joined.
    var departure: SharedNotificationCenter.Departure?

    /// Reads the payload of a notification under the name of the notices. `nil`: the library did not write it.
    init?(format: UInt8, payload: UnsafeRawBufferPointer) {
        var delivery = tidings_delivery()
        delivery.kind = Int32(TIDINGS_DELIVERY_MESSAGE)
        delivery.flags = UInt32(TIDINGS_DELIVERY_PRESENCE)
        delivery.format = format
        delivery.payload = payload.baseAddress
        delivery.size = payload.count
        var raw = tidings_presence()
        guard payload.baseAddress != nil, tidings_presence_read(&delivery, &raw) == 0 else { return nil }
        switch raw.event {
        case Int32(TIDINGS_PRESENCE_CLOSED): departure = .closed
        case Int32(TIDINGS_PRESENCE_DIED): departure = .died
        default: departure = nil
        }
        participant = SharedNotificationCenter.Participant(
            pid: raw.pid, uid: raw.uid, id: raw.id, role: String(untilNUL: &raw.role),
            executable: String(untilNUL: &raw.executable))
    }
}

extension String {
    /// Whether the C library accepts it as a role.
    fileprivate var isRole: Bool { utf8.count <= Int(TIDINGS_ROLE_MAX) && !utf8.contains(0) }
}

extension EncodedWill {
    /// Passes the will as a C structure that is valid during the call.
    fileprivate func withC(_ body: (UnsafePointer<tidings_will>) -> Int32) -> Int32 {
        withUTF8(name.rawValue) { name in
            withUTF8(options.subject) { subject in
                payload.bytes.withUnsafeBytes { bytes in
                    var raw = tidings_will()
                    raw.name = name!.baseAddress
                    raw.name_length = name!.count
                    raw.subject = subject?.baseAddress
                    raw.subject_length = subject?.count ?? 0
                    raw.payload = bytes.baseAddress
                    raw.size = bytes.count
                    raw.format = payload.format.rawValue
                    // The bits are TIDINGS_POST_RETAIN and TIDINGS_POST_IMMEDIATE (`PostOptionsTests`).
                    raw.flags = options.bits
                    return body(&raw)
                }
            }
        }
    }
}
