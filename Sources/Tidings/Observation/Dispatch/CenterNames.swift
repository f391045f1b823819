/// The names of posters and of origins: one lookup in the center for each, not for each notification.
///
/// Used when an envelope is requested. A deposed leader's closure and the new leader may do that at the same time.
final class CenterNames: @unchecked Sendable {
    // Sendable: the properties that change are accessed only with the lock held.
    private let lock = Lock()
    /// `nil` when the dispatcher has ended, because it releases the center then.
    private var center: CenterHandle?
    /// The executables, by participant index.
    private var known: [(pid: Int32, name: String)] = []
    private var origins: [UInt64: KnownOrigin] = [:]
    /// The position of the value that `origins` is.
    private var originsAt: UInt64?
    /// The center's incarnation.
    let incarnation: UInt64

    init(center: CenterHandle) {
        incarnation = center.incarnation
        self.center = center
    }

    /// The poster's executable; `nil`: the participant was gone before its first lookup here.
    func name(ofParticipant index: UInt32, pid: Int32) -> String? {
        lock.withLock {
            let place = Int(index)
            if place < known.count, known[place].pid == pid { return known[place].name }
            // A center has at most 4,096 participants; a higher index comes from a damaged record.
            guard place < 4096, let name = center?.executable(ofParticipant: index, pid: pid) else { return nil }
            while known.count <= place { known.append((0, "")) }
            known[place] = (pid, name)
            return name
        }
    }

    /// Adds the host and the center's name, if the center's relay has stored them.
    func named(_ origin: SharedNotificationCenter.Origin) -> SharedNotificationCenter.Origin {
        let known = lock.withLock {
            if origins[origin.incarnation] == nil { readOrigins() }
            return origins[origin.incarnation]
        }
        var named = origin
        named.host = known?.host
        named.center = known?.center
        return named
    }

    /// Reads the value if it is another one than at the last call. An origin that a peer invents costs a look only.
    private func readOrigins() {
        guard let center,
            let publisher = try? Publisher(
                PublisherHandle(center, name: KnownOrigin.name, subject: nil), fingerprint: 0),
            let position = publisher.statePosition(atMost: KnownOrigin.maximumSize), position != originsAt
        else { return }
        originsAt = position
        guard let (format, bytes, _) = try? publisher.state() else { return }
        let payload = SharedNotificationCenter.RawPayload(format: .init(rawValue: format), bytes: bytes)
        let known = (try? payload.decode([KnownOrigin].self)) ?? []
        origins = Dictionary(known.map { ($0.incarnation, $0) }, uniquingKeysWith: { $1 })
    }

    func close() {
        // Released after the lock: this may be the last reference.
        let center = lock.withLock {
            defer { self.center = nil }
            return self.center
        }
        withExtendedLifetime(center) {}
    }
}

/// An element of the retained value in which a relay stores whose notifications it has brought.
package struct KnownOrigin: Codable, Hashable, Sendable {
    package var incarnation: UInt64
    package var host: String
    package var center: String

    package init(incarnation: UInt64, host: String, center: String) {
        self.incarnation = incarnation
        self.host = host
        self.center = center
    }

    /// The name of the value: CBOR, an array of these.
    package static let name = "tidings.relay.origins"
    /// Of the value in bytes: room for 1,024 of these.
    package static let maximumSize = 1 << 20
}
