import Testing

@testable import Tidings

extension Center.MessageIdentifier where Self == Center.BaseMessageIdentifier<FoundationMessageTests.Docked> {
    static var docked: Self { .init() }
}

/// What Foundation's own tests ask of `NotificationCenter`'s messages, asked of this center, in their order: Docs/ComingFrom.md has the list, and
/// says what can't be the same. Each message and subject is declared in `SubjectMessages.swift` or here.
@Suite(.timeLimit(.minutes(10)))
struct FoundationMessageTests {
    // MARK: On the main actor

    @Test @MainActor func ofATypeToThoseOfTheType() {
        let center = SharedNotificationCenter()
        var count = 0
        let token = center.addObserver(of: Player.self, for: .changed) { _ in
            MainActor.assertIsolated()
            count += 1
        }
        center.post(Paused(at: 3, by: "a"))
        #expect(count == 1)
        center.removeObserver(token)
    }

    @Test @MainActor func ofAnObjectToThoseOfTheObject() {
        let center = SharedNotificationCenter()
        let player = Player()
        var seen: [Int] = []
        let token = center.addObserver(of: player, for: .changed) { seen.append($0.at) }
        center.post(Paused(at: 3, by: "a"), subject: player)
        #expect(seen == [3])
        center.removeObserver(token)
    }

    @Test @MainActor func ofAnObjectNotToThoseOfAnother() {
        let center = SharedNotificationCenter()
        let (observed, posted) = (Player(), Player())
        var seen: [Int] = []
        let token = center.addObserver(of: observed, for: .changed) { seen.append($0.at) }
        center.post(Paused(at: 3, by: "a"), subject: posted)
        #expect(seen.isEmpty)
        center.post(Paused(at: 4, by: "a"), subject: observed)
        #expect(seen == [4])
        center.removeObserver(token)
    }

    @Test @MainActor func ofObjectsToThoseOfTheType() {
        let center = SharedNotificationCenter()
        var seen: [Int] = []
        let token = center.addObserver(of: Player.self, for: .changed) { seen.append($0.at) }
        for at in 1...2 {
            let player = Player()
            center.post(Paused(at: at, by: "a"), subject: player)
        }
        #expect(seen == [1, 2])
        center.removeObserver(token)
    }

    @Test @MainActor func ofATypeNotToThoseOfAnObject() {
        let center = SharedNotificationCenter()
        let player = Player()
        var seen: [Int] = []
        let token = center.addObserver(of: player, for: .changed) { seen.append($0.at) }
        center.post(Paused(at: 3, by: "a"))
        #expect(seen.isEmpty)
        center.post(Paused(at: 4, by: "a"), subject: player)
        #expect(seen == [4])
        center.removeObserver(token)
    }

