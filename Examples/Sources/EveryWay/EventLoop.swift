import Dispatch
import Tidings

func eventLoop(_ center: SharedNotificationCenter) throws {
    let observer = try center.pollableObserver(forNames: ["com.example.changed"])
    let source = DispatchSource.makeReadSource(fileDescriptor: observer.fileDescriptor, queue: .main)
    source.setEventHandler {
        while let delivery = try? observer.next() {
            if case .notification(let notification) = delivery { print(notification.name, notification.payload.json) }
        }
    }
    // Until Dispatch has let go of the descriptor.
    source.setCancelHandler { withExtendedLifetime(observer) {} }
    source.activate()
    try center.post(name: "com.example.changed")
    source.cancel()
}
