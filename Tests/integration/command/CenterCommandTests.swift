import Foundation
import Glibc
import Testing
import Tidings
import TidingsAdministration

@testable import tidings

/// The commands that inspect centers: centers, stat, state, doctor, remove.
@Suite(.serialized)
struct CenterCommandTests {
    @Test(.timeLimit(.minutes(10)))
    func centersListsThemSorted() async throws {
        let directory = try CenterDirectory()
        expectEqual(try await tidings("centers", in: directory).output, [])
        for name in ["b", "a", "ä"] { try await tidings("post", "x", "--center", name, in: directory) }
        expectEqual(try await tidings("centers", "--names", in: directory).output, ["a", "b", "ä"])
        let table = try await tidings("centers", in: directory).output
        #expect(table.map { $0.split(separator: " ").first ?? "" } == ["name", "a", "b", "ä"])
    }

    /// Fails if a number is that of another column, if listing makes the command a participant, or if a file that is
    /// no center ends the list.
    @Test(.timeLimit(.minutes(10)))
    func centersPrintsSizesParticipantsAndAge() async throws {
        let directory = try CenterDirectory()
        let centers = [try directory.center("a", slots: 512, participants: 7), try directory.center("a")]
        try Data("bad".utf8).write(to: URL(fileURLWithPath: "\(directory.path)/tidings.\(getuid()).bad"))
        let table = try await tidings("centers", in: directory).output
        #expect(table.count == 3)
        let line = table.dropFirst().first ?? ""
        #expect(line.wholeMatch(of: /a +[\d.]+ [KM]iB +512 +16\.0 MiB +2 of 7 +(-|\d+[smhd])/) != nil, "\(line)")
        #expect(table.last?.hasPrefix("bad   DOES NOT OPEN: can't open") == true, "\(table)")
        let objects = try await tidings("centers", "--format", "json", in: directory).output.map { object($0) }
        #expect(objects.first?["slots"] as? Int == 512)
        #expect(objects.first?["participants"] as? Int == 2)
        #expect(objects.first?["participantLimit"] as? Int == 7)
        #expect(objects.first?["ageSeconds"] is Int || objects.first?["ageSeconds"] is NSNull)
        // Fails if the age begins anew with each post. The file system may not know it.
        let born = birth(of: centers[0].path)
        try centers[0].post(name: "x", payload: .empty)
        #expect(utimes(centers[0].path, nil) == 0)
        #expect(birth(of: centers[0].path) == born && abs(born?.timeIntervalSinceNow ?? 0) < 600)
        #expect(birth(of: "/nonexistent") == nil)
        let error = objects.last?["error"] as? String ?? ""
        #expect(error.hasPrefix("can't open"))
        withExtendedLifetime(centers) {}
    }

    @Test(.timeLimit(.minutes(10)))
    func statPrintsNumbersParticipantsAndNames() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("com.example.a", in: directory)
        try await tidings("post", "com.example.a", "--count", "7", in: directory)
        let stat = object(try await tidings("stat", "--json", in: directory).output.first)
        // A post that was revoked, because its poster did not run for 2 ms, has used two positions.
        let posted = try #require(stat["positionsUsed"] as? Int)
        #expect(posted >= 7 && posted < 14)
        #expect(stat["observers"] as? Int == 1)
        let participants = stat["participants"] as? [[String: Any]] ?? []
        #expect(participants.contains { $0["pid"] as? Int32 == observer.process.pid && $0["isAlive"] as? Bool == true })
        #expect(participants.filter { $0["isOwn"] as? Bool == true }.count == 1)
        let names = stat["names"] as? [[String: Any]] ?? []
        #expect(names.contains { $0["name"] as? String == "com.example.a" && $0["observers"] as? Int == 1 })

