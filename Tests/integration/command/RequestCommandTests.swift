import Foundation
import Glibc
import Testing
import Tidings

@testable import tidings

/// `tidings serve` and `tidings request`.
@Suite(.serialized)
struct RequestCommandTests {
    private func serve(_ arguments: String..., in directory: CenterDirectory) async throws -> Invocation {
        let invocation = try Invocation(["serve"] + arguments, in: directory)
        _ = await invocation.errors.first { $0.hasPrefix("tidings: serving") }
        return invocation
    }

    @Test(.timeLimit(.minutes(10)))
    func aCommandRepliesAndSigtermEndsIt() async throws {
        let directory = try CenterDirectory()
        let server = try await serve("a", "--exec", "cat", in: directory)
        let json = #"{"page":3,"text":"\u001b"}"#
        let reply = try await tidings("request", "a", "--json", json, in: directory)
        #expect(reply.status == 0 && reply.output == [json] && reply.errors.isEmpty, "\(reply)")
        let input = try await tidings("request", "a", "--json", "-", in: directory, input: "[1, 2]\n")
        #expect(input.status == 0 && input.output == ["[1,2]"] || input.output == ["[1, 2]"], "\(input)")
        let empty = try await tidings("request", "a", in: directory)
        #expect(empty.status == 0 && empty.output == ["null"], "\(empty)")
        server.send(SIGTERM)
        expectEqual(await server.ending(), 0)
        expectEqual(await server.errors.all(), ["tidings: serving a in center default"])
        let none = try await tidings("request", "a", in: directory)
        #expect(none.status == 1)
        #expect(
            none.errors == [#"tidings: can't call "a" in center "default": no process serves it; start its server"#],
            "\(none)")
    }

