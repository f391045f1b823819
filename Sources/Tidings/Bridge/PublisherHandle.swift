internal import CTidings

/// A name, with or without a subject, prepared for posting by the C library. Closed when nothing refers to it any more.
final class PublisherHandle: @unchecked Sendable {
    // Sendable: the pointer never changes, and every function of the C library may be called from any thread.
    fileprivate let publisher: OpaquePointer
    private let center: CenterHandle
    /// What leads to the same topic in the next center; `nil`: nothing does.
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

    /// What was tried with it failed with `error`, which is thrown unless there is a successor of its center to try it in.
    func successor(after error: SharedNotificationError) throws(SharedNotificationError) -> PublisherHandle {
        guard let again else { throw error }
        let next = try again.link.successor(of: center, after: error)
        return try PublisherHandle(next, name: again.name, subject: again.subject, link: again.link)
    }

    deinit {
        tidings_publisher_close(publisher)
    }
}

/// A topic to post to, and what goes with it.
struct Publisher: @unchecked Sendable {
    // Sendable: as the handle is.
    let raw: OpaquePointer
    /// What bitwise payloads of the type it was made for begin with; 0 if it was made for a name.
    let fingerprint: UInt64
    /// Keeps it open. `nil`: somebody else does, for longer than this is used.
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

    /// The same without a reference to count. Whoever takes it answers for the handle.
    struct KeptPublisher: BitwiseCopyable, @unchecked Sendable {
        // Sendable: as the handle is.
        fileprivate let raw: OpaquePointer
        fileprivate let fingerprint: UInt64

        var publisher: Publisher { Publisher(self) }
    }

    var kept: KeptPublisher { KeptPublisher(raw: raw, fingerprint: fingerprint) }
}
