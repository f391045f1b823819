import Testing
import TidingsAdministration
import TidingsFoundation

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct TokenTests {
    @Test func releaseOfTheLastCopyCancels() async throws {
        let test = try TestCenter()
        let got = Events<Int>()
        var token: Center.ObservationToken? = try test.center.addObserver(for: Track.self) { got.add($0.number) }
        var copy = token
        try test.center.post(Track(1))
        await got.wait(for: 1)
        token = nil
        try test.center.post(Track(2))
        await got.wait(for: 2)
        withExtendedLifetime(copy) {}
        copy = nil
        #expect(try test.center.statistics.observers == 0)
        try test.center.post(Track(3))
        #expect(got.all == [1, 2])
        #expect(token == nil && copy == nil)
    }

    /// As another process sees it.
    @Test func aReleasedTokenEndsTheObservationForOtherProcesses() async throws {
        let test = try TestCenter()
        let (got, seen) = (Events<Int>(), Events<Int>())
        var token: Center.ObservationToken? = try test.center.addObserver(forNames: ["numbers"]) { _ in got.add(0) }
        let peer = try Peer(
            test, "observers", "post", "numbers", "2", "wait", "observers", "wait", "post", "numbers", "3", "observers")
        expectEqual(await peer.lines.wait(for: 2), ["observers 1", "posted 2"])
        expectEqual(await got.wait(for: 2).count, 2)
        withExtendedLifetime(token) {}
        token = nil
        peer.send()
        expectEqual(await peer.line(3), "observers 0")
        let witness = try test.center.addObserver(forNames: ["numbers"]) { _ in seen.add(0) }
        peer.send()
        expectEqual(await seen.wait(for: 3).count, 3)
        #expect(got.count == 2 && token == nil)
        expectEqual(await peer.lines.wait(for: 5).suffix(2), ["posted 3", "observers 1"])
        witness.cancel()
    }

    @Test func tokensKeepObservationsGoingWithoutTheCenterObject() async throws {
        let test = try TestCenter()
        let got = Events<Int>()
        let token = try test.other().addObserver(for: Track.self) { got.add($0.number) }
        try test.center.post(Track(1))
        expectEqual(await got.wait(for: 1), [1])
        #expect(try test.center.statistics.participants == 2)
        token.cancel()
        #expect(try test.center.statistics.participants == 1)
    }

    @Test func tokensCanBeStoredInSetsAndArrays() throws {
        let test = try TestCenter()
        var set: Set<Center.ObservationToken> = []
        var array: [Center.ObservationToken] = []
        let token = try test.center.addObserver(for: Track.self) { _ in }
        token.store(in: &set)
        token.store(in: &set)
        token.store(in: &array)
        try test.center.addObserver(for: Track.self) { _ in }.store(in: &set)
        #expect(set.count == 2 && array == [token])
        set = []
        #expect(!token.isCancelled)
        test.center.removeObserver(token)
        #expect(token.isCancelled)
    }

    @Test func theLastReferenceMayGoInsideAClosure() async throws {
        let test = try TestCenter()
        let got = Events<Int>()
        let token = Locked<Center.ObservationToken?>(nil)
        let isSet = Gate()
        do {
            let made = try test.other().addObserver(for: Track.self) { track in
                isSet.pass()
                token.withLock { $0.take() }?.cancel()
                got.add(track.number)
            }
            token.withLock { $0 = made }
        }
        isSet.open()
        try test.center.post(Track(1))
        try test.center.post(Track(2))
        await got.wait(for: 1)
        // The dispatcher thread releases everything itself, because it holds the last reference.
        while try test.center.statistics.participants > 1 { await Task.yield() }
        #expect(got.all == [1])
    }

    @Test func theDefaultNameIsTheTypesOwn() {
        struct Volume: Center.Message {}
        #expect(Volume.name == "Volume")
    }
}
