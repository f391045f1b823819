import Foundation
import Tidings
import TidingsFoundation

func untyped(_ center: SharedNotificationCenter) throws {
    let token = try center.addObserver(forNames: "com.example.changed", options: .init(queue: .main)) { notification in
        print(notification.object ?? "no subject", notification.userInfo?["volume"]?.double ?? 1)
    }
    try center.post(
        name: "com.example.changed", userInfo: ["volume": 0.5, "muted": false], options: .init(subject: "player-1"))

    var userInfo: SharedNotificationCenter.UserInfo = ["tags": ["a", "b"], "by": ["name": "Miles"]]
    userInfo["when"] = .date(Date())
    try center.post(name: "com.example.changed", userInfo: userInfo)

    try center.post(name: "com.example.frame", capacity: 640 * 480 * 4) { output in
        output.append(repeating: 0xFF00_0000, count: 640 * 480, as: UInt32.self)
    }
    token.cancel()
}
