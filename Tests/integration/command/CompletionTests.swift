import Foundation
import Glibc
import Testing
import Tidings

@testable import tidings

/// What shells ask the command for.
@Suite(.serialized)
struct CompletionTests {
    /// Where it stands, or `nil`.
    private static func path(of shell: String) -> String? {
        ["/bin/", "/usr/bin/", "/usr/local/bin/"].map { $0 + shell }.first { access($0, X_OK) == 0 }
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["bash", "zsh", "fish"])
    func thereIsAScript(shell: String) async throws {
        let script = try await script(for: shell)
        for word in ["observe", "doctor", "exec", "---completion"] { #expect(script.contains(word), "\(word)") }
    }

    // A test for each: of a parametrised one a case that is left out can't be seen.
    @Test(.timeLimit(.minutes(10)), .enabled(if: Self.path(of: "bash") != nil, "there is no bash"))
    func bashTakesItsScript() async throws { try await checkIsTaken(by: "bash") }

    @Test(.timeLimit(.minutes(10)), .enabled(if: Self.path(of: "zsh") != nil, "there is no zsh"))
    func zshTakesItsScript() async throws { try await checkIsTaken(by: "zsh") }

    @Test(.timeLimit(.minutes(10)), .enabled(if: Self.path(of: "fish") != nil, "there is no fish"))
    func fishTakesItsScript() async throws { try await checkIsTaken(by: "fish") }

    private func script(for shell: String) async throws -> String {
        let outcome = try await tidings("--generate-completion-script", shell, in: CenterDirectory())
        #expect(outcome.status == 0)
        return outcome.output.joined(separator: "\n")
    }

    private func checkIsTaken(by shell: String) async throws {
        let path = try #require(Self.path(of: shell))
        let directory = try CenterDirectory()
        let file = directory.path + "/script"
        try await script(for: shell).write(toFile: file, atomically: false, encoding: .utf8)
        let process = try ChildProcess.start(path, ["-n", file])
        #expect(process.waitUntilEnded() == .exited(0))
    }

    @Test(.timeLimit(.minutes(10)))
    func centersAndNamesAreOffered() async throws {
        let directory = try CenterDirectory()
        // Nothing is created by asking.
        expect(try await names(for: "observe", in: directory)) { $0.isEmpty }
        #expect(directory.files.isEmpty)

        let observer = try await observe("com.example.b", "com.example.$(touch a)", in: directory)
        try await tidings("post", "com.example.a", "--retain", "--text", "x", in: directory)
        try await tidings("post", "com.example.c", "--center", "other", "--retain", "--text", "x", in: directory)
        expectEqual(try await names(for: "observe", in: directory), ["com.example.a", "com.example.b"])
        expectEqual(try await names(for: "observe", "--center", "other", in: directory), ["com.example.c"])
        expectEqual(try await names(for: "observe", "--center=other", in: directory), ["com.example.c"])
        let centers = try await tidings("---completion", "remove", "--", "positional@0", "0", "0", "", in: directory)
        #expect(centers.output == ["default", "other"])
        _ = observer
    }

    /// As the scripts ask: which subcommand, which of its arguments, the index of the word, the offset in it, and all
    /// words.
    private func names(
        for subcommand: String, _ arguments: String..., in directory: CenterDirectory
    ) async throws -> [String] {
        let words = ["---completion", subcommand, "--", "positional@0", "2", "0", "tidings", subcommand] + arguments
        let invocation = try Invocation(words + [""], in: directory)
        expectEqual(await invocation.ending(), 0)
        return await invocation.output.all().filter { !$0.isEmpty }
    }
}
