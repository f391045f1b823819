import Dispatch
import Testing

@testable import Tidings

/// The memory that a payload takes in an observing process. `TestPeer` observes, and measures itself. Its figure is too
/// inexact for small payloads: for these, tests look where the payload lies.
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

    private static let sizes = [4 << 10, 64 << 10, 1 << 20, size]

    private static func large(_ size: Int) -> Center.RawPayload {
        Center.RawPayload(format: .bytes, bytes: [UInt8](repeating: 7, count: size))
    }

    private static func address(_ bytes: [UInt8]) -> UnsafeRawPointer? { bytes.withUnsafeBytes { $0.baseAddress } }

    /// A kept payload is copied once on its way out of the ring, into an array that is hardly larger.
    @Test(arguments: sizes)
    func aKeptPayloadLiesWhereItWasCopied(_ size: Int) throws {
        let test = try TestCenter(.init(maximumPayloadSize: Self.size))
        let observer = try ObserverHandle(center: test.center.core.handle, lossless: false)
        _ = try observer.add("large", retained: false, history: false)
        for size in [size, 4095, size] {
            try test.center.post(name: "large", payload: Self.large(size))
            #expect(try observer.poll())
            let there = observer.payload.baseAddress
            let bytes = observer.ownedPayload
            #expect(bytes == [UInt8](repeating: 7, count: size))
            #expect((Self.address(bytes) == there) == (size >= 4096), "\(size) bytes")
            #expect(bytes.capacity <= size / 100 * 112 + 4096, "\(bytes.capacity) bytes for \(size)")
            observer.dropPayload()
        }
    }

    /// All observers of one center object share the array that the first payload was copied to.
    @Test(arguments: sizes)
    func noObserverCopiesAPayload(_ size: Int) async throws {
        let test = try TestCenter(.init(maximumPayloadSize: Self.size))
        let center = test.center
        let places = Events<UInt>()
        let own = Locked<Dispatcher?>(nil)
        @Sendable func add(_ place: UnsafeRawPointer?) { places.add(UInt(bitPattern: place)) }
        let tokens = [
            try center.addObserver(forNames: ["large"]) {
                // A plain closure runs on the dispatcher thread, which alone may ask.
                add(own.withLock { $0!.observer.payload.baseAddress })
                add(Self.address($0.payload.bytes))
            },
            try center.addObserver(forNames: ["large"], options: .init(queue: DispatchQueue(label: "kept"))) {
                add(Self.address($0.payload.bytes))
            },
        ]
        own.withLock { $0 = tokens[0].anchor!.observation.dispatcher }
        var iterator = center.deliveries(ofNames: ["large"]).makeAsyncIterator()
        try center.post(name: "large", payload: Self.large(size))
        guard case .notification(let notification)? = await iterator.next() else {
            Issue.record("no notification")
            return
        }
        add(Self.address(notification.payload.bytes))
        let all = await places.wait(for: 4)
        #expect(Set(all).count == 1, "\(all)")
        for token in tokens { token.cancel() }
        own.withLock { $0 = nil }
    }
}
