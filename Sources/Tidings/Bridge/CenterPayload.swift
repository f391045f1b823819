internal import CTidings

/// A payload that the C library holds in place.
final class CenterPayload: HeldPayload, @unchecked Sendable {
    // Sendable: `held` is changed by `release`, which one thread calls once, and by `deinit`.
    private var held: tidings_held
    /// Keeps the center open, and so mapped.
    private let center: CenterHandle

    /// The payload of an observer's current delivery. `nil`: the payload was copied, or is held already.
    init?(_ observer: OpaquePointer?, _ delivery: UnsafePointer<tidings_delivery>, _ center: CenterHandle) {
        held = tidings_held()
        self.center = center
        guard delivery.pointee.flags & UInt32(TIDINGS_DELIVERY_IN_PLACE) != 0,
            tidings_hold(observer, delivery, &held) == 0
        else { return nil }
        super.init(UnsafeRawBufferPointer(start: held.payload, count: held.size))
    }

    override func release() { tidings_release(&held) }

    // Any thread may release, also in a forked child.
    deinit { release() }
}
