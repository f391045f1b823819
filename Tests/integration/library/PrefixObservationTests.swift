import Foundation
import Glibc
import Testing
import TidingsAdministration
import TidingsFoundation

@testable import Tidings

/// Observers of all names with a prefix.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct PrefixObservationTests {
    /// "NAME NUMBER" of a notification, or "missed COUNT NAME".
    private static func text(_ delivery: Center.RawDelivery) -> String {
        switch delivery {
        case .notification(let notification):
            "\(notification.name) \((try? notification.payload.decode(Numbered.self).number) ?? -1)"
        case .missed(let count, let name): "missed \(count) \(name?.rawValue ?? "-")"
        case .reopened, .centerEnded: "\(delivery)"
        }
    }

    private static func post(_ center: Center, _ name: Center.Name, _ number: Int = 0, subject: String? = nil) throws {
        try center.post(
            name: name, payload: .init(encoding: Numbered(number: number)), options: .init(subject: subject))
    }

    /// Observes, and records the notifications and losses. A post under the name "end" ends the test.
    private static func observe(
        _ center: Center, names: [Center.Name] = ["end"], _ prefixes: [String], subject: String? = nil,
        from start: Center.Start = .now, lossless: Bool = false
    ) throws -> (Events<String>, Center.ObservationToken) {
        let events = Events<String>()
        let token = try center.addObserver(
            forNames: .init(names, prefixes: prefixes),
            options: .init(
                subject: subject, from: start, lossless: lossless, onMissed: { events.add(text(.missed($0, $1))) }),
            using: { events.add(text(.notification($0))) })
        return (events, token)
    }

    @Test func namesWithThePrefixArriveInOneOrder() async throws {
        let test = try TestCenter()
        let (events, token) = try Self.observe(test.center, ["com.example."])
        let peers = try (0..<3).map {
            try Peer(
                test, "wait", "post", "com.example.\($0)", "100", "post", "com.examples", "10", "post", "com.exampl",
                "10", "post",
                "com.example.\($0).deep", "100", "post", "acom.example.a", "10")
        }
        for peer in peers { peer.send() }
        for peer in peers { await peer.waitForEnd() }
        try Self.post(test.center, "end")
        let all = await events.wait(for: 601)
        for peer in 0..<3 {
            let expected = ["com.example.\(peer)", "com.example.\(peer).deep"].flatMap { name in
                (0..<100).map { "\(name) \($0)" }
            }
            #expect(all.filter { $0.hasPrefix("com.example.\(peer)") } == expected)
        }
        #expect(all.count == 601 && all.last == "end 0")
        token.cancel()
    }

    @Test func severalMatchesAreOneDelivery() async throws {
        let test = try TestCenter()
        let (center, other) = (test.center, try test.other())
        // The names twice, prefixes of each other, a prefix that is also a name, and another observer of the same
        // names.
        let (events, token) = try Self.observe(
            center, names: ["end", "a.b", "a.b", "c"], ["a.", "a.b", "a.", "c"])
        let (same, sameToken) = try Self.observe(center, names: ["a.b", "end"], ["a"])
        var sequence = center.deliveries(ofNames: .init(["a.b", "end"], prefixes: ["a.", "a.b"])).makeAsyncIterator()
        let pollable = try center.pollableObserver(forNames: .init(["a.b", "end"], prefixes: ["a."]))
        for poster in [center, other] {
            for name: Center.Name in ["a.b", "b", "c", "a.b.c", "a.", "a.b"] { try Self.post(poster, name) }
        }
        try Self.post(center, "end")
        let expected = (0..<2).flatMap { _ in ["a.b 0", "c 0", "a.b.c 0", "a. 0", "a.b 0"] } + ["end 0"]
        let withoutC = expected.filter { $0 != "c 0" }
        while events.all.last != "end 0" { await Task.yield() }
        while same.all.last != "end 0" { await Task.yield() }
        #expect(events.all == expected)
        #expect(same.all == withoutC)
        var asked: [String] = []
        while asked.last != "end 0", let delivery = await sequence.next() { asked.append(Self.text(delivery)) }
        #expect(asked == withoutC)
        var polled: [String] = []
        while let delivery = try pollable.next() { polled.append(Self.text(delivery)) }
        #expect(polled == withoutC)
        for token in [token, sameToken] { token.cancel() }
    }

    @Test func anEmptyPrefixIsAllNames() async throws {
        let test = try TestCenter()
        let (events, token) = try Self.observe(test.center, names: [], ["a", ""])
        for name: Center.Name in ["b", "a", "c"] { try Self.post(test.center, name) }
        expectEqual(await events.wait(for: 3), ["b 0", "a 0", "c 0"])
        token.cancel()
        // Together with all names it makes no difference.
        let untyped = Events<String>()
        let all = try test.center.addObserver(forNames: .init(nil, prefixes: ["a"])) { untyped.add($0.name.rawValue) }
        for name: Center.Name in ["b", "a"] { try Self.post(test.center, name) }
        expectEqual(await untyped.wait(for: 2), ["b", "a"])
        all.cancel()
    }

    /// Prefixes are compared by bytes, not by Unicode equivalence.
    @Test func prefixesAreComparedByBytes() async throws {
        let test = try TestCenter()
        let (composed, first) = try Self.observe(test.center, ["\u{e9}"])
        let (decomposed, second) = try Self.observe(test.center, ["e\u{301}"])
        let (letter, third) = try Self.observe(test.center, ["e"])
        let names = ["\u{e9}tude", "e\u{301}tude", "etude", "\u{e8}", "end"]
        for name in names { try Self.post(test.center, Center.Name(name)) }
        // Strings that are equal in Unicode are `==`.
        func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }
        expectEqual(bytes(await composed.wait(for: 2)), bytes(["\u{e9}tude 0", "end 0"]))
        expectEqual(bytes(await decomposed.wait(for: 2)), bytes(["e\u{301}tude 0", "end 0"]))
        expectEqual(bytes(await letter.wait(for: 3)), bytes(["e\u{301}tude 0", "etude 0", "end 0"]))
        for token in [first, second, third] { token.cancel() }
        // Both are among the least prefixes, although they are `==`.
        let both = Subscription(
            names: [], prefixes: ["\u{e9}", "e\u{301}", "\u{e9}a", "a", "a", "ab"], start: .now, excludesOwn: false,
            isLossless: false)
        #expect(bytes(both.leastPrefixes) == bytes(["a", "e\u{301}", "\u{e9}"]))
    }

    @Test func subjectsAreFilteredInThisProcess() async throws {
        let test = try TestCenter()
        let (events, token) = try Self.observe(test.center, ["a"], subject: "s")
        let untyped = Events<String>()
        let other = try test.center.addObserver(forNames: .prefix("a"), options: .init(subject: "s")) {
            untyped.add($0.name.rawValue)
        }
        for (name, subject): (Center.Name, String?) in [
            ("a1", nil), ("a1", "s"), ("a2", "t"), ("b", "s"), ("a2", "s"), ("end", nil), ("end", "s"),
        ] { try Self.post(test.center, name, subject: subject) }
        expectEqual(await events.wait(for: 3), ["a1 0", "a2 0", "end 0"])
        expectEqual(await untyped.wait(for: 2), ["a1", "a2"])
        for token in [token, other] { token.cancel() }
    }

    /// The observer is stopped while the ring is filled more than once. It misses nothing of other names, and is told
    /// the number it missed of its own names.
    @Test func missedNotificationsAreCountedExactly() async throws {
        let test = try TestCenter(smallRing)
        let peer = try Peer(test, "observe", "com.example.*", "1000000")
        expectEqual(await peer.line(), "observing")
        peer.signal(SIGSTOP)
        try peer.waitUntilStopped()
        for number in 0..<1000 { try Self.post(test.center, ["com.examples", "b", "com.exampl"][number % 3]) }
        peer.signal(SIGCONT)
        try Self.post(test.center, "com.example.a", 1)
        expect(await peer.line(2)) { $0.hasPrefix("got 1 ") }
        peer.signal(SIGSTOP)
        try peer.waitUntilStopped()
        let names = (0..<40).map { Center.Name("com.example.\($0)") }
        for number in 0..<2000 {
            try Self.post(test.center, names[number % names.count], 2)
            try Self.post(test.center, "com.examples")
        }
        peer.signal(SIGCONT)
        try Self.post(test.center, "com.example.c", 3)
        while !(peer.lines.all.last?.hasPrefix("got 3 ") ?? false) { await Task.yield() }
        let lines = peer.lines.all.dropFirst(2).dropLast()
        let missed = lines.compactMap { $0.hasPrefix("missed ") ? Int($0.split(separator: " ")[1]) : nil }.reduce(0, +)
        #expect(lines.first?.hasPrefix("missed ") == true && lines.first?.hasSuffix(" com.example.*") == true)
        #expect(lines.allSatisfy { $0.hasPrefix("got 2 ") || $0.hasSuffix(" com.example.*") })
        #expect(missed > 0 && missed + lines.count { $0.hasPrefix("got 2 ") } == 2000)
    }

    /// A name that is observed both as a name and by a prefix is counted once.
    @Test func aMissedNotificationOfBothIsCountedOnce() async throws {
        let test = try TestCenter(smallRing)
        let center = test.center
        let events = Events<String>()
        let gate = Gate()
        let token = try center.addObserver(
            forNames: .init(["a.b", "c", "end"], prefixes: ["a.", "a.b."]),
            options: .init(onMissed: { events.add(Self.text(.missed($0, $1))) }),
            using: { notification in
                events.add(Self.text(.notification(notification)))
                if notification.name == "end", events.count == 1 { gate.pass() }
            })
        let pollable = try center.pollableObserver(forNames: .init(["a.b", "c", "end"], prefixes: ["a."]))
        try Self.post(center, "end")
        await events.wait(for: 1)
        for number in 0..<1000 {
            for name: Center.Name in ["a.b", "a.b.c", "c", "d"] { try Self.post(center, name, number) }
        }
        gate.open()
        try Self.post(center, "end", 1)
        while events.all.last != "end 1" { await Task.yield() }
        var polled: [String] = []
        while let delivery = try pollable.next() { polled.append(Self.text(delivery)) }
        for all in [events.all, ["end 0"] + polled] {
            func count(_ pattern: String, _ isIts: (Substring) -> Bool) -> Int {
                all.reduce(0) { sum, line in
                    let words = line.split(separator: " ")
                    if words[0] == "missed" { return words[2] == pattern ? sum + Int(words[1])! : sum }
                    return isIts(words[0]) ? sum + 1 : sum
                }
            }
            #expect(count("a.*") { $0.hasPrefix("a.") } == 2000 && count("c") { $0 == "c" } == 1000)
            #expect(all.filter { $0.hasPrefix("missed") }.allSatisfy { !$0.hasSuffix(" a.b") && !$0.hasSuffix(" -") })
        }
        token.cancel()
    }

    /// Many posts of other names, each while the observer sleeps, and with enough time to wake another observer: the
    /// observer's threads run only a few times, for its own notifications.
    @Test func otherNamesDoNotWakeTheObserver() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "observe", "com.example.*", "1000000")
        expectEqual(await peer.line(), "observing")
        let (others, token) = try Self.observe(test.center, names: ["com.examples"], [])
        func untilAsleep() async throws {
            while try test.center.statistics.observersAsleep < 2 { await Task.yield() }
        }
        try Self.post(test.center, "com.example.a", 0)
        expect(await peer.line(2)) { $0.hasPrefix("got 0 ") }
        try await untilAsleep()
        let before = try switches(of: peer.pid)
        for round in 1...500 {
            try await untilAsleep()
            try Self.post(test.center, "com.examples")
            await others.wait(for: round)
        }
        try Self.post(test.center, "com.example.a", 1)
        expect(await peer.line(3)) { $0.hasPrefix("got 1 ") }
        try await untilAsleep()
        let after = try switches(of: peer.pid)
        let times = after.reduce(0) { sum, thread in
            guard let now = thread.value, let then = before[thread.key, default: 0] else { return sum }
            return sum + now - then
        }
        #expect(times > 0 && times < 50, "\(times)")
        token.cancel()
    }

    /// The number of times that each thread of a process went to sleep. `nil`: the thread naps, as the thread
    /// sanitizer's own thread does, which wakes ten times a second.
    private func switches(of pid: Int32) throws -> [String: Int?] {
        // nanosleep and clock_nanosleep.
        #if arch(x86_64)
            let naps = [35, 230]
        #else
            let naps = [101, 115]
        #endif
        var counts: [String: Int?] = [:]
        for task in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task") {
            let call = try? String(contentsOfFile: "/proc/\(pid)/task/\(task)/syscall", encoding: .utf8)
            if let number = call?.split(separator: " ").first.flatMap({ Int($0) }), naps.contains(number) {
                counts.updateValue(nil, forKey: task)
                continue
            }
            // The thread may have ended meanwhile.
            guard let status = try? String(contentsOfFile: "/proc/\(pid)/task/\(task)/status", encoding: .utf8) else {
                continue
            }
            for line in status.split(separator: "\n") where line.hasPrefix("voluntary_ctxt_switches:") {
                counts.updateValue(Int(line.split(separator: "\t").last ?? "") ?? 0, forKey: task)
            }
        }
        return counts
    }

    @Test func historyHasTheObservedNamesOnly() async throws {
        let test = try TestCenter()
        let peer = try Peer(
            test, "post", "a.1", "10", "post", "b", "10", "post", "a.2", "10", "retain", "a.3", "7", "wait", "post",
            "a.4", "10")
        expectEqual(await peer.line(4), "retained")
        // The retained value of `a.3` arrives as part of the history, not a second time.
        let (events, token) = try Self.observe(test.center, names: ["a.3", "end"], ["a."], from: .oldest)
        peer.send()
        await peer.waitForEnd()
        try Self.post(test.center, "end")
        let expected =
            ["a.1", "a.2"].flatMap { name in (0..<10).map { "\(name) \($0)" } } + ["a.3 7"]
            + (0..<10).map { "a.4 \($0)" } + ["end 0"]
        while events.all.last != "end 0" { await Task.yield() }
        #expect(events.all == expected)
        token.cancel()
    }

    /// At the end of the history, no notification is missing, and none arrives twice.
    @Test func historyAndNewPostsLeaveNoGap() async throws {
        let test = try TestCenter(.init(slots: 16_384))
        let peer = try Peer(
            test, "post", "a.1", "1000", "post", "a.2", "1000", "post", "a.3", "1000", "post", "end", "1")
        _ = await peer.line()
        let (events, token) = try Self.observe(test.center, ["a."], from: .oldest)
        while events.all.last != "end 0" { await Task.yield() }
        #expect(events.all.dropLast() == (1...3).flatMap { name in (0..<1000).map { "a.\(name) \($0)" } }[...])
        await peer.waitForEnd()
        token.cancel()
    }

    /// The retained value of each name with the prefix, once, in the order of their posts, and before later posts.
    @Test func retainedValuesComeFirst() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "retain", "a.1", "1", "retain", "a.2", "2", "wait", "retain", "a.2", "3")
        expectEqual(await peer.line(2), "retained")
        let (events, token) = try Self.observe(test.center, names: ["a.1", "end"], ["a.", "a.2"])
        let all = Events<String>()
        let tokenOfAll = try test.center.addObserver(forNames: .all) { all.add(Self.text(.notification($0))) }
        let pollable = try test.center.pollableObserver(forNames: .prefix("a."))
        #expect(try pollable.next().map(Self.text) == "a.1 1")
        let oldest = try Self.observe(test.center, ["a."], from: .oldest)
        peer.send()
        await peer.waitForEnd()
        try Self.post(test.center, "end")
        let expected = ["a.1 1", "a.2 2", "a.2 3", "end 0"]
        expectEqual(await events.wait(for: 4), expected)
        expectEqual(await all.wait(for: 4), expected)
        expectEqual(await oldest.0.wait(for: 4), expected)
        #expect(try pollable.next().map(Self.text) == "a.2 2")
        for token in [tokenOfAll, oldest.1] { token.cancel() }
        token.cancel()
    }

    @Test func losslessHoldsPostersBack() async throws {
        let test = try TestCenter(smallRing)
        let peer = try Peer(test, "lossless", "a.*", "3000")
        expectEqual(await peer.line(), "observing")
        var posted = 0
        while (try? Self.post(test.center, .init("a.\(posted % 7)"), posted)) != nil { posted += 1 }
        #expect(posted > 0 && posted <= 256)
        for _ in 0..<3000 { peer.send() }
        for number in posted..<3000 {
            try test.center.post(
                name: .init("a.\(number % 7)"), payload: .init(encoding: Numbered(number: number)),
                options: .init(timeout: .seconds(600)))
        }
        let numbers = await peer.lines.wait(for: 3001).dropFirst().map { $0.split(separator: " ")[1] }
        #expect(numbers == (0..<3000).map { "\($0)" })
    }

    @Test func afterCancelNothingComes() async throws {
        let test = try TestCenter()
        let (events, token) = try Self.observe(test.center, ["a."])
        let (marks, marking) = try Self.observe(test.center, ["a"])
        try Self.post(test.center, "a.1")
        expectEqual(await events.wait(for: 1), ["a.1 0"])
        token.cancel()
        try Self.post(test.center, "a.2")
        expectEqual(await marks.wait(for: 2), ["a.1 0", "a.2 0"])
        #expect(events.count == 1)
        marking.cancel()
        #expect(try test.center.observedNames.isEmpty)
        // Once more, with names that the observer has received before.
        let (again, last) = try Self.observe(test.center, ["a."])
        try Self.post(test.center, "a.1")
        expectEqual(await again.wait(for: 1), ["a.1 0"])
        last.cancel()
    }

    /// During a suspension each name is coalesced separately.
    @Test func aSuspendedCenterKeepsTheLastOfEachName() async throws {
        let test = try TestCenter()
        let center = test.center
        let (coalesced, held, now) = (Events<String>(), Events<String>(), Events<String>())
        let behaviors: [(Center.SuspensionBehavior, Events<String>)] = [
            (.coalesce, coalesced), (.hold(limit: 2), held), (.deliverImmediately, now),
        ]
        let tokens = try behaviors.map { behavior, events in
            try center.addObserver(
                forNames: .prefix("a."), options: .init(onMissed: { events.add(Self.text(.missed($0, $1))) }),
                suspensionBehavior: behavior,
                using: { events.add("\($0.name) \($0.userInfo?["number"]?.integer ?? -1)") })
        }
        center.isSuspended = true
        let peer = try Peer(test, "post", "a.1", "2", "post", "b", "2", "post", "a.2", "2")
        await peer.waitForEnd()
        expectEqual(await now.wait(for: 4), ["a.1 0", "a.1 1", "a.2 0", "a.2 1"])
        #expect(coalesced.count == 0 && held.count == 0)
        center.isSuspended = false
        expectEqual(await coalesced.wait(for: 2), ["a.1 1", "a.2 1"])
        expectEqual(await held.wait(for: 3), ["missed 2 a.1", "a.2 0", "a.2 1"])
        for token in tokens { token.cancel() }
    }

    @Test func theListOfNamesDistinguishesPrefixes() throws {
        let test = try TestCenter()
        let tokens = [
            try Self.observe(test.center, names: ["a.", "a.*"], []).1,
            // The names that a prefix matches have no entry of their own.
            try Self.observe(test.center, names: ["a.b"], ["a."]).1,
            try Self.observe(try test.other(), names: [], ["a.", "b"]).1,
        ]
        let names = try test.center.observedNames.map { "\($0.name) \($0.isPrefix) \($0.observers)" }
        #expect(names.sorted() == ["a. false 1", "a.* false 1", "a.* true 2", "b* true 1"])
        for token in tokens { token.cancel() }
        #expect(try test.center.observedNames.isEmpty)
    }

    @Test func anInvalidPrefixIsRefused() throws {
        let test = try TestCenter(.init(permissions: 0o644))
        let center = test.center
        for prefix in ["a*", "*", "a.*.b", "a\u{0}", String(repeating: "a", count: 256)] {
            let error = #expect(throws: SharedNotificationError.self) { try Self.observe(center, [prefix]) }
            #expect(error?.code == .invalidName && error?.message.isEmpty == false, "\(error?.message ?? "")")
        }
        let none = #expect(throws: SharedNotificationError.self) { try Self.observe(center, names: [], []) }
        #expect(none?.code == .invalidArgument)
        // The names added before are removed again.
        #expect(try center.observedNames.isEmpty)
        let many = (0..<257).map { "p\($0)." }
        let full = #expect(throws: SharedNotificationError.self) { try Self.observe(center, many) }
        #expect(full?.code == .noSpace, "\(full?.message ?? "")")
        #expect(try center.observedNames.isEmpty)
        let (_, token) = try Self.observe(center, Array(many.prefix(256)))
        token.cancel()
        let reader = try Center(named: test.name, configuration: .init(directory: test.directory, isReadOnly: true))
        let denied = #expect(throws: SharedNotificationError.self) { try Self.observe(reader, ["a."]) }
        #expect(denied?.code == .notPermitted, "\(denied?.message ?? "")")
        let (_, all) = try Self.observe(reader, names: [], [""])
        all.cancel()
    }
}
