import Foundation
import Testing
import Tidings
import TidingsExtensions

@Suite(.serialized, .timeLimit(.minutes(10)))
struct GrantTests {
    @Test func notificationsGoThroughTheHost() async throws {
        let stage = try Stage()
        var likes = try stage.host.broadcast.deliveries(of: Liked.self).register()
        let one = try await stage.commands(grants: [
            .observes(Track.self), .posts(Liked.self), .serves(Command.self), .posts(named: "no.such.type"),
            .observes(named: "nor.this"), .init(.serves, named: "nor.that"), .init(.requests, named: "no.such.type"),
        ])
        try stage.host.broadcast.post(Track(title: "So What"))
        guard case .message(let like, let envelope) = await likes.next() else { return #expect(Bool(false)) }
        expectEqual(like, Liked(title: "So What"))
        // The host is the poster.
        expectEqual(envelope.poster.pid, getpid())
        await one.stop()
    }

    @Test func theLastNotificationsOfAProcessAreForwarded() async throws {
        let stage = try Stage()
        var likes = try stage.likes()
        let one = try await stage.commands()
        _ = try? await one.command("likeAndExit last")
        expectEqual(await one.allEvents().last, .exited(status: 7))
        expectEqual(await likes.next(), Liked(title: "last"))
        var subjects = try stage.host.broadcast.deliveries(of: Liked.self).register()
        expectEqual(try await stage.commands().command("like b"), "posted")
        guard case .message(_, let envelope) = await subjects.next() else { return #expect(Bool(false)) }
        expectEqual(envelope.subject, "s")
    }

    @Test func theLastWillOfAKilledProcessIsForwardedOnceBeforeItsEnd() async throws {
        let stage = try Stage()
        var likes = try stage.likes()
        let grants: [Grant] = [.posts(Liked.self), .serves(Command.self)]
        let one = try await stage.host.launch(
            Stage.specification(
                "leavesWill", grants: grants, restart: .onFailure(backoff: .constant(.zero), limit: 1)))
        for _ in 0..<10 {
            let pid = one.processIdentifier!
            var events = one.lifecycle.makeAsyncIterator()
            expectEqual(await events.next(), .ready(pid: pid))
            _ = try? await one.command("likeAndKill last")
            expectEqual(await events.next(), .crashed(signal: 9))
            try stage.host.broadcast.post(Liked(title: "after the end"))
            expectEqual(await titles(&likes, through: "after the end"), ["last", "will of \(pid)", "after the end"])
            while let event = await events.next(), !event.isReady {}
        }
        // An exit is no death, and nor is a stop.
        await one.stop(timeout: .seconds(60))
        try stage.host.broadcast.post(Liked(title: "after the stop"))
        expectEqual(await likes.next(), Liked(title: "after the stop"))
    }

    @Test func aLastWillThatHasNoRoomAtFirstIsForwarded() async throws {
        let stage = try Stage()
        var likes = try stage.likes()
        let grants: [Grant] = [.posts(Liked.self), .posts(named: "filler"), .serves(Command.self)]
        for _ in 0..<10 {
            let one = try await stage.host.launch(Stage.specification("leavesWill", grants: grants))
            let pid = one.processIdentifier!
            _ = try? await one.command("fillAndKill")
            expectEqual(await one.allEvents().last, .crashed(signal: 9))
            try stage.host.broadcast.post(Liked(title: "after the end"))
            expectEqual(await titles(&likes, through: "after the end"), ["will of \(pid)", "after the end"])
        }
    }

    private func titles(
        _ likes: inout Center.ObservedSequence<Liked>.Iterator, through last: String
    ) async -> [String] {
        var titles: [String] = []
        while titles.last != last, let like = await likes.next() { titles.append(like.title) }
        return titles
    }

    @Test func aLastWillWithoutGrantIsRefused() async throws {
        let stage = try Stage()
        let one = try await stage.host.launch(Stage.specification("leavesWill", grants: [.serves(Command.self)]))
        let events = Task { await one.allEvents() }
        _ = try? await one.command("kill 9")
        let all = await events.value
        #expect(all.suffix(2) == [.refused(.posts(Liked.self), count: 1), .crashed(signal: 9)], "\(all)")
    }

    @Test func whatHasNoGrantThrowsAndIsCounted() async throws {
        let stage = try Stage()
        try await stage.host.serve(Lookup.self) { request, _ in request.word }
        let one = try await stage.commands()
        var events = one.lifecycle.makeAsyncIterator()
        _ = await events.next()
        expectEqual(try await one.command("secret"), "notGranted")
        expectEqual(await events.next(), .refused(.posts(Secret.self), count: 1))
        await #expect(throws: SharedNotificationError.self) { _ = try await one.command("lookup a") }
        expectEqual(await events.next(), .refused(.requests(Lookup.self), count: 1))
        // Past the check of `HostConnection`. Both sides learn it.
        expectEqual(try await one.command("lookupPastTheCheck a"), "noServer, requests \"Lookup\" 2")
        expectEqual(await events.next(), .refused(.requests(Lookup.self), count: 2))
        expectEqual(one.refusedCount, 3)
        let refused = try await one.command("broadcast")
        #expect(refused.contains("can't observe the broadcast center"))
        expectEqual(await code { _ = try await one.request(Lookup(word: "a")) }, .notGranted)
    }

    @Test func aPostThatTheLibraryRefusesReachesNoObserverInTheExtension() async throws {
        let stage = try Stage()
        let one = try await stage.commands()
        var events = one.lifecycle.makeAsyncIterator()
        _ = await events.next()
        expectEqual(try await one.command("observedSecret"), "1")
        for count in 1...2 { expectEqual(await events.next(), .refused(.posts(Secret.self), count: count)) }
        // An invented refusal of what it has a grant for is one of the library's name.
        _ = try await one.command("inventRefusal Liked")
        expectEqual(await events.next(), .refused(.posts(named: "tidings.extension.ungranted"), count: 1))
        await stage.host.stopAll()
    }

    @Test func notificationsWithoutGrantAreRefusedAndCounted() async throws {
        let stage = try Stage()
        var likes = try stage.likes()
        var secrets = try stage.host.broadcast.deliveries(of: Secret.self).register()
        let one = try await stage.host.launch(Stage.specification("postsWithoutGrant", "1000"))
        // Counts 1, 2, 4 … 512, to both sides.
        for count in (0..<10).map({ 1 << $0 }) {
            expectEqual(await likes.next(), Liked(title: "Secret \(count)"))
        }
        await one.stop()
        expectEqual(one.refusedCount, 1000)
        // None of them was forwarded.
        try stage.host.broadcast.post(Secret(number: -1))
        guard case .message(let secret, _) = await secrets.next() else { return #expect(Bool(false)) }
        expectEqual(secret.number, -1)
    }

    @Test func aFloodCausesFewEvents() async throws {
        let stage = try Stage()
        let sibling = try await stage.commands()
        let one = try await stage.host.launch(Stage.specification("floods"))
        let events = await one.events { if case .refused(_, let count) = $0 { count >= 1 << 14 } else { false } }
        #expect(events.count <= 17, "\(events)")
        // The sibling answers, and the host stops the flood.
        expectEqual(try await sibling.command("echo a"), "a")
        await one.stop(timeout: .zero)
        #expect(one.refusedCount >= 1 << 14)
    }

    @Test func anExtensionRequestsFromTheHost() async throws {
        let stage = try Stage()
        let early = try await stage.commands(grants: [.serves(Command.self), .requests(Lookup.self)])
        await #expect(throws: SharedNotificationError.self) { _ = try await early.command("lookup a") }
        try await stage.host.serve(Lookup.self) { request, caller in
            "\(request.word) for \(caller.processIdentifier ?? 0)"
        }
        expectEqual(await code { try await stage.host.serve(Lookup.self) { _, _ in "" } }, .alreadyServed)
        let late = try await stage.commands(grants: [.serves(Command.self), .requests(Lookup.self)])
        expectEqual(try await early.command("lookup a"), "a for \(early.processIdentifier!)")
        expectEqual(try await late.command("lookup b"), "b for \(late.processIdentifier!)")
    }

    @Test func configurationIsThereFirst() async throws {
        let stage = try Stage()
        var specification = Stage.specification("commands", restart: .always(backoff: .constant(.zero)))
        specification.configuration = [.message(Volume(level: 0.25)), .value("en", for: "language")]
        let one = try await stage.host.launch(specification)
        expectEqual(try await one.command("volume"), "0.25")
        try one.post(Volume(level: 0.75), options: .init(retain: true))
        try one.post(name: "frame", capacity: 400_000, options: .init(retain: true)) { output in
            output.append(repeating: 7, count: 100_000, as: UInt32.self)
        }
        expectEqual(try await one.command("frame"), "100000 7 7")
        expectEqual(try await one.command("volume"), "0.75")
        _ = try? await one.command("exit 0")
        let options = Center.RequestOptions(idempotent: true)
        expectEqual(try await one.request(Command("volume"), timeout: .seconds(60), options: options), "0.25")
        await one.stop()
        expectEqual(await code { try one.post(Volume(level: 1)) }, .notRunning)
        expectEqual(await code { try one.post(name: "frame", capacity: 4) { _ in } }, .notRunning)
    }

    /// The relay copies a large payload from one center to the other, and keeps none.
    @Test func largePayloadsAreForwarded() async throws {
        let stage = try Stage()
        var frames = try stage.host.broadcast.deliveries(
            ofNames: ["frame"], options: .init(lossless: true, inPlace: .large)
        ).register()
        let one = try await stage.commands(grants: [.posts(named: "frame"), .serves(Command.self)])
        // More than the private center has memory for at a time.
        for round in 0..<100 {
            let count = 50_000 + round
            _ = try await one.command("postFrame \(count)")
            guard case .notification(let frame)? = await frames.next() else { return }
            let seen = try frame.payload.withSpan(of: UInt32.self) { [$0.count, Int($0[0]), Int($0[$0.count - 1])] }
            expectEqual(seen, [count, 0, count - 1])
        }
        await one.stop()
    }
}
