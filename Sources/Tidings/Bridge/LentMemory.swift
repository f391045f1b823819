internal import CTidings
import Glibc

/// Memory for large payloads. The C library copies each payload into an array, and observers get that array without
/// another copy.
///
/// One thread at a time uses it: the one that calls `tidings_next`, and, before that one begins, the one that adds a
/// subscription with history.
final class LentMemory {
    /// Size of the smallest payload that goes into an array, in bytes: the least that the C library allows. A smaller
    /// one is copied again if it is kept.
    static let least = Int(TIDINGS_LEND_MIN)

    /// From so many bytes on, payloads are read in place.
    private let inPlace: Int
    /// The less of both.
    let large: Int
    private var bytes: [UInt8]?

    init(inPlace: Int) {
        self.inPlace = inPlace
        large = min(Self.least, inPlace)
    }

    /// Lends memory for that observer's payloads from now on, except for those in place. The observer must be closed
    /// before this object is released.
    func lend(to observer: OpaquePointer?) {
        if inPlace < .max { tidings_observer_in_place(observer, inPlace) }
        _ = tidings_observer_lend(
            observer, Self.least,
            { context, size in
                Unmanaged<LentMemory>.fromOpaque(context!).takeUnretainedValue().allocate(size)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The payload of the current delivery, which has so many bytes.
    func payload(_ count: Int) -> [UInt8]? {
        // The name and subject follow the payload. The array is not shared yet, so it is shortened without a copy.
        if let excess = bytes.map({ $0.count - count }), excess > 0 { bytes!.removeLast(excess) }
        return bytes
    }

    func drop() { bytes = nil }

    private func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        // Released first, so that two payloads never exist at a time.
        bytes = nil
        // If an array can't get memory, the process ends. So this probes with `malloc`; the C library counts the
        // payload as missed.
        guard let probe = malloc(size + 64) else { return nil }
        free(probe)
        var new = [UInt8](unsafeUninitializedCapacity: size) { $1 = size }
        // The C library uses the address after this closure. The address stays valid: an array keeps its elements in
        // place while it is not changed, and `bytes` is the only reference until the payload is complete.
        let address = new.withUnsafeMutableBytes { $0.baseAddress }
        bytes = new
        return address
    }
}
