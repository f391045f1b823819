import Foundation
import Glibc
import Testing

@testable import tidings

@Suite(.serialized)
struct DemoTests {
    @Test(.timeLimit(.minutes(10)))
    func keepsEveryPromiseAndLeavesNothing() async throws {
        let directory = try CenterDirectory()
        let outcome = try await tidings("demo", in: directory)
        #expect(outcome.status == 0, "\(outcome.output.joined(separator: "\n"))")
        #expect(outcome.errors == [])
        for words in ["the last will of lyrics", "the request has survived"] {
            #expect(outcome.output.contains { $0.contains(words) })
        }
        #expect(outcome.output.last?.contains("every promise kept") == true)
        #expect(directory.files.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [SIGINT, SIGTERM, SIGKILL])
    func leavesNothingWhenEndedMidway(by signal: Int32) async throws {
        let directory = try CenterDirectory()
        let demo = try Invocation(["demo", "--hold"], in: directory)
        _ = await demo.output.first { $0.contains("scrobbler") }
        demo.send(signal)
        expectEqual(await demo.ending(), signal == SIGKILL ? -SIGKILL : 1)
        // This is the end of the output: each process that could write there has ended.
        _ = await demo.output.all()
        expect(await demo.errors.all()) { lines in
            signal == SIGKILL ? lines.isEmpty : lines.count == 1 && lines[0].contains("interrupted")
        }
        #expect(directory.files.isEmpty)
    }
}

@Suite(.serialized)
struct TextTests {
    @Test(arguments: [
        ("plain ä 😀", "plain ä 😀"), ("a\u{0}\n\u{7F}", #"a\u0000\u000a\u007f"#), ("\u{85}\u{2028}", #"\u0085\u2028"#),
        ("\u{202E}abc\u{2066}", #"\u202eabc\u2066"#),
    ])
    func printableEscapesControlCharacters(text: String, printable: String) {
        #expect(text.printable == printable)
    }

    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567"), (Int.min, "-9,223,372,036,854,775,808"),
    ])
    func groupsDigits(number: Int, text: String) {
        #expect(number.grouped == text)
    }
}
