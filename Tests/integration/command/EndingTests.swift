import ChildProcesses
import Foundation
import Glibc
import Testing
import Tidings
import TidingsAdministration

@testable import tidings

/// The exit status of commands: 0 done, 1 failed with one line, 2 timeout, 64 wrong usage.
@Suite(.serialized)
struct EndingTests {
    @Test(.timeLimit(.minutes(10)), arguments: [SIGINT, SIGTERM])
    func aSignalEndsAnObserverCleanly(signal: Int32) async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", in: directory)
        observer.send(signal)
        expectEqual(await observer.ending(), 0)
        expectEqual(await observer.errors.all(), ["tidings: observing a in center default"])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [true, false])
    func theEndOfItsCenterEndsAnObserver(isRemoved: Bool) async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", in: directory)
        if isRemoved {
            // Without --force, the command names the processes that have the center open.
            let refused = try await tidings("remove", "default", in: directory)
            #expect(refused.status == 1)
            #expect(
                refused.errors.joined().contains(
                    "tidings (\(observer.process.pid)) has it open; end it, or use --force"))
            expectEqual(try await tidings("remove", "--force", "default", in: directory).status, 0)
        } else {
            let path = try directory.center().path
            #expect(unlink(path) == 0)
        }
        let status = await observer.ending()
        #expect(status == 1)
        let lines = await observer.errors.all()
        #expect(lines.count == 2 && lines.last?.contains("removed") == true, "\(lines)")
        #expect(lines.last?.hasSuffix("or use --follow") == true, "\(lines)")
    }

    @Test(.timeLimit(.minutes(10)))
    func withFollowAnObserverGoesOnInTheNextCenter() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "--follow", "--count", "3", "--format", "json", in: directory)
        try directory.center().post(name: "a", payload: .json("1"))
        var told: String?
        for number in 2...3 {
            _ = await observer.output.first { $0.contains("\"payload\":\(number - 1)") }
            let removal = try await tidings("remove", "--force", "default", in: directory)
            #expect(removal.status == 0)
            told = await observer.errors.first { [told] in $0 != told && $0.contains("was removed; observing the next")
            }
            try directory.center().post(name: "a", payload: .json("\(number)"))
        }
        let status = await observer.ending()
        #expect(status == 0)
        let lines = await observer.output.all().filter { !$0.hasPrefix(#"{"reopened":"#) }
        #expect(lines.count == 3 && lines[2].contains("\"payload\":3"))
    }

    @Test(.timeLimit(.minutes(10)))
    func aSignalEndsAnObserverWhoseOutputIsNotRead() async throws {
        let directory = try CenterDirectory()
        let unread = try PipeEnds()
        let observer = try await observe("a", in: directory, output: unread.writing)
        close(unread.writing)
        try directory.center().post(name: "a", payload: .text(String(repeating: "x", count: 1_000_000)))
        var first: UInt8 = 0
        #expect(read(unread.reading, &first, 1) == 1)
        observer.send(SIGTERM)
        expectEqual(await observer.ending(), 0)
        close(unread.reading)
    }

    @Test(.timeLimit(.minutes(10)))
    func anObserverEndsQuietlyWhenItsOutputIsClosed() async throws {
        let directory = try CenterDirectory()
        let pipe = try PipeEnds()
        let observer = try await observe("a", in: directory, output: pipe.writing)
        close(pipe.writing)
        close(pipe.reading)
        try await tidings("post", "a", in: directory)
        expectEqual(await observer.ending(), 0)
        expectEqual(await observer.errors.all().count, 1)
    }

    @Test(.timeLimit(.minutes(10)))
    func aTimeoutWithFewerThanCountIsStatus2() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "--count", "2", "--timeout", "0.5", in: directory)
        try directory.center().post(name: "a", payload: .empty)
        expectEqual(await observer.ending(), 2)
    }

    @Test(.timeLimit(.minutes(10)))
    func aTimeoutWithoutCountIsStatus0() async throws {
        let outcome = try await tidings("observe", "a", "--timeout", "0.1", in: CenterDirectory())
        #expect(outcome.status == 0)
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ["frobnicate"], ["post"], ["post", "a", "--text", "x", "--json", "1"], ["post", "a", "--json", "{"],
            ["post", "a", "--count", "0"], ["post", "a", "--stdin-lines", "--count", "2"], ["observe"],
            ["observe", "a", "--all"], ["observe", "a", "--count", "0"], ["observe", "a", "--timeout", "-1"],
            ["observe", "a", "--timeout", "nan"], ["observe", "a", "--from", "newest"],
            ["observe", "a", "--format", "xml"], ["state", "set", "a"], ["state", "set", "a", "1", "--clear"],
            ["state", "set", "a", "1", "--subject", "s"], ["state", "get", "a", "--subject", "s"],
            ["post", "a", "--text", "x", "--retain", "--subject", "s"],
            ["observe", "a", "--template", "{{.nme}}"], ["observe", "a", "--template", "x", "--format", "json"],
            ["observe", "a", "--since", "1", "--from", "oldest"], ["observe", "a", "--since", "-1"],
            ["observe", "a", "--lossless", "--read-only"], ["observe", "--presence", "--summary"],
            ["observe", "a", "--summary", "--exec", "true"], ["post", "--retain", "--json-lines"],
            ["remove"], ["bench", "--rounds", "0"],
        ])
    func wrongUsageIsStatus64(arguments: [String]) async throws {
        let directory = try CenterDirectory()
        let invocation = try Invocation(arguments, in: directory)
        expectEqual(await invocation.ending(), 64)
        expect(await invocation.output.all()) { $0.isEmpty }
        #expect(directory.files.isEmpty)
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ["post", ""], ["post", String(repeating: "x", count: 300)], ["observe", ""],
            ["observe", String(repeating: "x", count: 300)], ["post", "a", "--center", ""],
            ["post", "a", "--center", "a/b"], ["post", "a", "--center", ".a"],
            ["post", "a", "--center", String(repeating: "x", count: 201)], ["post", "a", "--file", "/nonexistent"],
            ["post", "a", "--file", "/"], ["post", "a", "--file", "/dev/zero"], ["stat", "--center", "none"],
            ["state", "get", "a"], ["state", "set", "a", "--clear"], ["remove", "none"], ["remove", "a/../b"],
        ])
    func failureIsStatus1WithOneLine(arguments: [String]) async throws {
        let invocation = try Invocation(arguments, in: CenterDirectory())
        expectEqual(await invocation.ending(), 1)
        let lines = await invocation.errors.all()
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("tidings: can't ") == true, "\(lines)")
        expect(await invocation.output.all()) { $0.isEmpty }
    }

    /// Fails if the command passes a line of the library on that names a field of C or of Swift.
    @Test(
        arguments: [
            ("can't post: its maximum is 7; create it with a larger maximum_payload", "a larger --maximum-payload"),
            ("can't open: 2 participant entries are taken; close some, or create it with more", "more --partici"),
            ("can't observe: all its 2 observer entries are taken; close some, or create it with more", "more --obser"),
            ("can't add: all 64 name entries are taken; remove observers, or create it with more", "more --names"),
            ("can't observe read-only: …; create it with mode 0640 or 0644", "--mode 0640 or 0644"),
            ("can't start after sequence 7; start with .now or .oldest", "use --from now or --from oldest"),
            ("can't post: a lossless observer is behind; give a timeout, or let it catch up", "give a --timeout, or"),
        ])
    func errorsNameOptions(message: String, option: String) {
        let line = SharedNotificationError(.invalidArgument, message: message).line
        #expect(line.contains(option) && !line.contains("maximum_payload"), "\(line)")
        #expect(line.hasPrefix(message.prefix(while: { $0 != ";" })), "\(line)")
    }

    /// The center's name is in the line, too, and stays as it is.
    @Test(.timeLimit(.minutes(10)))
    func theErrorOfALargePayloadNamesAnOptionAndKeepsNames() async throws {
        let directory = try CenterDirectory()
        let name = "larger maximum_payload"
        _ = try SharedNotificationCenter(
            named: name, configuration: .init(directory: directory.path, maximumPayloadSize: 4096))
        let outcome = try await tidings(
            "post", "a", "--center", name, "--text", String(repeating: "x", count: 5000), in: directory)
        #expect(outcome.status == 1 && outcome.errors.count == 1)
        let line = outcome.errors.first ?? ""
        #expect(line.contains("\"\(name)\"") && line.hasSuffix("create it with a larger --maximum-payload"), "\(line)")
    }

    @Test(.timeLimit(.minutes(10)))
    func helpAndVersionAreStatus0() async throws {
        let directory = try CenterDirectory()
        for subcommand in [
            "demo", "post", "observe", "record", "replay", "state", "create", "centers", "stat", "doctor", "remove",
        ] {
            let outcome = try await tidings(subcommand, "--help", in: directory)
            #expect(outcome.status == 0)
            #expect(outcome.output.joined(separator: "\n").contains("tidings \(subcommand)"))
        }
        let version = try await tidings("--version", in: directory)
        #expect(version.output.count == 1)
        #expect(version.status == 0)
    }
}
