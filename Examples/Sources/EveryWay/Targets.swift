import Tidings

struct TrackChanged: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "com.example.player.trackChanged"
    var title: String
}

@MainActor final class PlayerController {
    func trackChanged(_ change: TrackChanged) { print("now playing: \(change.title)") }
    func progressed(_ percent: Int, _ stage: String) { print(stage, percent) }
}

@MainActor func targets(_ center: SharedNotificationCenter) throws {
    let controller = PlayerController()
    try center.addTarget(controller, action: PlayerController.trackChanged, for: TrackChanged.self)
    try center.addTarget(controller, action: PlayerController.progressed, for: progress)
    try center.post(TrackChanged(title: "So What"))
    center.removeTarget(controller)
}
