import Foundation
import Testing
import Tidings
import TidingsExtensions

/// Extensions that do what no honest one does. Each time, a sibling goes on, and the host reports what happened.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct HostileTests {
    @Test func aSpoiledCenterEndsThatLaunchAlone() async throws {
        let stage = try Stage()
        let sibling = try await stage.commands()
        var specification = Stage.specification("spoils")
        specification.name = "spoils"
        do {
            let one = try await stage.host.launch(specification)
            let events = Task { await one.allEvents() }
            // The host learns of the damage when it uses the center.
            while one.processIdentifier != nil {
                try? one.post(Volume(level: 1))
                _ = try? await one.request(Command("pid"), timeout: .milliseconds(20))
            }
            // The task may have begun after the failure: the end is in any case the host's.
            expectEqual(await events.value.last, .crashed(signal: SIGKILL))
        } catch let error as ExtensionError {
            // The damage was noticed before the host had read that the extension is ready.
            expectEqual(error.code, .center)
        }
        specification.arguments = ["spoilsBeforeReady"]
        specification.readyTimeout = .milliseconds(500)
        let before = await code { _ = try await stage.host.launch(specification) }
        #expect(before == .notReady || before == .center)
        expectEqual(try await sibling.command("echo a"), "a")
    }

    /// Words without which the host cannot go on: the version of the format, and the host's entry of participants.
    @Test(arguments: [8, 8192])
    func aSpoiledWordEndsThatLaunch(at place: Int) async throws {
        var specification = Stage.specification("spoilsWord", "\(place)")
        specification.name = "spoils"
        let stage = try Stage()
        do {
            let one = try await stage.host.launch(specification)
            let events = Task { await one.allEvents() }
            while one.processIdentifier != nil {
                try? one.post(Volume(level: 1))
                _ = try? await one.request(Command("pid"), timeout: .milliseconds(20))
            }
            expectEqual(await events.value.last, .crashed(signal: SIGKILL))
        } catch let error as ExtensionError {
            // The damage was noticed before the host had read that the extension is ready.
            expectEqual(error.code, .center)
        }
        withExtendedLifetime(stage) {}
    }

    @Test func aHostThatHasLostItsPlaceForRequestsEndsThatLaunch() async throws {
        let stage = try Stage()
        var specification = Stage.specification("commands")
        specification.name = "spoils"
        let one = try await stage.host.launch(specification)
        let events = Task { await one.allEvents() }
        // The fourth participant, at a distance of 128 bytes each: host, extension, its server, requests of the host.
        while one.processIdentifier != nil {
            _ = try? await one.request(Command("spoil \(8192 + 3 * 128)"), timeout: .milliseconds(20))
        }
        expectEqual(await events.value.last, .crashed(signal: SIGKILL))
        withExtendedLifetime(stage) {}
    }

    @Test func requestsThatGetNoGoodReply() async throws {
        let stage = try Stage()
        let silent = try await stage.host.launch(Stage.specification("neverReplies"))
        expectEqual(
            await centerCode { _ = try await silent.request(Command("pid"), timeout: .milliseconds(20)) }, .timedOut)
        let waiting = Task { try await silent.request(Command("pid")) }
        await silent.stop(timeout: .zero)
        let ended = await centerCode { _ = try await waiting.value }
        #expect(ended == .serverEnded || ended == .noServer)
        let garbage = try await stage.host.launch(Stage.specification("repliesGarbage"))
        expectEqual(await centerCode { _ = try await garbage.command("pid") }, .decodingFailed)
        let one = try await stage.commands()
        await #expect(throws: Command.Failure.self) { _ = try await one.command("raise why") }
        var specification = Stage.specification("commands")
        specification.limits.payload = 4096
        let small = try await stage.host.launch(specification)
        expectEqual(
            await centerCode { _ = try await small.command(String(repeating: "x", count: 5000)) }, .payloadTooLarge)
        expectEqual(await centerCode { _ = try await small.command("large 5000") }, .serverFailed)
        expectEqual(try await small.command("large 1000").count, 1000)
    }

    @Test func requestsThatAreGarbageAreCountedAndReportedSeldom() async throws {
        let stage = try Stage()
        try await stage.host.serve(Lookup.self) { request, _ in request.word }
        let (reports, reported) = AsyncStream.makeStream(of: String.self)
        stage.host.broadcast.onDiagnostic = { reported.yield("\($0)") }
        var likes = try stage.likes()
        let specification = Stage.specification(
            "asksGarbage", "100", grants: [.posts(Liked.self), .requests(Lookup.self)])
        let one = try await stage.host.launch(specification)
        let title = await likes.next()!.title
        #expect(title.contains("does not decode as Lookup"))
        await one.stop()
        expectEqual(one.undecodableCount, 100)
        reported.finish()
        // The 1st, 2nd, 4th, 8th, 16th, 32nd and 64th.
        expectEqual(await reports.reduce(0) { count, _ in count + 1 }, 7)
    }

    @Test func requestsThatDoNotFit() async throws {
        let stage = try Stage()
        try await stage.host.serve(Lookup.self) { request, caller in
            // The extension answers while its own handler waits for this one.
            try await caller.command("echo \(request.word)")
        }
        var specification = Stage.specification(
            "commands", grants: [.serves(Command.self), .requests(Lookup.self)])
        specification.limits.payload = 4096
        let one = try await stage.host.launch(specification)
        expectEqual(try await one.command("lookup a"), "a")
        // A request from a handler to its own process.
        expectEqual(try await one.command("self a"), "a")
        for (command, reason) in [("lookupLarge 5000", "its maximum is 4096"), ("lookupNumbers a", "can't decode")] {
            let error = await #expect(throws: SharedNotificationError.self) { _ = try await one.command(command) }
            #expect(error?.message.contains(reason) == true, "\(String(describing: error))")
        }
        await one.stop()
    }

    @Test func aNameThatOneProcessServesTwice() async throws {
        let stage = try Stage()
        var likes = try stage.likes()
        let one = try await stage.host.launch(Stage.specification("servesTwice"))
        for _ in 0..<20 {
            let reply = try await one.command("where")
            #expect(["first", "second"].contains(reply))
        }
        try one.post(Volume(level: 0))
        expectEqual(await likes.next(), Liked(title: "first has ended"))
        for _ in 0..<20 { expectEqual(try await one.command("where"), "second") }
    }

    @Test func floodsThatAreForwardedLeaveOtherTasksRunning() async throws {
        let stage = try Stage()
        let sibling = try await stage.commands()
        // More than there are threads for tasks.
        for _ in 0...ProcessInfo.processInfo.activeProcessorCount {
            _ = try await stage.host.launch(Stage.specification("floods", grants: [.posts(Secret.self)]))
        }
        expectEqual(try await sibling.command("echo a"), "a")
        await stage.host.stopAll(timeout: .zero)
    }

    @Test func aRequestWaitsWhileTheHostIsBehind() async throws {
        // Nothing is forwarded, because a lossless observer of the broadcast center does not go on.
        let stage = try Stage(broadcast: .init(slots: 256))
        let secrets = try stage.host.broadcast.deliveries(
            of: Secret.self, options: .init(lossless: true), bufferSize: 1
        ).register()
        let specification = Stage.specification("fillsItsCenter", grants: [.posts(Secret.self), .serves(Command.self)])
        let one = try await stage.host.launch(specification)
        // The first request of a name takes longer to make.
        expectEqual(try await one.command("where"), "here")
        try one.post(Volume(level: 1))
        // From now on, the private center gets room for one notification a second.
        _ = await one.events { if case .notForwarded = $0 { true } else { false } }
        try one.fill(timeout: .zero)
        let (encodings, encoded) = AsyncStream.makeStream(of: Void.self)
        let reply = Task {
            defer { encoded.finish() }
            return try await one.request(SignallingCommand(text: "", encoded: encoded), timeout: .seconds(60))
        }
        for await _ in encodings { break }
        let draining = Task { for await _ in secrets {} }
        expectEqual(try await reply.value, "here")
        draining.cancel()
    }

    @Test func aRequestEndsThoughTheExtensionHoldsItsCenterFull() async throws {
        let stage = try Stage()
        let one = try await stage.host.launch(Stage.specification("holdsItsCenterFull"))
        expectEqual(try await one.command("where"), "here")
        // The extension's observer may stop later than posts fill the ring, and make room once more.
        try one.fill(timeout: .seconds(1))
        // On a busy machine, the timeout may be over within an attempt.
        let late = await centerCode { _ = try await one.request(Command("where"), timeout: .milliseconds(20)) }
        #expect([.full, .timedOut].contains(late))
        expectEqual(await centerCode { _ = try await one.request(Command("where")) }, .full)
        let cancelled = Task { try await one.request(Command("where")) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
        let waiting = Task { await centerCode { _ = try await one.request(Command("where")) } }
        await one.stop(timeout: .zero)
        // The request may fail as the one before it did, if the extension is not gone by then. Or the extension ends
        // its observer as it goes, the request is posted, and it is answered.
        let ended = await waiting.value
        #expect([nil, .serverEnded, .noServer, .full].contains(ended))
    }

    /// A `Command` that tells when it is encoded, which is just before the request is made.
    private struct SignallingCommand: Center.Request {
        static let name = Command.name
        typealias Reply = String
        var text: String
        var encoded: AsyncStream<Void>.Continuation?

        enum CodingKeys: CodingKey { case text }

        init(text: String, encoded: AsyncStream<Void>.Continuation) {
            (self.text, self.encoded) = (text, encoded)
        }

        func encode(to encoder: any Encoder) throws {
            encoded?.yield()
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(text, forKey: .text)
        }
    }

    @Test(.enabled(if: !isSanitized, "a sanitizer's own memory is over any limit"))
    func limitsAreEnforced() async throws {
        let stage = try Stage()
        var specification = Stage.specification("exhaustsMemory")
        specification.limits.memory = 2 << 30
        let one = try await stage.host.launch(specification)
        expectEqual(await one.allEvents().last, .exited(status: 9))
        specification = Stage.specification("floods")
        specification.limits.cpuTime = .seconds(1)
        let busy = try await stage.host.launch(specification)
        expectEqual(await busy.allEvents().last, .crashed(signal: SIGXCPU))
        specification = Stage.specification("commands")
        specification.limits.openFiles = 32
        let descriptors = try await stage.host.launch(specification).command("descriptors")
        #expect(Int(descriptors)! <= 32)
        specification.limits.openFiles = 0
        expectEqual(await code { _ = try await stage.host.launch(specification) }, .invalidArgument)
    }

    @Test(.enabled(if: !isSanitized, "a sanitizer opens what the sandbox refuses"))
    func aSandboxIsEnforced() async throws {
        let stage = try Stage()
        var specification = Stage.specification("commands")
        let plain = try await stage.host.launch(specification)
        expectEqual(try await plain.command("open /etc/passwd"), "true")
        expectEqual(try await plain.command("socket"), "true")
        let library = Stage.libraries
        specification.sandbox = .landlock(
            readable: LaunchSpecification.Sandbox.system + library + [Stage.peer], network: false)
        let one = try await stage.host.launch(specification)
        expectEqual(try await one.command("open /etc/passwd"), "false")
        expectEqual(try await one.command("socket"), "false")
        expectEqual(try await one.command("like a"), "posted")
        specification.grants += [.observes(Track.self)]
        expectEqual(try await stage.host.launch(specification).command("echo a"), "a")
        specification.sandbox = .landlock(readable: ["/nonexistent"])
        expectEqual(await code { _ = try await stage.host.launch(specification) }, .notFound)
    }
}

extension Extension {
    /// Posts until the private center has no room for that time.
    fileprivate func fill(timeout: Duration) throws {
        while true {
            do {
                try post(Volume(level: 1), options: .init(timeout: timeout))
            } catch let error where error.underlyingError?.code == .full {
                return
            }
        }
    }
}

extension Stage {
    /// The folders of the libraries that this process has loaded, among them Swift's.
    static var libraries: [String] {
        // Not `String(contentsOfFile:)`, which reads only the beginning of a long file of `/proc`.
        let maps = FileHandle(forReadingAtPath: "/proc/self/maps")?.readDataToEndOfFile() ?? Data()
        let folders = String(decoding: maps, as: UTF8.self).split(separator: "\n").compactMap { line -> String? in
            guard let start = line.firstIndex(of: "/"), line.contains(".so") else { return nil }
            return URL(fileURLWithPath: String(line[start...])).deletingLastPathComponent().path
        }
        return Array(Set(folders))
    }
}
