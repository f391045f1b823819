import ChildProcesses
import Foundation
import Glibc
import Testing
import Tidings
import TidingsAdministration

@testable import tidings

/// `tidings top` as a process: its JSON, its lines, and its screen in a real terminal.
@Suite(.serialized)
struct TopTests {
    /// Posts one notification in each millisecond, until this object is released.
    private final class Poster: Sendable {
        private let isOver = DispatchSemaphore(value: 0)

        init(_ center: SharedNotificationCenter, _ name: SharedNotificationCenter.Name) {
            // No task: tests that wait for a terminal must not keep it from its thread.
            Thread.detachNewThread { [isOver] in
                repeat {
                    guard (try? center.post(name: name, payload: .json("0.5"))) != nil else { return }
                } while isOver.wait(timeout: .now() + .milliseconds(1)) == .timedOut
            }
        }

        deinit {
            isOver.signal()
        }
    }

    private func process(_ pid: pid_t, in report: [String: Any]) -> [String: Any] {
        let processes = report["processes"] as? [[String: Any]] ?? []
        return processes.first { $0["pid"] as? Int32 == pid } ?? [:]
    }

    private func once(in directory: CenterDirectory) async throws -> [String: Any] {
        let outcome = try await tidings("top", "--once", "--format", "json", "--interval", "200ms", in: directory)
        #expect(outcome.status == 0 && outcome.errors == [] && outcome.output.count == 1)
        return object(outcome.output.first)
    }

