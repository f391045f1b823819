import Foundation
import Glibc
import Testing
import Tidings
import TidingsAdministration

@testable import tidings

/// `create`: sizes, mode, and what it refuses.
@Suite(.serialized)
struct CreateTests {
    /// Fails if an option sets another size, or none.
    @Test(.timeLimit(.minutes(10)))
    func createsWithSizesAndMode() async throws {
        let directory = try CenterDirectory()
        let outcome = try await tidings(
            "create", "a", "--maximum-payload", "64KiB", "--slots", "512", "--participants", "7", "--observers", "9",
            "--names", "100", "--mode", "0640", "--group", "\(getgid())", in: directory)
        #expect(outcome.status == 0 && outcome.output.isEmpty && outcome.errors.isEmpty, "\(outcome)")
        let center = try directory.center("a")
        let numbers = try center.statistics
        #expect(numbers.maximumPayloadSize == 65_536)
        #expect(numbers.slots == 512)
        #expect(numbers.participantLimit == 7)
        #expect(numbers.observerLimit == 9)
        #expect(numbers.nameLimit == 100)
        let attributes = try FileManager.default.attributesOfItem(atPath: center.path)
        #expect(attributes[.posixPermissions] as? Int == 0o640)
    }

    @Test(.timeLimit(.minutes(10)))
    func anExistingCenterStaysAsItIs() async throws {
        let directory = try CenterDirectory()
        _ = try directory.center("a", slots: 512)
        let refused = try await tidings("create", "a", "--slots", "1024", in: directory)
        #expect(refused.status == 1 && refused.errors.count == 1)
        #expect(refused.errors.first?.hasPrefix("tidings: can't ") == true)
        expectEqual(try await tidings("create", "a", "--slots", "1024", "--if-needed", in: directory).status, 0)
        expectEqual(try directory.center("a").statistics.slots, 512)
    }

    /// Fails if the command creates a center with a size that it was not given.
    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            (["a", "--slots", "300"], 1), (["a", "--slots", "0"], 64), (["a", "--slots", "4294967297"], 1),
            (["a", "--names", "1"], 1), (["a", "--participants", "-1"], 64), (["a", "--observers", "x"], 64),
            (["a", "--maximum-payload", "2GiB"], 1), (["a", "--maximum-payload", "0"], 64),
            (["a", "--maximum-payload", "9999999999GiB"], 64), (["a", "--mode", "0088"], 64),
            (["a", "--mode", "0040"], 1), (["a", "--group", "no such group"], 64), (["a/b"], 1), ([""], 1), ([], 64),
        ] as [([String], Int32)])
    func refusesWrongSizes(arguments: [String], status: Int32) async throws {
        let directory = try CenterDirectory()
        let outcome = try await Invocation(["create"] + arguments, in: directory).outcome()
        #expect(outcome.status == status, "\(outcome)")
        #expect(status == 64 || outcome.errors.count == 1, "\(outcome)")
        #expect(directory.files.isEmpty)
    }
}
