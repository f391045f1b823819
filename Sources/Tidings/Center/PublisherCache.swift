/// Names prepared for posting, so that a post costs no look-up in the center.
///
/// A topic of this cache is open as long as the cache, or as long as whoever got it holds its handle.
final class PublisherCache: Sendable {
    private let link: CenterLink
    private let types: MessageTypes
    // A forked child posts through the same center, but may find the lock held and the dictionary half changed.
    private let contents: ForkLocal<Contents>

    private final class Contents: @unchecked Sendable {
        // Sendable: what changes is touched with the lock held only.
        let lock = Lock()
        /// Bounded: subjects may be without end. When it is full all are let go, and those in use come back by being used.
        var byName: [Key: PublisherHandle] = [:]
        /// What `byType` refers to.
        var kept: [PublisherHandle] = []
        /// Types without a subject. Never let go: a program has so many types.
        let byType = TypeTable<Publisher.KeptPublisher>()
    }

    private struct Key: Hashable {
        var name: SharedNotificationCenter.Name
        var subject: ByteText?
        /// What it is posted as, so that another type comes to light where it is new here, and nowhere else. Not hashed: a name has one, mostly.
        var type: ObjectIdentifier?

        static func == (one: Key, other: Key) -> Bool {
            one.type == other.type && one.name == other.name && one.subject == other.subject
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(name)
            hasher.combine(subject)
        }
    }

    private static let limit = 1024

    init(link: CenterLink, types: MessageTypes) {
        self.link = link
        self.types = types
        contents = ForkLocal { Contents() }
    }

    /// The cache must outlive the use of what is returned.
    @inline(__always)
    func publisher(
        for type: any SharedNotificationCenter.Message.Type, subject: String?
    ) throws(SharedNotificationError) -> Publisher {
        guard subject == nil else {
            return try publisher(
                for: type.name, subject: subject, as: type, fingerprint: PayloadCoding.fingerprint(of: type))
        }
        let found = contents.borrowed._withUnsafeGuaranteedRef { $0.byType.value(of: ObjectIdentifier(type)) }
        if let found { return found.publisher }
        return try newPublisher(for: type)
    }

    @inline(never)
    private func newPublisher(
        for type: any SharedNotificationCenter.Message.Type
    ) throws(SharedNotificationError) -> Publisher {
        // What `byType` has is good for one center.
        if link.follows {
            return try publisher(
                for: type.name, subject: nil, as: type, fingerprint: PayloadCoding.fingerprint(of: type))
        }
        types.note(type, name: type.name)
        let contents = contents.object
        let handle = try PublisherHandle(link.handle, name: type.name.rawValue, subject: nil)
        // Kept before others can find it. One too many if another thread was first.
        contents.lock.withLock { contents.kept.append(handle) }
        let new = Publisher(handle, fingerprint: PayloadCoding.fingerprint(of: type))
        return contents.byType.insert(new.kept, for: ObjectIdentifier(type)).publisher
    }

    /// - Parameter type: what is posted there always; `nil`: this and that.
    func publisher(
        for name: SharedNotificationCenter.Name, subject: String?, as type: Any.Type? = nil, fingerprint: UInt64 = 0
    ) throws(SharedNotificationError) -> Publisher {
        let contents = contents.object
        let key = Key(name: name, subject: subject.map { ByteText($0) }, type: type.map { ObjectIdentifier($0) })
        if let found = found(key, contents) { return Publisher(found, fingerprint: fingerprint) }
        if let type { types.note(type, name: name) }
        return Publisher(try opened(key, subject), fingerprint: fingerprint)
    }

    /// What a key's arguments are read from.
    ///
    /// - Parameters:
    ///   - type: of the arguments: another than they are posted as.
    ///   - needed: how many there have to be.
    func publisher<Value>(
        for name: SharedNotificationCenter.Name, readAs type: Value.Type, posted: Any.Type,
        needed: @autoclosure () -> Int
    ) throws(SharedNotificationError) -> Publisher {
        link.lookAgain()
        let contents = contents.object
        let key = Key(name: name, subject: nil, type: ObjectIdentifier(type))
        if let found = found(key, contents) { return Publisher(found, fingerprint: 0) }
        types.note(posted, name: name, needed: needed())
        return Publisher(try opened(key, nil), fingerprint: 0)
    }

    /// What a message's state is read from.
    func publisherToRead(
        for type: any SharedNotificationCenter.Message.Type
    ) throws(SharedNotificationError) -> Publisher {
        link.lookAgain()
        return try publisher(for: type, subject: nil)
    }

    /// What a name's state is read from.
    func publisherToRead(for name: SharedNotificationCenter.Name) throws(SharedNotificationError) -> Publisher {
        link.lookAgain()
        return try publisher(for: name, subject: nil)
    }

    /// One of a center that was left counts for nothing.
    @inline(__always)
    private func found(_ key: Key, _ contents: Contents) -> PublisherHandle? {
        guard let found = contents.lock.withLock({ contents.byName[key] }) else { return nil }
        return !link.follows || found.isOf(link.handle) ? found : nil
    }

    private func opened(_ key: Key, _ subject: String?) throws(SharedNotificationError) -> PublisherHandle {
        let contents = contents.object
        let center = link.handle
        let handle = try PublisherHandle(center, name: key.name.rawValue, subject: subject, link: link)
        // Topics are closed outside the lock.
        let dropped = contents.lock.withLock { () -> [Key: PublisherHandle] in
            var dropped: [Key: PublisherHandle] = [:]
            // All are of one center: topics of a center that was left would keep it open.
            let isOfAnother = contents.byName.first?.value.isOf(center) == false
            if isOfAnother || contents.byName.count >= Self.limit { swap(&dropped, &contents.byName) }
            contents.byName[key] = handle
            return dropped
        }
        withExtendedLifetime(dropped) {}
        return handle
    }
}
