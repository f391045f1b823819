import Dispatch
import Tidings

func eventLoop(_ center: SharedNotificationCenter) throws {
    let observer = try center.pollableObserver(forNames: ["com.example.changed"])
    let source = DispatchSource.makeReadSource(fileDescriptor: observer.fileDescriptor, queue: .main)
    source.setEventHandler {
        do {
            while let delivery = try observer.next() {
                guard case .notification(let notification) = delivery else { continue }
                print(notification.name, notification.payload.json)
            }
        } catch {
            // The descriptor stays readable, so the loop must end here.
            print(error)
            source.cancel()
        }
    }
    // Keeps the observer until Dispatch has released the descriptor.
    source.setCancelHandler { withExtendedLifetime(observer) {} }
    source.activate()
    try center.post(name: "com.example.changed")
    source.cancel()
}
