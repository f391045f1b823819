import Dispatch
import Foundation
import Synchronization
import Testing
import TidingsExtensions

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct LaunchTests {
    @Test func anExtensionIsReadyWhenLaunchReturns() async throws {
        let stage = try Stage()
        let one = try await stage.commands()
        expectEqual(try await one.command("pid"), "\(one.processIdentifier!)")
        expectEqual(await one.events { $0.isReady }, [.ready(pid: one.processIdentifier!)])
        await one.stop()
        expectEqual(one.processIdentifier, nil)
        expectEqual(await one.allEvents(), [.exited(status: 0)])
    }

    @Test func executablesThatCannotRun() async throws {
        let stage = try Stage()
        for (path, expected) in [
            ("/nonexistent/program", ExtensionError.Code.notFound), ("/etc/passwd", .notPermitted),
            ("/tmp", .notPermitted),
        ] {
            let error = await #expect(throws: ExtensionError.self) {
                _ = try await stage.host.launch(.init(executable: path, restart: .always()))
            }
            #expect(error?.code == expected && error?.message.contains(path) == true, "\(String(describing: error))")
        }
        expectEqual(await code { _ = try await stage.host.launch(.init(executable: "")) } != nil, true)
        // The host goes on.
        expectEqual(try await stage.commands().command("echo on"), "on")
    }

    @Test func anExtensionThatEndsBeforeItIsReady() async throws {
        let stage = try Stage()
        for (arguments, text) in [
            (["exits", "3"], "status 3"), (["exits", "0"], "status 0"), (["crashes"], "signal 9"),
        ] {
            var specification = Stage.specification("exits", restart: .always())
            specification.arguments = arguments
            let error = await #expect(throws: ExtensionError.self) { _ = try await stage.host.launch(specification) }
            #expect(error?.code == .endedEarly && error?.message.contains(text) == true, "\(String(describing: error))")
        }
        // A program that knows nothing of hosts.
        expectEqual(await code { _ = try await stage.host.launch(.init(executable: "/bin/true")) }, .endedEarly)
    }

    @Test func anExtensionThatIsNeverReadyIsKilled() async throws {
        let stage = try Stage()
        var specification = Stage.specification("neverReady")
        specification.readyTimeout = .milliseconds(50)
        expectEqual(await code { _ = try await stage.host.launch(specification) }, .notReady)
        specification.executable = "/bin/sleep"
        specification.arguments = ["1000"]
        expectEqual(await code { _ = try await stage.host.launch(specification) }, .notReady)
    }

    @Test func aGarbageAnswerIsRefused() async throws {
        let stage = try Stage()
        let junk = LaunchSpecification(executable: "/bin/sh", arguments: ["-c", "printf junk >&0; exec sleep 1000"])
        expectEqual(await code { _ = try await stage.host.launch(junk) }, .otherVersion)
        // An answer as the first version of the hand-shake has it, with the version 99.
        let later = LaunchSpecification(
            executable: "/bin/sh", arguments: ["-c", #"printf 'td.exten\143\000\000\000\000\000\000\000' >&0; exit 1"#])
        let error = await #expect(throws: ExtensionError.self) { _ = try await stage.host.launch(later) }
        #expect(error?.code == .otherVersion && error?.message.contains("version 99") == true)
    }

    @Test func launchingIsCancelled() async throws {
        let stage = try Stage()
        var likes = try stage.likes()
        var specification = Stage.specification("forks", "neverReady")
        // Only the cancellation ends it.
        specification.readyTimeout = .seconds(100_000)
        let launch = Task { [specification] in _ = try await stage.host.launch(specification) }
        let child = Int32(await likes.next()!.title)!
        #expect(kill(child, 0) == 0)
        launch.cancel()
        await #expect(throws: CancellationError.self) { try await launch.value }
        await waitUntilGone(child)
        // Before anything was started.
        let early = Task {
            while !Task.isCancelled { await Task.yield() }
            _ = try await stage.host.launch(Stage.specification("commands"))
        }
        early.cancel()
        await #expect(throws: CancellationError.self) { try await early.value }
    }

    @Test func durationsMayHaveAnyLength() async throws {
        let stage = try Stage()
        let (longest, shortest) = (Duration.seconds(Int64.max), Duration.seconds(Int64.min))
        var specification = Stage.specification("commands", restart: .always(backoff: .constant(longest)))
        specification.readyTimeout = longest
        specification.limits.cpuTime = longest
        let one = try await stage.host.launch(specification)
        for isIdempotent in [false, true] {
            let options = Center.RequestOptions(idempotent: isIdempotent)
            expectEqual(try await one.request(Command("echo a"), timeout: longest, options: options), "a")
            expectEqual(
                await centerCode { _ = try await one.request(Command("pid"), timeout: shortest, options: options) },
                .timedOut)
        }
        _ = try? await one.command("exit 1")
        _ = await one.events { if case .restarting = $0 { true } else { false } }
        await one.stop(timeout: longest)
        specification.restart = .never
        let other = try await stage.host.launch(specification)
        kill(other.processIdentifier!, SIGSTOP)
        let stopping = Task { await other.stop(timeout: longest) }
        await other.stop(timeout: shortest)
        await stopping.value
        expectEqual(await other.allEvents(), [.crashed(signal: SIGKILL)])
        specification.readyTimeout = shortest
        specification.arguments = ["neverReady"]
        expectEqual(await code { _ = try await stage.host.launch(specification) }, .notReady)
    }

    @Test func anExtensionIsStoppedAtAnyTime() async throws {
        let stage = try Stage()
        // Twice, and from several tasks.
        let one = try await stage.commands(restart: .always())
        await withTaskGroup { group in
            for _ in 0..<4 { group.addTask { await one.stop() } }
        }
        await one.stop()
        expectEqual(await one.allEvents(), [.exited(status: 0)])
        // SIGTERM comes before the program's work has begun.
        let early = try await stage.host.launch(Stage.specification("terminatedEarly"))
        expectEqual(await early.allEvents().last, .exited(status: 0))
        // An extension that ignores SIGTERM is killed.
        let stubborn = try await stage.host.launch(Stage.specification("ignoresTermination"))
        await stubborn.stop(timeout: .milliseconds(50))
        expectEqual(await stubborn.allEvents(), [.crashed(signal: SIGKILL)])
        // A stopped process is not dead: requests time out, and SIGKILL ends it.
        let still = try await stage.commands()
        kill(still.processIdentifier!, SIGSTOP)
        expectEqual(
            await centerCode { _ = try await still.request(Command("pid"), timeout: .milliseconds(20)) }, .timedOut)
        await still.stop(timeout: .milliseconds(50))
        expectEqual(await still.allEvents(), [.crashed(signal: SIGKILL)])
        // In a pause before a restart, whose end no test could await.
        let pausing = try await stage.commands(restart: .always(backoff: .constant(.seconds(100_000))))
        _ = try? await pausing.command("exit 1")
        _ = await pausing.events { if case .restarting = $0 { true } else { false } }
        await pausing.stop()
        expectEqual(await pausing.allEvents(), [.restarting(after: .seconds(100_000))])
        expectEqual(await centerCode { _ = try await pausing.command("pid") }, .noServer)
    }

    @Test func descendantsEndWithTheExtension() async throws {
        let stage = try Stage()
        var likes = try stage.likes()
        let one = try await stage.host.launch(Stage.specification("forks"))
        let child = Int32(await likes.next()!.title)!
        #expect(kill(child, 0) == 0)
        await one.stop()
        await waitUntilGone(child)
    }

    @Test func everythingEndsWithTheHostObject() async throws {
        var stage: Stage? = try Stage()
        var likes = try stage!.likes()
        let one = try await stage!.host.launch(Stage.specification("forks"))
        let two = try await stage!.commands(restart: .always())
        let child = Int32(await likes.next()!.title)!
        stage = nil
        let events = await [one.allEvents().last, two.allEvents().last]
        for event in events {
            #expect([.crashed(signal: SIGKILL), .crashed(signal: SIGTERM), .exited(status: 0)].contains(event))
        }
        await waitUntilGone(child)
        expectEqual(await centerCode { _ = try await two.command("pid") }, .noServer)
    }

    @Test func noProcessOutlivesTheHostProcess() async throws {
        // A second host of the same extension begins while the processes of the killed one are ending.
        var killed: [Int32] = []
        for _ in 0..<2 {
            let (process, output) = try Stage.run("host")
            let line = String(decoding: output.availableData, as: UTF8.self)
            let pids = line.split { $0.isWhitespace }.compactMap { Int32($0) }
            #expect(pids.count == 2 && pids.allSatisfy { kill($0, 0) == 0 }, "\(line)")
            process.send(SIGKILL)
            _ = process.waitUntilEnded()
            killed += pids
        }
        for pid in killed { await waitUntilGone(pid) }
    }

    @Test func descriptorsThatAnExtensionKeepsAreNotTheHosts() async throws {
        let (process, output) = try Stage.run("hostOfKeeper")
        let line = String(decoding: output.readDataToEndOfFile(), as: UTF8.self)
        expectEqual(process.waitUntilEnded(), .exited(0))
        expectEqual(line, String(repeating: "endedEarly a exited(status: 0)\n", count: 3))
    }

    @Test func theLauncherIsKilled() async throws {
        let stage = try Stage()
        let one = try await stage.commands(restart: .onFailure(backoff: .constant(.zero)))
        let two = try await stage.commands()
        let first = one.processIdentifier!
        let launcher = try parent(of: first)
        #expect(try parent(of: launcher) == getpid())
        kill(launcher, SIGKILL)
        expectEqual(await two.allEvents().last, .crashed(signal: SIGKILL))
        let pid = try await one.request(Command("pid"), timeout: .seconds(60), options: .init(idempotent: true))
        #expect(pid != "\(first)")
        expectEqual(try await stage.commands().command("echo on"), "on")
    }

    private func parent(of pid: Int32) throws -> Int32 {
        let status = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        return Int32(status[status.lastIndex(of: ")")!...].split(separator: " ")[2])!
    }

    /// A launcher is a forked child of a program with threads. It must not wait for a lock that one of them held at the
    /// fork. Under the thread sanitizer, Swift takes a lock at each use of a lazy global.
    @Test func launchersAreForkedBesideThreadsThatUseTheLibrary() async throws {
        let isOver = Mutex(false)
        defer { isOver.withLock { $0 = true } }
        for _ in 0..<3 {
            DispatchQueue(label: "busy").async {
                while !isOver.withLock({ $0 }) { for _ in 0..<1000 { _ = Forking.generation } }
            }
        }
        for _ in 0..<10 {
            let stage = try Stage()
            let one = try await stage.commands()
            expectEqual(try await one.command("echo on"), "on")
            await stage.host.stopAll()
        }
    }

    @Test func manyExtensionsAtOnce() async throws {
        let stage = try Stage()
        let count = 200
        let before = try threads()
        let all = try await withThrowingTaskGroup(of: Extension.self) { group in
            for _ in 0..<count { group.addTask { try await stage.commands() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(all.map { $0.processIdentifier }).count == count)
        // The documentation says how many threads an extension takes. Dispatch's own are among those counted.
        let perExtension = Double(try threads() - before) / Double(count)
        #expect(perExtension < 4, "\(perExtension) threads for each extension")
        try await withThrowingTaskGroup { group in
            for one in all { group.addTask { expectEqual(try await one.command("echo a"), "a") } }
            try await group.waitForAll()
        }
        await stage.host.stopAll(timeout: .seconds(60))
        for one in all { expectEqual(await one.allEvents(), [.exited(status: 0)]) }
    }

    private func threads() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
    }

    @Test func anExtensionBehindAWrapper() async throws {
        let stage = try Stage()
        var specification = Stage.specification("commands")
        specification.executable = "/bin/sh"
        specification.arguments = ["-c", "exec \"$0\" commands", Stage.peer]
        expectEqual(try await stage.host.launch(specification).command("echo a"), "a")
        // The extension is a child of the wrapper.
        specification.arguments = ["-c", "\"$0\" commands; exit 5", Stage.peer]
        let inner = try await stage.host.launch(specification)
        let pid = try await inner.command("pid")
        #expect(pid != "\(inner.processIdentifier!)")
        _ = try? await inner.command("exit 0")
        expectEqual(await inner.allEvents().last, .exited(status: 5))
        // The wrapper goes on when the extension has ended.
        specification.arguments = ["-c", "exec 2>/dev/null; \"$0\" commands; sleep 1000", Stage.peer]
        let left = try await stage.host.launch(specification)
        _ = try? await left.command("kill 9")
        let events = await left.allEvents()
        #expect(events.suffix(2).first?.failure == .left || events.last == .crashed(signal: SIGKILL), "\(events)")
    }
}
