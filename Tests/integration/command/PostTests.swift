import ChildProcesses
import Foundation
import Glibc
import Testing
import Tidings
import TidingsAdministration

@testable import tidings

/// `post` from standard input: payloads, lines, and what `observe --format json` printed.
@Suite(.serialized)
struct PostTests {
    /// Fails if an option does not read `-`, or changes the bytes or the format.
    @Test(.timeLimit(.minutes(10)))
    func postsStandardInput() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let observer = try center.pollableObserver(forNames: "a")
        for (option, input, format) in [
            ("--json", "{\"x\": [1, 2.50]}\n", SharedNotificationCenter.PayloadFormat.json),
            ("--cbor", "\u{02}", .cbor), ("--file", "\0{\n", .bytes), ("--file", "", .bytes),
        ] {
            let outcome = try await tidings("post", "a", option, "-", in: directory, input: input)
            #expect(outcome.status == 0 && outcome.output.isEmpty && outcome.errors.isEmpty, "\(outcome)")
            guard case .notification(let notification) = try observer.next() else {
                Issue.record("no notification of \(option)")
                continue
            }
            #expect(notification.payload == .init(format: format, bytes: Array(input.utf8)))
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func postsEachLineAsJSON() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "--count", "3", "--format", "json", in: directory)
        try await tidings("post", "a", "--json-lines", in: directory, input: "1\r\n{\"x\": 1.50}\n\"last\"")
        let lines = await observer.output.all()
        #expect(lines.count == 3 && lines[1].contains(#""payload":{"x":1.50},"#), "\(lines)")
    }

    /// Fails if a line loses its subject, its bytes with their format, a digit of a number, or that a value was
    /// cleared.
    @Test(.timeLimit(.minutes(10)))
    func postsAgainWhatObservePrinted() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let payloads: [SharedNotificationCenter.RawPayload] = [
            .json(#"{"x":[1.50,{"name":"y\n"}],"n":12345678901234567890}"#), .text("ä\u{1B}"), .empty,
            .init(format: .bytes, bytes: [0, 255]), .init(format: .init(rawValue: 77), bytes: [1]),
            .init(format: .cbor, bytes: [0x82, 1]), .json(#"{"bytes":"00"}"#),
        ]
        try center.setState(.json("1"), for: "state")
        let first = try await observe("--all", "--count", "9", "--format", "json", in: directory)
        for payload in payloads { try center.post(name: "a", payload: payload, options: .init(subject: "s")) }
        try center.setState(nil, for: "state")
        let log = await first.output.all()
        #expect(log.count == 9)

        let other = try directory.center("other")
        let observer = try other.pollableObserver(forNames: .all)
        let outcome = try await tidings(
            "post", "--json-lines", "--center", "other", in: directory, input: log.joined(separator: "\n"))
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
        var received: [SharedNotificationCenter.Notification] = []
        while case .notification(let one) = try observer.next() { received.append(one) }
        #expect(received.map(\.name.rawValue) == ["state"] + payloads.map { _ in "a" } + ["state"])
        #expect(received.first?.payload.json == "1" && received.last?.envelope.isCleared == true)
        #expect(received.dropFirst().dropLast().map(\.payload) == payloads)
        #expect(received.dropFirst().dropLast().allSatisfy { $0.object == "s" })
    }

    /// Fails if a bad line is skipped, ends the command without its number, or takes earlier lines back.
    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            (["a", "--json-lines"], ["1", "{bad", "2", ""]), (["a", "--json-lines"], ["1", "", ""]),
            (["a", "--json-lines"], ["1", "\"\0\"", ""]), (["--json-lines"], [#"{"name":"a"}"#, "[]", ""]),
            (["--json-lines"], [#"{"name":"a"}"#, #"{"name":""}"#, ""]),
            (["--json-lines"], [#"{"name":"a"}"#, #"{"nam"#]),
        ])
    func aBadLineEndsThePosts(arguments: [String], lines: [String]) async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let outcome = try await Invocation(["post"] + arguments, in: directory, input: lines.joined(separator: "\n"))
            .outcome()
        #expect(outcome.status == 1 && outcome.errors.count == 1, "\(outcome)")
        #expect(outcome.errors.first?.hasPrefix("tidings: can't ") == true)
        #expect(outcome.errors.first?.contains("line 2") == true, "\(outcome.errors)")
        let observer = try center.pollableObserver(forNames: .all, options: .init(from: .oldest))
        guard case .notification(let first) = try observer.next() else { return #expect(Bool(false), "none") }
        #expect(first.name == "a")
        expectEqual(try observer.next(), nil)
    }

    /// Fails if input without line ends is read to its end.
    @Test(.timeLimit(.minutes(10)))
    func aLineThatNeverEndsIsRefused() async throws {
        let directory = try CenterDirectory()
        _ = try SharedNotificationCenter(
            named: "default", configuration: .init(directory: directory.path, maximumPayloadSize: 4096))
        let zeros = open("/dev/zero", O_RDONLY)
        let errors = directory.path + "/errors"
        let process = try ChildProcess.start(
            "/bin/sh", ["-c", "exec '\(try Invocation.path(of: "tidings"))' post a --stdin-lines 2>'\(errors)'"],
            environment: ["TIDINGS_DIRECTORY": directory.path], input: zeros, output: nil)
        close(zeros)
        #expect(process.waitUntilEnded() == .exited(1))
        let line = try String(contentsOfFile: errors, encoding: .utf8)
        #expect(line.contains("can't read line 1 of standard input: it has more than"), "\(line)")
    }

    @Test(.timeLimit(.minutes(10)))
    func lossesAndEndsInTheInputAreReported() async throws {
        let input = #"{"missed":7,"name":"a"}"# + "\n" + #"{"reopened":"1f"}"# + "\n" + #"{"ended":"removed"}"#
        let outcome = try await tidings("post", "--json-lines", in: try CenterDirectory(), input: input)
        #expect(outcome.status == 0 && outcome.errors.count == 3)
        #expect(outcome.errors.first?.contains("missed 7 notifications") == true, "\(outcome.errors)")
    }

    @Test(.timeLimit(.minutes(10)))
    func verboseCountsObserversOfTheNameAndItsPrefixes() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let token = try center.addObserver(forNames: .prefix("com.")) { _ in }
        let other = try directory.center()
        let exact = try other.pollableObserver(forNames: "com.a", options: .init(subject: "s"))
        for (arguments, count) in [
            (["com.a"], "1 observer"), (["com.a", "--subject", "s"], "2 observers"), (["co"], "0 observers"),
        ] {
            let outcome = try await Invocation(["post", "-v"] + arguments, in: directory).outcome()
            let line = outcome.output.first ?? ""
            #expect(line.hasPrefix("posted #") && line.hasSuffix(", \(count) of the name"), "\(outcome)")
        }
        withExtendedLifetime((token, exact)) {}
    }

    /// Fails if the notification is posted, or a center is created, though no process observes the name.
    @Test(.timeLimit(.minutes(10)))
    func withoutAnObserverTheStatusIs3() async throws {
        let directory = try CenterDirectory()
        var outcome = try await tidings("post", "a", "--require-observer", in: directory)
        #expect(outcome.status == 3 && outcome.errors.count == 1 && directory.files.isEmpty)
        let observer = try await observe("b", "--count", "1", in: directory)
        outcome = try await tidings("post", "a", "--require-observer", in: directory)
        #expect(outcome.status == 3 && outcome.errors.count == 1)
        expectEqual(try directory.center().statistics.posted, 0)
        expectEqual(try await tidings("post", "b", "--require-observer", in: directory).status, 0)
        expectEqual(await observer.ending(), 0)
    }

    @Test(
        arguments: [
            (#"{"a":1,"b":{"c":[true,"x,]\"}"]}}"#, ["b", "c", "1"], #""x,]\"}""#),
            (#" {"a" : 1.50 } "#, ["a"], "1.50"),
            (#"{"\u0061":null}"#, ["a"], "null"), (#"[[],[1]]"#, ["1", "0"], "1"), (#"{"a":1}"#, ["b"], nil),
            ("[1]", ["1"], nil), ("[1]", ["-1"], nil), ("1", ["a"], nil), ("{}", ["a"], nil),
            (#"{"a":{"b":1}}"#, ["b"], nil),
        ] as [(String, [String], String?)])
    func findsValuesInJSON(text: String, path: [String], value: String?) {
        let found = path.reduce(JSONValue(Array(text.utf8))) { $0?[$1] }
        #expect(found.map { String(decoding: $0.text, as: UTF8.self) } == value)
    }

    /// Fails if a text that is not JSON makes it read beyond the end.
    @Test func aTextThatIsNotJSONHasNoValues() {
        for text in ["", " ", "{", "[", "{\"", "{\"a", "{\"a\"", "{\"a\":", "[1,", "{\"a\\", "]", "}", "{,", "[[[["] {
            #expect(JSONValue(Array(text.utf8)) == nil)
            let value = JSONValue(valid: Array(text.utf8)[...])
            _ = (value["a"]?.text, value["0"]?.text, value["7"]?.text, value.string, value.text)
        }
    }
}
