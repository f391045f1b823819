import Foundation
import Tidings
import TidingsFoundation

func bridge(_ center: SharedNotificationCenter) throws {
    let bridge = try center.bridge(["com.example.changed"], with: .default)
    // Reaches all processes.
    NotificationCenter.default.post(
        name: .init("com.example.changed"), object: "player-1", userInfo: ["volume": 0.5])
    bridge.cancel()
}
