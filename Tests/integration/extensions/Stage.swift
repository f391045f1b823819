import ChildProcesses
import Foundation
import Testing
import Tidings
import TidingsExtensions

typealias Center = SharedNotificationCenter

// As the extension declares them (`ExtensionPeer.swift`).
struct Track: Center.Message, Equatable { var title: String }
struct Liked: Center.Message, Equatable { var title: String }
struct Secret: Center.Message { var number: Int }
struct Volume: Center.Message { var level: Double }
struct Command: Center.Request {
    typealias Reply = String
    struct Failure: Error, Codable { var why: String }
    var text: String

    init(_ text: String) { self.text = text }
}
struct Lookup: Center.Request {
    typealias Reply = String
    var word: String
}

/// CI passes the sanitizer's name.
let isSanitized = getenv("TSAN_OPTIONS") != nil || getenv("ASAN_OPTIONS") != nil

/// A host, and how tests start extensions of it.
struct Stage {
    let host: ExtensionHost

    init(broadcast configuration: Center.Configuration = .init()) throws {
        host = try ExtensionHost(broadcast: .sealed(named: "broadcast", configuration: configuration))
    }

    static var bin: URL {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: own ?? "").deletingLastPathComponent()
    }
    static var peer: String { bin.appendingPathComponent("ExtensionPeer").path }

    /// Runs the peer as a host. Returns the process, and what it prints.
    static func run(_ mode: String) throws -> (ChildProcess, FileHandle) {
        let output = try PipeEnds()
        let reading = FileHandle(fileDescriptor: output.reading, closeOnDealloc: true)
        defer { close(output.writing) }
        return (try ChildProcess.start(peer, [mode], output: output.writing, keepsOthers: false), reading)
    }

    static func specification(
        _ arguments: String..., grants: [Grant] = [.posts(Liked.self), .serves(Command.self)],
        restart: RestartPolicy = .never
    ) -> LaunchSpecification {
        LaunchSpecification(
            executable: peer, arguments: arguments, name: arguments.first, grants: grants, restart: restart,
            readyTimeout: .seconds(60))
    }

    /// An extension that carries out commands.
    func commands(
        grants: [Grant] = [.posts(Liked.self), .serves(Command.self)], restart: RestartPolicy = .never
    ) async throws -> Extension {
        try await host.launch(Self.specification("commands", grants: grants, restart: restart))
    }

    func likes() throws -> Center.ObservedSequence<Liked>.Iterator {
        try host.broadcast.messages(of: Liked.self).register()
    }
}

extension Extension {
    /// Makes the extension carry out a command.
    func command(_ text: String) async throws -> String {
        try await request(Command(text), timeout: .seconds(60))
    }

    /// Waits for an event, and returns those before it.
    func events(through last: (Event) -> Bool) async -> [Event] {
        var events: [Event] = []
        for await event in lifecycle {
            events.append(event)
            if last(event) { return events }
        }
        return events
    }

    /// Waits until the process has ended, and the extension is not started again.
    func allEvents() async -> [Event] { await events { _ in false } }
}

extension Extension.Event {
    var isReady: Bool {
        if case .ready = self { true } else { false }
    }
    var failure: ExtensionError.Code? {
        if case .failed(let error) = self { error.code } else { nil }
    }
}

/// The code of the error that the body throws.
func code(_ body: () async throws -> Void) async -> ExtensionError.Code? {
    do { try await body() } catch { return (error as? ExtensionError)?.code }
    return nil
}

func centerCode(_ body: () async throws -> Void) async -> SharedNotificationError.Code? {
    do { try await body() } catch { return (error as? SharedNotificationError)?.code }
    return nil
}

/// Returns when no process has that ID.
func waitUntilGone(_ pid: Int32) async {
    while kill(pid, 0) == 0 { await Task.yield() }
}

func expectEqual<Value: Equatable>(
    _ received: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(received == expected, sourceLocation: sourceLocation)
}
