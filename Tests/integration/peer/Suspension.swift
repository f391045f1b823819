import Foundation
import Tidings
import TidingsFoundation

extension TestPeer {
    /// Posts with `deliverImmediately`: suspended centers deliver it at once, too.
    static func postUrgent(_ center: SharedNotificationCenter, _ name: String, _ object: String, _ number: Int) throws {
        try center.post(
            name: .init(name), userInfo: ["number": .integer(number)],
            options: .init(subject: object == "-" ? nil : object, deliverImmediately: true))
        say("posted")
    }

    /// Observes in a suspended center, until `count` notifications of `name` have come or were reported as missed.
    /// Prints "now" for those that are delivered during the suspension.
    static func observeSuspended(_ center: SharedNotificationCenter, _ name: String, _ limit: Int, _ count: Int) throws
    {
        let done = DispatchSemaphore(value: 0)
        center.isSuspended = true
        func observe(
            _ name: String, _ behavior: SharedNotificationCenter.SuspensionBehavior,
            _ heard: @escaping @Sendable (Int) -> Void
        ) throws -> SharedNotificationCenter.ObservationToken {
            try center.addObserver(
                forNames: [.init(name)],
                options: .init(onMissed: { count, name in
                    say("missed \(count) \(name?.rawValue ?? "-")")
                    done.signal()
                }), suspensionBehavior: behavior, using: { heard($0.userInfo?["number"]?.integer ?? -1) })
        }
        let held = try observe(name, .hold(limit: limit)) { number in
            say("got \(number)")
            done.signal()
        }
        let immediate = try observe("\(name).now", .deliverImmediately) { say("now \($0)") }
        say("suspended")
        guard readLine() != nil else { exit(0) }
        center.isSuspended = false
        say("resumed")
        for _ in 0..<count { done.wait() }
        held.cancel()
        immediate.cancel()
    }
}
