import Observation
import Testing
import TidingsAdministration
import TidingsFoundation

@testable import Tidings

/// Setting `nil` clears the retained value.
@MainActor @Suite(.serialized, .timeLimit(.minutes(10)))
struct ClearingTests {
    private struct Kept: Center.Message, Equatable {
        static let name: Center.Name = "kept"
        var number: Int
    }

    nonisolated private static let ways = [
        "literal", "value", "payload", "message", "name", "type", "key", "state",
    ]

    /// When another process clears a value: an observer in this process is told, a reader of the state finds none, and
    /// a later observer receives none.
    @Test(arguments: ways)
    func nilInAnotherProcessClearsTheValue(_ way: String) async throws {
        let test = try TestCenter()
        try test.center.setState(7, for: "kept")
        let state = try test.center.observedState(for: "kept", as: Int.self)
        #expect(state.value == 7)
        let gone = Events<Void>()
        withObservationTracking {
            _ = state.value
        } onChange: {
            gone.add(())
        }
        let peer = try Peer(test, "keep-nothing", "kept", way, "wait")
        await gone.wait(for: 1)
        // The value changes in the same turn of the main actor.
        #expect(state.value == nil)
        expectEqual(await peer.line(), "retained nothing")
        #expect(try test.center.rawState(for: "kept") == nil)
        #expect(try test.center.state(for: "kept", as: Int.self) == nil)
        #expect(try test.center.observedNames.allSatisfy { !$0.isRetained })
        // One later observer here, and one in another process.
        var late = test.center.deliveries(of: Kept.self).makeAsyncIterator()
        let other = try Peer(test, "observe", "kept", "1")
        expectEqual(await other.line(), "observing")
        let place = try test.center.post(name: "kept", payload: .init(encoding: Kept(number: 8)))
        guard case .message(Kept(number: 8), let envelope) = await late.next() else {
            Issue.record("something was kept")
            return
        }
        #expect(!envelope.isRetained && envelope.sequence == place)
        expect(await other.line(2)) { $0.hasPrefix("got 8 \(place) ") }
        await other.waitForEnd()
        peer.send()
        await peer.waitForEnd()
    }

    private struct MaybeKept: Center.Message {
        static let name: Center.Name = "kept"
        var number: Int?
    }

    /// A message of the same name, with any object as its subject.
    private struct KeptAbout: Center.MainActorMessage {
        typealias Subject = Holder
        static let name: Center.Name = "kept"
        var number: Int?
    }

    private final class Holder: Sendable {}

    private final class Owner: Sendable {
        let heard = Events<String>()
        func take(_ kept: Kept) { heard.add("\(kept.number)") }
    }

    /// A cleared value decodes as no type, not even as a type without fields. An observer of "cleared" is told.
    @Test func observersOfATypeAreNotToldThatTheValueWasCleared() async throws {
        let test = try TestCenter()
        let center = test.center
        let (heard, undecodable) = (Events<String>(), Events<String>())
        let report: @Sendable (Center.Notification, any Error) -> Void = { undecodable.add("\($1)") }
        center.onDiagnostic = { if case .undecodable(let notification, let error) = $0 { report(notification, error) } }
        let owner = Owner()
        let tokens = [
            try center.addObserver(for: Kept.self, options: .init(onUndecodable: report)) {
                heard.add("type \($0.number)")
            },
            try center.addObserver(for: MaybeKept.self, options: .init(onUndecodable: report)) {
                heard.add("maybe \($0.number ?? -1)")
            },
            try center.addObserver(for: Center.Key<Int>("pair"), options: .init(onUndecodable: report)) {
                heard.add("key \($0)")
            },
            center.addObserver(for: KeptAbout.self) { heard.add("about \($0.number ?? -1)") },
        ]
        _ = try center.addObserver(for: Kept.self, options: .init(owner: owner)) { [weak owner] in owner?.take($0) }
        var raw = center.deliveries(ofNames: ["kept", "pair"]).makeAsyncIterator()
        var typed = center.messages(of: Kept.self).makeAsyncIterator()
        let peer = try Peer(test, "keep-nothing", "kept", "literal", "wait")
        expectEqual(await peer.line(), "retained nothing")
        try center.setState(nil, for: "pair")
        try center.post(Center.Key<Int>("pair"), 3)
        try center.post(Kept(number: 2))
        expectEqual(await typed.next(), Kept(number: 2))
        expectEqual(Set(await heard.wait(for: 4)), ["type 2", "maybe 2", "key 3", "about 2"])
        expectEqual(await owner.heard.wait(for: 1), ["2"])
        for (name, isCleared) in [("kept", true), ("pair", true), ("pair", false), ("kept", false)] {
            guard case .notification(let notification) = await raw.next() else { return }
            #expect(notification.name.rawValue == name && notification.envelope.isCleared == isCleared)
            #expect((notification.payload == .empty) == isCleared)
        }
        #expect(undecodable.all == [] && heard.count == 4)
        peer.send()
        await peer.waitForEnd()
        for token in tokens { token.cancel() }
        center.removeObservers(of: owner)
    }

