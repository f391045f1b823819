#if Macros
    import Foundation
    import Tidings

    @NotificationProtocol
    protocol UserObserver: AnyObject {
        func userNameChanged(oldName: String, newName: String)
        func userNameChanged(_ count: Int)
        func signedOut()
    }

    @NotificationProtocol(prefix: "com.example")
    protocol ImportObserver: AnyObject {
        func progressed(percent: Int, stage: String)
    }

    private final class Importing: ImportObserver, Sendable {
        let done: DispatchSemaphore
        init(_ done: DispatchSemaphore) { self.done = done }

        func progressed(percent: Int, stage: String) {
            TestPeer.say("\(percent) \(stage)")
            done.signal()
        }
    }

    private final class Speaker: UserObserver, Sendable {
        let done: DispatchSemaphore
        init(_ done: DispatchSemaphore) { self.done = done }

        func userNameChanged(oldName: String, newName: String) { say("changed \(oldName) \(newName)") }
        func userNameChanged(_ count: Int) { say("count \(count)") }
        func signedOut() { say("out") }

        private func say(_ line: String) {
            TestPeer.say(line)
            done.signal()
        }
    }

    extension TestPeer {
        static func observeProtocol(_ center: SharedNotificationCenter, _ count: Int) throws {
            let done = DispatchSemaphore(value: 0)
            let speaker = Speaker(done)
            let token = try center.addObserver(speaker, as: UserObserverMessages.self)
            say("observing")
            for _ in 0..<count { done.wait() }
            token.cancel()
        }

        static func observeImport(_ center: SharedNotificationCenter, _ count: Int) throws {
            let done = DispatchSemaphore(value: 0)
            let importing = Importing(done)
            let token = try center.addObserver(importing, as: ImportObserverMessages.self)
            say("observing")
            for _ in 0..<count { done.wait() }
            token.cancel()
        }

        static func postProtocol(_ center: SharedNotificationCenter) throws {
            let poster = UserObserverPoster(center)
            try poster.userNameChanged(oldName: "c", newName: "d")
            try poster.signedOut()
        }
    }
#endif
