import Foundation
import Testing
import Tidings
import TidingsExtensions

@Suite(.serialized, .timeLimit(.minutes(10)))
struct RestartTests {
    @Test func anExtensionIsStartedAgain() async throws {
        let stage = try Stage()
        let one = try await stage.commands(restart: .onFailure(backoff: .constant(.zero), limit: 1))
        var events = one.lifecycle.makeAsyncIterator()
        let first = one.processIdentifier!
        expectEqual(await events.next(), .ready(pid: first))
        expectEqual(await centerCode { _ = try await one.command("kill 9") }, .serverEnded)
        expectEqual(await events.next(), .crashed(signal: 9))
        expectEqual(await events.next(), .restarting(after: .zero))
        expectEqual(await events.next(), .launching)
        guard case .ready(let second) = await events.next() else { return #expect(Bool(false)) }
        #expect(first != second)
        expectEqual(try await one.command("pid"), "\(second)")
        // It exits with status 0: no failure.
        _ = try? await one.command("exit 0")
        expectEqual(await events.next(), .exited(status: 0))
        expectEqual(await events.next(), nil)
    }

    @Test func restartsHaveALimitAndPauses() async throws {
        let stage = try Stage()
        // It crashes as soon as it is ready. The longest pause is longer than the test: the count does not begin again.
        let backoff = RestartPolicy.Backoff.exponential(from: .milliseconds(1), upTo: .seconds(100_000))
        let one = try await stage.host.launch(
            Stage.specification("crashesWhenReady", restart: .onFailure(backoff: backoff, limit: 3)))
        let pauses = await one.allEvents().compactMap { if case .restarting(let pause) = $0 { pause } else { nil } }
        let last = await one.allEvents()
        // The first pause may have begun before the iteration did.
        #expect([1, 2, 4].map { Duration.milliseconds($0) }.suffix(pauses.count) == pauses[...])
        expectEqual(last, [.gaveUp])
    }

    @Test func theCountBeginsAgain() async throws {
        let stage = try Stage()
        // Each start is ready for longer than no time at all, so none of the restarts is in a row.
        let one = try await stage.commands(restart: .always(backoff: .constant(.zero), limit: 1))
        for _ in 0..<5 {
            let start = one.processIdentifier
            _ = try? await one.request(Command("exit 1"), timeout: .seconds(60))
            _ = await one.events { $0.isReady && one.processIdentifier != start }
        }
        await one.stop()
    }

    @Test func idempotentRequestsWaitForARestart() async throws {
        let stage = try Stage()
        let one = try await stage.commands(restart: .always(backoff: .constant(.milliseconds(50)), limit: 100))
        for _ in 0..<5 {
            _ = try? await one.command("exit 1")
            expectEqual(
                try await one.request(Command("echo a"), timeout: .seconds(60), options: .init(idempotent: true)), "a")
        }
        await one.stop()
        let pausing = try await stage.commands(restart: .always(backoff: .constant(.seconds(100_000))))
        _ = try? await pausing.command("exit 1")
        _ = await pausing.events { if case .restarting = $0 { true } else { false } }
        expectEqual(await centerCode { _ = try await pausing.command("pid") }, .noServer)
        expectEqual(
            await centerCode {
                _ = try await pausing.request(
                    Command("pid"), timeout: .milliseconds(20), options: .init(idempotent: true))
            }, .timedOut)
        let waiting = Task { try await pausing.request(Command("pid"), options: .init(idempotent: true)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        let stopped = Task { try await pausing.request(Command("pid"), options: .init(idempotent: true)) }
        await pausing.stop()
        expectEqual(await centerCode { _ = try await stopped.value }, .noServer)
    }

    @Test func aRestartThatFailsCounts() async throws {
        let stage = try Stage()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let link = folder.appendingPathComponent("extension").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: Stage.peer)
        var specification = Stage.specification("commands", restart: .always(backoff: .constant(.zero), limit: 2))
        specification.executable = link
        specification.restart = .always(backoff: .exponential(from: .zero, upTo: .seconds(100_000)), limit: 1)
        let one = try await stage.host.launch(specification)
        try FileManager.default.removeItem(atPath: link)
        let events = Task { await one.allEvents() }
        _ = try? await one.command("exit 1")
        let all = await events.value
        #expect(all.contains { $0.failure == .notFound } && all.last == .gaveUp, "\(all)")
    }
}
