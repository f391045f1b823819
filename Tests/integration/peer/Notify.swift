import Dispatch
import Glibc
import Tidings
import TidingsNotify

extension TestPeer {
    /// One process that observes here what it posts by `notify_post`, and checks by `notify_check` what it posts here.
    static func meetItself(_ directory: String, _ name: String, _ count: Int) throws {
        // Read at the first use of each center, which is below.
        setenv("TIDINGS_DIRECTORY", directory, 1)
        setenv("TIDINGS_NOTIFY_CONFIGURATION", "/nonexistent", 1)
        let center = try SharedNotificationCenter.default
        let arrived = DispatchSemaphore(value: 0)
        let observer = try center.addObserver(
            forNames: [.init(name)],
            using: { notification in
                guard notification.envelope.poster.pid == getpid() else { return }
                arrived.signal()
            })
        var (token, check): (Int32, Int32) = (0, 0)
        var good = notify_register_check(name, &token) == UInt32(NOTIFY_STATUS_OK)
        func isNew() -> Bool { notify_check(token, &check) == UInt32(NOTIFY_STATUS_OK) && check == 1 }
        good = good && isNew() && !isNew()
        for number in 0..<count {
            if number % 2 == 0 {
                good = good && notify_post(name) == UInt32(NOTIFY_STATUS_OK)
            } else {
                try center.post(name: .init(name), payload: .text("\(number)"))
            }
            arrived.wait()
            good = good && isNew() && !isNew()
        }
        good = good && arrived.wait(timeout: .now()) == .timedOut
        good = good && notify_cancel(token) == UInt32(NOTIFY_STATUS_OK)
        observer.cancel()
        say(good ? "met \(count)" : "missed each other")
    }
}
