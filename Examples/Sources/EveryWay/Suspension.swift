import Tidings

func suspension(_ center: SharedNotificationCenter) throws {
    let token = try center.addObserver(forName: nil, object: nil, suspensionBehavior: .hold) { notification in
        print(notification.name)
    }
    center.isSuspended = true
    try center.post(name: "com.example.changed")
    try center.post(name: "com.example.urgent", deliverImmediately: true)
    center.isSuspended = false

    center.suspend()
    center.suspend()
    center.resume()
    center.resume()
    token.cancel()
}