    @Test func aPresentValueIsRetained() throws {
        let test = try TestCenter()
        let center = test.center
        let pair = Center.Key<Int, String>("pair")
        let (number, text): (Int?, Center.RawPayload?) = (1, .text("x"))
        try center.setState(number, for: "number")
        #expect(try center.state(for: "number", as: Int.self) == 1)
        try center.setState(text, for: "text")
        try center.setState(.text("y"), for: "literal")
        #expect(try center.rawState(for: "text") == .text("x") && center.rawState(for: "literal") == .text("y"))
        try center.setState(Optional(Kept(number: 2)))
        #expect(try center.state(for: Kept.self) == Kept(number: 2))
        try center.setState(5, "a", for: pair)
        let same = try #require(try center.state(for: pair))
        #expect(same == (5, "a"))
    }

    /// A key's argument that is nil counts as present.
    @Test func anArgumentThatIsNilIsRetained() throws {
        let test = try TestCenter()
        let key = Center.Key<Int?>("key")
        try test.center.setState(nil, for: key)
        #expect(try test.center.rawState(for: "key")?.json == "[null]")
        try test.center.setState(nil, for: key.name)
        try test.center.post(key, nil, options: .init(retain: true))
        #expect(try test.center.rawState(for: "key")?.json == "[null]")
        let state: Center.ObservedState<Int?> = try test.center.observedState(for: "value")
        try state.set(nil)
        #expect(try test.center.rawState(for: "value")?.json == "null")
    }

    /// Like any post: it is refused at its deadline, or at once inside the closure that it would wait for.
    @Test func clearingIsHeldBackLikeAnyPost() async throws {
        let test = try TestCenter(smallRing)
        let center = test.center
        try center.setState(7, for: "kept")
        let gate = Gate()
        let codes = Events<SharedNotificationError.Code?>()
        let token = try center.addObserver(forNames: ["full"], options: .init(lossless: true)) { _ in
            gate.pass()
            if codes.count > 1 { return }
            do throws(SharedNotificationError) {
                try center.setState(nil, for: "kept", timeout: .seconds(600))
                codes.add(nil)
            } catch { codes.add(error.code) }
        }
        let full = #expect(throws: SharedNotificationError.self) {
            while true { try center.post(name: "full", payload: .empty) }
        }
        #expect(full?.code == .full)
        do throws(SharedNotificationError) {
            try center.setState(nil, for: "kept", timeout: .milliseconds(1))
            codes.add(nil)
        } catch { codes.add(error.code) }
        gate.open()
        expectEqual(await codes.wait(for: 2), [.full, .full])
        await token.cancelAndWait()
        try center.setState(nil, for: "kept")
        #expect(try center.rawState(for: "kept") == nil)
    }
}
