import Testing
import TidingsFoundation

@testable import Tidings

/// For programs that come from `MMWormhole`.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct WormholeTests {
    struct Volume: Center.Message {
        static let name: Center.Name = "volume"
        var number: Int
    }

    @Test func theLastMessageWaitsForLateReaders() async throws {
        let test = try TestCenter()
        let center = test.center
        let peer = try Peer(test, "retain", "volume", "1", "retain", "volume", "7")
        await peer.waitForEnd()
        #expect(try center.state(for: Volume.self)?.number == 7)
        let heard = Events<Int>()
        let token = try center.addObserver(for: Volume.self) { volume in heard.add(volume.number) }
        expectEqual(await heard.wait(for: 1), [7])
        try center.post(Volume(number: 8), options: .init(retain: true))
        let late = try Peer(test, "observe", "volume", "1")
        // The observer may receive the value before it reports that it observes.
        expect(await late.lines.wait(for: 2)) { all in all.contains { $0.hasPrefix("got 8 ") } }
        _ = token
    }

    /// The Foundation form: a name, an object and a dictionary.
    @Test func untypedListenersGetEveryMessageToo() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Events<Int>()
        let token = try center.addObserver(forNames: "volume") { notification in
            heard.add(notification.userInfo?["number"]?.integer ?? -1)
        }
        let poster = try Peer(test, "post", "volume", "100")
        expectEqual(await heard.wait(for: 100), Array(0..<100))
        await poster.waitForEnd()
        token.cancel()
    }

    /// In MMWormhole, a second listener replaces the first, and of several messages only the last one arrives.
    @Test func severalListenersEachGetEveryMessage() async throws {
        let test = try TestCenter()
        let heard = (0..<3).map { _ in Events<Int>() }
        let tokens = try heard.map { heard in try test.center.addObserver(for: Volume.self) { heard.add($0.number) } }
        let others = try (0..<2).map { _ in try Peer(test, "observe", "volume", "100") }
        for other in others { expectEqual(await other.line(), "observing") }
        let poster = try Peer(test, "post", "volume", "100")
        for heard in heard { expectEqual(await heard.wait(for: 100), Array(0..<100)) }
        for other in others {
            let lines = await other.lines.wait(for: 101).dropFirst()
            #expect(lines.map { $0.split(separator: " ")[1] } == (0..<100).map { "\($0)" })
        }
        _ = (tokens, poster)
    }
}
