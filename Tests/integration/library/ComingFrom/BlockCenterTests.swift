import Testing
import TidingsAdministration

@testable import Tidings

/// For programs that come from `BlockNotificationCenter` (ATKit).
@Suite(.serialized, .timeLimit(.minutes(10)))
struct BlockCenterTests {
    static let progress = Center.Key<Int, String>("com.example.import.progress")
    static let extended = Center.Key<Int, String, Double>("com.example.import.progress", defaults: (nil, nil, 1))

    @MainActor final class View {
        let heard: Events<String>
        init(_ heard: Events<String>) { self.heard = heard }
        func progressed(_ percent: Int, _ stage: String) { heard.add("\(percent) \(stage)") }
    }

    @Test @MainActor func severalArgumentsOnTheMainThreadHeldWeakly() async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Events<String>()
        var view: View? = View(heard)
        _ = try center.addObserver(for: Self.progress, options: .init(owner: view)) { @MainActor [weak view] in
            view?.progressed($0, $1)
        }
        let peer = try Peer(
            test, "observe-key", "com.example.import.progress", "1", "key", "com.example.import.progress", "1")
        expectEqual(await peer.line(), "observing")
        try center.post(Self.progress, 42, "decoding")
        expectEqual(await peer.line(2), "got 42 decoding -")
        expectEqual(await heard.wait(for: 2), ["42 decoding", "0 stage"])
        view = nil
        let poster = try Peer(test, "key", "com.example.import.progress", "1")
        await poster.waitForEnd()
        #expect(heard.count == 2)
    }

    /// In BlockNotificationCenter, the block of every observer must change.
    @Test func anArgumentMoreTouchesNoObserver() async throws {
        let test = try TestCenter()
        let heard = Events<String>()
        let old = try test.center.addObserver(for: Self.progress) { heard.add("old \($0) \($1)") }
        let new = try test.center.addObserver(for: Self.extended) { heard.add("new \($0) \($1) \($2)") }
        // One peer with the old declaration, one with the new.
        let peer = try Peer(
            test, "key", "com.example.import.progress", "1", "post-json", "com.example.import.progress",
            #"[1,"new",0.5]"#)
        expectEqual(
            await heard.wait(for: 4).sorted(), ["new 0 stage 1.0", "new 1 new 0.5", "old 0 stage", "old 1 new"])
        _ = (old, new, peer)
    }

    @Test func removalPerNamePerObserverAndAltogether() async throws {
        final class Owner: Sendable {
            let heard: Events<String>
            init(_ heard: Events<String>) { self.heard = heard }
            func progressed(_ percent: Int, _ stage: String) { heard.add("progress") }
            func ticked(_ tick: OwnerTests.Ticks) { heard.add("tick") }
        }
        let test = try TestCenter()
        let center = test.center
        let (one, other) = (Events<String>(), Events<String>())
        let (first, second) = (Owner(one), Owner(other))
        let tokens = try [first, second].map { each -> Center.ObservationToken in
            _ = try center.addObserver(for: OwnerTests.Ticks.self, options: .init(owner: each)) { [weak each] in
                each?.ticked($0)
            }
            return try center.addObserver(for: Self.progress, options: .init(owner: each)) { [weak each] in
                each?.progressed($0, $1)
            }
        }
        func postAll() async throws {
            let peer = try Peer(test, "key", "com.example.import.progress", "1", "post", "ticks", "1")
            await peer.waitForEnd()
        }
        tokens[0].cancel()
        try await postAll()
        expectEqual(await one.wait(for: 1), ["tick"])
        expectEqual(await other.wait(for: 2), ["progress", "tick"])
        center.removeObservers(of: first)
        try await postAll()
        expectEqual(await other.wait(for: 4).count, 4)
        center.removeObservers(of: second)
        #expect(try center.statistics.observers == 0)
        try await postAll()
        #expect(one.count == 1 && other.count == 4)
    }
}
