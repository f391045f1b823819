internal import CTidings

/// A publisher of the C library: a name, with or without a subject, prepared for posting. Closed with its last
/// reference.
final class PublisherHandle: @unchecked Sendable {
    // Sendable: the pointer never changes, and every function of the C library may be called from any thread.
    fileprivate let publisher: OpaquePointer
    private let center: CenterHandle
    /// What opens the same publisher in the next center; `nil`: the center object does not follow its name.
    private let again: (link: CenterLink, name: String, subject: String?)?

    init(
        _ center: CenterHandle, name: String, subject: String?, link: CenterLink? = nil
    ) throws(SharedNotificationError) {
        var opened: OpaquePointer?
        let result = withUTF8(name) { name in
            withUTF8(subject) { subject in
                tidings_publisher_open(
                    center.center, name!.baseAddress, name!.count, subject?.baseAddress, subject?.count ?? 0, &opened)
            }
        }
        guard result == 0, let opened else { throw SharedNotificationError(errno: -result, invalid: .invalidName) }
        self.center = center
        again = link.flatMap { $0.follows ? ($0, name, subject) : nil }
        publisher = opened
    }

    func isOf(_ other: CenterHandle) -> Bool { center === other }

    /// The same publisher in the center's successor, after an operation failed with `error`. Throws `error` if there is
    /// no successor.
    func successor(after error: SharedNotificationError) throws(SharedNotificationError) -> PublisherHandle {
        guard let again else { throw error }
        let next = try again.link.successor(of: center, after: error)
        return try PublisherHandle(next, name: again.name, subject: again.subject, link: again.link)
    }

    deinit { tidings_publisher_close(publisher) }
}

/// A publisher to post with, and the fingerprint of its type.
struct Publisher: @unchecked Sendable {
    // Sendable: for the same reason as the handle.
    let raw: OpaquePointer
    /// The first bytes of bitwise payloads of the type that it was made for; 0 if it was made for a name.
    let fingerprint: UInt64
    /// Keeps the publisher open. `nil`: the caller keeps it open for longer than it uses this value.
    let handle: PublisherHandle?

    init(_ handle: PublisherHandle, fingerprint: UInt64) {
        raw = handle.publisher
        self.fingerprint = fingerprint
        self.handle = handle
    }

    private init(_ kept: KeptPublisher) {
        raw = kept.raw
        fingerprint = kept.fingerprint
        handle = nil
    }

    /// The same publisher without a counted reference. The user of this value must keep the handle alive.
    struct KeptPublisher: BitwiseCopyable, @unchecked Sendable {
        // Sendable: for the same reason as the handle.
        fileprivate let raw: OpaquePointer
        fileprivate let fingerprint: UInt64

        var publisher: Publisher { Publisher(self) }
    }

    var kept: KeptPublisher { KeptPublisher(raw: raw, fingerprint: fingerprint) }
}
