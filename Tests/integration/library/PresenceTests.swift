import Dispatch
import Foundation
import Glibc
import Testing
import TidingsAdministration

@testable import Tidings

/// Participants are announced, and observers learn that they joined, left or died.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct PresenceTests {
    /// The changes that one iteration yields: "joined ROLE", "ROLE closed", "ROLE died", "ROLE unknown"; at last "end".
    private final class Changes: Sendable {
        let lines = Events<String>()
        let changes = Events<Center.PresenceChange>()
        private let task: Task<Void, Never>

        init(_ center: Center) throws {
            let (lines, changes) = (lines, changes)
            let registered = try center.presence().register()
            task = Task {
                for await change in registered {
                    changes.add(change)
                    switch change {
                    case .joined(let one): lines.add("joined \(one.role)")
                    case .left(let one, let departure): lines.add("\(one.role) \(departure)")
                    }
                }
                lines.add("end")
            }
        }

        deinit { task.cancel() }

        func first(_ count: Int) async -> [String] { await lines.wait(for: count) }

        /// Ends the iteration. All changes before this call arrive before "end".
        func all(sentinel center: Center) async throws -> [String] {
            let sentinel = try center.announce(role: "sentinel")
            var count = 0
            while !lines.all.contains("joined sentinel") {
                count = lines.count
                if !lines.all.contains("joined sentinel") { await lines.wait(for: count + 1) }
            }
            sentinel.withdraw()
            return Array(lines.all.prefix { $0 != "joined sentinel" })
        }
    }

    @Test func aKilledProcessHasDiedOnceAndItsWillFollows() async throws {
        let test = try TestCenter()
        let changes = try Changes(test.center)
        // Observers of all names receive the notices and the will in the center's one order.
        let raw = Events<Center.Notification>()
        let token = try test.center.addObserver(forNames: .all) { raw.add($0) }
        let peer = try Peer(test, "announce", "renderer 3", "wait")
        let announced = await peer.line()
        expectEqual(await changes.first(1), ["joined renderer 3"])
        peer.signal(SIGKILL)
        expectEqual(await changes.first(2), ["joined renderer 3", "renderer 3 died"])
        let told = await raw.wait(for: 3)
        #expect(told.map(\.name) == ["tidings.presence", "tidings.presence", "test.will"])
        #expect(told[0].payload.json.contains(#""event":"joined""#), "\(told[0].payload.json)")
        #expect(told[1].payload.json.contains(#""event":"died""#), "\(told[1].payload.json)")
        #expect(try told[2].payload.decode(String.self) == "renderer 3")
        #expect(told[2].object == "renderer 3")
        #expect(told.map(\.envelope.poster.pid) == [peer.pid, peer.pid, peer.pid])
        guard case .joined(let one) = changes.changes.all[0] else { return #expect(Bool(false)) }
        #expect(one.pid == peer.pid && one.uid == getuid() && one.executable == "TestPeer")
        #expect(announced == "announced \(one.id)")
        #expect(changes.changes.all[1] == .left(one, .died))
        // Exactly once: nothing more follows.
        expectEqual(try await changes.all(sentinel: test.other()), ["joined renderer 3", "renderer 3 died"])
        #expect(raw.all.filter { $0.name == "test.will" }.count == 1)
        token.cancel()
    }

    @Test(arguments: ["withdraw", "wait"]) func aWithdrawalAndAnExitAreNoDeaths(_ end: String) async throws {
        let test = try TestCenter()
        let changes = try Changes(test.center)
        let wills = Events<Center.Notification>()
        let token = try test.center.addObserver(forNames: ["test.will"]) { wills.add($0) }
        // After the last command, the peer returns from `main`.
        let peer = try Peer(test, "announce", "host", end)
        // The peer that withdraws may have ended by now.
        expectEqual(await changes.first(1).first, "joined host")
        if end == "wait" { peer.send() }
        expectEqual(await changes.first(2), ["joined host", "host closed"])
        await peer.waitForEnd()
        expectEqual(try await changes.all(sentinel: test.other()), ["joined host", "host closed"])
        #expect(wills.all.isEmpty)
        token.cancel()
    }

    @Test func aStoppedProcessIsPresent() async throws {
        let test = try TestCenter()
        let changes = try Changes(test.center)
        let peer = try Peer(test, "announce", "a", "stop", "withdraw")
        expectEqual(await changes.first(1), ["joined a"])
        expectEqual(await peer.line(2), "stopping")
        try peer.waitUntilStopped()
        expectEqual(try await changes.all(sentinel: test.other()), ["joined a"])
        peer.signal(SIGCONT)
        expectEqual(await peer.line(4), "withdrawn")
        expect(await changes.first(4)) { $0.contains("a closed") }
    }

    @Test func theEndOfAForkedChildSaysNothingAboutItsParent() async throws {
        let test = try TestCenter()
        let changes = try Changes(test.center)
        let peer = try Peer(test, "announce", "parent", "fork-announced", "wait")
        expectEqual(await peer.line(2), "child ended with 0")
        expectEqual(await changes.first(3), ["joined parent", "joined child", "child died"])
        peer.signal(SIGKILL)
        expectEqual(await changes.first(4), ["joined parent", "joined child", "child died", "parent died"])
    }

    @Test func anObserverFirstReceivesThoseThatArePresent() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "announce", "a", "wait", "withdraw", "wait")
        _ = await peer.line()
        let other = try test.other()
        let b = try other.announce(role: "b")
        let own = try test.center.announce(role: "own")
        let changes = try Changes(test.center)
        expectEqual(Set(await changes.first(3)), ["joined a", "joined b", "joined own"])
        #expect(changes.changes.all.contains(.joined(b.participant)))
        #expect(changes.changes.all.contains(.joined(own.participant)))
        b.withdraw()
        expectEqual(await changes.first(4).last, "b closed")
        peer.send()
        expectEqual(await changes.first(5).last, "a closed")
        own.withdraw()
        expectEqual(await changes.first(6).last, "own closed")
    }

    @Test func whatHappensBetweenRegistrationAndIterationIsNotLost() async throws {
        let test = try TestCenter()
        let other = try test.other()
        let early = try other.announce(role: "early")
        var registered = try test.center.presence().register()
        early.withdraw()
        let late = try other.announce(role: "late")
        expectEqual(await registered.next(), .joined(early.participant))
        expectEqual(await registered.next(), .left(early.participant, .closed))
        expectEqual(await registered.next(), .joined(late.participant))
        #expect(early.participant.id != late.participant.id)
    }

    @Test func allObserversReceiveTheSameChanges() async throws {
        let test = try TestCenter()
        let other = try test.other()
        let all = [try Changes(test.center), try Changes(test.center), try Changes(other)]
        let killed = try Peer(test, "announce", "killed", "wait")
        for one in all { expectEqual(await one.first(1), ["joined killed"]) }
        let ending = try Peer(test, "announce", "ending", "wait", "withdraw")
        for one in all { expectEqual(await one.first(2), ["joined killed", "joined ending"]) }
        killed.signal(SIGKILL)
        for one in all { expectEqual(await one.first(3).last, "killed died") }
        ending.send()
        for one in all { expectEqual(await one.first(4).last, "ending closed") }
        let third = try test.other()
        for one in all { expectEqual(try await one.all(sentinel: third).count, 4) }
        #expect(all[0].changes.all.prefix(4) == all[2].changes.all.prefix(4))
    }

    /// An observer watches while its sequence is used, also after an announcement of its center object has ended.
    @Test func anObserverAloneWithADyingParticipantLearnsOfIt() async throws {
        let test = try TestCenter()
        let changes = try Changes(test.center)
        try test.center.announce(role: "own").withdraw()
        expectEqual(await changes.first(2), ["joined own", "own closed"])
        let peer = try Peer(test, "announce", "a", "wait")
        expectEqual(await changes.first(3).last, "joined a")
        peer.signal(SIGKILL)
        expectEqual(await changes.first(4).last, "a died")
    }

    /// No process watches then: the next observer reports the death. It is no change of what that observer sees.
    @Test func theEndOfTheSequenceEndsWatching() async throws {
        let test = try TestCenter()
        let raw = Events<Center.Notification>()
        let token = try test.center.addObserver(forNames: ["tidings.presence"]) { raw.add($0) }
        do {
            let first = try test.center.presence().register()
            let second = try test.center.presence().register()
            withExtendedLifetime((first, second)) {}
        }
        let peer = try Peer(test, "announce", "a", "kill")
        await peer.waitForEnd()
        let changes = try Changes(test.center)
        let told = await raw.wait(for: 2)
        #expect(told[1].payload.json.contains(#""event":"died""#), "\(told[1].payload.json)")
        expectEqual(try await changes.all(sentinel: test.other()), [])
        token.cancel()
    }

    @Test func aTaskThatIsCancelledLeavesTheSequence() async throws {
        let test = try TestCenter()
        let own = try test.center.announce(role: "own")
        let joined = Events<Void>()
        let task = Task {
            for await _ in test.center.presence() { joined.add(()) }
            return 1
        }
        await joined.wait(for: 1)
        task.cancel()
        expectEqual(await task.value, 1)
        own.withdraw()
    }

    /// After a loss, the list is right again.
    @Test func afterALossTheParticipantsAreReadAgain() async throws {
        let test = try TestCenter()
        let other = try test.other()
        let stays = try other.announce(role: "stays")
        let gone = try test.center.announce(role: "gone")
        let reading = try PresenceReading(test.center.core)
        reading.begin()
        #expect(Set([reading.next(), reading.next()]) == [.joined(stays.participant), .joined(gone.participant)])
        #expect(reading.next() == nil)
        gone.withdraw()
        let new = try test.center.announce(role: "new")
        reading.take(.missed(2, "tidings.presence"))
        #expect(reading.next() == .left(gone.participant, .unknown))
        #expect(reading.next() == .joined(new.participant))
        #expect(reading.next() == nil)
        reading.take(.missed(1, nil))
        #expect(reading.next() == nil)
    }

    /// Two copies of an iterator may handle two notices in the wrong order. A notice that no library wrote is reported.
    @Test func noticesOutOfOrderAndInventedOnesChangeNothing() async throws {
        let test = try TestCenter(expecting: ["undecodable: tidings.presence"])
        let raw = Events<Center.Notification>()
        let token = try test.center.addObserver(forNames: ["tidings.presence"]) { raw.add($0) }
        let other = try test.other()
        try other.announce(role: "a").withdraw()
        let told = await raw.wait(for: 2)
        token.cancel()
        let reading = try PresenceReading(test.center.core)
        reading.begin()
        for index in [1, 0, 1] {
            reading.take(
                .arrival(
                    Arrival(
                        name: told[index].name, format: 0, bytes: .owned(told[index].payload.bytes),
                        origin: .envelope(told[index].envelope))))
            #expect(reading.next() == nil)
        }
        for bytes in [[], [0xa0], Array(repeating: 0xff, count: 200)] as [[UInt8]] {
            reading.take(
                .arrival(Arrival(name: "tidings.presence", format: 0, bytes: .owned(bytes), origin: .envelope(.init())))
            )
            #expect(reading.next() == nil)
        }
        #expect(test.reports.all.count == 3)
    }

    @Test func theReleaseOfAnAnnouncementWithdraws() async throws {
        let test = try TestCenter()
        let changes = try Changes(test.center)
        var own: Center.Announcement? = try test.other().announce(role: "own")
        expectEqual(await changes.first(1), ["joined own"])
        #expect(own != nil)
        own = nil
        expectEqual(await changes.first(2), ["joined own", "own closed"])
    }

    @Test func withdrawalEndsOnlyItsOwnAnnouncement() async throws {
        let test = try TestCenter()
        let first = try test.center.announce(role: "first")
        first.withdraw()
        first.withdraw()
        let second = try test.center.announce(role: "second")
        first.withdraw()
        #expect(try test.center.participants.map(\.announced) == [second.participant])
        #expect(first.participant.role == "first")
        second.withdraw()
        #expect(try test.center.participants.map(\.announced) == [nil])
    }

    /// An announcement may be refused while a lossless observer is a whole ring behind.
    @Test func aLosslessObserverMayHoldTheNoticeBack() async throws {
        let test = try TestCenter(smallRing)
        let gate = Gate()
        let token = try test.other().addObserver(forNames: .all, options: .init(lossless: true)) { _ in gate.pass() }
        while (try? test.center.post(name: "a")) != nil {}
        let changes = try Changes(test.center)
        let error = #expect(throws: SharedNotificationError.self) {
            try test.center.announce(role: "own", timeout: .milliseconds(20))
        }
        #expect(error?.code == .full, "\(String(describing: error))")
        let waiting = Task {
            try await test.center.waitingForRoom(timeout: .seconds(600)) { try $0.announce(role: "own") }
        }
        gate.open()
        let own = try await waiting.value
        expectEqual(await changes.first(1), ["joined own"])
        token.cancel()
        own.withdraw()
    }

    struct Endless: Center.Message {
        var number = 1
        func encode(to encoder: any Encoder) throws { throw CocoaError(.coderInvalidValue) }
    }

    @Test func whatCannotBeAnnounced() throws {
        let test = try TestCenter()
        func error(_ role: String = "a", _ will: Center.Will? = nil) -> SharedNotificationError? {
            do {
                _ = try test.center.announce(role: role, will: will)
                return nil
            } catch {
                return error
            }
        }
        let long = error(String(repeating: "x", count: 65))
        #expect(long?.code == .invalidArgument)
        #expect(long?.message == "can't use role of 65 bytes: at most 64; shorten it")
        #expect(error("a\0b")?.code == .invalidArgument)
        #expect(error(String(repeating: "ü", count: 32)) == nil)
        #expect(error("") == nil)
        #expect(error("a", .init(name: ""))?.code == .invalidName)
        #expect(error("a", .init(name: .init(String(repeating: "n", count: 256))))?.code == .invalidName)
        let reserved = error("a", .init(name: "tidings.presence"))
        #expect(reserved?.code == .invalidName && reserved?.message.contains("last will") == true)
        #expect(error("a", .init(Track(1), options: .init(subject: "s", retain: true)))?.code == .invalidArgument)
        #expect(error("a", .init(Endless()))?.code == .encodingFailed)
        let huge = Center.RawPayload(format: .bytes, bytes: Array(repeating: 0, count: 17 << 20))
        #expect(error("a", .init(name: "a", payload: huge))?.code == .payloadTooLarge)
        let post = #expect(throws: SharedNotificationError.self) { try test.center.post(name: "tidings.presence") }
        #expect(post?.code == .invalidName)
        do {
            let own = try test.center.announce(role: "own")
            let again = error("other")
            #expect(again?.code == .exists)
            #expect(
                again?.message == """
                    can't announce "other": this center object is announced as "own"; withdraw that, or open the \
                    center another time
                    """)
            own.withdraw()
        }
        #expect(try test.center.participants.map(\.announced) == [nil])
    }

    /// A reader receives the changes, and can't announce itself.
    @Test func aReaderObservesPresence() async throws {
        let test = try TestCenter(.init(permissions: 0o644))
        let own = try test.center.announce(role: "own")
        let reader = test.recorded(
            try Center(named: test.name, configuration: .init(directory: test.directory, isReadOnly: true)))
        let refused = #expect(throws: SharedNotificationError.self) { try reader.announce(role: "reader") }
        #expect(refused?.code == .notPermitted)
        let changes = try Changes(reader)
        let peer = try Peer(test, "announce", "a", "wait")
        expectEqual(await changes.first(2), ["joined own", "joined a"])
        // The announced participant of this process notices the death.
        peer.signal(SIGKILL)
        expectEqual(await changes.first(3).last, "a died")
        own.withdraw()
        expectEqual(await changes.first(4).last, "own closed")
    }

    @Test func aSealedCenterHasPresence() async throws {
        let reports = Reports(expecting: [], sourceLocation: #_sourceLocation)
        let center = try Center.sealed(named: "sealed")
        reports.record(center)
        var sockets: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &sockets) == 0)
        defer { for socket in sockets { close(socket) } }
        try center.send(over: sockets[0])
        let received = try Center(receivedOver: sockets[1])
        reports.record(received)
        let changes = try Changes(center)
        let own = try received.announce(role: "own", will: .init(Track(1)))
        expectEqual(await changes.first(1), ["joined own"])
        own.withdraw()
        expectEqual(await changes.first(2), ["joined own", "own closed"])
    }

    @Test func theSequenceEndsWithTheCenter() async throws {
        let test = try TestCenter(expecting: ["dispatch failed", "observer failed: a sequence"])
        let own = try test.center.announce(role: "own")
        let changes = try Changes(test.center)
        expectEqual(await changes.first(1), ["joined own"])
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        expectEqual(await changes.first(2), ["joined own", "end"])
        own.withdraw()
        let refused = #expect(throws: SharedNotificationError.self) { try test.center.announce(role: "own") }
        #expect(refused?.code == .removed)
        #expect(throws: SharedNotificationError.self) { try test.center.presence().register() }
        var iterator = test.center.presence().makeAsyncIterator()
        expectEqual(await iterator.next(), nil)
    }

    /// The announcement and the sequence go on in the next center of the name.
    @Test func anObjectThatFollowsItsNameIsAnnouncedInTheNextCenter() async throws {
        let test = try TestCenter(.init(followsName: true), expecting: ["reopened"])
        let changes = try Changes(test.center)
        let own = try test.center.announce(role: "own")
        let first = own.participant
        expectEqual(await changes.first(1), ["joined own"])
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        expectEqual(await changes.first(3), ["joined own", "own unknown", "joined own"])
        #expect(own.participant.id != first.id)
        #expect(changes.changes.all == [.joined(first), .left(first, .unknown), .joined(own.participant)])
        // Watching goes on, too.
        own.withdraw()
        expectEqual(await changes.first(4).last, "own closed")
        let peer = try Peer(test, "announce", "a", "wait")
        expectEqual(await changes.first(5).last, "joined a")
        peer.signal(SIGKILL)
        expectEqual(await changes.first(6).last, "a died")
    }

    /// An object that observes nothing goes on with its next post.
    @Test func aPosterThatFollowsItsNameIsAnnouncedWithItsNextPost() async throws {
        let test = try TestCenter(.init(followsName: true))
        let own = try test.center.announce(role: "own")
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        let next = test.recorded(try Center(named: test.name, configuration: .init(directory: test.directory)))
        let changes = try Changes(next)
        while changes.lines.count == 0 {
            try test.center.post(name: "a")
            await Task.yield()
        }
        expectEqual(await changes.first(1), ["joined own"])
        own.withdraw()
        expectEqual(await changes.first(2), ["joined own", "own closed"])
    }
}
