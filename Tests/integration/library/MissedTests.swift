import Dispatch
import Testing
import TidingsAdministration

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct MissedTests {
    /// A closure blocks while the ring is filled several times. Before the next notification, the observer is told the
    /// exact number it missed, of its own name only.
    @Test func aLappedClosureReceivesTheExactCount() async throws {
        let test = try TestCenter(smallRing)
        let events = Events<String>()
        let gate = Gate()
        let token = try test.center.addObserver(
            for: Track.self, options: .init(onMissed: { count, _ in events.add("missed \(count)") }),
            using: { track in
                events.add("\(track.number)")
                if track.number == 0 { gate.pass() }
            })
        try test.center.post(Track(0))
        await events.wait(for: 1)
        // Every second notification has another name.
        for number in 1...2000 {
            try test.center.post(Track(number))
            try test.center.post(name: "other", payload: .empty)
        }
        // Before the gate: the observer is lapped once.
        try test.center.post(Track(2001))
        gate.open()
        while events.all.last != "2001" { await Task.yield() }
        let all = events.all
        let first = try #require(Int(all[2]))
        #expect(all[0] == "0" && all[1] == "missed \(first - 1)")
        #expect(all[2...].map { $0 } == (first...2001).map(String.init))
        #expect(try test.center.statistics.missed == first - 1)
        token.cancel()
    }

    @Test func aNameWithoutALossMissesNothing() async throws {
        let test = try TestCenter(smallRing)
        let events = Events<String>()
        let gate = Gate()
        let tokens = [
            try test.center.addObserver(
                for: Track.self, options: .init(onMissed: { count, _ in events.add("missed \(count)") }),
                using: { track in
                    events.add("\(track.number)")
                    if track.number == 0 { gate.pass() }
                }),
            try test.center.addObserver(
                forNames: ["other"],
                options: .init(onMissed: { count, name in events.add("other missed \(count) \(name!)") }),
                using: { _ in }),
        ]
        try test.center.post(Track(0))
        await events.wait(for: 1)
        for _ in 1...1000 { try test.center.post(name: "third", payload: .empty) }
        gate.open()
        try test.center.post(Track(1))
        try test.center.post(name: "other", payload: .empty)
        try test.center.post(Track(2))
        expectEqual(await events.wait(for: 3), ["0", "1", "2"])
        for token in tokens { token.cancel() }
    }

    /// The queue of a closure on a dispatch queue is bounded too.
    @Test func aClosureOnABusyQueueReceivesTheExactCount() async throws {
        let test = try TestCenter()
        let events = Events<String>()
        let gate = Gate()
        let seen = Events<Int>()
        let tokens = [
            try test.center.addObserver(
                for: Track.self,
                options: .init(
                    queue: DispatchQueue(label: "test"), onMissed: { count, _ in events.add("missed \(count)") }),
                using: { track in
                    events.add("\(track.number)")
                    if track.number == 0 { gate.pass() }
                }),
            try test.center.addObserver(for: Track.self) { seen.add($0.number) },
        ]
        let bound = DeliveryBuffer.Bounds.closure.items
        try test.center.post(Track(0))
        await events.wait(for: 1)
        // In steps smaller than the ring, so that the closure's queue overflows, not the ring.
        for number in 1...(bound + 1000) {
            try test.center.post(Track(number))
            if number % 1000 == 0 { await seen.wait(for: number) }
        }
        await seen.wait(for: bound + 1001)
        gate.open()
        let all = await events.wait(for: bound + 2)
        #expect(all[0] == "0" && all[1] == "missed 1000")
        #expect(Array(all[2...]) == (1001...(bound + 1000)).map(String.init))
        for token in tokens { token.cancel() }
    }
}
