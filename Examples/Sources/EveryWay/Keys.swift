import Tidings

/// A name with typed arguments, without a declared message type.
let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")

/// The same key in a newer program: posts of an older program have no speed, and the observer receives 1.
let newProgress = SharedNotificationCenter.Key<Int, String, Double>(
    "com.example.import.progress", defaults: (nil, nil, 1))

func keys(_ center: SharedNotificationCenter) throws {
    let token = try center.addObserver(for: progress) { percent, stage in print("\(stage): \(percent) %") }
    let newer = try center.addObserver(for: newProgress) { percent, stage, speed in print(percent, stage, speed) }
    try center.post(progress, 42, "decoding")
    try center.post(newProgress, 43, "decoding", 1.5)
    token.cancel()
    newer.cancel()
}

func sequences(_ center: SharedNotificationCenter) async {
    for await (percent, stage) in center.messages(of: progress) {
        print("\(stage): \(percent) %")
        if percent == 100 { return }
    }
}
