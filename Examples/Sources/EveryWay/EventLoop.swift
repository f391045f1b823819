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
            // The descriptor stays readable: to go on would be to try again without end.
            print(error)
            source.cancel()
        }
    }
    // Until Dispatch has let go of the descriptor.
    source.setCancelHandler { withExtendedLifetime(observer) {} }
    source.activate()
    try center.post(name: "com.example.changed")
    source.cancel()
}