        let text = try await tidings("stat", in: directory).output
        #expect(text.contains { $0.hasPrefix("positions  ") && $0.contains(" \(posted) used") })
        #expect(text.contains("  com.example.a, 1 observer"))
    }

    @Test(.timeLimit(.minutes(10)))
    func statPrintsWhichObserverHoldsPostersBack() async throws {
        let directory = try CenterDirectory()
        let (center, mayReturn) = (try directory.center(slots: 256), DispatchSemaphore(value: 0))
        let token = try center.addObserver(forNames: ["a"], options: .init(lossless: true)) { _ in mayReturn.wait() }
        var stat = object(try await tidings("stat", "--json", in: directory).output.first)
        #expect(stat["observersLossless"] as? Int == 1)
        var text = try await tidings("stat", in: directory).output
        #expect(text.contains { $0.contains("1 observer, 1 lossless, 0 positions behind") })
        // The observer takes no more, so at last a post is refused.
        while (try? center.post(name: "a", payload: .empty)) != nil {}
        stat = object(try await tidings("stat", "--json", in: directory).output.first)
        let own = (stat["participants"] as? [[String: Any]])?.first { $0["pid"] as? Int32 == getpid() }
        #expect(own?["observers"] as? Int == 1 && own?["observersLossless"] as? Int == 1)
        let (behind, slots) = (try #require(own?["behind"] as? Int), try #require(stat["slots"] as? Int))
        #expect(behind > slots / 2 && behind <= slots)
        text = try await tidings("stat", in: directory).output
        let distance = "1 lossless, \(behind) positions behind"
        #expect(text.contains { $0.contains("pid \(getpid()),") && $0.contains(distance) })
        for _ in 0..<2 * slots { mayReturn.signal() }
        token.cancel()
        expect(try await tidings("stat", in: directory).output) { lines in lines.contains { $0.contains("0 lossless") }
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func statPrintsWhichProcessHoldsPayloadsInPlace() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let observer = try center.pollableObserver(forNames: "a", options: .init(inPlace: .large))
        try center.post(name: "a", payload: .init(format: .bytes, bytes: Array(repeating: 1, count: 100_000)))
        var delivery = try observer.next()
        func own() async throws -> [String: Any]? {
            let stat = object(try await tidings("stat", "--json", in: directory).output.first)
            return (stat["participants"] as? [[String: Any]])?.first { $0["pid"] as? Int32 == getpid() }
        }
        let holder = try await own()
        #expect(holder?["payloadsHeld"] as? Int == 1 && holder?["memoryHeld"] as? Int ?? 0 >= 100_000)
        #expect(holder?["heldSeconds"] as? Double ?? -1 >= 0)
        let text = try await tidings("stat", in: directory).output
        #expect(text.contains { $0.contains("pid \(getpid()),") && $0.contains(", holds 1 payload in place, ") })
        withExtendedLifetime(delivery) {}
        delivery = nil
        let free = try await own()
        #expect(free?["payloadsHeld"] as? Int == 0 && free?["heldSeconds"] == nil)
    }

    @Test(.timeLimit(.minutes(10)))
    func statWatchGoesOnUntilInterrupted() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let stat = try Invocation(["stat", "--watch", "--json"], in: directory)
        _ = await stat.output.first { $0.contains(#""positionsUsed":0"#) }
        try center.post(name: "a", payload: .empty)
        _ = await stat.output.first { $0.contains(#""positionsUsed":1"#) }
        stat.send(SIGINT)
        expectEqual(await stat.ending(), 0)
    }

    /// Fails if `stat` calls a participant dead whose process has ended by an exit.
    @Test(.timeLimit(.minutes(10)), arguments: [SIGINT, SIGKILL])
    func statListsAParticipantWhoseProcessEndedAsEnded(signal: Int32) async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", in: directory)
        let id = observer.process.pid
        expect(try await tidings("stat", in: directory).output) { lines in
            lines.contains { $0.contains("pid \(id),") && $0.contains(", alive,") }
        }
        observer.send(signal)
        expectEqual(await observer.ending(), signal == SIGINT ? 0 : -signal)
        // Opening the center may have given the entry to the command itself.
        let lines = try await tidings("stat", in: directory).output.filter { $0.contains("pid \(id),") }
        #expect(lines.allSatisfy { $0.contains(", ended,") && !$0.contains("dead") }, "\(lines)")
    }

    @Test(.timeLimit(.minutes(10)))
    func inspectingCreatesNothing() async throws {
        let directory = try CenterDirectory()
        try await tidings("stat", in: directory)
        try await tidings("state", "get", "a", in: directory)
        try await tidings("doctor", in: directory)
        try await tidings("centers", in: directory)
        #expect(directory.files.isEmpty)
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            (["0.5"], "0.5", "0.5"), ([#"{"a": [1]}"#], #"{"a":[1]}"#, #"{"a": [1]}"#), (["loud"], #""loud""#, "loud"),
            (["0.5", "--text"], #""0.5""#, "0.5"),
        ])
    func stateSetRetainsAValue(arguments: [String], json: String, raw: String) async throws {
        let directory = try CenterDirectory()
        let set = try Invocation(["state", "set", "a"] + arguments, in: directory)
        expectEqual(await set.ending(), 0)
        expectEqual(try await tidings("state", "get", "a", in: directory).output, [json])
        expectEqual(try await tidings("state", "get", "a", "--raw", in: directory).output, [raw])
        expectEqual(try await tidings("state", "get", "b", in: directory).status, 1)
    }

    @Test(.timeLimit(.minutes(10)))
    func stateSetNotifiesObserversAndClearRemovesTheValue() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", "--count", "1", "--format", "json", in: directory)
        try await tidings("state", "set", "a", "1", in: directory)
        expectEqual(object(await observer.output.all().first)["payload"] as? Int, 1)
        expectEqual(try await tidings("state", "set", "a", "--clear", in: directory).status, 0)
        expectEqual(try await tidings("state", "get", "a", in: directory).status, 1)
    }

    /// Fails if a name without a value is listed, a name's value is lost, or a cleared value stays.
    @Test(.timeLimit(.minutes(10)))
    func stateListAndClear() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        let observer = try await observe("observed", "a.*", in: directory)
        try center.setState(.json("[1, 2.50]"), for: "b")
        try center.setState(.init(format: .bytes, bytes: [0, 255]), for: "a.\n")
        expectEqual(
            try await tidings("state", "list", in: directory).output, [#"a.\u000a {"bytes":"00ff"}"#, "b [1,2.50]"])
        expectEqual(try await tidings("state", "list", "a.*", in: directory).output.count, 1)
        let lines = try await tidings("state", "list", "--format", "json", in: directory).output
        #expect(lines.last == #"{"name":"b","payload":[1,2.50],"retained":true}"#)
        let copy = try await tidings(
            "post", "--json-lines", "--center", "copy", in: directory, input: lines.joined(separator: "\n"))
        #expect(copy.status == 0)
        let copied = try await tidings("state", "list", "--center", "copy", "--format", "json", in: directory)
        #expect(copied.output == lines)
        expectEqual(try await tidings("state", "clear", "b", "none", in: directory).status, 0)
        expectEqual(try await tidings("state", "list", in: directory).output.count, 1)
        expectEqual(try await tidings("state", "clear", "a", "--center", "none", in: directory).status, 1)
        withExtendedLifetime(observer) {}
    }

    /// Fails if the value at the beginning, a change or a clearing is left out, or a notification that is not retained
    /// is taken for a value.
    @Test(.timeLimit(.minutes(10)))
    func stateWatchPrintsChanges() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        try center.setState(.json("1"), for: "a")
        let watch = try Invocation(["state", "watch", "a", "--count", "10"], in: directory)
        _ = await watch.output.first { $0 == "1" }
        // A late command finds the next value at the notification before it, and prints it once. A command that shows
        // each delivery prints a value twice, whether it is late or not.
        for value in 2...9 {
            try center.post(name: "a", payload: .json("0"))
            try center.setState(.json("\(value)"), for: "a")
            _ = await watch.output.first { $0 == "\(value)" }
        }
        try center.setState(nil, for: "a")
        expectEqual(await watch.ending(), 0)
        expectEqual(await watch.output.all(), (1...9).map { "\($0)" } + ["null"])
        let other = try Invocation(["state", "watch", "a"], in: directory)
        _ = await other.errors.first { $0.contains("watching") }
        try await tidings("remove", "--force", "default", in: directory)
        expectEqual(await other.ending(), 1)
        expect(await other.errors.all()) { $0.count == 2 }
    }

    @Test(.timeLimit(.minutes(10)))
    func removeDeletesACenterAndNothingElse() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center()
        expectEqual(try await tidings("remove", "--force", "default", in: directory).status, 0)
        #expect(directory.files.isEmpty)
        #expect(throws: SharedNotificationError.self) { try center.post(name: "a", payload: .empty) }

        let impostor = "tidings.\(getuid()).notes"
        try Data("my notes".utf8).write(to: URL(fileURLWithPath: "\(directory.path)/\(impostor)"))
        expectEqual(try await tidings("remove", "notes", in: directory).status, 1)
        #expect(directory.files == [impostor])
    }

    /// If the error of a removal names the process. It may name another one: a process that a test is starting shares
    /// the memory of this one until it executes its program.
    private func names(_ pid: Int32, in error: String) -> Bool {
        error.range(of: "\\(\(pid)\\).* (has|have) it open; end (it|them), or use --force", options: .regularExpression)
            != nil
    }

    @Test(.timeLimit(.minutes(10)))
    func removeRefusesAFullCenterAndNamesItsParticipants() async throws {
        let directory = try CenterDirectory()
        let participants = [try directory.center(participants: 2), try directory.center()]
        let refused = try await tidings("remove", "default", in: directory)
        #expect(refused.status == 1)
        expect(refused.errors.joined(separator: "\n")) { names(getpid(), in: $0) }
        #expect(directory.files == ["tidings.\(getuid()).default"])
        #expect(throws: Never.self) { try participants[0].post(name: "a", payload: .empty) }
        expectEqual(try await tidings("remove", "--force", "default", in: directory).status, 0)
        #expect(directory.files.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)))
    func removeRefusesWhileAReadOnlyObserverHasTheCenterOpen() async throws {
        let directory = try CenterDirectory()
        _ = try directory.center(permissions: 0o644)
        let observer = try await observe("a", "--read-only", in: directory)
        let refused = try await tidings("remove", "default", in: directory)
        #expect(refused.status == 1)
        let names = "tidings (\(observer.process.pid)) has it open; end it, or use --force"
        #expect(refused.errors.joined().contains(names), "\(refused.errors)")
        observer.send(SIGTERM)
        expectEqual(await observer.ending(), 0)
        expectEqual(try await tidings("remove", "default", in: directory).status, 0)
        #expect(directory.files.isEmpty)
    }

    /// The center is then that of a program of another major version.
    private func changeMajorVersion(of path: String, by difference: Int) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        defer { try? file.close() }
        let offset: UInt64 = 10  // after the magic number and the minor version
        try file.seek(toOffset: offset)
        let version = try #require(try file.read(upToCount: 1)?.first)
        try file.seek(toOffset: offset)
        try file.write(contentsOf: Data([UInt8(Int(version) + difference)]))
    }

    @Test(.timeLimit(.minutes(10)), arguments: [-1, 1])
    func programsOfAnotherFormatAreRefusedAndDisturbNoParticipant(difference: Int) async throws {
        let directory = try CenterDirectory()
        let pipe = directory.path + ".pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        defer { unlink(pipe) }
        let path = try directory.center().path
        let presence = try await observe("--presence", in: directory)
        let member = try await observe("a", "--announce", "member", in: directory)
        let server = try Invocation(["serve", "b", "--exec", "echo begun >&2; cat '\(pipe)'"], in: directory)
        _ = await server.errors.first { $0.hasPrefix("tidings: serving") }
        let request = try Invocation(["request", "b"], in: directory)
        _ = await server.errors.first { $0 == "begun" }

        try changeMajorVersion(of: path, by: difference)
        for command in [
            ["stat"], ["doctor"], ["state", "get", "a"], ["post", "a"], ["observe", "a"], ["request", "b"],
        ] {
            let refused = try await Invocation(command, in: directory).outcome()
            let lines = (command == ["doctor"] ? refused.output : refused.errors).filter {
                $0.contains("format version")
            }
            #expect(refused.status == 1 && lines.count == 1, "\(command) \(refused)")
        }
        let error = #expect(throws: SharedNotificationError.self) { try directory.center() }
        #expect(error?.code == .incompatibleVersion)
        try changeMajorVersion(of: path, by: -difference)

        try FileHandle(forWritingTo: URL(fileURLWithPath: pipe)).write(contentsOf: Data("7".utf8))
        expectEqual(await request.ending(), 0)
        expectEqual(await request.output.all(), ["7"])
        member.send(SIGKILL)
        _ = await presence.output.first { $0.hasPrefix("died") }
        presence.send(SIGINT)
        expectEqual(await presence.ending(), 0)
        let notices = await presence.output.all()
        #expect(notices.count == 2 && notices[0].hasPrefix("joined ") && notices[1].hasPrefix("died "), "\(notices)")
    }

    @Test(.timeLimit(.minutes(10)))
    func removeRefusesACenterOfAnotherFormat() async throws {
        let directory = try CenterDirectory()
        try changeMajorVersion(of: directory.center().path, by: 1)
        let refused = try await tidings("remove", "default", in: directory)
        #expect(refused.status == 1)
        #expect(refused.errors.joined().contains("can't find out which processes have it open"), "\(refused.errors)")
        expectEqual(try await tidings("remove", "--force", "default", in: directory).status, 0)
        #expect(directory.files.isEmpty)
    }

    @Test(.timeLimit(.minutes(10)))
    func aDirectoryWhereOtherUsersMayRenameNeedsAFlag() async throws {
        let directory = try CenterDirectory()
        #expect(chmod(directory.path, 0o777) == 0)
        let commands = [
            ["post", "a", "--retain", "--text", "x"], ["state", "get", "a"], ["stat"], ["doctor"],
            ["state", "set", "a", "1"],
        ]
        try await tidings("post", "a", "--center", "other", "--shared-directory", in: directory)
        for command in commands {
            let isDoctor = command == ["doctor"]
            let refused = try await Invocation(command, in: directory).outcome()
            #expect(refused.status == 1, "\(command)")
            let lines = isDoctor ? refused.output : refused.errors
            #expect(lines.contains { $0.contains("every user may rename files") }, "\(command) \(lines)")
            let allowed = try await Invocation(command + ["--shared-directory"], in: directory).outcome()
            #expect(allowed.status == 0, "\(command) \(allowed.errors)")
        }
        let center = try SharedNotificationCenter(
            named: "default", configuration: .init(directory: directory.path, allowsSharedDirectory: true))
        // `remove` does not need --shared-directory, and finds the processes that have the center open.
        let refusal = try await tidings("remove", "default", in: directory)
        #expect(refusal.status == 1)
        expect(refusal.errors.joined(separator: "\n")) { names(getpid(), in: $0) }
        expectEqual(try await tidings("remove", "default", "--force", in: directory).status, 0)
        expectEqual(try await tidings("remove", "other", in: directory).status, 0)
        #expect(directory.files.isEmpty)
        withExtendedLifetime(center) {}
    }

    @Test(.timeLimit(.minutes(10)), .enabled(if: Self.canHaveMoreRights, "it takes root and setpriv"))
    func aSetUserIDProgramIgnoresTheDirectoryVariable() async throws {
        let directory = try CenterDirectory()
        let center = try directory.center("com.example.of-the-variable")
        let command = [try Invocation.path(of: "tidings"), "centers", "--names"]
        // The real user differs from the effective user, as in a set-user-ID program.
        for (rights, isListed) in [(["--ruid", "65534"], false), ([], true)] {
            let outcome = try await Invocation(rights + command, in: directory, executable: Self.setpriv).outcome()
            #expect(outcome.status == 0 && outcome.output.contains(center.name) == isListed, "\(outcome)")
        }
    }

    private static let setpriv = "/usr/bin/setpriv"
    private static var canHaveMoreRights: Bool { geteuid() == 0 && access(setpriv, X_OK) == 0 }

    @Test(.timeLimit(.minutes(10)))
    func doctorCountsDeadParticipantsAndReclaims() async throws {
        let directory = try CenterDirectory()
        let observer = try await observe("a", in: directory)
        var outcome = try await tidings("doctor", in: directory)
        #expect(outcome.output.contains { $0.hasPrefix("default  opens: 1 participant alive, 0 dead") })
        observer.send(SIGKILL)
        expectEqual(await observer.ending(), -SIGKILL)
        outcome = try await tidings("doctor", "--repair", in: directory)
        #expect(outcome.status == 0)
        outcome = try await tidings("doctor", in: directory)
        #expect(outcome.output.contains { $0.hasPrefix("default  opens: 0 participants alive, 0 dead") })
    }

    @Test(.timeLimit(.minutes(10)))
    func doctorFindsACenterThatDoesNotOpen() async throws {
        let directory = try CenterDirectory()
        _ = try directory.center("good")
        try Data("bad".utf8).write(to: URL(fileURLWithPath: "\(directory.path)/tidings.\(getuid()).bad"))
        let outcome = try await tidings("doctor", in: directory)
        #expect(outcome.status == 1)
        #expect(outcome.output.contains { $0.hasPrefix("bad   DOES NOT OPEN: can't open") })
        #expect(outcome.output.contains { $0.hasPrefix("good  opens") })
        #expect(outcome.errors.count == 1)
    }
}
