import Testing
import TidingsAdministration
import TidingsFoundation

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
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
        try test.center.setState(nil, for: "a")
        #expect(try test.center.state(for: "a", as: Int.self) == nil)
        try test.center.setState(.text("hello"), for: "a")
        #expect(try test.center.state(for: "a", as: String.self) == "hello")
    }

    @Test func largeState() throws {
        let test = try TestCenter()
        let numbers = Array(0..<(isSanitized ? 20_000 : 100_000))
        try test.center.setState(numbers, for: "large")
        #expect(try test.center.state(for: "large", as: [Int].self) == numbers)
    }

    @Test func settingStateNotifiesObservers() async throws {
        let test = try TestCenter()
        let got = Events<(Track, Bool)>()
        let token = try test.center.addObserver(for: Track.self) { got.add(($0, $1.isRetained)) }
        try test.center.setState(Track(1))
        let first = await got.wait(for: 1)[0]
        #expect(first == (Track(1), false))
        token.cancel()
    }

    @Test func aLaterObserverReceivesTheRetainedValueFirst() async throws {
        let test = try TestCenter()
        try test.center.post(Track(1), options: .init(retain: true))
        try test.center.post(Track(2))
        let got = Events<(Int, Bool)>()
        let token = try test.center.addObserver(for: Track.self) { got.add(($0.number, $1.isRetained)) }
        try test.center.post(Track(3))
        let all = await got.wait(for: 2)
        #expect(all.map(\.0) == [1, 3])
        #expect(all.map(\.1) == [true, false])
        // Also an observer that joins other observers of that name.
        let late = Events<Int>()
        let second = try test.center.addObserver(for: Track.self) { late.add($0.number) }
        expectEqual(await late.wait(for: 1), [1])
        try test.center.post(Track(4))
        expectEqual(await late.wait(for: 2), [1, 4])
        expectEqual(await got.wait(for: 3).map(\.0), [1, 3, 4])
        token.cancel()
        second.cancel()
    }

    @Test func theRetainedValueOutlivesTheRing() async throws {
        let test = try TestCenter(smallRing)
        try test.center.post(Track(1), options: .init(retain: true))
        for number in 0..<1000 { try test.center.post(name: "other", payload: .text("\(number)")) }
        var iterator = test.center.deliveries(of: Track.self).makeAsyncIterator()
        guard case .message(let track, let envelope) = await iterator.next() else {
            Issue.record("the retained one should come")
            return
        }
        #expect(track == Track(1) && envelope.isRetained && envelope.isOwn)
    }

    @Test func aClearedValueReachesNoLaterObserver() async throws {
        let test = try TestCenter()
        let got = Events<Int>()
        let peer = try Peer(test, "retain", "test.track", "7", "wait", "clear", "test.track", "wait")
        expectEqual(await peer.line(), "retained")
        var iterator = test.center.deliveries(ofNames: ["test.track"]).makeAsyncIterator()
        guard case .notification(let retained) = await iterator.next() else { return }
        #expect(retained.envelope.isRetained && retained.envelope.poster.pid == peer.pid)
        peer.send()
        expectEqual(await peer.line(2), "cleared")
        let token = try test.center.addObserver(forNames: ["test.track"]) { _ in got.add(0) }
        let last = try test.center.addObserver(for: Track.self) { got.add($0.number) }
        try test.center.post(Track(1))
        expectEqual(await got.wait(for: 2).sorted(), [0, 1])
        #expect(try test.center.observedNames.allSatisfy { !$0.isRetained })
        // An observer registered before is told that the value was cleared.
        guard case .notification(let cleared) = await iterator.next() else { return }
        #expect(cleared.payload == .empty && !cleared.envelope.isRetained)
        try test.center.setState(Track(2))
        try test.center.setState(nil, for: Track.name)
        #expect(try test.center.state(for: Track.self) == nil)
        token.cancel()
        last.cancel()
        peer.send()
    }

    /// No process has the center open; only its file exists.
    @Test func theRetainedValueOutlivesEveryProcessOfTheCenter() async throws {
        let test = try TestCenter()
        for number in [1, 2] {
            let peer = try Peer(test, named: "lonely", "retain", "test.track", "\(number)")
            await peer.waitForEnd()
        }
        let center = try Center(named: "lonely", configuration: .init(directory: test.directory, creation: .never))
        #expect(try center.participants.count == 1)
        #expect(try center.state(for: "test.track", as: Numbered.self) == Numbered(number: 2))
        var iterator = center.deliveries(ofNames: ["test.track"]).makeAsyncIterator()
        guard case .notification(let retained) = await iterator.next() else { return }
        #expect(retained.envelope.isRetained && !retained.envelope.isOwn)
    }

    /// Each name keeps one value. A post that retains with a subject is refused by every function, and changes nothing.
    @Test func retainingWithASubjectIsRefused() throws {
        struct Kept: SharedNotificationCenter.Message { var number: Int }
        struct Plain: SharedNotificationCenter.BitwiseMessage { var number: Int }
        let test = try TestCenter()
        let center = test.center
        let key = SharedNotificationCenter.Key<Int>("a")
        try center.setState(1, for: "a")
        let posts: [() throws -> Void] = [
            { try center.post(Kept(number: 2), options: .init(subject: "x", retain: true)) },
            { try center.post(Plain(number: 2), options: .init(subject: "x", retain: true)) },
            { try center.post(name: "a", payload: .text("2"), options: .init(subject: "x", retain: true)) },
            { try center.post(key, 2, options: .init(subject: "x", retain: true)) },
            { try center.post(name: "a", userInfo: ["b": 2], options: .init(subject: "x", retain: true)) },
        ]
        for post in posts {
            let error = #expect(throws: SharedNotificationError.self) { try post() }
            #expect(error?.code == .invalidArgument && error?.message.contains("put the subject into the name") == true)
        }
        #expect(try center.state(for: "a", as: Int.self) == 1)
        #expect(try center.state(for: Kept.self) == nil && center.state(for: Plain.self) == nil)
    }

    /// At the boundary between the history and new posts, while another process posts: every notification once, in
    /// order.
    @Test(arguments: [false, true])
    func noGapAndNothingTwiceBetweenHistoryAndNow(fromASequence: Bool) async throws {
        let test = try TestCenter(.init(slots: 1 << 15))
        let count = isSanitized ? 3000 : 20_000
        let first = Events<(Int, UInt64)>()
        let whole = try test.center.addObserver(forNames: ["ticks"]) {
            first.add(((try? $0.payload.decode(Numbered.self).number) ?? -1, $0.envelope.sequence))
        }
        let peer = try Peer(test, "post", "ticks", "\(count)")
        // While the other process posts, again and again.
        var observers: [(start: Int, got: Events<Int>, token: Center.ObservationToken)] = []
        while first.count < count, observers.count < (isSanitized ? 10 : 30) {
            let so = await first.wait(for: first.count + 1)
            let start = fromASequence ? Int.random(in: 0..<so.count) : 0
            let got = Events<Int>()
            let token = try test.center.addObserver(
                forNames: ["ticks"],
                options: .init(from: fromASequence ? .after(so[start].1, in: test.center.incarnation) : .oldest)
            ) { got.add((try? $0.payload.decode(Numbered.self).number) ?? -1) }
            observers.append((fromASequence ? start + 1 : 0, got, token))
        }
        expectEqual(await first.wait(for: count).map(\.0), Array(0..<count))
        for observer in observers {
            expectEqual(await observer.got.wait(for: count - observer.start), Array(observer.start..<count))
            observer.token.cancel()
        }
        await peer.waitForEnd()
        whole.cancel()
    }

    @Test func historyCanBeRequested() async throws {
        let test = try TestCenter()
        var sequences: [UInt64] = []
        for number in 0..<10 {
            sequences.append(
                try test.center.post(name: Track.name, payload: .init(encoding: Track(number))))
            try test.center.post(name: "other", payload: .empty)
        }
        let oldest = Events<Int>()
        let some = Events<Int>()
        let tokens = [
            try test.center.addObserver(for: Track.self, options: .init(from: .oldest)) { oldest.add($0.number) },
            try test.center.addObserver(
                for: Track.self, options: .init(from: .after(sequences[6], in: test.center.incarnation))
            ) {
                some.add($0.number)
            },
        ]
        try test.center.post(Track(10))
        expectEqual(await oldest.wait(for: 11), Array(0...10))
        expectEqual(await some.wait(for: 4), [7, 8, 9, 10])
        for token in tokens { token.cancel() }
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func historyOfSeveralNamesIsInOrder() async throws {
        let test = try TestCenter()
        for name in ["a", "b", "c", "b", "a"] as [Center.Name] { try test.center.post(name: name, payload: .empty) }
        let got = Events<String>()
        let token = try test.center.addObserver(forNames: ["a", "b"], options: .init(from: .oldest)) {
            got.add("\($0.name)")
        }
        expectEqual(await got.wait(for: 4), ["a", "b", "b", "a"])
        token.cancel()
    }
}
