import Tidings

struct TrackChanged: SharedNotificationCenter.Message {
    static let name: SharedNotificationCenter.Name = "com.example.player.trackChanged"
    var title: String
}

@MainActor final class PlayerController {
    func trackChanged(_ change: TrackChanged) { print("now playing: \(change.title)") }
    func progressed(_ percent: Int, _ stage: String) { print(stage, percent) }
}

/// The observations belong to the controller, and end with it.
@MainActor func owners(_ center: SharedNotificationCenter) throws {
    let controller = PlayerController()
    let options = SharedNotificationCenter.ObserverOptions(owner: controller)
    _ = try center.addObserver(for: TrackChanged.self, options: options) { @MainActor [weak controller] in
        controller?.trackChanged($0)
    }
    _ = try center.addObserver(for: progress, options: options) { @MainActor [weak controller] in
        controller?.progressed($0, $1)
    }
    try center.post(TrackChanged(title: "So What"))
    center.removeObservers(of: controller)
}