    @Test @MainActor func withoutAnIdentifier() {
        let center = SharedNotificationCenter()
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

    @Test @MainActor func fromAnotherActorOnTheMainActor() async {
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
        let center = SharedNotificationCenter()
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

    @Test func anywhereOfATypeToThoseOfTheType() async {
        let center = SharedNotificationCenter()
        let seen = Events<Int>()
        @Sendable func note(_ number: Int) async { seen.add(number) }
        let token = center.addObserver(of: Library.self, for: .changed) { message in await note(message.number) }
        center.post(BookAdded(number: 3))
        #expect(await seen.wait(for: 1) == [3])
        center.removeObserver(token)
    }

    @Test func anywhereOfAnObjectToThoseOfTheObject() async {
        let center = SharedNotificationCenter()
        let library = Library()
        let seen = Events<Int>()
        let token = center.addObserver(of: library, for: .changed) { message in seen.add(message.number) }
        center.post(BookAdded(number: 3), subject: library)
        #expect(await seen.wait(for: 1) == [3])
        center.removeObserver(token)
    }

    @Test func anywhereWithoutAnIdentifier() async {
        let center = SharedNotificationCenter()
        let library = Library()
        let seen = Events<String>()
        let tokens = [
            center.addObserver(of: library, for: BookAdded.self) { message in seen.add("object \(message.number)") },
            center.addObserver(for: BookAdded.self) { message in seen.add("all \(message.number)") },
        ]
        center.post(BookAdded(number: 3), subject: library)
        #expect(await seen.wait(for: 2).sorted() == ["all 3", "object 3"])
        for token in tokens { center.removeObserver(token) }
    }

    private enum Here {
        @TaskLocal static var isSo = false
    }

    @Test @MainActor func anywhereIsATaskOfItsOwn() async {
        await Here.$isSo.withValue(true) {
            #expect(Here.isSo)
            let center = SharedNotificationCenter()
            let library = Library()
            let seen = Events<Bool>()
            let token = center.addObserver(of: library, for: BookAdded.self) { _ in seen.add(Here.isSo) }
            center.post(BookAdded(number: 3), subject: library)
            #expect(await seen.wait(for: 1) == [false])
            center.removeObserver(token)
        }
    }

    // MARK: Messages and notifications with a name, an object and a dictionary

    final class Dock: Sendable, Identifiable {
        let id: String
        init(_ id: String) { self.id = id }
    }
    struct Docked: Center.MainActorMessage {
        typealias Subject = Dock
        static let name: Center.Name = "com.example.docked"
        var number: Int
        var text: String
    }
    struct Opened: Center.MainActorMessage {
        typealias Subject = Dock
        static let name: Center.Name = "com.example.opened"
    }

    /// What observers of the name were told, with the object that they asked for.
    private func notifications(
        _ center: Center, _ object: String?, _ name: Center.Name = Docked.name
    ) throws -> (Events<String>, Center.ObservationToken) {
        let seen = Events<String>()
        let token = try center.addObserver(forName: name, object: object) { notification in
            let number = notification.userInfo?["number"]?.integer ?? -1
            seen.add(
                "\(notification.object ?? "-") \(number) \(notification.userInfo?["text"]?.string ?? "-") \(notification.name)"
            )
        }
        return (seen, token)
    }

    @Test @MainActor func aMessageAboutAnObjectIsANotificationWithIt() async throws {
        let center = SharedNotificationCenter()
        let (seen, token) = try notifications(center, "dock-1")
        center.post(Docked(number: 1, text: "One"), subject: Dock("dock-2"))
        center.post(Docked(number: 2, text: "Two"), subject: Dock("dock-1"))
        #expect(await seen.wait(for: 1) == ["dock-1 2 Two com.example.docked"])
        center.removeObserver(token)
    }

    @Test @MainActor func aMessageAboutAnObjectIsANotificationForAll() async throws {
        let center = SharedNotificationCenter()
        let (seen, token) = try notifications(center, nil)
        center.post(Docked(number: 1, text: "One"), subject: Dock("dock-1"))
        center.post(Docked(number: 2, text: "Two"), subject: Dock("dock-2"))
        #expect(await seen.wait(for: 2) == ["dock-1 1 One com.example.docked", "dock-2 2 Two com.example.docked"])
        center.removeObserver(token)
    }

    @Test @MainActor func aMessageAboutNothingIsNoNotificationWithAnObject() async throws {
        let center = SharedNotificationCenter()
        let (seen, token) = try notifications(center, "dock-1")
        center.post(Docked(number: 1, text: "One"))
        center.post(Docked(number: 2, text: "Two"), subject: Dock("dock-1"))
        #expect(await seen.wait(for: 1) == ["dock-1 2 Two com.example.docked"])
        center.removeObserver(token)
    }

    @Test @MainActor func aMessageAboutNothingIsANotificationForAll() async throws {
        let center = SharedNotificationCenter()
        let (seen, token) = try notifications(center, nil)
        center.post(Docked(number: 1, text: "One"))
        #expect(await seen.wait(for: 1) == ["- 1 One com.example.docked"])
        center.removeObserver(token)
    }

    /// There it has a dictionary with itself under a key of the system's.
    @Test @MainActor func aMessageWithoutFieldsIsANotificationWithAnEmptyDictionary() async throws {
        let center = SharedNotificationCenter()
        let seen = Events<Center.UserInfo?>()
        let token = try center.addObserver(forName: Opened.name, object: nil) { seen.add($0.userInfo) }
        center.post(Opened())
        #expect(await seen.wait(for: 1) == [[:]])
        center.removeObserver(token)
    }

    @Test @MainActor func aNotificationWithAnObjectIsAMessageAboutIt() async throws {
        let center = SharedNotificationCenter()
        let seen = Events<String>()
        let token = center.addObserver(of: Dock("dock-1"), for: Docked.self) { seen.add("\($0.number) \($0.text)") }
        try center.post(name: Docked.name, object: "dock-2", userInfo: ["number": 4, "text": "Four"])
        try center.post(name: Docked.name, object: "dock-1", userInfo: ["number": 5, "text": "Six"])
        #expect(await seen.wait(for: 1) == ["5 Six"])
        center.removeObserver(token)
    }

    @Test @MainActor func aNotificationWithAnObjectIsAMessageForAll() async throws {
        let center = SharedNotificationCenter()
        let seen = Events<Int>()
        let token = center.addObserver(of: Dock.self, for: .docked) { seen.add($0.number) }
        try center.post(name: Docked.name, object: "dock-1", userInfo: ["number": 5, "text": "Six"])
        #expect(await seen.wait(for: 1) == [5])
        center.removeObserver(token)
    }

    @Test @MainActor func aNotificationWithoutAnObjectIsNoMessageAboutOne() async throws {
        let center = SharedNotificationCenter()
        let seen = Events<Int>()
        let token = center.addObserver(of: Dock("dock-1"), for: Docked.self) { seen.add($0.number) }
        try center.post(name: Docked.name, userInfo: ["number": 5, "text": "Six"])
        center.post(Docked(number: 7, text: ""), subject: Dock("dock-1"))
        #expect(seen.all == [7])
        center.removeObserver(token)
    }

    @Test @MainActor func aNotificationWithoutAnObjectIsAMessageForAll() async throws {
        let center = SharedNotificationCenter()
        let seen = Events<Int>()
        let token = center.addObserver(of: Dock.self, for: .docked) { seen.add($0.number) }
        try center.post(name: Docked.name, userInfo: ["number": 5, "text": "Six"])
        #expect(await seen.wait(for: 1) == [5])
        center.removeObserver(token)
    }

    /// There nobody is told of it.
    @Test @MainActor func aNotificationThatIsNoMessage() async throws {
        let center = SharedNotificationCenter()
        let (seen, told) = (Events<String>(), Events<Center.Name>())
        center.onDiagnostic = { if case .undecodable(let message) = $0 { told.add(message.notification.name) } }
        let tokens = [
            center.addObserver(for: Opened.self) { _ in seen.add("opened") },
            center.addObserver(for: Docked.self) { _ in seen.add("docked") },
        ]
        try center.post(name: Docked.name)
        try center.post(name: Opened.name)
        center.post(Opened())
        #expect(await told.wait(for: 2).map(\.rawValue).sorted() == ["com.example.docked", "com.example.opened"])
        #expect(seen.all == ["opened"])
        for token in tokens { center.removeObserver(token) }
    }

    // MARK: What can be a message

    @Test @MainActor func aStructure() {
        struct InStructure: Center.MainActorMessage {
            typealias Subject = Player
            let text: String
        }
        let center = SharedNotificationCenter()
        let player = Player()
        var seen: [String] = []
        let token = center.addObserver(of: player, for: InStructure.self) { seen.append($0.text) }
        center.post(InStructure(text: "info"), subject: player)
        #expect(seen == ["info"])
        center.removeObserver(token)
    }

    @Test @MainActor func aClass() {
        class InClass: Center.MainActorMessage {
            typealias Subject = Player
            let text: String
            init(_ text: String) { self.text = text }
        }
        let center = SharedNotificationCenter()
        let player = Player()
        var seen: [InClass] = []
        let token = center.addObserver(of: player, for: InClass.self) { seen.append($0) }
        let posted = InClass("info")
        center.post(posted, subject: player)
        #expect(seen.map(\.text) == ["info"])
        // It has travelled.
        #expect(seen.first !== posted)
        center.removeObserver(token)
    }

    @Test @MainActor func anEnumeration() {
        enum Step: Int, Center.MainActorMessage {
            typealias Subject = Player
            case first = 1
            case second, third
        }
        let center = SharedNotificationCenter()
        var seen: [Step] = []
        let token = center.addObserver(for: Step.self) { seen.append($0) }
        center.post(Step(rawValue: 3)!)
        #expect(seen == [.third])
        center.removeObserver(token)
    }

    /// The compiler writes no coding for actors, and a decoder isn't Sendable, which their initializers ask for.
    @Test @MainActor func anActor() {
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
        let center = SharedNotificationCenter()
        var seen: [String] = []
        let token = center.addObserver(for: InActor.self) { seen.append($0.text) }
        center.post(InActor("info"))
        #expect(seen == ["info"])
        center.removeObserver(token)
    }

    // MARK: Tokens

    @Test @MainActor func whoWasRemovedIsNotCalled() {
        let center = SharedNotificationCenter()
        var seen: [Int] = []
        let token = center.addObserver(of: Player.self, for: .changed) { seen.append($0.at) }
        center.removeObserver(token)
        center.post(Paused(at: 3, by: "a"))
        #expect(seen.isEmpty)
    }

    @Test @MainActor func whoseTokenIsGoneIsNotCalled() {
        let center = SharedNotificationCenter()
        var seen: [Int] = []
        do {
            let token = center.addObserver(of: Player.self, for: .changed) { seen.append($0.at) }
            _ = token
        }
        center.post(Paused(at: 3, by: "a"))
        #expect(seen.isEmpty)
    }

    /// There a center is asked twice, and counts.
    @Test @MainActor func aTokenThatWasRemovedGoesWithoutMoreAdo() throws {
        let center = SharedNotificationCenter()
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

    @Test @MainActor func anotherCenterRemovesNothing() {
        let (center, other) = (SharedNotificationCenter(), SharedNotificationCenter())
        var seen: [Int] = []
        let token = center.addObserver(of: Player.self, for: .changed) { seen.append($0.at) }
        other.removeObserver(token)
        center.post(Paused(at: 3, by: "a"))
        #expect(seen == [3])
        center.removeObserver(token)
    }

    // MARK: Sequences

    @Test func whoWaitsIsWokenByCancellation() async {
        let center = SharedNotificationCenter()
        let task = Task {
            for await _ in center.messages(for: BookAdded.self) {}
            return "ended"
        }
        // It waits, or is about to.
        while (try? center.statistics.observers) == 0 { await Task.yield() }
        task.cancel()
        #expect(await task.value == "ended")
    }

    @Test func whoWasCancelledDoesNotWait() async {
        let center = SharedNotificationCenter()
        let gate = Events<Void>()
        let task = Task {
            await gate.wait(for: 1)
            var iterator = center.messages(for: BookAdded.self).makeAsyncIterator()
            return try? await iterator.next()
        }
        task.cancel()
        gate.add(())
        #expect(await task.value == nil)
    }

    @Test func observationStartsWithTheIterator() async throws {
        let center = SharedNotificationCenter()
        let sequence = center.messages(of: nil, for: BookAdded.self)
        center.post(BookAdded(number: 0))
        var iterator = sequence.makeAsyncIterator()
        center.post(BookAdded(number: 1, title: "Eden"))
        let book: BookAdded? = try await iterator.next()
        #expect(book?.number == 1 && book?.title == "Eden")
    }

    @Test func observationEndsWithTheIterator() throws {
        let center = SharedNotificationCenter()
        #expect(try center.statistics.observers == 0)
        let sequence = center.messages(of: nil, for: BookAdded.self)
        do {
            let iterator = sequence.makeAsyncIterator()
            _ = iterator
            #expect(try center.statistics.observers == 1)
        }
        #expect(try center.statistics.observers == 0)
    }

    @Test func copiesOfAnIteratorAreOne() async throws {
        let center = SharedNotificationCenter()
        var iterator = center.messages(of: nil, for: BookAdded.self).makeAsyncIterator()
        var copy = iterator
        for number in 1...3 {
            center.post(BookAdded(number: number))
            let book = number == 2 ? try await copy.next() : try await iterator.next()
            #expect(book?.number == number)
        }
    }

    @Test func whatDoesNotFitTheBufferFallsOutAtItsFront() async throws {
        let center = SharedNotificationCenter()
        let missed = Events<Int>()
        center.onDiagnostic = { if case .missed(let count, _) = $0 { missed.add(count) } }
        let size = 12
        var iterator = center.messages(of: nil, for: BookAdded.self, bufferSize: size).makeAsyncIterator()
        for number in 1...4 { center.post(BookAdded(number: number)) }
        for number in 1...4 { #expect(try await iterator.next()?.number == number) }
        for number in 1...(size + 1) { center.post(BookAdded(number: number)) }
        for number in 2...(size + 1) { #expect(try await iterator.next()?.number == number) }
        // And is told, which it isn't there.
        #expect(missed.all == [1])
    }

    /// In its own buffer, that is, when the post returns: no queue of the center's stands between.
    @Test func whatWasPostedIsInTheBuffer() async throws {
        let center = SharedNotificationCenter()
        var iterator = center.messages(of: nil, for: BookAdded.self, bufferSize: 2).makeAsyncIterator()
        for number in 1...5 { center.post(BookAdded(number: number)) }
        // Whatever had come later would have come besides.
        for number in 4...5 { #expect(try await iterator.next()?.number == number) }
    }

    @Test func allWaysToAskForASequence() async throws {
        let center = SharedNotificationCenter()
        let library = Library()
        do {
            var iterator = center.messages(of: library, for: .changed).makeAsyncIterator()
            center.post(BookAdded(number: 1), subject: library)
            #expect(try await iterator.next()?.number == 1)
        }
        do {
            var iterator = center.messages(of: Library.self, for: .changed).makeAsyncIterator()
            center.post(BookAdded(number: 2))
            #expect(try await iterator.next()?.number == 2)
        }
        do {
            var iterator = center.messages(of: library, for: BookAdded.self).makeAsyncIterator()
            center.post(BookAdded(number: 3), subject: library)
            #expect(try await iterator.next()?.number == 3)
        }
        do {
            var iterator = center.messages(of: nil, for: BookAdded.self).makeAsyncIterator()
            center.post(BookAdded(number: 4))
            #expect(try await iterator.next()?.number == 4)
        }
    }
}
