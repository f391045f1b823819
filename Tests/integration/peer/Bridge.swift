import Foundation
import Tidings
import TidingsFoundation

extension TestPeer {
    /// A program that uses only Foundation's center.
    static func bridge(_ center: SharedNotificationCenter, _ name: SharedNotificationCenter.Name) throws {
        let local = Foundation.Notification.Name(name.rawValue)
        let bridge = try center.bridge([name])
        let observer = NotificationCenter.default.addObserver(forName: local, object: nil, queue: nil) { notification in
            say("\(notification.object as? String ?? "-") \(notification.userInfo?["number"] as? Int ?? -1)")
        }
        say("bridged")
        while let line = readLine(), line != "end" {
            NotificationCenter.default.post(name: local, object: "peer", userInfo: ["number": Int(line) ?? -1])
        }
        NotificationCenter.default.removeObserver(observer)
        bridge.cancel()
        say("ended")
    }
}