    @Test(.timeLimit(.minutes(10)))
    func theCommandLearnsOfTheRequestAndRepliesText() async throws {
        let directory = try CenterDirectory()
        let exec = #"read line; printf "%s %s %s of $TIDINGS_CALLER" "$TIDINGS_NAME" "$TIDINGS_REPEATED" "$line""#
        let server = try await serve("a", "--exec", exec, in: directory)
        let request = try Invocation(["request", "a", "--json", "7"], in: directory)
        expectEqual(await request.ending(), 0)
        expectEqual(await request.output.all(), ["\"a 0 7 of \(request.process.pid)\""])
        server.send(SIGINT)
        expectEqual(await server.ending(), 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func eachLineIsAReply() async throws {
        let directory = try CenterDirectory()
        let exec = #"read count; seq $count; printf '{"last": 1}'"#
        let server = try await serve("a", "--lines", "--exec", exec, in: directory)
        let all = try await tidings("request", "a", "--stream", "--json", "3", in: directory)
        #expect(all.status == 0 && all.output == ["1", "2", "3", #"{"last":1}"#], "\(all)")
        let one = try await tidings("request", "a", "--json", "3", in: directory)
        #expect(one.status == 1 && one.output.isEmpty, "\(one)")
        expect(one.errors) { $0.count == 1 && $0[0].contains("sends any number of them") }
        server.send(SIGTERM)
        expectEqual(await server.ending(), 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func aCallerThatStopsEndsTheCommandOfItsLines() async throws {
        let directory = try CenterDirectory()
        let exec = "trap 'echo ended >&2; exit 0' TERM; while :; do echo line; sleep 0.01; done"
        let server = try await serve("a", "--lines", "--exec", exec, in: directory)
        let caller = try Invocation(["request", "a", "--stream"], in: directory)
        expectEqual(await caller.output.first { $0 == "\"line\"" }, "\"line\"")
        caller.send(SIGKILL)
        _ = await server.errors.first { $0 == "ended" }
        server.send(SIGTERM)
        expectEqual(await server.ending(), 0)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [[], ["--lines"]])
    func aCallerThatStopsEndsACommandThatHasClosedItsOutput(lines: [String]) async throws {
        let directory = try CenterDirectory()
        let exec = "trap 'echo ended >&2; exit 0' TERM; exec >&-; echo closed >&2; while :; do sleep 0.1; done"
        let server = try Invocation(["serve", "a", "--exec", exec] + lines, in: directory)
        _ = await server.errors.first { $0.hasPrefix("tidings: serving") }
        let caller = try Invocation(["request", "a", "--stream"], in: directory)
        _ = await server.errors.first { $0 == "closed" }
        caller.send(SIGKILL)
        _ = await server.errors.first { $0 == "ended" }
        server.send(SIGTERM)
        expectEqual(await server.ending(), 0)
    }

    @Test(
        .timeLimit(.minutes(10)), arguments: ["head -c 10000 /dev/zero", "printf '%10000s\\n' x", "yes | tr -d '\\n'"])
    func aLineThatIsTooLargeEndsTheCommand(exec: String) async throws {
        let directory = try CenterDirectory()
        _ = try Center(named: "default", configuration: .init(directory: directory.path, maximumPayloadSize: 4096))
        let server = try await serve("a", "--lines", "--exec", "echo 1; \(exec)", in: directory)
        let caller = try Invocation(["request", "a", "--stream"], in: directory)
        expectEqual(await caller.ending(), 1)
        expectEqual(await caller.output.all(), ["1"])
        expect(await caller.errors.all()) { $0.count == 1 && $0[0].contains("4096") }
        _ = await server.errors.first { $0.contains("4096") }
        server.send(SIGTERM)
        expectEqual(await server.ending(), 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func linesOfAFailingCommandArriveBeforeItsFailure() async throws {
        let directory = try CenterDirectory()
        let exec = #"printf '1\n\n\377\r\n[\n3'; exit 4"#
        let server = try await serve("a", "--lines", "--exec", exec, in: directory)
        let caller = try Invocation(["request", "a", "--stream"], in: directory)
        expectEqual(await caller.ending(), 1)
        expectEqual(await caller.output.all(), ["1", "\"\"", "\"\u{FFFD}\"", "\"[\""])
        expect(await caller.errors.all()) { $0.count == 1 && $0[0].contains("ended with status 4") }
        _ = await server.errors.first { $0.contains("ended with status 4") }
        server.send(SIGTERM)
        expectEqual(await server.ending(), 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func aFailingCommandIsToldToTheCaller() async throws {
        let directory = try CenterDirectory()
        let server = try await serve("a", "--exec", "exit 3", in: directory)
        let failed = try Invocation(["request", "a"], in: directory)
        expectEqual(await failed.ending(), 1)
        let line = #"can't get a reply to "a" in center "default": its server failed: the command ended with status 3"#
        expectEqual(await failed.errors.all(), ["tidings: \(line)"])
        expectEqual(
            await server.errors.first { $0.contains("status 3") },
            "tidings: the command ended with status 3 for a request of \(failed.process.pid)")
        server.send(SIGKILL)
        _ = await server.ending()
    }

    @Test(.timeLimit(.minutes(10)))
    func aTimeoutEndsTheCommandWithStatus2() async throws {
        let directory = try CenterDirectory()
        let server = try await serve("a", "--exec", "while :; do sleep 0.1; done", in: directory)
        let late = try await tidings("request", "a", "--timeout", "50ms", in: directory)
        #expect(late.status == 2 && late.output.isEmpty && late.errors.count == 1, "\(late)")
        #expect(late.errors[0].contains("none came in 0.05 seconds"), "\(late)")
        server.send(SIGTERM)
        expectEqual(await server.ending(), 0)
    }

    @Test(.timeLimit(.minutes(10)))
    func theEndOfEitherSideReachesTheOther() async throws {
        let directory = try CenterDirectory()
        // The trap shows that SIGTERM came; the command would not end otherwise.
        let exec = "trap 'echo ended >&2; exit 0' TERM; echo $TIDINGS_CALLER >&2; while :; do sleep 0.1; done"
        let server = try await serve("a", "--exec", exec, in: directory)
        let caller = try Invocation(["request", "a"], in: directory)
        let pid = String(caller.process.pid)
        _ = await server.errors.first { $0 == pid }
        caller.send(SIGKILL)
        _ = await server.errors.first { $0 == "ended" }
        let second = try Invocation(["request", "a"], in: directory)
        let other = String(second.process.pid)
        _ = await server.errors.first { $0 == other }
        server.send(SIGTERM)
        expectEqual(await server.ending(), 0)
        expectEqual(await second.ending(), 1)
        expect(await second.errors.all()) { $0.count == 1 && $0[0].contains("its server has ended") }
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ["serve", "a"], ["serve", "a", "--exec", "cat", "--concurrency", "0"], ["request"],
            ["request", "a", "--json", "{"], ["request", "a", "--timeout", "-1"], ["request", "a", "--json", "-"],
        ])
    func wrongUsageIsRefused(arguments: [String]) async throws {
        let directory = try CenterDirectory()
        let wrong = try await Invocation(arguments, in: directory).outcome()
        #expect(wrong.status == 64)
        #expect(directory.files.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)))
    func aRequestCreatesNoCenter() async throws {
        let directory = try CenterDirectory()
        let failed = try await tidings("request", "a", in: directory)
        #expect(failed.status == 1 && failed.errors.count == 1, "\(failed)")
        #expect(directory.files.isEmpty)
    }

    @Test(arguments: [
        ("3", 3), ("0.5", 0.5), ("3s", 3), ("250ms", 0.25), ("2m", 120), ("0", 0), ("1e20s", 1e9), ("-1", nil),
        ("-1s", nil), ("nan", nil), ("s", nil), ("", nil), ("3h", 10_800), ("1d", 86_400), ("3w", nil),
        ("3 s", nil),
    ])
    func aTimeMayHaveAUnit(text: String, seconds: Double?) {
        expectEqual(Seconds(argument: text)?.value, seconds)
    }
}
