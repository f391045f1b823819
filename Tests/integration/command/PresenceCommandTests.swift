import Foundation
import Glibc
import Testing
import Tidings

@testable import tidings

/// `tidings observe --presence`, `tidings observe --announce`, and the roles that `tidings stat` prints.
@Suite(.serialized)
struct PresenceCommandTests {
    private func announced(_ role: String, in directory: CenterDirectory) async throws -> Invocation {
        try await observe("a", "--announce", role, in: directory)
    }

    @Test(.timeLimit(.minutes(10)))
    func observePresencePrintsWhichParticipantsJoinAndLeave() async throws {
        let directory = try CenterDirectory()
        let host = try await announced("host", in: directory)
        let observer = try await observe("--presence", in: directory)
        _ = await observer.output.first { $0.hasPrefix("joined") }
        let killed = try await announced("renderer 3", in: directory)
        _ = await observer.output.first { $0.hasSuffix("renderer 3") }
        killed.send(SIGKILL)
        _ = await observer.output.first { $0.hasPrefix("died") }
        host.send(SIGTERM)
        expectEqual(await host.ending(), 0)
        _ = await observer.output.first { $0.hasPrefix("closed") }
        observer.send(SIGINT)
        expectEqual(await observer.ending(), 0)
        expectEqual(await observer.errors.all(), ["tidings: observing presence in center default"])
        expectEqual(
            await observer.output.all(),
            [
                "joined \(host.process.pid) (tidings): host", "joined \(killed.process.pid) (tidings): renderer 3",
                "died \(killed.process.pid) (tidings): renderer 3", "closed \(host.process.pid) (tidings): host",
            ])
    }

    @Test(.timeLimit(.minutes(10)))
    func observePresencePrintsJSON() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("--presence", "--format", "json", "--count", "2", in: directory)
        let role = "a \"role\"\u{1B}[2J"
        let center = try directory.center()
        let announcement = try center.announce(role: role)
        let id = announcement.participant.id
        announcement.withdraw()
        expectEqual(await observer.ending(), 0)
        let lines = await observer.output.all()
        expect(lines) { $0.count == 2 && !$0.joined().contains("\u{1B}") }
        for (line, event) in zip(lines, ["joined", "closed"]) {
            let change = object(line)
            #expect(change["event"] as? String == event)
            #expect(change["pid"] as? Int32 == getpid())
            #expect(change["uid"] as? UInt32 == getuid())
            #expect(change["id"] as? UInt64 == id)
            #expect(change["role"] as? String == role)
            #expect(change["executable"] as? String == announcement.participant.executable)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func observePresenceEndsWithItsCenter() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("--presence", in: directory)
        expectEqual(try await tidings("remove", "--force", "default", in: directory).status, 0)
        expectEqual(await observer.ending(), 1)
        expect(await observer.errors.all()) { $0.count == 2 && $0[1].hasSuffix("or use --follow") }
    }

    @Test(.timeLimit(.minutes(10)))
    func statPrintsTheRoles() async throws {
        let directory = try CenterDirectory()
        let host = try await announced("host", in: directory)
        let other = try directory.center()
        let stat = object(try await tidings("stat", "--json", in: directory).output.first)
        let participants = stat["participants"] as? [[String: Any]] ?? []
        let one = participants.first { $0["pid"] as? Int32 == host.process.pid }
        #expect(one?["role"] as? String == "host" && one?["isAnnounced"] as? Bool == true)
        let own = participants.first { $0["pid"] as? Int32 == getpid() }
        #expect(own?["role"] == nil && own?["isAnnounced"] as? Bool == false)
        let text = try await tidings("stat", in: directory).output
        #expect(text.count { $0.contains("announced as") } == 1, "\(text)")
        #expect(text.contains { $0.contains("pid \(host.process.pid),") && $0.contains(", announced as \"host\"") })
        withExtendedLifetime(other) {}
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [["--presence", "a"], ["--presence", "--all"], ["--presence", "--exec", "true"]])
    func presenceTakesNoNames(arguments: [String]) async throws {
        let directory = try CenterDirectory()
        let wrong = try await Invocation(["observe"] + arguments, in: directory).outcome()
        #expect(wrong.status == 64)
        #expect(wrong.errors.first?.hasPrefix("Error: With --presence, give no names, --all, --subject, ") == true)
    }

    @Test(.timeLimit(.minutes(10)))
    func aRoleThatIsTooLongIsOneLine() async throws {
        let directory = try CenterDirectory()
        let failed = try await tidings(
            "observe", "a", "--announce", String(repeating: "x", count: 65), in: directory)
        #expect(failed.status == 1)
        #expect(failed.errors == ["tidings: can't use role of 65 bytes: at most 64; shorten it"], "\(failed.errors)")
    }
}
