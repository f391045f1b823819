import Testing

@testable import Tidings

/// For programs that come from MQTT or D-Bus.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct BusTests {
    @Test func everyNameArrivesWithItsPoster() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Events<String>()
        let token = try center.addObserver(forNames: .all) { notification in
            heard.add("\(notification.name) \(notification.envelope.poster.pid)")
        }
        let peer = try Peer(test, "post", "home/kitchen/light", "1", "post-subject", "home/hall", "lamp", "1")
        await peer.waitForEnd()
        expectEqual(await heard.wait(for: 2), ["home/kitchen/light \(peer.pid)", "home/hall \(peer.pid)"])
        _ = token
    }

    @Test func allNamesWithThePrefixArrive() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Events<String>()
        let token = try center.addObserver(forNames: .prefix("home/kitchen/")) { heard.add("\($0.name)") }
        let peer = try Peer(
            test, "post", "home/kitchen/light", "1", "post", "home/kitchens", "1", "post", "home/hall", "1", "post",
            "home/kitchen/oven/door", "1")
        await peer.waitForEnd()
        expectEqual(await heard.wait(for: 2), ["home/kitchen/light", "home/kitchen/oven/door"])
        _ = token
    }

    @Test func aRetainedValueStaysUntilItIsCleared() async throws {
        let test = try TestCenter()
        let center = test.center
        try center.setState(21.5, for: "home/kitchen/temperature")
        let peer = try Peer(test, "observe", "home/kitchen/temperature", "1")
        expect(await peer.lines.wait(for: 2)) { all in all.contains { $0.hasPrefix("got ") } }
        try center.setState(nil, for: "home/kitchen/temperature")
        let late = try Peer(test, "observe", "home/kitchen/temperature", "1")
        expectEqual(await late.line(), "observing")
        try center.setState(22, for: "home/kitchen/temperature")
        expectEqual(await late.lines.wait(for: 2).count, 2)
    }
}
