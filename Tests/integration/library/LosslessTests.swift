import Dispatch
import Glibc
import Testing
import TidingsAdministration

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct LosslessTests {
    @Test func aFullRingIsReportedBeforePostersLapTheObserver() async throws {
        let test = try TestCenter(smallRing)
        let got = Events<Int>()
        let gate = Gate()
        let token = try test.center.addObserver(for: Track.self, options: .init(lossless: true)) { track in
            got.add(track.number)
            if track.number == 0 { gate.pass() }
        }
        var posted = 0
        var refusal: SharedNotificationError?
        while refusal == nil, posted < 10_000 {
            do { try test.center.post(Track(posted)) } catch {
                refusal = error
                break
            }
            posted += 1
        }
        #expect(refusal?.code == .full)
        let late = #expect(throws: SharedNotificationError.self) {
            try test.center.post(Track(-1), options: .init(timeout: .milliseconds(1)))
        }
        #expect(late?.code == .full)
        gate.open()
        try test.center.post(Track(posted), options: .init(timeout: .seconds(Int64.max)))
        expectEqual(await got.wait(for: posted + 1), Array(0...posted))
        token.cancel()
        #expect(try test.center.statistics.observersLossless == 0)
    }

    /// A center whose ring is full of notifications that its lossless observer has not taken.
    private func fullCenter() throws -> (test: TestCenter, observer: Center.PollableObserver) {
        let test = try TestCenter(smallRing)
        let observer = try test.center.pollableObserver(forNames: .all, options: .init(lossless: true))
        let error = #expect(throws: SharedNotificationError.self) {
            while true { try test.center.post(Track(0)) }
        }
        #expect(error?.code == .full)
        return (test, observer)
    }

    @Test func aTaskWaitsForRoomWithoutItsThread() async throws {
        let (test, observer) = try fullCenter()
        let center = test.center
        let attempts = Events<Int>()
        // More tasks than the pool has threads: if they blocked their threads, the test would hang.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...20 {
                group.addTask {
                    try await center.waitingForRoom(timeout: .seconds(600)) {
                        attempts.add(number)
                        try $0.post(Track(number))
                    }
                }
            }
            await attempts.wait(for: 20)
            let positions = Events<UInt64>()
            group.addTask {
                let position = try await center.waitingForRoom(timeout: .seconds(600)) {
                    try $0.post(name: "test.raw", payload: .text("x"))
                }
                positions.add(position)
            }
            var numbers: [Int] = []
            while numbers.count < 20 || positions.count == 0 {
                if case .notification(let notification) = try observer.next(), notification.name == Track.name {
                    let number = try notification.payload.decode(Track.self).number
                    if number > 0 { numbers.append(number) }
                } else {
                    await Task.yield()
                }
            }
            #expect(numbers.sorted() == Array(1...20))
            try await group.waitForAll()
        }
    }

    @Test func waitingForRoomEndsWithItsTimeoutOrItsTask() async throws {
        let (test, observer) = try fullCenter()
        let center = test.center
        for timeout in [.zero, .seconds(-1), .milliseconds(3), .nanoseconds(1)] as [Duration] {
            let error = await #expect(throws: SharedNotificationError.self) {
                try await center.waitingForRoom(timeout: timeout) { try $0.setState(Track(1)) }
            }
            #expect(error?.code == .full)
        }
        let attempts = Events<Void>()
        let task = Task {
            try await center.waitingForRoom(timeout: .seconds(Int64.max)) {
                attempts.add(())
                try $0.post(Track(2))
            }
        }
        await attempts.wait(for: 2)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        // Another error ends the wait at once.
        let error = await #expect(throws: SharedNotificationError.self) {
            try await center.waitingForRoom(timeout: .seconds(600)) { try $0.post(name: "") }
        }
        #expect(error?.code == .invalidName)
        // None of the tasks has posted.
        while let delivery = try observer.next() {
            if case .notification(let notification) = delivery {
                #expect(try notification.payload.decode(Track.self).number == 0)
            }
        }
        #expect(try center.state(for: Track.self) == nil)
    }

    @Test func aLosslessSequenceHoldsPostersBack() async throws {
        let test = try TestCenter(smallRing)
        let center = test.center
        var iterator = center.deliveries(of: Track.self, options: .init(lossless: true), bufferSize: 4)
            .makeAsyncIterator()
        // A poster that is held back blocks its thread, and the pool may have only two threads.
        let poster = Task {
            await onThread {
                Result {
                    for number in 0..<3000 { try center.post(Track(number), options: .init(timeout: .seconds(600))) }
                }
            }
        }
        for number in 0..<3000 {
            guard case .message(let track, _) = await iterator.next() else {
                Issue.record("nothing may be missed")
                return
            }
            #expect(track.number == number)
        }
        try await poster.value.get()
    }

    @Test func losslessClosuresOnAQueueAndInTasks() async throws {
        let test = try TestCenter(smallRing)
        let center = test.center
        let queued = Events<Int>()
        let tasked = Events<Int>()
        let tokens = [
            try center.addObserver(for: Track.self, options: .init(lossless: true, queue: .global())) {
                queued.add($0.number)
            },
            try center.addObserver(for: Track.self, options: .init(lossless: true)) { track in
                await Task.yield()
                tasked.add(track.number)
            },
        ]
        for number in 0..<3000 { try center.post(Track(number), options: .init(timeout: .seconds(600))) }
        expectEqual(await queued.wait(for: 3000), Array(0..<3000))
        expectEqual(await tasked.wait(for: 3000), Array(0..<3000))
        for token in tokens { await token.cancelAndWait() }
    }

    /// The queue of a closure is bounded in bytes too, and a lossless observer's queue drops nothing.
    @Test func largePayloadsWaitToo() async throws {
        let test = try TestCenter()
        let gate = Gate()
        let (got, missed) = (Events<Int>(), Events<Int>())
        let token = try test.center.addObserver(
            for: Track.self,
            options: .init(lossless: true, queue: .global(), onMissed: { count, _ in missed.add(count) }),
            using: { track in
                gate.pass()
                got.add(track.number)
            })
        let title = String(repeating: "x", count: 6 << 20)
        for number in 0..<5 {
            try test.center.post(Track(number, title: title), options: .init(timeout: .seconds(600)))
        }
        gate.open()
        expectEqual(await got.wait(for: 5), Array(0..<5))
        #expect(missed.all.isEmpty)
        token.cancel()
    }

    /// A message that takes memory of the center while it is encoded.
    struct Page: Center.Message {
        static let name: Center.Name = "test.page"
        var parts: [String]
        /// Called after the encoding, also if it failed.
        var encoded: @Sendable () -> Void = {}

        private enum CodingKeys: CodingKey { case parts }

        func encode(to encoder: any Encoder) throws {
            defer { encoded() }
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(parts, forKey: .parts)
        }
    }

    enum LargePost: CaseIterable { case encoded, encodedInParts, built }

    /// The memory of a large payload is taken before the post begins. If a lossless observer holds that up, the post
    /// waits with its timeout.
    @Test(arguments: LargePost.allCases)
    func aLargePostWaitsForItsMemory(_ kind: LargePost) async throws {
        let test = try TestCenter(.init(maximumPayloadSize: 1 << 20))
        let center = test.center
        let observer = try center.pollableObserver(forNames: .all, options: .init(lossless: true))
        let (short, long) = (String(repeating: "y", count: 3000), String(repeating: "x", count: 900_000))
        let begun = Events<Void>()
        @Sendable func post(timeout: Duration? = nil) throws {
            let options = Center.PostOptions(timeout: timeout)
            switch kind {
            case .encoded: try center.post(Page(parts: [long], encoded: { begun.add(()) }), options: options)
            case .encodedInParts:
                try center.post(Page(parts: [short, long], encoded: { begun.add(()) }), options: options)
            case .built:
                try center.post(name: Page.name, capacity: long.utf8.count, options: options) {
                    begun.add(())
                    $0.append(repeating: UInt8(ascii: "x"), count: long.utf8.count, as: UInt8.self)
                }
            }
        }
        func postUntilNoChunkIsFree() -> Int {
            var posted = 0
            let refusal = #expect(throws: SharedNotificationError.self) {
                while posted < 1000 {
                    try post()
                    posted += 1
                }
            }
            #expect(refusal?.code == .full && posted < 100, "the ring has room, but no chunk is free")
            return posted
        }
        let posted = postUntilNoChunkIsFree()
        let late = #expect(throws: SharedNotificationError.self) { try post(timeout: .milliseconds(1)) }
        #expect(late?.code == .full && late?.message.contains("for the whole timeout") == true)

        let before = begun.count
        let ended = Events<Result<Void, any Error>>()
        let poster = Task {
            await onThread {
                ended.add(Result { try post(timeout: .seconds(600)) })
                begun.add(())
            }
        }
        await begun.wait(for: before + 1)
        var received = 0
        func receive() throws {
            while case .notification(let notification)? = try observer.next() {
                switch kind {
                case .encoded: #expect(try notification.payload.decode(Page.self).parts == [long])
                case .encodedInParts: #expect(try notification.payload.decode(Page.self).parts == [short, long])
                case .built: #expect(notification.payload.bytes == Array(long.utf8))
                }
                received += 1
            }
        }
        while ended.count == 0 {
            try receive()
            await Task.yield()
        }
        await poster.value
        try receive()
        try ended.all[0].get()
        #expect(received == posted + 1)
        #expect(postUntilNoChunkIsFree() == posted, "no post keeps its chunk")
    }

    @Test func cancelFreesPostersThatAreHeldBack() async throws {
        let test = try TestCenter(smallRing)
        let center = test.center
        let gate = Gate()
        let token = try center.addObserver(for: Track.self, options: .init(lossless: true, queue: .global())) { _ in
            gate.pass()
        }
        // A poster that is held back blocks its thread, and the pool may have only two threads.
        let poster = Task {
            await onThread {
                Result {
                    for number in 0..<3000 { try center.post(Track(number), options: .init(timeout: .seconds(600))) }
                }
            }
        }
        while (try? center.post(Track(-1))) != nil { await Task.yield() }
        async let cancelled: Void = onThread { token.cancel() }
        gate.open()
        await cancelled
        try await poster.value.get()
    }

    /// The context in which the closure of a lossless observer runs.
    enum Place: CaseIterable { case dispatcher, queue, mainActor, globalActor, task, actor }

    /// A closure posts more than the ring holds, with a long timeout: the post fails instead of waiting for the closure
    /// itself.
    @Test(arguments: Place.allCases)
    func aClosureThatPostsDoesNotWaitForItself(_ place: Place) async throws {
        let test = try TestCenter(smallRing)
        let center = test.center
        let refused = Events<Bool>()
        let actor = ClosureActor()
        let isFirst = Locked(true)
        // Small payloads, and payloads that are encoded into chunks.
        let titles = ["", String(repeating: "x", count: 2000)]
        @Sendable func post(_ track: Track) {
            guard
                isFirst.withLock({ first in
                    defer { first = false }
                    return first
                })
            else { return }
            for title in titles {
                do throws(SharedNotificationError) {
                    for number in 0..<10_000 {
                        _ = try center.post(Track(number, title: title), options: .init(timeout: .seconds(100_000)))
                    }
                    refused.add(false)
                } catch { refused.add(error.code == .full && error.message.contains("goes on only after the closure")) }
            }
        }
        let token =
            switch place {
            case .dispatcher: try center.addObserver(for: Track.self, options: .init(lossless: true)) { post($0) }
            case .queue:
                try center.addObserver(for: Track.self, options: .init(lossless: true, queue: .global())) { post($0) }
            case .mainActor:
                try center.addObserver(for: Track.self, options: .init(lossless: true)) { @MainActor in post($0) }
            case .globalActor:
                try center.addObserver(for: Track.self, options: .init(lossless: true)) { @TestActor in post($0) }
            case .task:
                try center.addObserver(for: Track.self, options: .init(lossless: true)) { track async in
                    await Task.yield()
                    post(track)
                }
            case .actor:
                try center.addObserver(for: Track.self, options: .init(lossless: true, owner: actor)) {
                    [weak actor] track in
                    await actor?.run { post(track) }
                }
            }
        try center.post(Track(-1))
        expectEqual(await refused.wait(for: 2), [true, true])
        // The observer goes on.
        try center.post(Track(-2), options: .init(timeout: .seconds(100_000)))
        await token.cancelAndWait()
        withExtendedLifetime(actor) {}
    }

    /// A post inside a lossless closure waits for lossless observers of other processes. So a relay from one center to
    /// another is held back by the observers in the second center.
    @Test func aClosureThatPostsWaitsForOtherObservers() async throws {
        let (test, target) = (try TestCenter(smallRing), try TestCenter(smallRing))
        let peer = try Peer(target, "lossless", "relayed", "1000")
        expectEqual(await peer.line(), "observing")
        let refused = Events<SharedNotificationError>()
        let token = try test.center.addObserver(for: Track.self, options: .init(lossless: true)) { track in
            for number in 0..<100 {
                do throws(SharedNotificationError) {
                    let payload = Center.RawPayload.text("\(100 * track.number + number)")
                    try target.center.post(
                        name: "relayed", payload: payload, options: .init(timeout: .seconds(100_000)))
                } catch { refused.add(error) }
            }
        }
        for number in 0..<10 { try test.center.post(Track(number)) }
        for _ in 0..<1000 { peer.send() }
        expectEqual(await peer.lines.wait(for: 1001).count, 1001)
        #expect(refused.all == [])
        token.cancel()
    }

    /// A stopped lossless observer holds posters back until their timeout; a killed one does not hold them back.
    @Test func aStoppedObserverHoldsPostersUntilTheirTimeoutAndADeadOneDoesNot() async throws {
        let test = try TestCenter(smallRing)
        let peer = try Peer(test, "lossless", "test.track", "1000000")
        expectEqual(await peer.line(), "observing")
        peer.signal(SIGSTOP)
        try peer.waitUntilStopped()
        var posted = 0
        while (try? test.center.post(Track(posted))) != nil { posted += 1 }
        #expect(posted > 0 && posted <= 256)
        let begin = Lock.now
        let error = #expect(throws: SharedNotificationError.self) {
            try test.center.post(Track(posted), options: .init(timeout: .milliseconds(50)))
        }
        #expect(error?.code == .full && Lock.now - begin >= 50_000_000)
        let waiting = Task { [center = test.center, posted] in
            await onThread { Result { try center.post(Track(posted), options: .init(timeout: .seconds(100_000))) } }
        }
        peer.signal(SIGKILL)
        await peer.waitForEnd()
        _ = try await waiting.value.get()
        // Without a timeout.
        for number in 0..<1000 { try test.center.post(Track(number)) }
    }
}
