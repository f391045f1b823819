import Foundation
import Glibc
import Testing
import Tidings

@testable import tidings

/// `observe 'com.example.*'`.
@Suite(.serialized)
struct PrefixTests {
    @Test func aSelectionIncludesTheRequestedNames() {
        let selection = NameSelection(["a", "com.example.*", "b"])
        #expect(selection.names == ["a", "b"] && selection.prefixes == ["com.example."])
        #expect(["a", "com.example.", "com.example.b", "com.example.b.c"].allSatisfy { selection.includes(.init($0)) })
        #expect(!["c", "ab", "com.example", "com.examples"].contains { selection.includes(.init($0)) })
        for everything in [NameSelection(nil), NameSelection(["a", "*"])] {
            #expect(everything.names == nil && everything.prefixes.isEmpty && everything.includes("b"))
        }
        // Names are compared by bytes, not by Unicode equivalence.
        #expect(!NameSelection(["e\u{301}*"]).includes("\u{e9}a"))
        #expect(!NameSelection(["e\u{301}", "a*"]).includes("\u{e9}"))
        #expect(NameSelection(["e*"]).includes("e\u{301}"))
    }

    @Test(.timeLimit(.minutes(10)))
    func namesWithThePrefixArriveInOneOrder() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe(
            "com.example.*", "other", "--count", "4", "--format", "json", in: directory)
        let center = try directory.center()
        for name in ["com.example.b", "com.examples", "other", "com.example.a.c", "others", "com.example.b"] {
            try center.post(name: SharedNotificationCenter.Name(name), payload: .empty)
        }
        let names = await observer.output.all().map { object($0)["name"] as? String }
        #expect(names == ["com.example.b", "other", "com.example.a.c", "com.example.b"])
        expectEqual(
            await observer.errors.first { _ in true }, "tidings: observing com.example.*, other in center default")
    }

    @Test(.timeLimit(.minutes(10)))
    func aPrefixHasHistoryLikeAName() async throws {
        let directory = try CenterDirectory()
        try await tidings("post", "a.b", "--count", "3", in: directory)
        try await tidings("post", "b.a", "--count", "3", in: directory)
        try await tidings("post", "a.c", in: directory)
        let old = try await observe("a.*", "--from", "oldest", "--count", "4", "--format", "json", in: directory)
        expectEqual(await old.output.all().map { object($0)["name"] as? String }, ["a.b", "a.b", "a.b", "a.c"])
    }

    @Test(.timeLimit(.minutes(10)))
    func missedCountsOnlyThoseNames() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center(slots: 256)
        let observer = try await observe("a.*", "end", "--count", "1", in: directory)
        try observer.process.stop()
        // The posts under other names fill the ring more than once after the last post that the observer observes.
        for number in 0..<100 { try center.post(name: .init("a.\(number % 3)"), payload: .empty) }
        for _ in 0..<1000 { try center.post(name: "b", payload: .empty) }
        observer.send(SIGCONT)
        expectEqual(await observer.errors.first { $0.contains("missed") }, "tidings: missed 100 notifications of a.*")
        try center.post(name: "end", payload: .empty)
        expectEqual(await observer.ending(), 0)
        expectEqual(await observer.errors.all().count, 2)
    }

    /// Posts under all names wake a reader, which filters out the names that were not requested.
    @Test(.timeLimit(.minutes(10)))
    func aReaderFiltersOutOtherNames() async throws {
        let directory = try CenterDirectory()
        let center = try SharedNotificationCenter(
            named: "default", configuration: .init(directory: directory.path, slots: 256, permissions: 0o644))
        let observer = try await observe(
            "a.*", "c", "--read-only", "--count", "3", "--format", "json", in: directory)
        try observer.process.stop()
        for _ in 0..<1000 { try center.post(name: "b", payload: .empty) }
        observer.send(SIGCONT)
        let line = await observer.errors.first { $0.contains("missed") } ?? ""
        #expect(line.contains("missed ") && line.hasSuffix(" notifications of any name"), "\(line)")
        for name in ["a.b", "b", "as", "c", "a."] {
            try center.post(name: SharedNotificationCenter.Name(name), payload: .empty)
        }
        let lines = await observer.output.all().map { object($0) }
        #expect(lines.first?["missed"] is Int && lines.first?["name"] is NSNull)
        #expect(lines.dropFirst().map { $0["name"] as? String } == ["a.b", "c", "a."])
    }

    @Test(.timeLimit(.minutes(10)))
    func statDistinguishesPrefixesFromNames() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("com.example.*", "com.other.a", in: directory)
        let lines = try await tidings("stat", in: directory).output
        #expect(lines.contains("  com.example.*, 1 observer, all names with this prefix"))
        #expect(lines.contains("  com.other.a, 1 observer"))
        let names = object(try await tidings("stat", "--json", in: directory).output.first)["names"] as? [[String: Any]]
        #expect(names?.first { $0["name"] as? String == "com.example.*" }?["isPrefix"] as? Bool == true)
        #expect(names?.first { $0["name"] as? String == "com.other.a" }?["isPrefix"] as? Bool == false)
        // Shell completion offers names only, no prefixes.
        let words = ["---completion", "observe", "--", "positional@0", "2", "0", "tidings", "observe", ""]
        let asking = try Invocation(words, in: directory)
        expectEqual(await asking.output.all().filter { !$0.isEmpty }, ["com.other.a"])
        _ = observer
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["a**", "a.*.b*"])
    func anInvalidPrefixIsRefused(pattern: String) async throws {
        let outcome = try await tidings("observe", pattern, in: CenterDirectory())
        #expect(outcome.status == 1 && outcome.errors.count == 1 && outcome.errors[0].contains("*"), "\(outcome)")
    }
}
