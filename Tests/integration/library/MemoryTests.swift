import Dispatch
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

    private static func large(_ size: Int = 64 << 10) -> Center.RawPayload {
        Center.RawPayload(format: .bytes, bytes: [UInt8](repeating: 7, count: size))
    }

    /// A kept payload is copied once on its way out of the ring, from the second one on.
    @Test func aKeptPayloadLiesWhereItWasCopied() throws {
        let test = try TestCenter()
        let observer = try ObserverHandle(center: test.center.core.handle, lossless: false)
        _ = try observer.add("large", retained: false, history: false)
        func next(kept: Bool, size: Int = 64 << 10) throws -> Bool {
            try test.center.post(name: "large", payload: Self.large(size))
            #expect(try observer.poll())
            let there = observer.payload.baseAddress
            let bytes = observer.ownedPayload
            #expect(bytes == [UInt8](repeating: 7, count: size))
            observer.dropPayload()
            observer.payloadWasKept(kept)
            return bytes.withUnsafeBytes { $0.baseAddress } == there
        }
        #expect(try !next(kept: true), "the first one")
        #expect(try next(kept: true))
        #expect(try !next(kept: true, size: 4095), "smaller than what the C library lends for")
        #expect(try next(kept: false))
        #expect(try !next(kept: false), "an array that no observer keeps")
        #expect(try next(kept: false, size: 1 << 20), "always from 1 MiB on")
    }

    /// The dispatcher learns from each payload whether its observers keep it.
    @Test func payloadsAreLentWhileAnObserverKeepsThem() async throws {
        let test = try TestCenter()
        let kept = Events<Int>()
        let queue = DispatchQueue(label: "kept")
        let keeping = try test.center.addObserver(forNames: ["large"], options: .init(queue: queue)) {
            kept.add($0.payload.bytes.count)
        }
        let lent = Events<Bool>()
        let own = Locked<Dispatcher?>(nil)
        // A plain closure runs on the dispatcher thread, which alone may ask.
        let token = try test.center.addObserver(forNames: ["large"]) { _ in
            lent.add(own.withLock { $0!.observer.isPayloadLent })
        }
        own.withLock { $0 = token.anchor!.observation.dispatcher }
        for _ in 0..<3 { try test.center.post(name: "large", payload: Self.large()) }
        expectEqual(await lent.wait(for: 3), [false, true, true])
        expectEqual(await kept.wait(for: 3), [64 << 10, 64 << 10, 64 << 10])
        keeping.cancel()
        for _ in 0..<2 { try test.center.post(name: "large", payload: Self.large()) }
        expectEqual(await lent.wait(for: 5).suffix(2), [true, false])
        own.withLock { $0 = nil }
    }
}
