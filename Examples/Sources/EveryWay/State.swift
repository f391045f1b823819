import Observation
import Tidings

@MainActor func observedState(_ center: SharedNotificationCenter) throws {
    let volume = try center.observedState(for: "com.example.volume", as: Double.self)
    withObservationTracking {
        print(volume.value ?? 1)
    } onChange: {
        print("a process set the volume")
    }
    try volume.set(0.5)
    try volume.clear()
    try center.setState(0.5, for: "com.example.volume")
    try center.setState(nil, for: "com.example.volume")
}
