import Glibc
import Testing
import TidingsFoundation

@testable import Tidings

/// A C program that uses only `notify.h`, and this library, with the same names.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct NotifyTests {
    /// The center that contains the names of notify(3), and the program.
    private struct Both {
        let test: TestCenter
        let center: Center
        let program: Peer
        private let answers = Events<Void>()

        init(
            _ configuration: Center.Configuration = .init(), expecting expected: Set<String> = [],
            seed: UInt32 = .random(in: 1 ... .max)
        ) throws {
            test = try TestCenter(expecting: expected)
            var configuration = configuration
            configuration.directory = test.directory
            center = test.recorded(try Center(named: "default", configuration: configuration))
            program = try Peer(executable: "NotifyPeer", arguments: ["--serve", "\(seed)", test.directory])
        }

        /// The program's answer.
        @discardableResult
        func tell(_ line: String) async -> String {
            answers.add(())
            program.send(line)
            return await program.line(answers.count)
        }

        /// A token of the program.
        func registered(_ line: String) async throws -> Int {
            let answer = await tell(line)
            let words = answer.split(separator: " ")
            try #require(words.count == 2 && words[0] == "registered", "\(line): \(answer)")
            return try #require(Int(words[1]))
        }

        /// Registers for checks, with a pipe, and with a signal.
        func registrants(of name: String) async throws -> (check: Int, descriptor: Int) {
            let check = try await registered("check \(name)")
            let descriptor = try await registered("descriptor \(name)")
            _ = try await registered("signal \(name)")
            expectEqual(await tell("asked \(check)"), "new")
            expectEqual(await tell("asked \(check)"), "nothing")
            return (check, descriptor)
        }
    }

    struct Changed: Center.Message, Equatable {
        static let name: Center.Name = "com.example.changed"
    }

    struct Optionally: Center.Message, Equatable {
        static let name: Center.Name = "com.example.changed"
        var volume: Double?
    }

    struct Volume: Center.Message, Equatable {
        static let name: Center.Name = "com.example.changed"
        var volume: Double
    }

    @Test func aPlainPostIsANotificationWithoutPayload() async throws {
        // Each pair of the four types that observe one name.
        let reports = [
            "Changed, Optionally", "Changed, Key<>", "Optionally, Key<>", "Changed, Volume", "Optionally, Volume",
            "Key<>, Volume",
        ].map { "two types: com.example.changed: \($0)" }
        let both = try Both(expecting: Set(reports))
        let (raw, untyped) = (Events<Center.Notification>(), Events<Center.Notification>())
        let (messages, optional, keys) = (Events<Changed>(), Events<Optionally>(), Events<Void>())
        let (full, undecodable) = (Events<Volume>(), Events<(Center.Notification, any Error)>())
        let key: Center.Key<> = .init("com.example.changed")
        let tokens = [
            try both.center.addObserver(forNames: ["com.example.changed"], using: { raw.add($0) }),
            try both.center.addObserver(forNames: "com.example.changed") { untyped.add($0) },
            try both.center.addObserver(for: Changed.self, using: { messages.add($0) }),
            try both.center.addObserver(for: Optionally.self, using: { optional.add($0) }),
            try both.center.addObserver(for: key, using: { keys.add(()) }),
            try both.center.addObserver(
                for: Volume.self, options: .init(onUndecodable: { undecodable.add(($0, $1)) }),
                using: { full.add($0) }),
        ]
        await both.tell("post com.example.changed")
        await both.tell("post com.example.other")
        await both.tell("post com.example.changed")
        for all in [await raw.wait(for: 2), await undecodable.wait(for: 2).map(\.0)] {
            #expect(all.count == 2 && all.allSatisfy { $0.payload == .empty && $0.name == "com.example.changed" })
            #expect(
                all.allSatisfy {
                    $0.envelope.poster.pid == both.program.pid && $0.envelope.poster.executable == "NotifyPeer"
                        && !$0.envelope.isOwn && !$0.envelope.isRetained && $0.envelope.subject == nil
                })
        }
        expect(await untyped.wait(for: 2)) { all in
            all.allSatisfy { $0.userInfo == nil && $0.object == nil && $0.payload == .empty }
        }
        expectEqual(await messages.wait(for: 2), [Changed(), Changed()])
        expectEqual(await optional.wait(for: 2), [Optionally(), Optionally()])
        await keys.wait(for: 2)
        #expect(full.count == 0 && "\(undecodable.all[0].1)".contains("there is no payload"))
        #expect(both.test.reports.all.sorted() == reports.sorted())
        for token in tokens { token.cancel() }
    }

    @Test func aMessageWithoutFieldsNeedsNoPayload() throws {
        #expect(try Center.RawPayload.empty.decode(Changed.self) == Changed())
        #expect(try Center.RawPayload.empty.decode(Optionally.self) == Optionally())
        #expect(throws: DecodingError.self) { try Center.RawPayload.empty.decode(Volume.self) }
        #expect(throws: DecodingError.self) { try Center.RawPayload.text("").decode(Changed.self) }
    }

    /// With or without a payload, small or large, with a subject, retained, cleared: each is a post.
    @Test func aPostHereWakesTheProgramThatRegistered() async throws {
        // The posts below have three types.
        let reports = ["Volume, Changed", "Volume, Key<Int, String>", "Changed, Key<Int, String>"]
            .map { "two types: com.example.changed: \($0)" }
        let both = try Both(expecting: Set(reports))
        let name: Center.Name = "com.example.changed"
        let (check, descriptor) = try await both.registrants(of: "com.example.changed")
        let posts: [(what: String, post: @Sendable (Center) throws -> Void)] = [
            ("nothing but the name", { try $0.post(name: name, payload: .empty) }),
            ("a name", { try $0.post(name: name) }),
            (
                "with a dictionary",
                { try $0.post(name: name, userInfo: ["volume": 0.5], options: .init(subject: "player")) }
            ),
            ("a message", { try $0.post(Volume(volume: 0.5)) }),
            ("without fields", { try $0.post(Changed()) }),
            ("with a subject", { try $0.post(Volume(volume: 0.5), options: .init(subject: "player")) }),
            ("a key", { try $0.post(Center.Key<Int, String>(name), 1, "one") }),
            ("a large one", { try $0.post(name: name, payload: .text(String(repeating: "x", count: 300_000))) }),
            ("one that is kept", { try $0.post(Volume(volume: 1), options: .init(retain: true)) }),
            ("a state", { try $0.setState(Volume(volume: 1)) }),
            ("its end", { try $0.setState(nil, for: Volume.name) }),
        ]
        for (what, post) in posts {
            // A post under another name, for which the program has not registered.
            try both.center.post(name: "com.example.other", payload: .empty)
            expectEqual(await both.tell("asked \(check)"), "nothing", "before \(what)")
            try post(both.center)
            expectEqual(await both.tell("asked \(check)"), "new", "\(what)")
            expectEqual(await both.tell("told 1"), "told \(descriptor)", "\(what)")
            expectEqual(await both.tell("signaled"), "signaled", "\(what)")
            expectEqual(await both.tell("asked \(check)"), "nothing", "\(what), once")
        }
        expectEqual(await both.tell("silent"), "silent")
        #expect(both.test.reports.all.sorted() == reports.sorted())
        expectEqual(await both.tell("cancel \(descriptor)"), "canceled")
        try both.center.post(name: name, payload: .empty)
        expectEqual(await both.tell("asked \(check)"), "new")
    }

    /// Two names, posted from both sides at once, as fast as possible: an observer here and a pipe there report one
    /// order.
    @Test func oneOrderForBoth() async throws {
        let both = try Both()
        let names: [Center.Name] = ["com.example.a", "com.example.b"]
        let seen = Events<(name: Center.Name, pid: Int32)>()
        let token = try both.center.addObserver(
            forNames: .init(names), using: { seen.add(($0.name, $0.envelope.poster.pid)) })
        let tokens = [
            try await both.registered("descriptor com.example.a"),
            try await both.registered("descriptor com.example.b"),
        ]
        let count = 1000
        async let answer = both.tell("posts com.example.a com.example.b \(count)")
        for number in 0..<count {
            try both.center.post(name: names.randomElement()!, payload: number % 3 == 0 ? .empty : .text("\(number)"))
        }
        expectEqual(await answer, "posted")
        let here = await seen.wait(for: 2 * count)
        let there = await both.tell("told \(2 * count)").split(separator: " ").dropFirst().map { Int($0)! }
        #expect(here.map { tokens[names.firstIndex(of: $0.name)!] } == there)
        #expect(here.count == 2 * count && here.count { $0.pid == both.program.pid } == count)
        expectEqual(await both.tell("silent"), "silent")
        token.cancel()
    }

    /// The 64-bit state that notify(3) keeps for a name is not the retained value of that name.
    @Test func bothStatesAreIndependent() async throws {
        let both = try Both()
        let name: Center.Name = "com.example.volume"
        let all = Events<Center.Notification>()
        let (check, plain) = (
            try await both.registered("check com.example.volume"), try await both.registered("plain com.example.volume")
        )
        expectEqual(await both.tell("asked \(check)"), "new")
        let token = try both.center.addObserver(forNames: [name, "last"], using: { all.add($0) })

        // Setting the program's state is no post under the name, and no retained value of it. It is one under the name
        // that Docs/Notify.md describes.
        expectEqual(await both.tell("set \(plain) 5000000000"), "set")
        expectEqual(await both.tell("asked \(check)"), "nothing")
        #expect(try both.center.rawState(for: name) == nil)
        #expect(try both.center.state(for: "tidings.notify.state/com.example.volume", as: UInt64.self) == 5_000_000_000)
        try both.center.post(name: "last", payload: .empty)
        expectEqual(await all.wait(for: 1).map(\.name), ["last"])

        // Setting the retained value is a post, and does not change the program's state.
        try both.center.setState(0.5, for: name)
        expectEqual(await both.tell("asked \(check)"), "new")
        expectEqual(await both.tell("get \(check)"), "5000000000")
        #expect(try both.center.state(for: name, as: Double.self) == 0.5)
        expectEqual(await all.wait(for: 2)[1].name, name)

        // Each side reads its own value.
        expectEqual(await both.tell("set \(plain) 0"), "set")
        #expect(try both.center.state(for: name, as: Double.self) == 0.5)
        #expect(try both.center.rawState(for: "tidings.notify.state/com.example.volume") == nil)
        expectEqual(await both.tell("set \(plain) 7"), "set")
        try both.center.setState(nil, for: name)
        expectEqual(await both.tell("get \(plain)"), "7")
        token.cancel()
    }

    /// More posts than the ring holds, while the program is busy: the program is notified, and only of names that were
    /// posted.
    @Test func aLappedNameIsNewForTheProgram() async throws {
        let both = try Both(smallRing)
        let (posted, silent) = (
            try await both.registered("check com.example.posted"), try await both.registered("check com.example.silent")
        )
        for token in [posted, silent] { expectEqual(await both.tell("asked \(token)"), "new") }
        let before = Int(await both.tell("peek \(posted)"))!
        try both.center.post(name: "com.example.posted", payload: .text("one"))
        for _ in 0..<1000 { try both.center.post(name: "com.example.other", payload: .empty) }
        expectEqual(await both.tell("asked \(silent)"), "nothing")
        expectEqual(await both.tell("asked \(posted)"), "new")
        expectEqual(await both.tell("peek \(posted)"), "\(before + 1)")
    }

    /// Names that stay in their process, and names longer than this library permits.
    @Test func aNameThatIsInvalidHereIsNotObservedUnderAnother() async throws {
        let both = try Both()
        let long = String(repeating: "n", count: 400)
        let all = Events<Center.Name>()
        let token = try both.center.addObserver(forNames: .all, using: { all.add($0.name) })
        _ = try await both.registered("check self.a")
        await both.tell("post self.a")
        await both.tell("post \(long)")
        await both.tell("post com.example.last")
        let names = await all.wait(for: 2)
        #expect(names.count == 2 && names[0].rawValue.hasPrefix("tidings.notify#") && names[0].rawValue.count == 79)
        #expect(names.last == "com.example.last")
        #expect(throws: SharedNotificationError.self) { try both.center.post(name: .init(long), payload: .empty) }
        token.cancel()
    }

    /// One program uses both, in the default center.
    @Test func aProgramMayHaveBoth() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "notify", "com.example.changed", "100")
        expectEqual(await peer.line(), "met 100")
        await peer.waitForEnd()
    }
}
