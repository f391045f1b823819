import Testing

@testable import Tidings

@Suite(.timeLimit(.minutes(10)))
struct StateTests {
    @Test func typedState() throws {
        let test = try TestCenter()
        #expect(try test.center.state(for: Track.self) == nil)
        try test.center.setState(Track(1))
        try test.center.setState(Track(2))
        #expect(try test.center.state(for: Track.self) == Track(2))
        #expect(try test.other().state(for: Track.self) == Track(2))
    }

    @Test func stateOfAName() throws {
        let test = try TestCenter()
        try test.center.setState(0.5, for: "volume")
        try test.center.setState(["a", "b"], for: "list")
        let volume: Double? = try test.center.state(for: "volume")
        #expect(volume == 0.5)
        #expect(try test.center.state(for: "list", as: [String].self) == ["a", "b"])
        #expect(try test.center.rawState(for: "list")?.json == #"["a","b"]"#)
        #expect(try test.center.state(for: "nothing", as: Int.self) == nil)
        let error = #expect(throws: SharedNotificationError.self) {
            try test.center.state(for: "list", as: Int.self)
        }
        #expect(error?.code == .decodingFailed)
    }

    @Test func stateCanBeCleared() throws {
        let test = try TestCenter()
        try test.center.setState(1, for: "a")
        try test.center.clearState(for: "a")
        #expect(try test.center.state(for: "a", as: Int.self) == nil)
        try test.center.setState(.text("hello"), for: "a")
        #expect(try test.center.state(for: "a", as: String.self) == "hello")
    }

    @Test func largeState() throws {
        let test = try TestCenter()
        let numbers = Array(0..<100_000)
        try test.center.setState(numbers, for: "large")
        #expect(try test.center.state(for: "large", as: [Int].self) == numbers)
    }

    @Test func observersAreTold() async throws {
        let test = try TestCenter()
        let got = Events<(Track, Bool)>()
        let token = try test.center.addObserver(for: Track.self) { got.add(($0, $1.isRetained)) }
        try test.center.setState(Track(1))
        let first = await got.wait(for: 1)[0]
        #expect(first == (Track(1), false))
        token.cancel()
    }

    @Test func whoComesLateGetsTheRetainedOneFirst() async throws {
        let test = try TestCenter()
        try test.center.post(Track(1), retain: true)
        try test.center.post(Track(2))
        let got = Events<(Int, Bool)>()
        let token = try test.center.addObserver(for: Track.self) { got.add(($0.number, $1.isRetained)) }
        try test.center.post(Track(3))
        let all = await got.wait(for: 2)
        #expect(all.map(\.0) == [1, 3])
        #expect(all.map(\.1) == [true, false])
        // Also who joins those that look at it already.
        let late = Events<Int>()
        let second = try test.center.addObserver(for: Track.self) { late.add($0.number) }
        #expect(await late.wait(for: 1) == [1])
        try test.center.post(Track(4))
        #expect(await late.wait(for: 2) == [1, 4])
        #expect(await got.wait(for: 3).map(\.0) == [1, 3, 4])
        token.cancel()
        second.cancel()
    }

    @Test func theRetainedOneOutlivesItsRing() async throws {
        let test = try TestCenter(smallRing)
        try test.center.post(Track(1), retain: true)
        for number in 0..<1000 { try test.center.post(name: "other", payload: .text("\(number)")) }
        var iterator = test.center.deliveries(of: Track.self).makeAsyncIterator()
        guard case .message(let track, let envelope) = await iterator.next() else {
            Issue.record("the retained one should come")
            return
        }
        #expect(track == Track(1) && envelope.isRetained && envelope.isOwn)
    }

    @Test func historyCanBeAskedFor() async throws {
        let test = try TestCenter()
        var sequences: [UInt64] = []
        for number in 0..<10 {
            sequences.append(try test.center.post(Track(number)))
            try test.center.post(name: "other", payload: .empty)
        }
        let oldest = Events<Int>()
        let some = Events<Int>()
        let tokens = [
            try test.center.addObserver(for: Track.self, from: .oldest) { oldest.add($0.number) },
            try test.center.addObserver(for: Track.self, from: .sequence(sequences[7])) { some.add($0.number) },
        ]
        try test.center.post(Track(10))
        #expect(await oldest.wait(for: 11) == Array(0...10))
        #expect(await some.wait(for: 4) == [7, 8, 9, 10])
        for token in tokens { token.cancel() }
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func historyOfSeveralNamesIsInOrder() async throws {
        let test = try TestCenter()
        for name in ["a", "b", "c", "b", "a"] as [Center.Name] { try test.center.post(name: name, payload: .empty) }
        let got = Events<String>()
        let token = try test.center.addObserver(forNames: ["a", "b"], from: .oldest) { got.add("\($0.name)") }
        #expect(await got.wait(for: 4) == ["a", "b", "b", "a"])
        token.cancel()
    }
}
