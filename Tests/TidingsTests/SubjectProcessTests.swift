import Foundation
import Testing

@testable import Tidings

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
