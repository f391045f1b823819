internal import CTidings
import Glibc

/// Memory for large payloads. The C library copies each one into an array, which observers get without another copy.
///
/// Belongs to the thread that calls `tidings_next`, like the delivery.
final class LentMemory {
    /// Bytes of the smallest such payload. Below it, one memory for all payloads costs less than an array for each.
    static let least = 1 << 20

    private var bytes: [UInt8]?

    /// From now on, of that observer's payloads. It must be closed before this object goes.
    func lend(to observer: OpaquePointer?) {
        _ = tidings_observer_lend(
            observer, Self.least,
            { context, size in
                Unmanaged<LentMemory>.fromOpaque(context!).takeUnretainedValue().allocate(size)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The payload of the current delivery, of so many bytes.
    func payload(_ count: Int) -> [UInt8]? {
        // Name and subject follow. Not shared yet: the array is shortened where it lies.
        if let excess = bytes.map({ $0.count - count }), excess > 0 { bytes!.removeLast(excess) }
        return bytes
    }

    func drop() {
        bytes = nil
    }

    private func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        // First: never two payloads at a time.
        bytes = nil
        // An array that finds no memory ends the process. The C library counts the payload as missed.
        guard let probe = malloc(size + 64) else { return nil }
        free(probe)
        var new = [UInt8](unsafeUninitializedCapacity: size) { $1 = size }
        // The C library uses the address after this closure. It stays valid: an array keeps its elements in place as
        // long as nothing changes it, and `bytes` is the only reference until the payload is complete.
        let address = new.withUnsafeMutableBytes { $0.baseAddress }
        bytes = new
        return address
    }
}
