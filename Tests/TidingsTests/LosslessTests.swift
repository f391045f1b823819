import Dispatch
import Testing

@testable import Tidings

@Suite(.timeLimit(.minutes(10)))
struct LosslessTests {
    @Test func postersAreToldFullRatherThanLapIt() async throws {
        let test = try TestCenter(smallRing)
        let got = Events<Int>()
        let gate = Gate()
        let token = try test.center.addObserver(for: Track.self, lossless: true) { track in
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
            try test.center.post(Track(-1), deadline: .milliseconds(1))
        }
        #expect(late?.code == .full)
        gate.open()
        try test.center.post(Track(posted), deadline: .seconds(Int64.max))
        #expect(await got.wait(for: posted + 1) == Array(0...posted))
        token.cancel()
        #expect(try test.center.statistics.observersLossless == 0)
    }

    @Test func aLosslessSequenceHoldsPostersBack() async throws {
        let test = try TestCenter(smallRing)
        let center = test.center
        var iterator = center.deliveries(of: Track.self, lossless: true, bufferSize: 4).makeAsyncIterator()
        // Held back it keeps its thread, and the pool may have as few as two.
        let poster = Task {
            await onThread {
                Result { for number in 0..<3000 { try center.post(Track(number), deadline: .seconds(600)) } }
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
            try center.addObserver(for: Track.self, lossless: true, queue: .global()) { queued.add($0.number) },
            try center.addObserver(for: Track.self, lossless: true) { track in
                await Task.yield()
                tasked.add(track.number)
            },
        ]
        for number in 0..<3000 { try center.post(Track(number), deadline: .seconds(600)) }
        #expect(await queued.wait(for: 3000) == Array(0..<3000))
        #expect(await tasked.wait(for: 3000) == Array(0..<3000))
        for token in tokens { await token.cancelAndWait() }
    }

    @Test func cancelFreesPostersThatAreHeldBack() async throws {
        let test = try TestCenter(smallRing)
        let center = test.center
        let gate = Gate()
        let token = try center.addObserver(for: Track.self, lossless: true, queue: .global()) { _ in gate.pass() }
        // Held back it keeps its thread, and the pool may have as few as two.
        let poster = Task {
            await onThread {
                Result { for number in 0..<3000 { try center.post(Track(number), deadline: .seconds(600)) } }
            }
        }
        while (try? center.post(Track(-1))) != nil { await Task.yield() }
        async let cancelled: Void = onThread { token.cancel() }
        gate.open()
        await cancelled
        try await poster.value.get()
    }
}
