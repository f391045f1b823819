import Foundation
import Synchronization
import Testing

@testable import Tidings

// What programs do with the messages of Foundation's `NotificationCenter` (SF-0011), with the center's type put in and the values made Codable: no
// `try`, no other label. Whatever compiles here is spelled as there.

private final class Player: Sendable {}
private final class Library: Sendable {}

private struct Paused: Center.MainActorMessage {
    typealias Subject = Player
    var at: Int
    var by: String
}
extension Center.MessageIdentifier where Self == Center.BaseMessageIdentifier<Paused> {
    fileprivate static var changed: Self { .init() }
}

private struct BookAdded: Center.AsyncMessage {
    typealias Subject = Library
    var number: Int
    var title = "Solaris"
}
extension Center.MessageIdentifier where Self == Center.BaseMessageIdentifier<BookAdded> {
    // The same word as above: the subject tells them apart.
    fileprivate static var changed: Self { .init() }
}

/// A center object that is like no other, as `NotificationCenter()` makes it.
@Suite(.timeLimit(.minutes(10)))
struct MainActorMessageTests {
    @Test @MainActor func aPostHasCalledItsObserversWhenItReturns() {
        let center = SharedNotificationCenter()
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

    @Test @MainActor func subjectsAreTheObjectsTheyAre() {
        let center = SharedNotificationCenter()
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

    @Test @MainActor func aNewObjectAtTheSameAddressIsAnother() {
        let center = SharedNotificationCenter()
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
        // Sanitizers keep memory from being used anew.
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
        let center = SharedNotificationCenter()
        let seen = Events<Int>()
        let other = Other()
        await other.observe(center, seen)
        center.post(Paused(at: 7, by: ""))
        #expect(seen.all == [7])
        _ = await other.token
    }

    @Test @MainActor func classesEnumerationsAndActorsTravel() {
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
        let center = SharedNotificationCenter()
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

    @Test @MainActor func aTokenThatGoesEndsIt() {
        let center = SharedNotificationCenter()
        var seen = 0
        do {
            let token = center.addObserver(of: Player.self, for: .changed) { _ in seen += 1 }
            _ = token
        }
        center.post(Paused(at: 0, by: ""))
        #expect(seen == 0)
    }

    @Test @MainActor func anotherCenterLeavesItAlone() {
        let (center, other) = (SharedNotificationCenter(), SharedNotificationCenter())
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
        let center = SharedNotificationCenter()
        var seen: [String] = []
        var inner: Center.ObservationToken?
        var first: Center.ObservationToken?
        first = center.addObserver(of: Player.self, for: .changed) { message in
            seen.append("first \(message.at)")
            if message.at == 1 {
                inner = center.addObserver(for: Paused.self) { seen.append("inner \($0.at)") }
                // Not called while it is being called; the one that was just added is.
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

    @Test @MainActor func whatOthersPostedBeforeComesBefore() throws {
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

    @Test @MainActor func failuresAreTold() throws {
        let test = try TestCenter(.init(maximumPayloadSize: 1024))
        let told = Events<String>()
        test.center.onDiagnostic = { diagnostic in
            switch diagnostic {
            case .postFailed(let name, let error): told.add("post \(name) \(error.code)")
            case .observerFailed(let name, let error): told.add("observer \(name) \(error.code)")
            case .undecodable(let message): told.add("undecodable \(message.notification.name)")
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

@Suite(.timeLimit(.minutes(10)))
struct AsyncMessageTests {
    @Test func observersOfObjectsTypesAndEverything() async throws {
        let center = SharedNotificationCenter()
        let library = Library()
        let seen = Events<String>()
        @Sendable func note(_ text: String) async { seen.add(text) }
        let tokens = [
            center.addObserver(of: library, for: .changed) { message in await note("object \(message.number)") },
            center.addObserver(of: Library.self, for: .changed) { message in await note("type \(message.number)") },
            center.addObserver(of: library, for: BookAdded.self) { message in seen.add("given \(message.number)") },
            center.addObserver(for: BookAdded.self) { message in seen.add("all \(message.number)") },
        ]
        center.post(BookAdded(number: 1), subject: library)
        #expect(await seen.wait(for: 4).sorted() == ["all 1", "given 1", "object 1", "type 1"])
        center.post(BookAdded(number: 2), subject: Library())
        center.post(BookAdded(number: 3))
        #expect(await seen.wait(for: 8).dropFirst(4).sorted() == ["all 2", "all 3", "type 2", "type 3"])
        for token in tokens { center.removeObserver(token) }
    }

    enum Flag {
        @TaskLocal static var isSet = false
    }

    @Test @MainActor func anObserverHasATaskOfItsOwn() async throws {
        let center = SharedNotificationCenter()
        let seen = Events<Bool>()
        await Flag.$isSet.withValue(true) {
            let token = center.addObserver(for: BookAdded.self) { _ in seen.add(Flag.isSet) }
            center.post(BookAdded(number: 1))
            #expect(await seen.wait(for: 1) == [false])
            center.removeObserver(token)
        }
    }

    @Test func anObserverIsCalledInOrder() async throws {
        let center = SharedNotificationCenter()
        let seen = Events<Int>()
        let token = center.addObserver(for: BookAdded.self) { message in
            await Task.yield()
            seen.add(message.number)
        }
        for number in 0..<1000 { center.post(BookAdded(number: number)) }
        #expect(await seen.wait(for: 1000) == Array(0..<1000))
        _ = token
    }

    @Test func aSequenceStartsWithItsIterator() async throws {
        let center = SharedNotificationCenter()
        let sequence = center.messages(of: nil, for: BookAdded.self)
        center.post(BookAdded(number: 0))
        var iterator = sequence.makeAsyncIterator()
        center.post(BookAdded(number: 1))
        #expect(try await iterator.next()?.number == 1)
    }

    @Test func aSequenceEndsWithItsIterator() throws {
        let center = SharedNotificationCenter()
        let sequence = center.messages(of: nil, for: BookAdded.self)
        #expect(try center.statistics.observers == 0)
        do {
            let iterator = sequence.makeAsyncIterator()
            #expect(try center.statistics.observers == 1)
            _ = iterator
        }
        #expect(try center.statistics.observers == 0)
    }

    @Test func copiesOfAnIteratorTakeTurns() async throws {
        let center = SharedNotificationCenter()
        var iterator = center.messages(of: nil, for: BookAdded.self).makeAsyncIterator()
        var copy = iterator
        center.post(BookAdded(number: 1))
        #expect(try await iterator.next()?.number == 1)
        center.post(BookAdded(number: 2))
        #expect(try await copy.next()?.number == 2)
        center.post(BookAdded(number: 3))
        #expect(try await iterator.next()?.number == 3)
    }

    @Test(arguments: 0..<20)
    func aPostIsInTheBufferWhenItReturns(round: Int) async throws {
        let center = SharedNotificationCenter()
        let told = Events<Int>()
        center.onDiagnostic = { if case .missed(let count, _) = $0 { told.add(count) } }
        var iterator = center.messages(of: nil, for: BookAdded.self, bufferSize: 15).makeAsyncIterator()
        for number in 1...5 { center.post(BookAdded(number: number)) }
        for number in 1...5 { #expect(try await iterator.next()?.number == number) }
        // One too many: there the oldest goes without a word, here it is told.
        for number in 1...16 { center.post(BookAdded(number: number)) }
        for number in 2...16 { #expect(try await iterator.next()?.number == number) }
        #expect(told.all == [1])
    }

    @Test func sequencesOfObjectsAndTypes() async throws {
        let center = SharedNotificationCenter()
        let library = Library()
        var ofObject = center.messages(of: library, for: .changed).makeAsyncIterator()
        var ofType = center.messages(of: Library.self, for: .changed).makeAsyncIterator()
        var given = center.messages(of: library, for: BookAdded.self).makeAsyncIterator()
        var all = center.messages(for: BookAdded.self, bufferSize: 3).makeAsyncIterator()
        center.post(BookAdded(number: 1))
        center.post(BookAdded(number: 2), subject: library)
        #expect(try await ofObject.next()?.number == 2)
        #expect(try await ofType.next()?.number == 1)
        #expect(try await given.next()?.number == 2)
        #expect(try await all.next()?.number == 1)
    }

    @Test func cancellingTheTaskEndsASequence() async throws {
        let center = SharedNotificationCenter()
        let task = Task {
            var count = 0
            for await _ in center.messages(for: BookAdded.self) { count += 1 }
            return count
        }
        task.cancel()
        #expect(await task.value == 0)
    }

    @Test func aPostOnTheDispatcherThreadDoesNotWaitForItself() async throws {
        let center = SharedNotificationCenter()
        var iterator = center.messages(for: BookAdded.self).makeAsyncIterator()
        let began = Lock.now
        let returned = Events<UInt64>()
        let token = try center.addObserver(for: Track.self) { track in
            center.post(BookAdded(number: track.number))
            returned.add(Lock.now - began)
        }
        try center.post(Track(5))
        #expect(try await iterator.next()?.number == 5)
        // Not a measure: what would wait for itself gives up after ten seconds, and is set aside before.
        let took = await returned.wait(for: 1)[0]
        #expect(took < 9_000_000_000)
        _ = token
    }
}

/// Subjects that other processes know, and messages that they post.
@Suite(.timeLimit(.minutes(10)))
struct SubjectProcessTests {
    final class Device: Sendable, Identifiable {
        let id: String
        init(_ id: String) { self.id = id }
    }
    struct Room: Identifiable, Sendable {
        var id: Int
    }
    /// As TestPeer posts them.
    struct Entered: Center.AsyncMessage {
        typealias Subject = Room
        static let name: Center.Name = "subject.numbered"
        var number: Int
    }
    struct Plugged: Center.MainActorMessage {
        typealias Subject = Device
        static let name: Center.Name = "subject.numbered"
        var number: Int
    }

    @Test @MainActor func anIdentifierIsTheSubjectInAllProcesses() async throws {
        let test = try TestCenter()
        let seen = Events<String>()
        let tokens = [
            test.center.addObserver(of: Device("usb-1"), for: Plugged.self) { seen.add("device \($0.number)") },
            test.center.addObserver(of: Room(id: 12), for: Entered.self) { seen.add("room \($0.number)") },
        ]
        let peer = try Peer(
            test, "post-subject", "subject.numbered", "12", "2", "post-subject", "subject.numbered", "usb-1", "2",
            "post", "subject.numbered", "1", "observe", "subject.numbered", "2")
        #expect(await seen.wait(for: 4).sorted() == ["device 0", "device 1", "room 0", "room 1"])
        while await peer.lines.wait(for: 4).last != "observing" {}
        test.center.post(Plugged(number: 41), subject: Device("usb-2"))
        test.center.post(Entered(number: 42), subject: Room(id: 13))
        let lines = await peer.lines.wait(for: 6).suffix(2).map { $0.split(separator: " ")[1] }
        #expect(lines == ["41", "42"])
        await peer.waitForEnd()
        #expect(seen.count == 4)
        _ = tokens
    }

    @Test func identities() {
        let (one, other) = (Player(), Player())
        #expect(SubjectIdentity.text(of: one) == SubjectIdentity.text(of: one))
        #expect(SubjectIdentity.text(of: one) != SubjectIdentity.text(of: other))
        #expect(SubjectIdentity.text(of: Device("a")) == "a")
        let id = UUID()
        #expect(SubjectIdentity.text(ofID: id) == id.uuidString)
        #expect(SubjectIdentity.text(ofID: ObjectIdentifier(one)) == nil)
        // A thousand that go are forgotten, and no number comes twice.
        #expect(Set((0..<1000).map { _ in SubjectIdentity.text(of: Player()) }).count == 1000)
    }
}
