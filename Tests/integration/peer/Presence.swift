import Foundation
import Glibc
import Tidings

extension TestPeer {
    // Used by the main thread only.
    nonisolated(unsafe) private static var announcement: SharedNotificationCenter.Announcement?

    static func announce(_ center: SharedNotificationCenter, _ role: String) throws {
        let will = SharedNotificationCenter.Will(name: "test.will", payload: .text(role), options: .init(subject: role))
        let announced = try center.announce(role: role, will: will)
        announcement = announced
        say("announced \(announced.participant.id)")
    }

    static func withdraw() {
        announcement?.withdraw()
        say("withdrawn")
    }

    /// What a forked child does with its parent's announcement has no effect on it.
    static func forkAnnounced(_ center: SharedNotificationCenter) {
        typealias Fork = @convention(c) () -> Int32
        let child = unsafeBitCast(dlsym(nil, "fork")!, to: Fork.self)()
        if child == 0 {
            announcement?.withdraw()
            announcement = nil
            guard let own = try? center.announce(role: "child") else { _exit(1) }
            withExtendedLifetime(own) { _exit(0) }
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        say("child ended with \(status)")
    }
}
