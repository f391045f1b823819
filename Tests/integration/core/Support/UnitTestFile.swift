import Foundation
import Testing

/// The unit tests of one file of the core, written in C (`Tests/unit`). Each is named by a sentence, and has a process.
struct UnitTestFile: CustomTestStringConvertible, Sendable {
    let name: String

    var testDescription: String { name }

    /// As `CoreUnitTests` lists them, so that each test that is written runs.
    static func all() throws -> [UnitTestFile] {
        let (status, list) = try run("--list")
        let files = Set(list.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) })
        // An empty list would be a test that passes because it does nothing.
        guard status == 0, !files.isEmpty else { throw NoUnitTests() }
        return files.sorted().map(UnitTestFile.init)
    }

    func run() throws {
        let (status, answer) = try Self.run(name)
        #expect(status == 0, "\(answer)")
    }

    private static func run(_ argument: String) throws -> (status: Int32, answer: String) {
        try answer(of: executableOfThisPackage("CoreUnitTests"), [argument], withErrors: true)
    }
}

struct NoUnitTests: Error {}
