import Foundation
import Testing
import TidingsAdministration

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct ErrorTests {
    private func code(_ body: () throws -> Void) -> SharedNotificationError.Code? {
        let error = #expect(throws: SharedNotificationError.self) { try body() }
        // The message is one line of plain text.
        #expect(error?.message.isEmpty == false && error?.message.contains("\n") == false)
        return error?.code
    }

    @Test func names() throws {
        let test = try TestCenter()
        let long = Center.Name(String(repeating: "n", count: 256))
        #expect(code { try test.center.post(name: "", payload: .empty) } == .invalidName)
        #expect(code { try test.center.post(name: long, payload: .empty) } == .invalidName)
        #expect(code { try test.center.post(name: "a\0b", payload: .empty) } == .invalidName)
        #expect(code { try test.center.post(Track(1), options: .init(subject: long.rawValue)) } == .invalidName)
        #expect(code { _ = try test.center.addObserver(forNames: ["fine", long]) { _ in } } == .invalidName)
        #expect(code { _ = try test.center.addObserver(forNames: []) { _ in } } == .invalidArgument)
        // The valid half of the call left nothing behind.
        #expect(try test.center.statistics.observers == 0)
        for name in ["", ".hidden", "a/b", String(repeating: "c", count: 201)] {
            #expect(
                code { _ = try Center(named: name, configuration: .init(directory: test.directory)) } == .invalidName)
        }
    }

    /// Each code has a name, and an error has the underlying error.
    @Test func codesAndUnderlyingErrors() throws {
        struct Refusal: Error {}
        struct Unwilling: Center.Message, Codable {
            static let name: Center.Name = "unwilling"
            init() {}
            func encode(to encoder: any Encoder) throws { throw Refusal() }
            init(from decoder: any Decoder) throws { throw Refusal() }
        }
        let test = try TestCenter()
        let encoding = #expect(throws: SharedNotificationError.self) { try test.center.post(Unwilling()) }
        #expect(encoding?.code == .encodingFailed && encoding?.underlyingError is Refusal)
        try test.center.setState(1, for: "unwilling")
        let decoding = #expect(throws: SharedNotificationError.self) { try test.center.state(for: Unwilling.self) }
        #expect(decoding?.code == .decodingFailed && decoding?.underlyingError != nil)
        let other = SharedNotificationError(.encodingFailed, message: encoding?.message ?? "")
        #expect(other == encoding && Set([other, encoding]).count == 1 && other.underlyingError == nil)
        #expect("\(SharedNotificationError.Code.full) \(SharedNotificationError.Code.system(2))" == "full system(2)")
        #expect(SharedNotificationError.Code.system(2).errno == 2 && SharedNotificationError.Code.full.errno == nil)
        #expect(SharedNotificationError.Code.system(2) != .system(3))
    }

    @Test func configurations() throws {
        let test = try TestCenter()
        for configuration in [
            Center.Configuration(slots: 300), .init(slots: 0), .init(slots: -1), .init(maximumPayloadSize: 2 << 30),
            .init(participants: 1), .init(observers: 5000),
        ] {
            var configuration = configuration
            configuration.directory = test.directory
            #expect(code { _ = try Center(named: "new", configuration: configuration) } == .invalidArgument)
        }
    }

    @Test func opening() throws {
        let test = try TestCenter()
        let directory = test.directory
        #expect(
            code { _ = try Center(named: "none", configuration: .init(directory: directory, creation: .never)) }
                == .notFound)
        #expect(
            code { _ = try Center(named: test.name, configuration: .init(directory: directory, creation: .exclusive)) }
                == .exists)
        #expect(code { try Center.remove(named: "none", configuration: .init(directory: directory)) } == .notFound)
        let file =
            URL(fileURLWithPath: test.center.path).deletingLastPathComponent().path + "/"
            + URL(fileURLWithPath: test.center.path).lastPathComponent.replacingOccurrences(of: test.name, with: "junk")
        let isMade = FileManager.default.createFile(
            atPath: file, contents: Data(repeating: 1, count: 5000), attributes: [.posixPermissions: 0o600])
        #expect(isMade)
        #expect(code { _ = try Center(named: "junk", configuration: .init(directory: directory)) } == .notACenter)
    }

    @Test func sharedDirectories() throws {
        let test = try TestCenter()
        for mode: mode_t in [0o777, 0o770] {
            #expect(chmod(test.directory, mode) == 0)
            for name in [test.name, "new"] {
                let configuration = Center.Configuration(directory: test.directory)
                #expect(code { _ = try Center(named: name, configuration: configuration) } == .notPermitted)
            }
        }
        let configuration = Center.Configuration(directory: test.directory, allowsSharedDirectory: true)
        try Center(named: "new", configuration: configuration).post(Track(1))
        try Center.remove(named: "new", configuration: .init(directory: test.directory))
        #expect(chmod(test.directory, 0o1777) == 0)
        try test.other().post(Track(1))
    }

    @Test func removedCenter() throws {
        let test = try TestCenter()
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        #expect(code { try test.center.post(Track(1)) } == .removed)
    }

    @Test func participants() throws {
        let test = try TestCenter(.init(participants: 2))
        let second = try test.other()
        #expect(code { _ = try test.other() } == .tooManyParticipants)
        withExtendedLifetime(second) {}
    }

    @Test func observers() throws {
        let test = try TestCenter(.init(observers: 2))
        var tokens = [
            try test.center.addObserver(for: Track.self) { _ in },
            try test.center.addObserver(for: Track.self, options: .init(lossless: true)) { _ in },
        ]
        // Observers without options share an entry.
        try test.center.addObserver(for: Track.self) { _ in }.store(in: &tokens)
        #expect(
            code { _ = try test.center.addObserver(for: Track.self, options: .init(lossless: true)) { _ in } }
                == .tooManyObservers)
    }

    @Test func listing() throws {
        let test = try TestCenter()
        let other = try Center(named: "another", configuration: .init(directory: test.directory, slots: 256))
        #expect(try Center.centers(in: test.directory) == ["another", test.name].sorted())
        #expect(code { _ = try Center.centers(in: "/nowhere") } == .notFound)
        withExtendedLifetime(other) {}
    }

    @Test func looking() throws {
        let test = try TestCenter()
        let tokens = [
            try test.center.addObserver(for: Track.self) { _ in },
            try test.center.addObserver(for: Track.self, options: .init(subject: "s")) { _ in },
        ]
        try test.center.setState(1, for: "kept")
        let statistics = try test.center.statistics
        // A revoked post takes another position: on a busy machine, an observer may revoke it.
        expectEqual(statistics.posted - statistics.revoked, 1)
        #expect(statistics.participants == 1 && statistics.observers == 1)
        #expect(statistics.slots == 4096 && statistics.maximumPayloadSize == 16 << 20)
        let participants = try test.center.participants
        #expect(
            participants.count == 1 && participants[0].isOwn && participants[0].isAlive
                && participants[0].pid == getpid())
        let names = try test.center.observedNames
        #expect(names.contains { $0.name == Track.name && $0.subject == nil && $0.observers == 1 })
        #expect(names.contains { $0.name == Track.name && $0.subject == "s" && $0.observers == 1 })
        withExtendedLifetime(tokens) {}
    }

    @Test func smallConfiguration() throws {
        let test = try TestCenter(.small)
        let statistics = try test.center.statistics
        #expect(statistics.slots == 512)
        #expect(statistics.memory <= 256 << 10)
    }
}
