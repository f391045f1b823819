import Foundation
import Testing

/// A unit test of the core, written in C (`Tests/unit`) and named by a sentence.
struct UnitTest: CustomTestStringConvertible, Sendable {
    let file: String
    let name: String

    var testDescription: String {
        "\(file): \(name.replacing("_", with: " "))"
    }

    /// As `CoreUnitTests` lists them, so that each test that is written runs.
    static func all() throws -> [UnitTest] {
        let (status, list) = try run("--list")
        let tests = list.split(separator: "\n").map { $0.split(separator: " ") }
            .map { UnitTest(file: String($0[0]), name: String($0[1])) }
        // An empty list would be a test that passes because it does nothing.
        guard status == 0, !tests.isEmpty else { throw NoUnitTests() }
        return tests
    }

    /// In a process of its own.
    func run() throws {
        let (status, answer) = try Self.run(name)
        #expect(status == 0, "\(answer)")
    }

    private static func run(_ argument: String) throws -> (status: Int32, answer: String) {
        try answer(of: executableOfThisPackage("CoreUnitTests"), [argument], withErrors: true)
    }
}

struct NoUnitTests: Error {}