    /// Fails if rates are missing, or are those of another name or process.
    @Test(.timeLimit(.minutes(10)))
    func printsRatesAsJSON() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let poster = Poster(center, "com.example.a")
        let observer = try await observe("com.example.a", in: directory)
        let report = try await once(in: directory)
        #expect(report["center"] as? String == "default")
        #expect((report["seconds"] as? Double ?? 0) >= 0.2)
        let rate = report["postsPerSecond"] as? Double ?? 0
        #expect(rate > 0 && report["unseen"] as? Int == 0)
        let names = report["names"] as? [[String: Any]] ?? []
        let name = names.first { $0["name"] as? String == "com.example.a" } ?? [:]
        #expect(names.count == 1 && name["observers"] as? Int == 1)
        #expect(name["postsPerSecond"] as? Double == rate && name["deliveriesPerSecond"] as? Double == rate)
        #expect(process(getpid(), in: report)["postsPerSecond"] as? Double == rate)
        #expect(process(observer.process.pid, in: report)["postsPerSecond"] as? Double == 0)
        let processes = report["processes"] as? [[String: Any]] ?? []
        #expect(processes.filter { $0["isOwn"] as? Bool == true }.count == 1)
        // The command has closed the center, so its participant is not one that died.
        #expect(try center.participants.map(\.pid).sorted() == [getpid(), observer.process.pid].sorted())
        withExtendedLifetime(poster) {}
    }

    /// Fails if a stopped process is taken for one that sleeps, or a killed one for one that is alive.
    @Test(.timeLimit(.minutes(10)))
    func tellsTheStatesOfProcesses() async throws {
        let directory = try CenterDirectory()
        let (stopped, killed, asleep) = (
            try await observe("a", in: directory), try await observe("a", in: directory),
            try await observe("a", in: directory)
        )
        stopped.send(SIGSTOP)
        killed.send(SIGKILL)
        expectEqual(await killed.ending(), -SIGKILL)
        // The kernel stops all threads of the process some time after the signal was sent.
        while ProcessActivity(pid: stopped.process.pid)?.state != "T" { usleep(1000) }
        let report = try await once(in: directory)
        #expect(process(stopped.process.pid, in: report)["activity"] as? String == "stopped")
        // Another process may have reclaimed its entry.
        let ended = process(killed.process.pid, in: report)["activity"] as? String
        #expect(ended == nil || ended == "ended")
        let other = process(asleep.process.pid, in: report)["activity"] as? String
        #expect(other == "asleep" || other == "running")
        stopped.send(SIGCONT)
    }

    /// Fails if the process is shown as one that merely sleeps, while posts fail because of it.
    @Test(.timeLimit(.minutes(10)))
    func reportsALosslessObserverThatHoldsPostersBack() async throws {
        let directory = try CenterDirectory()
        let (center, mayReturn) = (try directory.center(slots: 256), DispatchSemaphore(value: 0))
        let token = try center.addObserver(forNames: ["a"], options: .init(lossless: true)) { _ in mayReturn.wait() }
        var count = 0
        while count < 10_000, (try? center.post(name: "a", payload: .empty)) != nil { count += 1 }
        let own = process(getpid(), in: try await once(in: directory))
        let behind = own["behind"] as? Int ?? 0
        #expect(own["observersLossless"] as? Int == 1 && behind > 128 && behind <= 256)
        #expect(own["activity"] as? String == "full", "\(own)")
        for _ in 0...count { mayReturn.signal() }
        token.cancel()
    }

    /// Fails if the distance or the losses of an observer that is not lossless are left out, or are those of another
    /// process.
    @Test(.timeLimit(.minutes(10)))
    func showsHowFarAnObserverIsAndWhatItMissed() async throws {
        let directory = try CenterDirectory()
        let (center, mayReturn) = (try directory.center(slots: 256), DispatchSemaphore(value: 0))
        let token = try center.addObserver(forNames: ["a"], options: .init(onMissed: { _, _ in })) { _ in
            mayReturn.wait()
        }
        for _ in 0..<100 { try center.post(name: "a", payload: .empty) }
        let own = process(getpid(), in: try await once(in: directory))
        let behind = own["behind"] as? Int ?? 0
        #expect(behind > 0 && behind <= 100 && own["missedPerSecond"] as? Double == 0, "\(own)")
        let top = try Invocation(["top", "--format", "json", "--interval", "100ms"], in: directory)
        _ = await top.output.first { _ in true }
        for _ in 0..<1000 { try center.post(name: "a", payload: .empty) }
        for _ in 0..<1100 { mayReturn.signal() }
        let line = await top.output.first { object($0)["missedPerSecond"] as? Double ?? 0 > 0 }
        let report = object(line)
        #expect(process(getpid(), in: report)["missedPerSecond"] as? Double == report["missedPerSecond"] as? Double)
        let after = await top.output.first { process(getpid(), in: object($0))["behind"] as? Int == 0 }
        #expect(after != nil)
        top.send(SIGINT)
        expectEqual(await top.ending(), 0)
        token.cancel()
    }

    @Test(.timeLimit(.minutes(10)))
    func printsLinesWithoutATerminal() async throws {
        let directory = try CenterDirectory()
        let poster = Poster(try directory.center(), "com.example.a")
        let outcome = try await tidings("top", "--interval", "200ms", in: directory)
        #expect(outcome.status == 0 && outcome.errors == [])
        #expect(outcome.output.first?.contains(" posts/s") == true)
        #expect(outcome.output.contains { $0.hasPrefix("com.example.a ") }, "\(outcome.output)")
        // No sequence for a terminal, and no line about keys.
        #expect(!outcome.output.joined().contains("\u{1B}") && outcome.output.last?.hasPrefix("q quit") == false)
        withExtendedLifetime(poster) {}
    }

    @Test(.timeLimit(.minutes(10)))
    func endsWithTheProgramThatReads() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let pipe = try PipeEnds()
        let top = try Invocation(
            ["top", "--format", "json", "--interval", "100ms"], in: directory, output: pipe.writing)
        close(pipe.writing)
        var byte: UInt8 = 0
        #expect(read(pipe.reading, &byte, 1) == 1)
        close(pipe.reading)
        expectEqual(await top.ending(), 0)
        expectEqual(await top.errors.all(), [])
        withExtendedLifetime(center) {}
    }

    @Test(.timeLimit(.minutes(10)))
    func endsWithItsCenter() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let top = try Invocation(["top", "--format", "json", "--interval", "100ms"], in: directory)
        _ = await top.output.first { _ in true }
        try await tidings("remove", "--force", "default", in: directory)
        expectEqual(await top.ending(), 1)
        expect(await top.errors.all()) { $0.count == 1 && $0[0].hasPrefix("tidings: ") }
        withExtendedLifetime(center) {}
    }

    @Test(.timeLimit(.minutes(10)))
    func refusesWhatItCantDo() async throws {
        let directory = try CenterDirectory()
        for interval in ["0s", "99ms", "2h", "x", "-1s", "nan"] {
            expectEqual(try await tidings("top", "--interval=\(interval)", in: directory).status, 64, "\(interval)")
        }
        // Looking creates no center.
        let outcome = try await tidings("top", "--once", in: directory)
        #expect(outcome.status == 1 && outcome.errors.count == 1 && directory.files.isEmpty)
    }

    // MARK: In a terminal

    /// Fails if the screen is not that of the layout, if a key has no effect, or if the terminal is not given back.
    @Test(.timeLimit(.minutes(10)), .enabled(if: Tmux.path != nil, "there is no tmux"))
    func showsAScreen() async throws {
        let directory = try CenterDirectory()
        let poster = Poster(try directory.center(), "com.example.a")
        let tmux = try Tmux("\(try Invocation.path(of: "tidings")) top", in: directory, width: 80, height: 24)
        var lines = try await tmux.screen { lines in
            lines.contains { $0.hasPrefix("com.example.a ") } && lines.contains { $0.hasPrefix("q quit") }
        }
        #expect(lines.first?.contains(" posts/s") == true && lines.last { !$0.isEmpty }?.hasPrefix("q quit") == true)
        #expect(lines.filter { $0.hasPrefix("NAME ") }.count == 1, "\(lines)")
        #expect(lines.contains { $0.contains("PROCESS") && $0.contains("BEHIND") }, "\(lines)")
        try tmux.press("/", "b")
        lines = try await tmux.screen { lines in
            lines.contains { $0.hasPrefix("/b") } && !lines.contains { $0.hasPrefix("com.example.a ") }
        }
        #expect(lines.contains { $0.hasPrefix("/b") }, "\(lines)")
        try tmux.press("Escape")
        lines = try await tmux.screen { $0.contains { $0.hasPrefix("com.example.a ") } }
        try tmux.resize(20, 5)
        lines = try await tmux.screen { $0.count <= 6 && $0.contains { $0.hasPrefix("NAME        ↓POSTS/S") } }
        #expect(lines.contains { $0.hasPrefix("q quit") }, "\(lines)")
        try tmux.resize(80, 24)
        try tmux.press("q")
        lines = try await tmux.screen { $0.contains("ended with 0") }
        // The text of the screen before is back, and none of this one is left.
        #expect(lines.filter { !$0.isEmpty } == ["ended with 0"], "\(lines)")
        withExtendedLifetime(poster) {}
    }

    /// Fails if a size that changes while a frame is written leaves parts of an older frame.
    @Test(.timeLimit(.minutes(10)), .enabled(if: Tmux.path != nil, "there is no tmux"))
    func aResizeDuringARedrawLeavesNothing() async throws {
        let directory = try CenterDirectory()
        let poster = Poster(try directory.center(), "com.example.a")
        let command = "\(try Invocation.path(of: "tidings")) top --interval 100ms"
        let tmux = try Tmux(command, in: directory, width: 80, height: 24)
        _ = try await tmux.screen { $0.contains { $0.hasPrefix("com.example.a ") } }
        var random = SystemRandomNumberGenerator()
        func isWhole(_ lines: [String]) -> Bool {
            lines.first?.contains(" posts/s") == true && lines.count >= 24 && lines[23].hasPrefix("q quit")
                && lines.filter { $0.contains("POSTS/S") }.count == 2
                && lines.filter { $0.hasPrefix("com.example.a ") }.count == 1
                && lines.filter { $0.contains("q quit") }.count == 1
        }
        for _ in 0..<5 {
            for _ in 0..<10 {
                try tmux.resize(.random(in: 10...120, using: &random), .random(in: 2...40, using: &random))
                // Each key draws the screen.
                try tmux.press("r", "Tab")
            }
            // What a low screen has in its last line is in the middle of a high one.
            try tmux.resize(30, 9)
            _ = try await tmux.screen { $0.count >= 9 && $0[8].hasPrefix("q quit") }
            try tmux.resize(80, 24)
            let lines = try await tmux.screen(where: isWhole)
            #expect(isWhole(lines), "\(lines)")
        }
        try tmux.press("q")
        let last = try await tmux.screen { $0.contains("ended with 0") }
        #expect(last.contains("ended with 0"), "\(last)")
        withExtendedLifetime(poster) {}
    }

    /// Control-C is a key here, so the command gives the terminal back. It must not end by the signal.
    @Test(.timeLimit(.minutes(10)), .enabled(if: Tmux.path != nil, "there is no tmux"))
    func controlCGivesTheTerminalBack() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let tmux = try Tmux("\(try Invocation.path(of: "tidings")) top", in: directory, width: 80, height: 24)
        _ = try await tmux.screen { $0.contains { $0.contains("POSTS/S") } }
        try tmux.press("C-c")
        let lines = try await tmux.screen { $0.contains("ended with 0") }
        #expect(lines.filter { !$0.isEmpty } == ["ended with 0"], "\(lines)")
        withExtendedLifetime(center) {}
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: Tmux.path != nil, "there is no tmux"))
    func reportsTheEndOfTheCenterAfterTheScreen() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let tmux = try Tmux("\(try Invocation.path(of: "tidings")) top", in: directory, width: 80, height: 24)
        _ = try await tmux.screen { $0.contains { $0.contains("POSTS/S") } }
        try await tidings("remove", "--force", "default", in: directory)
        let lines = try await tmux.screen { $0.contains("ended with 1") }
        #expect(lines.first?.hasPrefix("tidings: ") == true && lines.contains("ended with 1"), "\(lines)")
        withExtendedLifetime(center) {}
    }
}
