import Foundation
import Glibc
import Tidings
import TidingsAdministration
import TidingsFoundation

/// A subject without an identifier: an object of its process.
final class Plain: Sendable {}

struct AboutPlain: SharedNotificationCenter.MainActorMessage {
    typealias Subject = Plain
    static let name: SharedNotificationCenter.Name = "test.plain"
    var number: Int
}

extension TestPeer {
    /// The parent observes an object. Its forked child has a copy of it, at the same address, and posts about that.
    @MainActor static func postAboutCopies(_ center: SharedNotificationCenter) {
        let object = Plain()
        var got: [Int] = []
        let token = center.addObserver(of: object, for: AboutPlain.self) { got.append($0.number) }
        center.post(AboutPlain(number: 1), subject: object)
        // Once all observers sleep, the only other thread holds no lock that the child needs. Swift hides fork.
        while let now = try? center.statistics, now.observersAsleep < now.observers { sched_yield() }
        typealias Fork = @convention(c) () -> Int32
        let child = unsafeBitCast(dlsym(nil, "fork")!, to: Fork.self)()
        if child == 0 {
            center.post(AboutPlain(number: 2), subject: object)
            center.post(AboutPlain(number: 3), subject: object)
            _exit(0)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        // Returns after the observer was called for 4, and so for anything that the child had posted before.
        center.post(AboutPlain(number: 4), subject: object)
        say("child ended with \(status), got \(got)")
        center.removeObserver(token)
    }

    /// Posts about `count` objects, one after the other. They may have the same address.
    @MainActor static func postAboutObjects(_ center: SharedNotificationCenter, _ count: Int) {
        for number in 0..<count { center.post(AboutPlain(number: number), subject: Plain()) }
        say("posted \(count)")
    }
}
