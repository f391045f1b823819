import Dispatch
import Foundation
import Glibc
import Testing
import TidingsAdministration

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct ClosureTests {
    @Test func plainClosureGetsEveryMessageOnceInOrder() async throws {
        let test = try TestCenter()
        let got = Events<Track>()
        let token = try test.center.addObserver(for: Track.self) { got.add($0) }
        for number in 0..<1000 { try test.center.post(Track(number)) }
        expectEqual(await got.wait(for: 1000), (0..<1000).map { Track($0) })
        token.cancel()
    }

    @Test func theEnvelopeDescribesThePost() async throws {
        let test = try TestCenter()
        let got = Events<(Track, Center.Envelope)>()
        let token = try test.center.addObserver(for: Track.self) { got.add(($0, $1)) }
        let before = time(nil)
        let sequence = try test.center.post(
            name: Track.name, payload: .init(encoding: Track(1)), options: .init(subject: "player-1"))
        let (track, envelope) = await got.wait(for: 1)[0]
        #expect(track == Track(1))
        #expect(envelope.sequence == sequence)
        #expect(envelope.subject == "player-1")
        #expect(envelope.isOwn && !envelope.isRetained)
        #expect(envelope.poster.pid == getpid() && envelope.poster.uid == getuid())
        let executable = try #require(envelope.poster.executable)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe").hasSuffix(executable))
        // At most one kernel tick too early, and not later than now.
        #expect(Int(envelope.postedAt.timeIntervalSince1970) >= before - 1)
        #expect(Int(envelope.postedAt.timeIntervalSince1970) <= time(nil))
        token.cancel()
    }

    @Test func queueClosureRunsThereOneAtATimeInOrder() async throws {
        let test = try TestCenter()
        let key = DispatchSpecificKey<Bool>()
        let queue = DispatchQueue(label: "test", attributes: .concurrent)
        queue.setSpecific(key: key, value: true)
        let got = Events<(number: Int, isThere: Bool, isAlone: Bool)>()
        let inside = Locked(0)
        let token = try test.center.addObserver(for: Track.self, options: .init(queue: queue)) { track in
            let isAlone = inside.withLock { inside in
                inside += 1
                return inside == 1
            }
            got.add((track.number, DispatchQueue.getSpecific(key: key) == true, isAlone))
            inside.withLock { $0 -= 1 }
        }
        for number in 0..<500 { try test.center.post(Track(number)) }
        let all = await got.wait(for: 500)
        #expect(all.map(\.number) == Array(0..<500))
        #expect(all.allSatisfy { $0.isThere && $0.isAlone })
        token.cancel()
    }

    @Test @MainActor func mainActorClosureRunsThereInOrder() async throws {
        let test = try TestCenter()
        let got = Events<Int>()
        let token = try test.center.addObserver(for: Track.self) { @MainActor track in
            MainActor.assertIsolated()
            got.add(track.number)
        }
        for number in 0..<200 { try test.center.post(Track(number)) }
        expectEqual(await got.wait(for: 200), Array(0..<200))
        token.cancel()
    }

    @Test func asyncClosureIsCalledAgainOnlyAfterItReturned() async throws {
        let test = try TestCenter()
        let got = Events<String>()
        let token = try test.center.addObserver(for: Track.self) { track in
            got.add("begin \(track.number)")
            await Task.yield()
            got.add("end \(track.number)")
        }
        for number in 0..<100 { try test.center.post(Track(number)) }
        expectEqual(await got.wait(for: 200), (0..<100).flatMap { ["begin \($0)", "end \($0)"] })
        token.cancel()
    }

    @Test func allKindsTakeAnEnvelope() async throws {
        let test = try TestCenter()
        let got = Events<UInt64>()
        var tokens: [Center.ObservationToken] = []
        try test.center.addObserver(for: Track.self) { _, envelope in got.add(envelope.sequence) }.store(in: &tokens)
        try test.center.addObserver(for: Track.self, options: .init(queue: .global())) { _, envelope in
            got.add(envelope.sequence)
        }
        .store(in: &tokens)
        try test.center.addObserver(for: Track.self) { @MainActor _, envelope in got.add(envelope.sequence) }
            .store(in: &tokens)
        try test.center.addObserver(for: Track.self) { _, envelope in
            await Task.yield()
            got.add(envelope.sequence)
        }.store(in: &tokens)
        let sequence = try test.center.post(name: Track.name, payload: .init(encoding: Track(1)))
        expectEqual(await got.wait(for: 4), Array(repeating: sequence, count: 4))
    }

    @Test func onlyTheRequestedSubjectArrives() async throws {
        let test = try TestCenter()
        let one = Events<Int>()
        let all = Events<Int>()
        let tokens = [
            try test.center.addObserver(for: Track.self, options: .init(subject: "one")) { one.add($0.number) },
            try test.center.addObserver(for: Track.self) { all.add($0.number) },
        ]
        try test.center.post(Track(0), options: .init(subject: "two"))
        try test.center.post(Track(1), options: .init(subject: "one"))
        try test.center.post(Track(2))
        try test.center.post(Track(3), options: .init(subject: "one"))
        expectEqual(await one.wait(for: 2), [1, 3])
        expectEqual(await all.wait(for: 4), [0, 1, 2, 3])
        for token in tokens { token.cancel() }
    }

    @Test func ownPostsCanBeLeftOut() async throws {
        let test = try TestCenter()
        let other = try test.other()
        let got = Events<(Int, Bool)>()
        let token = try test.center.addObserver(for: Track.self, options: .init(excludingOwnPosts: true)) {
            got.add(($0.number, $1.isOwn))
        }
        try test.center.post(Track(0))
        try other.post(Track(1))
        try test.center.post(Track(2))
        try other.post(Track(3))
        let all = await got.wait(for: 2)
        #expect(all.map(\.0) == [1, 3])
        #expect(all.allSatisfy { !$0.1 })
        token.cancel()
    }

    @Test func postingInsideAClosureWorks() async throws {
        let test = try TestCenter()
        let center = test.center
        let got = Events<Int>()
        let token = try center.addObserver(for: Track.self) { [weak center] track in
            got.add(track.number)
            if track.number < 100 { _ = try? center?.post(Track(track.number + 1)) }
        }
        try center.post(Track(0))
        expectEqual(await got.wait(for: 101), Array(0...100))
        token.cancel()
    }

    @Test func observingInsideAClosureWorks() async throws {
        let test = try TestCenter()
        let center = test.center
        let got = Events<Int>()
        let inner = Locked<Center.ObservationToken?>(nil)
        let outer = try center.addObserver(for: Track.self) { track in
            guard track.number == 0 else { return }
            inner.withLock { $0 = try? center.addObserver(for: Track.self) { got.add($0.number) } }
            _ = try? center.post(Track(1))
        }
        try center.post(Track(0))
        expectEqual(await got.wait(for: 1), [1])
        outer.cancel()
        inner.withLock { $0 = nil }
    }

    @Test func rawObserverSeesAllNamesInOneOrder() async throws {
        let test = try TestCenter()
        let got = Events<Center.Notification>()
        let token = try test.center.addObserver(forNames: .all) { got.add($0) }
        try test.center.post(name: "a", payload: .text("first"))
        try test.center.post(Track(7))
        try test.center.post(name: "b", payload: .json("{ \"x\": [1, 2] }"), options: .init(subject: "s"))
        let all = await got.wait(for: 3)
        #expect(all.map(\.name) == ["a", Track.name, "b"])
        #expect(all.map(\.payload.json) == ["\"first\"", #"{"title":"So What","number":7}"#, #"{"x":[1,2]}"#])
        #expect(all.map(\.envelope.subject) == [nil, nil, "s"])
        token.cancel()
    }

    @Test func rawObserverOfSomeNamesSeesThoseInOneOrder() async throws {
        let test = try TestCenter()
        let got = Events<String>()
        let token = try test.center.addObserver(forNames: ["a", "b"]) { got.add("\($0.name)") }
        for name in ["a", "c", "b", "b", "c", "a"] as [Center.Name] {
            try test.center.post(name: name, payload: .empty)
        }
        expectEqual(await got.wait(for: 4), ["a", "b", "b", "a"])
        token.cancel()
    }

    @Test func allNamesOfOneSubject() async throws {
        let test = try TestCenter()
        let got = Events<String>()
        let token = try test.center.addObserver(forNames: .all, options: .init(subject: "s")) { got.add("\($0.name)") }
        try test.center.post(name: "a", payload: .empty, options: .init(subject: "s"))
        try test.center.post(name: "b", payload: .empty)
        try test.center.post(name: "c", payload: .empty, options: .init(subject: "s"))
        expectEqual(await got.wait(for: 2), ["a", "c"])
        token.cancel()
    }

    @Test func twoCentersDoNotReceiveEachOthersPosts() async throws {
        let (first, second) = (try TestCenter(), try TestCenter())
        let got = Events<String>()
        let tokens = [
            try first.center.addObserver(for: Track.self) { got.add("first \($0.number)") },
            try second.center.addObserver(for: Track.self) { got.add("second \($0.number)") },
        ]
        try first.center.post(Track(1))
        await got.wait(for: 1)
        try second.center.post(Track(2))
        expectEqual(await got.wait(for: 2), ["first 1", "second 2"])
        for token in tokens { token.cancel() }
    }

    @Test func tenThousandObserversInOneProcess() async throws {
        let test = try TestCenter()
        let got = Events<Int>()
        var tokens: [Center.ObservationToken] = []
        let count = isSanitized ? 1000 : 10_000
        for _ in 0..<count {
            try test.center.addObserver(for: Track.self) { got.add($0.number) }.store(in: &tokens)
        }
        #expect(try test.center.statistics.observers == 1)
        try test.center.post(Track(1))
        await got.wait(for: count)
        try test.center.post(Track(2))
        let all = await got.wait(for: 2 * count)
        #expect(all == Array(repeating: 1, count: count) + Array(repeating: 2, count: count))
        for token in tokens { token.cancel() }
        #expect(try test.center.statistics.observers == 0)
    }
}
