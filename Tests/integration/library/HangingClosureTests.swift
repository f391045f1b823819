import Testing
import TidingsAdministration

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct HangingClosureTests {
    @Test func aClosureThatDoesNotReturnHoldsUpNoOtherObserver() async throws {
        let test = try TestCenter()
        let hanging = Events<Int>()
        let others = Events<String>()
        let gate = Gate()
        let tokens = [
            try test.center.addObserver(for: Track.self) { others.add("before \($0.number)") },
            try test.center.addObserver(for: Track.self) { track in
                hanging.add(track.number)
                if track.number == 0 { gate.pass() }
            },
            try test.center.addObserver(for: Track.self) { others.add("after \($0.number)") },
        ]
        try test.center.post(Track(0))
        // The same notification reaches the observer after the one that hangs.
        expectEqual(await others.wait(for: 2).sorted(), ["after 0", "before 0"])
        for number in 1..<100 { try test.center.post(Track(number)) }
        // Each observer receives in order. The order of the two is not checked: on a busy machine, each of them may
        // seem to hang once.
        let got = await others.wait(for: 200)
        for observer in ["before", "after"] {
            #expect(got.filter { $0.hasPrefix(observer) } == (0..<100).map { "\(observer) \($0)" })
        }
        #expect(hanging.all == [0])
        // When it returns, it receives every notification, in order.
        gate.open()
        expectEqual(await hanging.wait(for: 100), Array(0..<100))
        try test.center.post(Track(100))
        expectEqual(await hanging.wait(for: 101).last, 100)
        expectEqual(await others.wait(for: 202).count, 202)
        for token in tokens { token.cancel() }
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func twoClosuresThatDoNotReturnHoldUpNoOtherObserver() async throws {
        let test = try TestCenter()
        let others = Events<Int>()
        let hanging = Events<Int>()
        let gate = Gate()
        let tokens =
            try (0..<2).map { _ in
                try test.center.addObserver(for: Track.self) { track in
                    gate.pass()
                    hanging.add(track.number)
                }
            } + [try test.center.addObserver(for: Track.self) { others.add($0.number) }]
        for number in 0..<10 { try test.center.post(Track(number)) }
        expectEqual(await others.wait(for: 10), Array(0..<10))
        #expect(hanging.count == 0)
        gate.open()
        await hanging.wait(for: 20)
        for token in tokens { token.cancel() }
    }

    @Test func observersAddedWhileOneHangsAreServed() async throws {
        let test = try TestCenter()
        let others = Events<Int>()
        let began = Events<Int>()
        let gate = Gate()
        let hanging = try test.center.addObserver(for: Track.self) { track in
            began.add(track.number)
            gate.pass()
        }
        try test.center.post(Track(0))
        await began.wait(for: 1)
        let token = try test.center.addObserver(for: Track.self) { others.add($0.number) }
        try test.center.post(Track(1))
        expectEqual(await others.wait(for: 1), [1])
        token.cancel()
        gate.open()
        hanging.cancel()
    }

    @Test func cancelOfAClosureThatWasSetAsideWaitsForIt() async throws {
        let test = try TestCenter()
        let events = Events<String>()
        let others = Events<Int>()
        let gate = Gate()
        let hanging = try test.center.addObserver(for: Track.self) { _ in
            events.add("begin")
            gate.pass()
            events.add("end")
        }
        let token = try test.center.addObserver(for: Track.self) { others.add($0.number) }
        try test.center.post(Track(0))
        try test.center.post(Track(1))
        await others.wait(for: 2)
        async let cancelled: Void = onThread {
            hanging.cancel()
            events.add("cancelled")
        }
        while !hanging.isCancelled { await Task.yield() }
        gate.open()
        await cancelled
        #expect(events.all == ["begin", "end", "cancelled"])
        token.cancel()
    }

    @Test func aBlockingAsynchronousClosureHoldsUpNoOtherObserver() async throws {
        let test = try TestCenter()
        let others = Events<Int>()
        let gate = Gate()
        var tokens: [Center.ObservationToken] = []
        // More than the number of processors.
        for _ in 0..<16 {
            try test.center.addObserver(for: Track.self) { _ in
                await Task.yield()
                gate.pass()
            }.store(in: &tokens)
        }
        try test.center.addObserver(for: Track.self) { others.add($0.number) }.store(in: &tokens)
        for number in 0..<10 { try test.center.post(Track(number)) }
        expectEqual(await others.wait(for: 10), Array(0..<10))
        gate.open()
        for token in tokens { await token.cancelAndWait() }
    }
}
