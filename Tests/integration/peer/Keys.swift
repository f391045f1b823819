import Foundation
import Tidings

extension TestPeer {
    static func postKey(_ center: SharedNotificationCenter, _ name: SharedNotificationCenter.Name, _ count: Int) throws
    {
        let key = SharedNotificationCenter.Key<Int, String>(name)
        for number in 0..<count { try center.post(key, number, "stage") }
        say("posted \(count)")
    }

    static func observeKey(
        _ center: SharedNotificationCenter, _ name: SharedNotificationCenter.Name, _ count: Int
    ) throws {
        let key = SharedNotificationCenter.Key<Int, String, String?>(name)
        let done = DispatchSemaphore(value: 0)
        let token = try center.addObserver(
            for: key,
            options: .init(onUndecodable: { _, _ in
                say("undecodable")
                done.signal()
            }),
            using: { number, text, optional in
                say("got \(number) \(text) \(optional ?? "-")")
                done.signal()
            })
        say("observing")
        for _ in 0..<count { done.wait() }
        token.cancel()
    }
}
