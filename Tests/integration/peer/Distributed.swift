import Dispatch
import Foundation
import TestActors
import Tidings
import TidingsDistributed

extension TestPeer {
    // Used by the main thread only.
    nonisolated(unsafe) private static var actors: [String: Counter] = [:]

    static func createActor(_ center: SharedNotificationCenter, _ name: String) throws {
        let system = try SharedActorSystem(in: center)
        let done = DispatchSemaphore(value: 0)
        Task {
            try! await Counter.allowCalls(in: system)
            done.signal()
        }
        done.wait()
        let actor = Counter(actorSystem: system) { say($0) }
        try system.register(actor, as: name)
        actors[name] = actor
        say(String(decoding: try JSONEncoder().encode(actor.id), as: UTF8.self))
    }

    static func release(_ name: String) {
        actors[name] = nil
        say("released")
    }
}
