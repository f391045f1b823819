import Testing
import TidingsAdministration
import TidingsFoundation

@testable import Tidings

/// Foundation's own tests of `NotificationCenter`'s messages, with this center, in their order. Docs/ComingFrom.md has
/// the list and the differences. Messages and subjects are declared in `SubjectMessages.swift` or here.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct FoundationMessageTests {
    // MARK: On the main actor

    @Test @MainActor func ofATypeToThoseOfTheType() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        var count = 0
        let token = center.addObserver(of: Player.self, for: .changed) { _ in
            MainActor.assertIsolated()
            count += 1
        }
        center.post(Paused(at: 3, by: "a"))
        #expect(count == 1)
        center.removeObserver(token)
    }

    @Test @MainActor func ofAnObjectToThoseOfTheObject() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let player = Player()
        var seen: [Int] = []
        let token = center.addObserver(of: player, for: .changed) { seen.append($0.at) }
        center.post(Paused(at: 3, by: "a"), subject: player)
        #expect(seen == [3])
        center.removeObserver(token)
    }

    @Test @MainActor func ofAnObjectNotToThoseOfAnother() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let (observed, posted) = (Player(), Player())
        var seen: [Int] = []
        let token = center.addObserver(of: observed, for: .changed) { seen.append($0.at) }
        center.post(Paused(at: 3, by: "a"), subject: posted)
        #expect(seen.isEmpty)
        center.post(Paused(at: 4, by: "a"), subject: observed)
        #expect(seen == [4])
        center.removeObserver(token)
    }

    @Test @MainActor func ofObjectsToThoseOfTheType() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        var seen: [Int] = []
        let token = center.addObserver(of: Player.self, for: .changed) { seen.append($0.at) }
        for at in 1...2 {
            let player = Player()
            center.post(Paused(at: at, by: "a"), subject: player)
        }
        #expect(seen == [1, 2])
        center.removeObserver(token)
    }

    @Test @MainActor func ofATypeNotToThoseOfAnObject() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let player = Player()
        var seen: [Int] = []
        let token = center.addObserver(of: player, for: .changed) { seen.append($0.at) }
        center.post(Paused(at: 3, by: "a"))
        #expect(seen.isEmpty)
        center.post(Paused(at: 4, by: "a"), subject: player)
        #expect(seen == [4])
        center.removeObserver(token)
    }

    @Test @MainActor func withoutAnIdentifier() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let player = Player()
        var seen: [String] = []
        let tokens = [
            center.addObserver(of: player, for: Paused.self) { seen.append("object \($0.at)") },
            center.addObserver(for: Paused.self) { seen.append("all \($0.at)") },
        ]
        center.post(Paused(at: 3, by: "a"), subject: player)
        #expect(seen == ["object 3", "all 3"])
        for token in tokens { center.removeObserver(token) }
    }

    /// Without the module, which differs between programs that share the source.
    @Test func aNameIsMadeOfTheType() {
        #expect(Paused.name == "Paused" && BookAdded.name == "BookAdded" && Docked.name == "com.example.docked")
    }

    @Test @MainActor func fromAnotherActorOnTheMainActor() async throws {
        actor Elsewhere {
            let center: SharedNotificationCenter
            let seen: Events<Int>
            var token: SharedNotificationCenter.ObservationToken?

            init(_ center: SharedNotificationCenter, _ seen: Events<Int>) { (self.center, self.seen) = (center, seen) }

            func observe() {
                token = center.addObserver(of: Player.self, for: .changed) { [seen] message in
                    MainActor.assertIsolated()
                    seen.add(message.at)
                }
            }

            deinit { if let token { center.removeObserver(token) } }
        }
        let center = try SharedNotificationCenter.sealed(named: "test")
        let seen = Events<Int>()
        do {
            let elsewhere = Elsewhere(center, seen)
            await elsewhere.observe()
            center.post(Paused(at: 3, by: "a"))
            #expect(seen.all == [3])
            withExtendedLifetime(elsewhere) {}
        }
        center.post(Paused(at: 4, by: "a"))
        #expect(seen.all == [3])
    }

    // MARK: Anywhere

    @Test func anywhereOfATypeToThoseOfTheType() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let seen = Events<Int>()
        @Sendable func note(_ number: Int) async { seen.add(number) }
        let token = center.addObserver(of: Library.self, for: .changed) { message in await note(message.number) }
        center.post(BookAdded(number: 3))
        expectEqual(await seen.wait(for: 1), [3])
        center.removeObserver(token)
    }

    @Test func anywhereOfAnObjectToThoseOfTheObject() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let library = Library()
        let seen = Events<Int>()
        let token = center.addObserver(of: library, for: .changed) { message in seen.add(message.number) }
        center.post(BookAdded(number: 3), subject: library)
        expectEqual(await seen.wait(for: 1), [3])
        center.removeObserver(token)
    }

    @Test func anywhereWithoutAnIdentifier() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let library = Library()
        let seen = Events<String>()
        let tokens = [
            center.addObserver(of: library, for: BookAdded.self) { message in seen.add("object \(message.number)") },
            center.addObserver(for: BookAdded.self) { message in seen.add("all \(message.number)") },
        ]
        center.post(BookAdded(number: 3), subject: library)
        expectEqual(await seen.wait(for: 2).sorted(), ["all 3", "object 3"])
        for token in tokens { center.removeObserver(token) }
    }

    private enum Here {
        @TaskLocal static var isSo = false
    }

    @Test @MainActor func anywhereIsATaskOfItsOwn() async throws {
        try await Here.$isSo.withValue(true) {
            #expect(Here.isSo)
            let center = try SharedNotificationCenter.sealed(named: "test")
            let library = Library()
            let seen = Events<Bool>()
            let token = center.addObserver(of: library, for: BookAdded.self) { _ in seen.add(Here.isSo) }
            center.post(BookAdded(number: 3), subject: library)
            expectEqual(await seen.wait(for: 1), [false])
            center.removeObserver(token)
        }
    }

    // MARK: What can be a message

    @Test @MainActor func aStructure() throws {
        struct InStructure: Center.MainActorMessage {
            typealias Subject = Player
            let text: String
        }
        let center = try SharedNotificationCenter.sealed(named: "test")
        let player = Player()
        var seen: [String] = []
        let token = center.addObserver(of: player, for: InStructure.self) { seen.append($0.text) }
        center.post(InStructure(text: "info"), subject: player)
        #expect(seen == ["info"])
        center.removeObserver(token)
    }

    @Test @MainActor func aClass() throws {
        class InClass: Center.MainActorMessage {
            typealias Subject = Player
            let text: String
            init(_ text: String) { self.text = text }
        }
        let center = try SharedNotificationCenter.sealed(named: "test")
        let player = Player()
        var seen: [InClass] = []
        let token = center.addObserver(of: player, for: InClass.self) { seen.append($0) }
        let posted = InClass("info")
        center.post(posted, subject: player)
        #expect(seen.map(\.text) == ["info"])
        // The message was encoded and decoded.
        #expect(seen.first !== posted)
        center.removeObserver(token)
    }

    @Test @MainActor func anEnumeration() throws {
        enum Step: Int, Center.MainActorMessage {
            typealias Subject = Player
            case first = 1
            case second, third
        }
        let center = try SharedNotificationCenter.sealed(named: "test")
        var seen: [Step] = []
        let token = center.addObserver(for: Step.self) { seen.append($0) }
        center.post(Step(rawValue: 3)!)
        #expect(seen == [.third])
        center.removeObserver(token)
    }

    /// The compiler synthesizes no coding for actors, and their initializers need a Sendable decoder, which decoders
    /// are not.
    @Test @MainActor func anActor() throws {
        actor InActor: @preconcurrency Decodable, Center.MainActorMessage {
            typealias Subject = Player
            let text: String
            init(_ text: String) { self.text = text }

            init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
            nonisolated func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(text)
            }
        }
        let center = try SharedNotificationCenter.sealed(named: "test")
        var seen: [String] = []
        let token = center.addObserver(for: InActor.self) { seen.append($0.text) }
        center.post(InActor("info"))
        #expect(seen == ["info"])
        center.removeObserver(token)
    }

    // MARK: Tokens

    @Test @MainActor func aRemovedObserverIsNotCalled() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        var seen: [Int] = []
        let token = center.addObserver(of: Player.self, for: .changed) { seen.append($0.at) }
        center.removeObserver(token)
        center.post(Paused(at: 3, by: "a"))
        #expect(seen.isEmpty)
    }

    @Test @MainActor func anObserverWithoutItsTokenIsNotCalled() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let told = Events<Center.Mistake.Kind>()
        center.onDiagnostic = { if case .mistake(let mistake) = $0 { told.add(mistake.kind) } }
        var seen: [Int] = []
        do {
            let token = center.addObserver(of: Player.self, for: .changed) { seen.append($0.at) }
            _ = token
        }
        center.post(Paused(at: 3, by: "a"))
        #expect(seen.isEmpty)
        // Whether the center reports the token depends on time: it does if the token lived for less than 100 µs.
        #expect(told.all.allSatisfy { $0 == .tokenNotKept([Paused.name]) })
    }

    /// Foundation's test asks a center twice, and counts.
    @Test @MainActor func aCancelledTokenIsReleasedWithoutFurtherEffect() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        var seen: [Int] = []
        let kept = center.addObserver(of: Player.self, for: .changed) { seen.append($0.at) }
        do {
            let token = center.addObserver(of: Player.self, for: .changed) { seen.append(-$0.at) }
            center.removeObserver(token)
            center.removeObserver(token)
            #expect(token.isCancelled)
        }
        center.post(Paused(at: 3, by: "a"))
        #expect(seen == [3])
        center.removeObserver(kept)
        #expect(try center.statistics.observers == 0)
    }

    @Test @MainActor func anotherCenterRemovesNothing() throws {
        let center = try SharedNotificationCenter.sealed(named: "one")
        let other = try SharedNotificationCenter.sealed(named: "other")
        var seen: [Int] = []
        let token = center.addObserver(of: Player.self, for: .changed) { seen.append($0.at) }
        other.removeObserver(token)
        center.post(Paused(at: 3, by: "a"))
        #expect(seen == [3])
        center.removeObserver(token)
    }
}
