import Foundation
import Glibc
import Testing
import Tidings

@testable import tidings

/// `observe 'com.example.*'`.
struct PrefixTests {
    @Test func aSelectionKnowsWhatWasAskedFor() {
        let names = NameSelection(["a", "com.example.*", "a"])
        #expect(names.names == nil && names.isFiltered)
        #expect(["a", "com.example.", "com.example.b", "com.example.b.c"].allSatisfy { names.includes(.init($0)) })
        #expect(!["b", "ab", "com.example", "com.examples"].contains { names.includes(.init($0)) })
        let plain = NameSelection(["b", "a", "b"])
        #expect(plain.names == ["b", "a"] && !plain.isFiltered)
        for everything in [NameSelection(nil), NameSelection(["a", "*"])] {
            #expect(everything.names == nil && !everything.isFiltered && everything.includes("b"))
        }
        // By bytes, as names are compared everywhere: not what Unicode holds for equal.
        #expect(!NameSelection(["e\u{301}*"]).includes("\u{e9}a"))
        #expect(NameSelection(["e*"]).includes("e\u{301}"))
    }

    @Test(.timeLimit(.minutes(10)))
    func namesThatBeginWithItComeInOneOrder() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe(
            "com.example.*", "other", "--count", "4", "--format", "json", in: directory)
        let center = try directory.center()
        for name in ["com.example.b", "com.examples", "other", "com.example.a.c", "others", "com.example.b"] {
            try center.post(name: SharedNotificationCenter.Name(name), payload: .empty)
        }
        let names = await observer.output.all().map { object($0)["name"] as? String }
        #expect(names == ["com.example.b", "other", "com.example.a.c", "com.example.b"])
        #expect(
            await observer.errors.first { _ in true } == "tidings: observing com.example.*, other in center default")
    }

    @Test(.timeLimit(.minutes(10)))
    func historyAsForPlainNames() async throws {
        let directory = try CenterDirectory()
        try await tidings("post", "a.b", "--count", "3", in: directory)
        try await tidings("post", "b.a", "--count", "3", in: directory)
        try await tidings("post", "a.c", in: directory)
        let old = try await observe("a.*", "--from", "oldest", "--count", "4", "--format", "json", in: directory)
        #expect(await old.output.all().map { object($0)["name"] as? String } == ["a.b", "a.b", "a.b", "a.c"])
    }

    @Test(.timeLimit(.minutes(10)))
    func whatWasMissedIsSaidToBeOfAnyName() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center(slots: 256)
        let observer = try await observe("a.*", in: directory)
        try observer.process.stop()
        for _ in 0..<1000 { try center.post(name: "b", payload: .empty) }
        observer.send(SIGCONT)
        let line = await observer.errors.first { $0.contains("missed") } ?? ""
        #expect(line.contains("missed ") && line.hasSuffix(" notifications of any name"), "\(line)")
    }
}
