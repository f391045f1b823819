import Testing

@testable import Tidings

/// The memory that a payload takes in an observing process. `TestPeer` observes, and measures itself.
@Suite(.timeLimit(.minutes(10)))
struct MemoryTests {
    private static let size = 64 << 20

    /// The limit: the payload's size, 12 % and one page. The process itself may take 4 MiB: threads, strings, its heap.
    private static let limit = size / 100 * 112 + 4096 + 4 << 20

    @Test(
        .enabled(if: !isSanitized, "a sanitizer keeps freed memory, and needs some of its own"),
        arguments: ["closure", "untouched", "queue", "sequence", "pollable"])
    func aPayloadTakesLittleMoreThanItsSize(_ kind: String) async throws {
        let test = try TestCenter(.init(maximumPayloadSize: Self.size))
        let payload = Center.RawPayload(format: .bytes, bytes: [UInt8](repeating: 7, count: Self.size))
        let peer = try Peer(test, "observe-memory", "large", kind, "3")
        expectEqual(await peer.line(), "observing")
        for number in 1...3 {
            try test.center.post(name: "large", payload: payload)
            expectEqual(await peer.line(1 + number), "got")
        }
        let most = try #require(Int(await peer.line(5))) << 10
        // The kernel's counts are inexact by a few hundred KiB, and pages of the program itself are loaded after the
        // peak.
        #expect(most >= Self.size / 10 * 9, "\(most) bytes: the measurement missed the payload")
        #expect(most <= Self.limit, "\(most) bytes for a payload of \(Self.size)")
        await peer.waitForEnd()
    }
}
