import Foundation
import Tidings

/// A message without payload.
struct Empty: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "test.empty"
}

extension TestPeer {
    private static let nothing: SharedNotificationCenter.Key<> = .init("test.nothing")

    /// Posts as a type and as a key, each followed by a post of the name alone.
    static func postEmpty(_ center: SharedNotificationCenter) throws {
        try center.post(Empty())
        try center.post(name: Empty.name)
        try center.post(nothing)
        try center.post(name: nothing.name)
        say("posted 4")
    }

    static func observeEmpty(_ center: SharedNotificationCenter, _ count: Int) throws {
        let done = DispatchSemaphore(value: 0)
        @Sendable func tell(_ what: String) {
            say(what)
            done.signal()
        }
        let tokens = [
            try center.addObserver(
                for: Empty.self, options: .init(onUndecodable: { _, _ in tell("undecodable") }),
                using: { _ in tell("empty") }),
            try center.addObserver(
                for: nothing, options: .init(onUndecodable: { _, _ in tell("undecodable") }), using: { tell("nothing") }
            ),
        ]
        say("observing")
        for _ in 0..<count { done.wait() }
        for token in tokens { token.cancel() }
    }
}
