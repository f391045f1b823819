import Tidings

func suspension(_ center: SharedNotificationCenter) throws {
    let token = try center.addObserver(forNames: .all, suspensionBehavior: .hold) { notification in
        print(notification.name)
    }
    center.isSuspended = true
    try center.post(name: "com.example.changed")
    try center.post(name: "com.example.urgent", options: .init(deliverImmediately: true))
    center.isSuspended = false

    center.suspend()
    center.suspend()
    center.resume()
    center.resume()
    token.cancel()
}
