import Tidings

/// If more messages arrive than the loop takes, the sequence keeps the newest or the oldest ones; a lossless sequence
/// keeps all, and posters wait.
func policies(_ center: SharedNotificationCenter) async {
    for await change in center.messages(of: TrackChanged.self, bufferSize: 1) { return print(change.title) }
    for await change in center.messages(of: TrackChanged.self, bufferSize: 100, keeping: .oldest) {
        return print(change.title)
    }
    for await change in center.messages(of: TrackChanged.self, options: .init(lossless: true)) {
        return print(change.title)
    }
    for await delivery in center.deliveries(of: progress) {
        switch delivery {
        case .message((let percent, let stage), let envelope): print("#\(envelope.sequence) \(stage): \(percent) %")
        case .missed(let count): return print("missed \(count)")
        case .reopened, .centerEnded: return print("the center was removed")
        }
    }
}
