/// The open publishers of a center object, so that a post does not look up its name in the center.
///
/// A publisher of this cache is open as long as the cache, or as long as a caller holds its handle.
final class PublisherCache: Sendable {
    private let link: CenterLink
    private let types: MessageTypes
    // A forked child posts through the same center, but may find the lock held and the dictionary half changed.
    private let contents: ForkLocal<Contents>

    private final class Contents: @unchecked Sendable {
        // Sendable: the properties that change are accessed only with `lock` held.
        let lock = Lock()
        /// Bounded, because the number of subjects is unbounded. When it is full, all handles are dropped; each is
        /// opened again when it is next used.
        var byName: [Key: PublisherHandle] = [:]
        /// Keeps the handles that `byType` refers to.
        var kept: [PublisherHandle] = []
        /// Publishers of types, without a subject. Never emptied, because the number of types in a program is bounded.
        let byType = TypeTable<Publisher.KeptPublisher>()
        /// With a tracer, both tables are empty.
        var tracer: PostTracer?
    }

    private struct Key: Hashable {
        var name: SharedNotificationCenter.Name
        var subject: ByteText?
        /// The type that is posted. It is part of the key so that a second type for a name is detected when it is first
        /// used. Not hashed, because most names have one type.
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

    /// Gives posts their trace context; `nil`: none. In a forked child it is `nil` at first. While there is a tracer,
    /// `publisher` throws `.untraced`: a post finds no publisher in the tables, and asks for a tracer only then. So
    /// posts without a tracer execute no instruction for it. A post that has begun may go on without it.
    var tracer: PostTracer? {
        get {
            let contents = contents.object
            return contents.lock.withLock { contents.tracer }
        }
        set {
            let contents = contents.object
            var dropped: [Key: PublisherHandle] = [:]
            contents.lock.withLock {
                contents.tracer = newValue
                // Other threads may be using the publishers of types: these stay open.
                contents.byType.removeAll()
                swap(&dropped, &contents.byName)
            }
        }
    }

    /// The caller must keep the cache alive while it uses the result.
    @inline(__always)
    func publisher(
        for type: any SharedNotificationCenter.Message.Type, subject: String?
    ) throws(SharedNotificationError) -> Publisher {
        guard subject == nil else {
            return try publisher(
                for: type.name, subject: subject, as: type, fingerprint: PayloadCoding.fingerprint(of: type))
        }
        if let known = known(type) { return known }
        return try newPublisher(for: type)
    }

    /// The publisher of a type that has been posted before, without a subject.
    @inline(__always)
    func known(_ type: any SharedNotificationCenter.Message.Type) -> Publisher? {
        contents.borrowed._withUnsafeGuaranteedRef { $0.byType.value(of: ObjectIdentifier(type)) }?.publisher
    }

    @inline(never)
    private func newPublisher(
        for type: any SharedNotificationCenter.Message.Type
    ) throws(SharedNotificationError) -> Publisher {
        // `byType` holds publishers of one center, so it can't be used if the center can change.
        if link.follows {
            return try publisher(
                for: type.name, subject: nil, as: type, fingerprint: PayloadCoding.fingerprint(of: type))
        }
        let contents = contents.object
        if contents.lock.withLock({ contents.tracer != nil }) { throw .untraced }
        types.note(type, name: type.name)
        let handle = try PublisherHandle(link.handle, name: type.name.rawValue, subject: nil)
        let new = Publisher(handle, fingerprint: PayloadCoding.fingerprint(of: type))
        return contents.lock.withLock {
            if contents.tracer != nil { return new }
            // Kept before other threads can find it. If another thread was first, one handle too many is kept.
            contents.kept.append(handle)
            return contents.byType.insert(new.kept, for: ObjectIdentifier(type)).publisher
        }
    }

    /// - Parameters:
    ///   - type: the one type that is posted or read there; `nil`: values of any type.
    ///   - posted: the type that values are posted as, if that differs.
    ///   - needed: for a key that is read, how many arguments a payload must have.
    func publisher(
        for name: SharedNotificationCenter.Name, subject: String?, as type: Any.Type? = nil, fingerprint: UInt64 = 0,
        posted: Any.Type? = nil, needed: @autoclosure () -> Int? = nil
    ) throws(SharedNotificationError) -> Publisher {
        let contents = contents.object
        let key = Key(name: name, subject: subject.map { ByteText($0) }, type: type.map { ObjectIdentifier($0) })
        if let found = found(key, contents) { return Publisher(found, fingerprint: fingerprint) }
        if let type { types.note(posted ?? type, name: name, needed: needed()) }
        return Publisher(try opened(key, subject), fingerprint: fingerprint)
    }

    /// The cached publisher. A publisher of a center that this object has left is not used.
    @inline(__always)
    private func found(_ key: Key, _ contents: Contents) -> PublisherHandle? {
        guard let found = contents.lock.withLock({ contents.byName[key] }) else { return nil }
        return !link.follows || found.isOf(link.handle) ? found : nil
    }

    private func opened(_ key: Key, _ subject: String?) throws(SharedNotificationError) -> PublisherHandle {
        let contents = contents.object
        if contents.lock.withLock({ contents.tracer != nil }) { throw .untraced }
        let center = link.handle
        let handle = try PublisherHandle(center, name: key.name.rawValue, subject: subject, link: link)
        // Publishers are closed outside the lock.
        let dropped = contents.lock.withLock { () -> [Key: PublisherHandle] in
            var dropped: [Key: PublisherHandle] = [:]
            if contents.tracer != nil { return dropped }
            // All are of one center: publishers of the previous center would keep it open.
            let isOfAnother = contents.byName.first?.value.isOf(center) == false
            if isOfAnother || contents.byName.count >= Self.limit { swap(&dropped, &contents.byName) }
            contents.byName[key] = handle
            return dropped
        }
        withExtendedLifetime(dropped) {}
        return handle
    }
}
