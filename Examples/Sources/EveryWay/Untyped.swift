import Foundation
import Tidings

func untyped(_ center: SharedNotificationCenter) throws {
    let token = try center.addObserver(forName: "com.example.changed", object: nil, queue: .main) { notification in
        print(notification.object ?? "somebody", notification.userInfo?["volume"]?.double ?? 1)
    }
    try center.post(name: "com.example.changed", object: "player-1", userInfo: ["volume": 0.5, "muted": false])

    var userInfo: SharedNotificationCenter.UserInfo = ["tags": ["a", "b"], "by": ["name": "Miles"]]
    userInfo["when"] = .date(Date())
    try center.post(name: "com.example.changed", userInfo: userInfo)
    token.cancel()
}
