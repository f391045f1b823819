import Foundation
import Testing

/// Stories of several processes on one center, told in C (`Tests/CoreScenarios`) because they fork.
// One at a time: each blocks a thread, and the tests beside it need theirs.
@Suite(.serialized) struct ScenarioTests {
    /// Each in a directory of its own, with a seed that is printed when it fails.
    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            "sizes", "exactLoss", "killedPosters", "stoppedPoster", "sleepingObserver", "noSystemCall", "lossless",
            "state", "forked", "many", "badInput", "leftHalfDone", "threads", "churn", "descriptor",
        ]
    )
    func holds(scenario: String) throws {
        let directory = "/dev/shm/tidings-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let seed = UInt64.random(in: 1...1_000_000)
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = [scenario, String(seed), directory]
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(
            process.terminationReason == .exit && process.terminationStatus == 0,
            "\(scenario), seed \(seed), ended with \(process.terminationStatus): \(complaint)")
    }

    /// Beside the tests' own executable.
    private static var executable: URL {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("CoreScenarios")
    }
}
