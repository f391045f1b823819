import ChildProcesses
import Foundation
import Glibc
import Testing
import Tidings

@testable import tidings

/// Shell completion.
@Suite(.serialized)
struct CompletionTests {
    /// The shell's path; `nil` if it is not installed.
    private static func path(of shell: String) -> String? {
        ["/bin/", "/usr/bin/", "/usr/local/bin/"].map { $0 + shell }.first { access($0, X_OK) == 0 }
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["bash", "zsh", "fish"])
    func eachShellHasAScript(shell: String) async throws {
        let script = try await script(for: shell)
        for word in ["observe", "doctor", "exec", "---completion"] { #expect(script.contains(word), "\(word)") }
    }

    // One test for each shell: a parameterized test would hide that a case is skipped.
    @Test(.timeLimit(.minutes(10)), .enabled(if: Self.path(of: "bash") != nil, "there is no bash"))
    func bashAcceptsItsScript() async throws { try await checkIsAccepted(by: "bash") }

    @Test(.timeLimit(.minutes(10)), .enabled(if: Self.path(of: "zsh") != nil, "there is no zsh"))
    func zshAcceptsItsScript() async throws { try await checkIsAccepted(by: "zsh") }

    @Test(.timeLimit(.minutes(10)), .enabled(if: Self.path(of: "fish") != nil, "there is no fish"))
    func fishAcceptsItsScript() async throws { try await checkIsAccepted(by: "fish") }

    private func script(for shell: String) async throws -> String {
        let outcome = try await tidings("--generate-completion-script", shell, in: CenterDirectory())
        #expect(outcome.status == 0)
        return outcome.output.joined(separator: "\n")
    }

    private func checkIsAccepted(by shell: String) async throws {
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
        // A completion creates nothing.
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

    /// Requests a completion as the scripts do: the subcommand, its argument, the word's index, the offset in the word,
    /// and all words.
    private func names(
        for subcommand: String, _ arguments: String..., in directory: CenterDirectory
    ) async throws -> [String] {
        let words = ["---completion", subcommand, "--", "positional@0", "2", "0", "tidings", subcommand] + arguments
        let invocation = try Invocation(words + [""], in: directory)
        expectEqual(await invocation.ending(), 0)
        return await invocation.output.all().filter { !$0.isEmpty }
    }
}
