import Foundation
import Glibc
import Testing
import Tidings
import TidingsAdministration

@testable import tidings

/// The command on real orphans: it names their kind, and reclaims them while other processes go on. Then only the
/// center's file is left.
@Suite(.serialized)
struct DoctorTests {
    private static let dead = "stale: 1 dead participant (ScenarioPeer "

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ("alone", [dead]),
            (
                "observers",
                [
                    dead, "stale: 2 observers of dead participants, 1 lossless",
                    "stale: 1 name that only dead participants",
                ]
            ),
            ("payload", [dead, "stale: 1 chunk for large payloads"]),
            ("claim", [dead, "stale: 1 slot of posts that dead participants"]),
            ("name", [dead, "stale: 1 name that only dead participants"]),
            ("verdict", [dead, "stale: 1 slot of posts", "stale: 1 unfinished revocation of a post"]),
            ("eviction", [dead, "stale: the eviction of the oldest notifications is unfinished"]),
        ])
    func orphansAreNamedAndReclaimed(what: String, stale: [String]) async throws {
        let directory = try CenterDirectory()
        try await leave(what, in: directory)
        var lines = try await tidings("doctor", in: directory).output
        #expect(
            lines.contains {
                $0.hasPrefix("scenario  opens: 0 participants alive, 1 dead (harmless; --repair reclaims the orphans)")
            }
        )
        #expect(lines.count == 2 + stale.count, "\(lines)")
        for line in stale { #expect(lines.contains { $0.hasPrefix("  " + line) }, "\(line) in \(lines)") }
        lines = try await tidings("doctor", "--repair", in: directory).output
        #expect(lines.filter { $0.hasPrefix("  reclaimed: ") }.count == stale.count, "\(lines)")
        try await findsNothing(in: directory)
        #expect(directory.files.count == 1)
        try await goesOn(in: directory)
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ("unfinished", "its creator was killed before the center was finished"),
            ("writers-file", "it belongs to a center that was removed, or was never finished"),
            ("removed", "its remover was killed before the end"),
        ])
    func filesAreNamedAndDeleted(what: String, why: String) async throws {
        let directory = try CenterDirectory()
        try await leave(what, in: directory)
        let file = try #require(directory.files.first)
        #expect(directory.files.count == 1)
        var outcome = try await tidings("doctor", in: directory)
        #expect(outcome.output.count == 2 && outcome.status == 0)
        #expect(outcome.output.last?.hasPrefix("stale: file \(file), ") == true)
        let known = what == "removed" ? "; processes that have it open know that it is removed" : ""
        #expect(outcome.output.last?.hasSuffix(": \(why)\(known); --repair deletes it") == true)
        #expect(directory.files == [file], "without --repair the command changes nothing")
        outcome = try await tidings("doctor", "--repair", in: directory)
        #expect(outcome.output.last?.hasPrefix("reclaimed: file \(file), ") == true)
        #expect(outcome.output.last?.hasSuffix("; deleted") == true)
        #expect(directory.files.isEmpty)
        expectEqual(try await tidings("doctor", in: directory).output.count, 1)
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            ("version", "update the older one and remove the center"), ("short", "delete it when no process uses it"),
        ])
    func aFileThatDoesNotOpenIsLeftUnchangedWithAdvice(what: String, advice: String) async throws {
        let directory = try CenterDirectory()
        try await leave(what, in: directory)
        for arguments in [["doctor"], ["doctor", "--repair"]] {
            let doctor = try Invocation(arguments, in: directory)
            expectEqual(await doctor.ending(), 1)
            let lines = await doctor.output.all()
            #expect(
                lines.last?.hasPrefix("scenario  DOES NOT OPEN: ") == true && lines.last?.hasSuffix(advice) == true,
                "\(lines)")
            #expect(directory.files.count == 1)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func aHeldSlotIsReportedWithItsHolderAndNotReclaimed() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center("scenario", slots: 256)
        let peer = try Invocation(
            ["--leave", "standing", "1", directory.path], in: directory, executable: "ScenarioPeer")
        expect(await peer.output.first { $0 == "standing" }) { $0 != nil }
        for _ in 0..<600 { try center.post(name: "a", payload: .empty) }
        let held =
            "1 slot held by a poster that stood still in the middle of a post, one by process or thread "
            + "\(peer.process.pid): "
        expect(try await tidings("doctor", in: directory).output) { all in
            all.contains { $0.hasPrefix("  stale: \(held)") }
        }
        expect(try await tidings("doctor", "--repair", in: directory).output) { all in
            all.contains { $0.hasPrefix("  not reclaimed: \(held)") }
        }
        peer.send(SIGKILL)
        expectEqual(await peer.ending(), -SIGKILL)
        let lines = try await tidings("doctor", "--repair", in: directory).output
        #expect(lines.contains { $0.hasPrefix("  reclaimed: 1 slot of posts that dead participants had not finished") })
        try await findsNothing(in: directory)
    }

    /// Sixteen posters and observers are killed at once.
    @Test(.timeLimit(.minutes(10)))
    func orphansOfAKilledStressTestAreReclaimed() async throws {
        let directory = try CenterDirectory()
        try await leave("stress", in: directory)
        let lines = try await tidings("doctor", in: directory).output
        // The processes die one after the other. The last ones may have reclaimed the entries of the first ones.
        #expect(
            (2...16).contains { dead in
                lines.contains { $0.hasPrefix("  stale: \(dead) dead participants (ScenarioPeer ") }
            }, "\(lines)")
        try await tidings("doctor", "--repair", in: directory)
        try await findsNothing(in: directory)
        #expect(directory.files.count == 1)
        let statistics = try directory.center("scenario").statistics
        // Dead participants would count. The one participant is this process.
        #expect(statistics.participants == 1 && statistics.observers == 0 && statistics.observersAsleep == 0)
        try await goesOn(in: directory)
    }

    /// A poster and an observer run meanwhile: each notification arrives, once, in order.
    @Test(.timeLimit(.minutes(10)))
    func repairDisturbsNoOtherProcess() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center("scenario")
        let kinds = ["alone", "observers", "payload", "claim", "name", "verdict"]
        let count = kinds.count * 100
        let observer = try Invocation(
            ["observe", "a", "--center", "scenario", "--count", "\(count)", "--format", "json"], in: directory)
        _ = await observer.errors.first { $0.hasPrefix("tidings: observing") }
        var posted = 0
        for kind in kinds {
            try await leave(kind, in: directory)
            let doctor = try Invocation(["doctor", "--repair"], in: directory)
            // While the command runs.
            for _ in 0..<100 {
                try center.post(name: "a", payload: .json("\(posted)"))
                posted += 1
            }
            expectEqual(await doctor.ending(), 0)
        }
        let numbers = await observer.output.all().map { object($0)["payload"] as? Int }
        #expect(numbers == Array(0..<count))
        expectEqual(await observer.ending(), 0)
        try await findsNothing(in: directory, alive: 1)
        #expect(directory.files.count == 1)
        withExtendedLifetime(center) {}
    }

    private func findsNothing(in directory: CenterDirectory, alive: Int? = nil) async throws {
        let outcome = try await tidings("doctor", in: directory)
        #expect(outcome.status == 0 && outcome.output.count == 2, "\(outcome.output)")
        let others = alive.map { "\(counted($0, "participant")) alive, 0 dead, " } ?? ""
        #expect(outcome.output.last?.hasPrefix("scenario  opens: \(others)") == true, "\(outcome.output)")
        #expect(outcome.output.last?.contains(" 0 dead, ") == true, "\(outcome.output)")
    }

    /// Posts and observes in the center.
    private func goesOn(in directory: CenterDirectory) async throws {
        let observer = try Invocation(
            ["observe", "a", "--center", "scenario", "--count", "5", "--format", "json"], in: directory)
        _ = await observer.errors.first { $0.hasPrefix("tidings: observing") }
        try await tidings("post", "a", "--center", "scenario", "--count", "5", in: directory)
        expectEqual(await observer.output.all().count, 5)
    }
}
