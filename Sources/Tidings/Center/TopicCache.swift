/// Names prepared for posting, so that a post costs no look-up in the center.
///
/// Bounded: subjects may be without end. When it is full all are let go, and those in use come back by being used.
final class TopicCache: Sendable {
    private let center: CenterHandle
    // A forked child posts through the same center, but may find the lock held and the dictionary half changed.
    private let contents: ForkLocal<Contents>

    private final class Contents: @unchecked Sendable {
        // Sendable: what changes is touched with the lock held only.
        let lock = Lock()
        /// Types without a subject, by a few bits of the type's address: one look, no hashing. A collision replaces.
        var byType: [(type: ObjectIdentifier, topic: TopicHandle)?] = Array(repeating: nil, count: slots)
        var byName: [Key: TopicHandle] = [:]

        static let slots = 64
    }

    private struct Key: Hashable {
        var name: SharedNotificationCenter.Name
        var subject: String?
        /// For the fingerprint, which is a type's.
        var type: ObjectIdentifier?
    }

    private static let limit = 1024

    init(center: CenterHandle) {
        self.center = center
        contents = ForkLocal { Contents() }
    }

    func topic<M: SharedNotificationCenter.Message>(
        for type: M.Type, subject: String?
    ) throws(SharedNotificationError) -> TopicHandle {
        let id = ObjectIdentifier(type)
        guard subject == nil else {
            return try topic(Key(name: M.name, subject: subject, type: id)) { PayloadCoding.fingerprint(of: type) }
        }
        let contents = contents.object
        // Type metadata is aligned to 16 bytes and a few dozen long.
        let slot = (UInt(bitPattern: id) >> 5) % UInt(Contents.slots)
        let found = contents.lock.withLock { () -> TopicHandle? in
            guard let entry = contents.byType[Int(slot)], entry.type == id else { return nil }
            return entry.topic
        }
        if let found { return found }
        let topic = try TopicHandle(
            center: center, name: M.name.rawValue, subject: nil, fingerprint: PayloadCoding.fingerprint(of: type))
        let replaced = contents.lock.withLock {
            defer { contents.byType[Int(slot)] = (id, topic) }
            return contents.byType[Int(slot)]
        }
        withExtendedLifetime(replaced) {}
        return topic
    }

    func topic(
        for name: SharedNotificationCenter.Name, subject: String?
    ) throws(SharedNotificationError) -> TopicHandle {
        try topic(Key(name: name, subject: subject, type: nil)) { 0 }
    }

    private func topic(_ key: Key, fingerprint: () -> UInt64) throws(SharedNotificationError) -> TopicHandle {
        let contents = contents.object
        if let found = contents.lock.withLock({ contents.byName[key] }) { return found }
        let topic = try TopicHandle(
            center: center, name: key.name.rawValue, subject: key.subject, fingerprint: fingerprint())
        // Topics are closed outside the lock.
        let dropped = contents.lock.withLock { () -> [Key: TopicHandle] in
            var dropped: [Key: TopicHandle] = [:]
            if contents.byName.count >= Self.limit { swap(&dropped, &contents.byName) }
            contents.byName[key] = topic
            return dropped
        }
        withExtendedLifetime(dropped) {}
        return topic
    }
}
