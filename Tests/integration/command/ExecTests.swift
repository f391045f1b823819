import Foundation
import Glibc
import Testing
import Tidings

@testable import tidings

/// `observe --exec`: the input of commands, and commands that fail, are slow, or still run at the end.
@Suite(.serialized)
struct ExecTests {
    /// A point where a command waits until the test lets it go on.
    private struct Barrier {
        let path: String

        init(in directory: CenterDirectory) throws {
            path = directory.path + "/barrier"
            guard mkfifo(path, 0o600) == 0 else { throw Failure("mkfifo", errno: errno) }
        }

        /// Makes the first command wait. Later commands pass.
        var wait: String { "if test -p \(path); then echo waiting; read -r line <\(path); rm \(path); fi" }

        /// Lets the waiting command go on, and returns when it does.
        func open() {
            let descriptor = Glibc.open(path, O_WRONLY)
            _ = write(descriptor, "go\n", 3)
            close(descriptor)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func aFailureIsReportedAndTheNextCommandRuns() async throws {
        let directory = try CenterDirectory()
        let command = #"echo "ran $TIDINGS_SUBJECT"; case $TIDINGS_SUBJECT in 1) exit 7;; 2) kill -KILL $$;; esac"#
        let observer = try await observe("a", "--count", "3", "--exec", command, in: directory)
        let center = try directory.center()
        var sequences: [UInt64] = []
        for number in 1...3 {
            sequences.append(try center.post(name: "a", payload: .empty, options: .init(subject: "\(number)")))
        }
        expectEqual(await observer.ending(), 0)
        expectEqual(await observer.output.all().filter { $0.hasPrefix("ran") }, ["ran 1", "ran 2", "ran 3"])
        expectEqual(
            await observer.errors.all().dropFirst(),
            [
                "tidings: the command ended with status 7 for #\(sequences[0])",
                "tidings: the command was killed by signal 9 for #\(sequences[1])",
            ])
    }

    /// The example in the help text passes a value of a payload as one argument, whatever it contains. Fails with
    /// `xargs`, which splits it. Stands in for `jq` with a script.
    @Test(.timeLimit(.minutes(10)))
    func theDocumentedExampleQuotes() async throws {
        let directory = try CenterDirectory()
        let value = "$(touch touched) `touch touched` a  b'c;\"*"
        for (name, script) in [
            ("jq", "cat >/dev/null; printf '%s\\n' '\(value.replacing("'", with: #"'\''"#))'"),
            ("process", #"printf 'argument %s\n' "$@""#),
        ] {
            try "#!/bin/sh\n\(script)\n".write(toFile: "\(directory.path)/\(name)", atomically: false, encoding: .utf8)
            #expect(chmod("\(directory.path)/\(name)", 0o755) == 0)
        }
        let help = try await tidings("observe", "--help", in: directory).output.joined(separator: "\n")
        let example = try #require(help.firstMatch(of: /com\.example\.saved --exec '([^']*)'/)?.1)
        let observer = try await observe(
            "a", "--count", "1", "--exec", "cd \(directory.path); PATH=.:$PATH; \(example)", in: directory)
        try await tidings("post", "a", in: directory)
        expectEqual(await observer.ending(), 0)
        expectEqual(await observer.output.all().dropFirst(), ["argument --", "argument \(value)"])
        #expect(!directory.files.contains("touched"))
    }

    @Test(.timeLimit(.minutes(10)))
    func aSlowCommandKeepsOrderOneAtATime() async throws {
        let directory = try CenterDirectory()
        let barrier = try Barrier(in: directory)
        let lock = directory.path + "/running"
        // If two commands ran at once, the second would find that the directory exists.
        let command = "mkdir \(lock) || echo together; \(barrier.wait); echo ran $(cat); rmdir \(lock)"
        let observer = try await observe("a", "--count", "20", "--exec", command, in: directory)
        let center = try directory.center()
        try center.post(name: "a", payload: .json("0"))
        _ = await observer.output.first { $0 == "waiting" }
        for number in 1..<20 { try center.post(name: "a", payload: .json("\(number)")) }
        barrier.open()
        let lines = await observer.output.all()
        #expect(lines.filter { $0.hasPrefix("ran") } == (0..<20).map { "ran \($0)" })
        #expect(!lines.contains("together"))
        expectEqual(await observer.ending(), 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func lossWhileACommandRunsIsReportedBeforeTheNextCommand() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center(slots: 256)
        let barrier = try Barrier(in: directory)
        let command = "\(barrier.wait); echo ran $TIDINGS_SEQUENCE; echo ran $TIDINGS_SEQUENCE >&2"
        let observer = try await observe("a", "--exec", command, in: directory)
        let first = try center.post(name: "a", payload: .empty)
        _ = await observer.output.first { $0 == "waiting" }
        try observer.process.stop()
        var last: UInt64 = 0
        for _ in 0..<400 { last = try center.post(name: "a", payload: .empty) }
        observer.send(SIGCONT)
        barrier.open()
        let end = last
        _ = await observer.output.first { $0 == "ran \(end)" }
        observer.send(SIGTERM)
        expectEqual(await observer.ending(), 0)
        let ran = await observer.output.all().compactMap { $0.hasPrefix("ran ") ? UInt64($0.dropFirst(4)) : nil }
        #expect(ran == ran.sorted() && ran.first == first && ran.last == last)
        // Standard error has the lines in the order of their writes: the first command, the loss, the next command.
        let errors = await observer.errors.all().dropFirst()
        #expect(errors.first == "ran \(first)")
        #expect(errors.dropFirst().first == "tidings: missed \(401 - ran.count) notifications of a", "\(errors)")
        #expect(errors.dropFirst(2).first == "ran \(ran[1])")
    }

    @Test(.timeLimit(.minutes(10)), arguments: [SIGINT, SIGTERM])
    func aRunningCommandIsNotKilledAndNoOtherStarts(signal: Int32) async throws {
        let directory = try CenterDirectory()
        let barrier = try Barrier(in: directory)
        let observer = try await observe("a", "--exec", "\(barrier.wait); echo ran", in: directory)
        let center = try directory.center()
        let first = try center.post(name: "a", payload: .empty)
        try center.post(name: "a", payload: .empty)
        _ = await observer.output.first { $0 == "waiting" }
        observer.send(signal)
        expectEqual(await observer.ending(), 0)
        barrier.open()
        // The command still holds the pipe, so the output ends when the command ends.
        expectEqual(await observer.output.all().filter { $0 == "ran" }.count, 1)
        expectEqual(await observer.errors.all().last, "tidings: the command for #\(first) is still running")
    }

    @Test(.timeLimit(.minutes(10)))
    func observeWaitsForACommandThatEndsInTime() async throws {
        // A command has one second. On a busy machine, one that takes no time may have no processor that long.
        for _ in 0..<10 where try await aCommandEndsInTime() { return }
        Issue.record("each of ten commands was still running")
    }

    private func aCommandEndsInTime() async throws -> Bool {
        let directory = try CenterDirectory()
        let observer = try await observe(
            "a", "--exec", #"trap "" INT TERM; echo waiting; kill -TERM $PPID; echo ran"#, in: directory)
        try directory.center().post(name: "a", payload: .empty)
        expectEqual(await observer.ending(), 0)
        expectEqual(await observer.output.all().filter { $0 == "ran" }.count, 1)
        return await observer.errors.all().count == 1
    }

    @Test(.timeLimit(.minutes(10)))
    func aCommandThatReadsNoInputWorksWithLargePayloads() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "--count", "1", "--exec", "echo ran", in: directory)
        try directory.center().post(name: "a", payload: .text(String(repeating: "x", count: 1_000_000)))
        expectEqual(await observer.ending(), 0)
        expect(await observer.output.all()) { $0.contains("ran") }
    }
}
