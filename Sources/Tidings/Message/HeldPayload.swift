/// A payload in a center's memory. No poster reuses the memory while an object of this class exists, unless it is
/// released before.
///
/// Other processes can write to the center, so the bytes can change at any time: each is read once, or checked again.
@usableFromInline
class HeldPayload: @unchecked Sendable {
    // Sendable: `bytes` does not change. What a subclass adds is used by `release` alone.
    @usableFromInline let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Gives the memory back early. No byte may be read any more. Call once, and from one thread.
    func release() {}
}
