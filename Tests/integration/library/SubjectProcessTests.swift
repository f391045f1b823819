import Foundation
import Testing

@testable import Tidings
@testable import TidingsFoundation

extension Center.MessageIdentifier where Self == Center.BaseMessageIdentifier<SubjectProcessTests.Entered> {
    static var entered: Self { .init() }
}

/// Subjects that other processes know, and messages posted by other processes.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct SubjectProcessTests {
    final class Device: Sendable, Identifiable {
        let id: String
        init(_ id: String) { self.id = id }
    }
    struct Room: Identifiable, Sendable {
        var id: Int
    }
    final class Plain: Sendable {}
    /// The declarations of TestPeer.
    struct AboutPlain: Center.MainActorMessage {
        typealias Subject = Plain
        static let name: Center.Name = "test.plain"
        var number: Int
    }
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

    struct Seat: Identifiable, Sendable {
        var id: UUID
    }
    final class Booking: Identifiable, Sendable {
        let id: UUID
        init(_ id: UUID) { self.id = id }
    }
    struct Taken: Center.AsyncMessage {
        typealias Subject = Seat
        static let name: Center.Name = "seat.taken"
        var number: Int
    }
    struct Freed: Center.MainActorMessage {
        typealias Subject = Seat
        static let name: Center.Name = "seat.freed"
        var number: Int
    }

    /// A struct and an object that are identified by the same UUID are one subject.
    @Test @MainActor func aUUIDIsASubject() async throws {
        let test = try TestCenter()
        let center = test.center
        let (seat, other) = (Seat(id: UUID()), Seat(id: UUID()))
        let got = Events<String>()
        let tokens = [
            center.addObserver(of: seat, for: Taken.self) { got.add("taken \($0.number)") },
            center.addObserver(of: seat, for: Freed.self) { got.add("freed \($0.number)") },
            center.addObserver(of: seat, for: Center.BaseMessageIdentifier<Taken>()) { got.add("taken \($0.number)") },
        ]
        let texts = Events<String?>()
        let raw = try center.addObserver(forNames: ["seat.freed"]) { texts.add($0.envelope.subject) }
        center.post(Taken(number: 1), subject: other)
        center.post(Taken(number: 2), subject: seat)
        center.post(Freed(number: 3), subject: other)
        center.post(Freed(number: 4), subject: seat)
        expectEqual(await got.wait(for: 3).sorted(), ["freed 4", "taken 2", "taken 2"])
        expectEqual(await texts.wait(for: 2), [other.id.uuidString, seat.id.uuidString])
        #expect(SubjectIdentity.text(of: Booking(seat.id)) == seat.id.uuidString)
        for token in tokens { token.cancel() }
        raw.cancel()
    }

    @Test @MainActor func anIdentifierIsTheSubjectInAllProcesses() async throws {
        // One name may stand for subjects of two types: the center reports it, and delivers both.
        let test = try TestCenter(expecting: ["two types: subject.numbered: Plugged, Entered"])
        let center = test.center
        let seen = Events<String>()
        let tokens = [
            center.addObserver(of: Device("usb-1"), for: Plugged.self) { seen.add("device \($0.number)") },
            center.addObserver(of: Room(id: 12), for: .entered) { seen.add("room \($0.number)") },
        ]
        let peer = try Peer(
            test, "post-subject", "subject.numbered", "12", "2", "post-subject", "subject.numbered", "usb-1", "2",
            "post", "subject.numbered", "1", "observe", "subject.numbered", "2")
        expectEqual(await seen.wait(for: 4).sorted(), ["device 0", "device 1", "room 0", "room 1"])
        while await peer.lines.wait(for: 4).last != "observing" {}
        center.post(Plugged(number: 41), subject: Device("usb-2"))
        center.post(Entered(number: 42), subject: Room(id: 13))
        let lines = await peer.lines.wait(for: 6).suffix(2).map { $0.split(separator: " ")[1] }
        #expect(lines == ["41", "42"])
        await peer.waitForEnd()
        #expect(seen.count == 4)
        #expect(test.reports.all == ["two types: subject.numbered: Plugged, Entered"])
        _ = tokens
    }

    /// `messages(of:for:bufferSize:)`, posted by another process.
    @Test func sequencesOfPostsOfOtherProcesses() async throws {
        let test = try TestCenter()
        let center = test.center
        let missed = Events<Int>()
        center.onDiagnostic = { if case .missed(let count, _) = $0 { missed.add(count) } }
        var ofRoom = center.messages(of: Room(id: 12), for: .entered, bufferSize: 3).makeAsyncIterator()
        var ofType = center.messages(of: Room.self, for: .entered, bufferSize: 20).makeAsyncIterator()
        let seen = Events<Int>()
        let witness = try center.addObserver(forNames: [Entered.name]) { _ in seen.add(0) }
        let peer = try Peer(
            test, "post-subject", "subject.numbered", "12", "10", "post-subject", "subject.numbered", "13", "2",
            "post", "subject.numbered", "1")
        await seen.wait(for: 13)
        for number in 7..<10 { expectEqual(try await ofRoom.next()?.number, number) }
        #expect(missed.all == [7])
        for number in Array(0..<10) + [0, 1, 0] { expectEqual(try await ofType.next()?.number, number) }
        // Messages of another room, or without a room, have not arrived in the first sequence.
        let again = try Peer(test, "post-subject", "subject.numbered", "12", "1")
        expectEqual(try await ofRoom.next()?.number, 0)
        #expect(missed.all == [7])
        await peer.waitForEnd()
        await again.waitForEnd()
        witness.cancel()
    }

    /// No other process can identify an object without an identifier: neither by its address nor by a number.
    @Test @MainActor func anObjectOfAnotherProcessIsAnother() async throws {
        let test = try TestCenter()
        let heard = Events<Int>()
        let objects = (0..<200).map { _ in Plain() }
        let tokens = objects.map { object in
            test.center.addObserver(of: object, for: AboutPlain.self) { heard.add($0.number) }
        }
        let all = Events<Int>()
        let token = test.center.addObserver(for: AboutPlain.self) { all.add($0.number) }
        let peer = try Peer(test, "objects", "200", "copied-object")
        expectEqual(await peer.line(2), "child ended with 0, got [1, 4]")
        expectEqual(await all.wait(for: 204), Array(0..<200) + [1, 2, 3, 4])
        #expect(heard.count == 0)
        test.center.post(AboutPlain(number: 5), subject: objects[100])
        #expect(heard.all == [5])
        withExtendedLifetime((objects, tokens, token)) {}
    }

    @Test func identities() {
        let (one, other) = (Player(), Player())
        #expect(SubjectIdentity.text(of: one) == SubjectIdentity.text(of: one))
        #expect(SubjectIdentity.text(of: one) != SubjectIdentity.text(of: other))
        #expect(SubjectIdentity.text(of: Device("a")) == "a")
        let id = UUID()
        #expect(SubjectIdentity.text(ofID: id) == id.uuidString)
        #expect(SubjectIdentity.text(ofID: ObjectIdentifier(one)) == nil)
        // A thousand released objects are forgotten, and no number is used twice.
        #expect(Set((0..<1000).map { _ in SubjectIdentity.text(of: Player()) }).count == 1000)
    }
}
