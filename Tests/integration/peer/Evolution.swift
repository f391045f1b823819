import Foundation
import Tidings

/// A message as one build of a program declares it. `OldSeek` and `NewSeek` are two builds of one message; `OtherSeek`
/// has a field of another type.
protocol Build: SharedNotificationCenter.Message {
    static var sample: Self { get }
    var summary: String { get }
}

private let seek: SharedNotificationCenter.Name = "test.seek"

struct OldSeek: Build {
    static let name = seek
    static let sample = OldSeek(title: "old", gone: [1, 2])
    var title: String
    var gone: [Int]?

    var summary: String { "\(title) \(gone ?? [])" }
}

struct NewSeek: Build {
    static let name = seek
    static let sample = NewSeek(title: "new", speed: 2, note: ["a": true])
    var title: String
    var speed: Double?
    var note: [String: Bool]?

    var summary: String { "\(title) \(speed ?? 1) \(note ?? [:])" }
}

struct OtherSeek: Build {
    static let name = seek
    static let sample = OtherSeek(title: 7)
    var title: Int

    var summary: String { "\(title)" }
}

extension TestPeer {
    static func build(_ name: String) -> any Build.Type {
        switch name {
        case "old": return OldSeek.self
        case "new": return NewSeek.self
        case "other": return OtherSeek.self
        default:
            #if Macros
                if let build = generatedBuild(name) { return build }
            #endif
            exit(64)
        }
    }

    static func postSample<Message: Build>(_ center: SharedNotificationCenter, _ type: Message.Type) throws {
        center.onDiagnostic = { diagnostic in
            if case .mistake(let mistake) = diagnostic, case .nameOfTwoTypes(_, let first, let second) = mistake.kind {
                let names = [first, second].map { $0.split(separator: ".").last ?? "" }
                say("two types: \(names[0]), \(names[1])")
            } else {
                say("\(diagnostic)")
            }
        }
        try center.post(Message.sample)
        say("posted")
    }

    static func observeSamples<Message: Build>(
        _ center: SharedNotificationCenter, _ type: Message.Type, _ count: Int
    ) throws {
        let done = DispatchSemaphore(value: 0)
        let token = try center.addObserver(
            for: type,
            options: .init(onUndecodable: { _, _ in
                say("undecodable")
                done.signal()
            }),
            using: { message in
                say("got \(message.summary)")
                done.signal()
            })
        say("observing")
        for _ in 0..<count { done.wait() }
        token.cancel()
    }
}
