import Testing
import TidingsFoundation

@testable import Tidings

/// A sealed center, as `NotificationCenter()` makes one. Uses the messages of `SubjectMessages.swift`.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct MainActorMessageTests {
    @Test @MainActor func aPostHasCalledItsObserversWhenItReturns() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        var seen: [String] = []
        let token = center.addObserver(of: Player.self, for: .changed) { message in
            MainActor.assertIsolated()
            seen.append("\(message.by) \(message.at)")
        }
        for at in 0..<1000 { center.post(Paused(at: at, by: "a")) }
        #expect(seen == (0..<1000).map { "a \($0)" })
        center.removeObserver(token)
        center.post(Paused(at: 0, by: "b"))
        #expect(seen.count == 1000)
    }

    @Test @MainActor func subjectsAreTheObjectsTheyAre() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let (one, other) = (Player(), Player())
        var seen: [String] = []
        let tokens = [
            center.addObserver(of: one, for: .changed) { seen.append("one \($0.at)") },
            center.addObserver(of: other, for: Paused.self) { seen.append("other \($0.at)") },
            center.addObserver(of: Player.self, for: .changed) { seen.append("type \($0.at)") },
            center.addObserver(for: Paused.self) { seen.append("all \($0.at)") },
            center.addObserver(of: nil, for: Paused.self) { seen.append("nil \($0.at)") },
        ]
        center.post(Paused(at: 1, by: ""), subject: one)
        center.post(Paused(at: 2, by: ""), subject: other)
        center.post(Paused(at: 3, by: ""), subject: Player())
        center.post(Paused(at: 4, by: ""))
        let expected = [
            "one 1", "type 1", "all 1", "nil 1", "other 2", "type 2", "all 2", "nil 2", "type 3", "all 3", "nil 3",
            "type 4",
            "all 4", "nil 4",
        ]
        #expect(seen == expected)
        for token in tokens { center.removeObserver(token) }
        center.post(Paused(at: 5, by: ""), subject: one)
        #expect(seen.count == 14)
    }

    @Test @MainActor func aNewObjectAtTheSameAddressIsAnother() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        var seen = 0
        var tokens: [Center.ObservationToken] = []
        var addresses: Set<ObjectIdentifier> = []
        var isReused = false
        for _ in 0..<200 {
            let gone = Player()
            isReused = isReused || !addresses.insert(ObjectIdentifier(gone)).inserted
            tokens.append(center.addObserver(of: gone, for: .changed) { _ in seen += 1 })
        }
        withExtendedLifetime(tokens) { center.post(Paused(at: 0, by: ""), subject: Player()) }
        #expect(seen == 0)
        // Sanitizers delay the reuse of memory.
        if !isReused { print("no address was used anew") }
    }

    @Test @MainActor func anObserverFromAnywhereIsCalledOnTheMainActor() async throws {
        actor Other {
            var token: Center.ObservationToken?
            func observe(_ center: Center, _ seen: Events<Int>) {
                token = center.addObserver(of: Player.self, for: .changed) { message in
                    MainActor.assertIsolated()
                    seen.add(message.at)
                }
            }
        }
        let center = try SharedNotificationCenter.sealed(named: "test")
        let seen = Events<Int>()
        let other = Other()
        await other.observe(center, seen)
        center.post(Paused(at: 7, by: ""))
        #expect(seen.all == [7])
        _ = await other.token
    }

    @Test @MainActor func classesEnumerationsAndActorsTravel() throws {
        final class InClass: Center.MainActorMessage {
            typealias Subject = Player
            let text: String
            init(_ text: String) { self.text = text }
        }
        enum InEnumeration: Int, Center.MainActorMessage {
            typealias Subject = Player
            case first = 1
            case second
        }
        let center = try SharedNotificationCenter.sealed(named: "test")
        let player = Player()
        var seen: [String] = []
        let tokens = [
            center.addObserver(of: player, for: InClass.self) { seen.append($0.text) },
            center.addObserver(for: InEnumeration.self) { seen.append("\($0)") },
        ]
        center.post(InClass("info"), subject: player)
        center.post(InEnumeration(rawValue: 2)!)
        #expect(seen == ["info", "second"])
        _ = tokens
    }

    @Test @MainActor func aReleasedTokenEndsTheObservation() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let told = Events<Center.Mistake.Kind>()
        center.onDiagnostic = { if case .mistake(let mistake) = $0 { told.add(mistake.kind) } }
        var seen = 0
        do {
            let token = center.addObserver(of: Player.self, for: .changed) { _ in seen += 1 }
            _ = token
        }
        center.post(Paused(at: 0, by: ""))
        #expect(seen == 0)
        // Whether the center reports the token depends on time: it does if the token lived for less than 100 µs.
        #expect(told.all.allSatisfy { $0 == .tokenNotKept([Paused.name]) })
    }

    @Test @MainActor func anotherCenterDoesNotEndTheObservation() throws {
        let center = try SharedNotificationCenter.sealed(named: "one")
        let other = try SharedNotificationCenter.sealed(named: "other")
        var seen = 0
        let token = center.addObserver(of: Player.self, for: .changed) { _ in seen += 1 }
        other.removeObserver(token)
        other.post(Paused(at: 0, by: ""))
        #expect(seen == 0)
        center.post(Paused(at: 0, by: ""))
        #expect(seen == 1)
        center.removeObserver(token)
        #expect(token.isCancelled)
    }

    @Test @MainActor func postsAddsAndRemovalsInsideAnObserver() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        var seen: [String] = []
        var inner: Center.ObservationToken?
        var first: Center.ObservationToken?
        first = center.addObserver(of: Player.self, for: .changed) { message in
            seen.append("first \(message.at)")
            if message.at == 1 {
                inner = center.addObserver(for: Paused.self) { seen.append("inner \($0.at)") }
                // An observer is not called again while it is being called. The observer added last is called.
                center.post(Paused(at: 2, by: ""))
                seen.append("posted 2")
            } else {
                first?.cancel()
            }
        }
        center.post(Paused(at: 1, by: ""))
        #expect(seen == ["first 1", "inner 2", "posted 2"])
        while seen.count < 4 { await Task.yield() }
        #expect(seen.last == "first 2")
        center.post(Paused(at: 3, by: ""))
        #expect(seen == ["first 1", "inner 2", "posted 2", "first 2", "inner 3"])
        _ = inner
    }

    @Test @MainActor func earlierPostsOfOtherProcessesComeFirst() throws {
        let test = try TestCenter()
        var seen: [Int] = []
        let token = test.center.addObserver(for: Paused.self) { seen.append($0.at) }
        let other = try test.other()
        for at in 0..<100 {
            try other.post(name: Paused.name, payload: .json(#"{"at": \#(at), "by": "other"}"#))
        }
        test.center.post(Paused(at: 100, by: ""))
        #expect(seen == Array(0...100))
        _ = token
    }

    @Test @MainActor func failuresAreReported() throws {
        let test = try TestCenter(.init(maximumPayloadSize: 1024))
        let told = Events<String>()
        test.center.onDiagnostic = { diagnostic in
            switch diagnostic {
            case .postFailed(let name, let error): told.add("post \(name) \(error.code)")
            case .observerFailed(let name, let error): told.add("observer \(name?.rawValue ?? "") \(error.code)")
            case .undecodable(let notification, _): told.add("undecodable \(notification.name)")
            default: told.add("\(diagnostic)")
            }
        }
        struct Nameless: Center.MainActorMessage {
            static var name: Center.Name { "" }
            typealias Subject = Player
        }
        var seen = 0
        let token = test.center.addObserver(for: Paused.self) { _ in seen += 1 }
        test.center.post(Paused(at: 1, by: String(repeating: "x", count: 2000)))
        let nameless = test.center.addObserver(for: Nameless.self) { _ in seen += 1 }
        #expect(nameless.isCancelled)
        nameless.cancel()
        test.center.removeObserver(nameless)
        try test.center.post(name: Paused.name, payload: .json(#"{"at": "x"}"#))
        test.center.post(Paused(at: 1, by: ""))
        #expect(seen == 1)
        #expect(told.all == ["post Paused payloadTooLarge", "observer  invalidName", "undecodable Paused"])
        _ = token
    }
}
