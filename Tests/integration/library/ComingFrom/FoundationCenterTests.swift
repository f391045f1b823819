import Dispatch
import Foundation
import Testing
import TidingsFoundation

@testable import Tidings

/// For programs that come from `NotificationCenter` and `NotificationQueue`. Messages with subjects are in
/// `MainActorMessageTests` and `AsyncMessageTests`.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct FoundationCenterTests {
    struct TrackChanged: Center.Message {
        static let name: Center.Name = "track.changed"
        var number: Int
    }
    struct TrackPaused: Center.Message {
        static let name: Center.Name = "track.paused"
        var number: Int
    }
    final class Controller: Sendable {
        let heard: Events<Int>
        init(_ heard: Events<Int>) { self.heard = heard }
        func trackChanged(_ change: TrackChanged) { heard.add(change.number) }
    }

    @Test func selectorsBlocksQueuesAndSequences() async throws {
        let test = try TestCenter()
        let center = test.center
        let (byOwner, byBlock, byMain, bySequence) = (Events<Int>(), Events<Int>(), Events<Int>(), Events<Int>())
        let controller = Controller(byOwner)
        let queue = DispatchQueue(label: "test")
        _ = try center.addObserver(for: TrackChanged.self, options: .init(owner: controller)) { [weak controller] in
            controller?.trackChanged($0)
        }
        let token = try center.addObserver(for: TrackChanged.self, options: .init(queue: queue)) { change in
            byBlock.add(change.number)
        }
        let onMain = try center.addObserver(for: TrackChanged.self) { @MainActor change in byMain.add(change.number) }
        var iterator = center.messages(of: TrackChanged.self, bufferSize: 10).makeAsyncIterator()
        let peer = try Peer(test, "post", "track.changed", "3")
        for _ in 0..<3 { if let change = await iterator.next() { bySequence.add(change.number) } }
        for heard in [byOwner, byBlock, byMain, bySequence] { expectEqual(await heard.wait(for: 3), [0, 1, 2]) }
        center.removeObservers(of: controller)
        _ = (token, onMain, peer)
    }

    /// On Linux, Foundation calls observers in the order of a hash table.
    @Test func observersAreCalledInTheOrderInWhichTheyCame() async throws {
        let test = try TestCenter()
        let heard = Events<Int>()
        let queue = DispatchQueue(label: "test")
        let tokens = try (0..<50).map { number in
            try test.center.addObserver(for: TrackChanged.self, options: .init(queue: queue)) { _ in heard.add(number) }
        }
        let peer = try Peer(test, "wait", "post", "track.changed", "1", "wait", "post", "track.changed", "1")
        for round in 1...2 {
            peer.send()
            let all = await heard.wait(for: 50 * round)
            #expect(all.suffix(50) == Array(0..<50)[...])
            // A dispatcher that has not reported yet that its queue is empty would receive the next notification first.
            queue.sync {}
        }
        _ = tokens
    }

    /// In Foundation, several asynchronous observers, or one that suspends, receive notifications in any order.
    @Test func asynchronousObserversKeepTheOrder() async throws {
        let test = try TestCenter()
        let heard = Events<Int>()
        let token = try test.center.addObserver(for: TrackChanged.self) { (change: TrackChanged) async in
            for _ in 0..<(change.number % 3) { await Task.yield() }
            heard.add(change.number)
        }
        let peer = try Peer(test, "post", "track.changed", "1000")
        expectEqual(await heard.wait(for: 1000), Array(0..<1000))
        _ = (token, peer)
    }

    @Test(arguments: 0..<10)
    func nothingComesAfterRemoval(round: Int) async throws {
        let test = try TestCenter()
        let heard = Events<Int>()
        let token = try test.center.addObserver(for: TrackChanged.self) { heard.add($0.number) }
        let peer = try Peer(test, "post", "track.changed", isSanitized ? "2000" : "20000")
        await heard.wait(for: 1 + 10 * round)
        test.center.removeObserver(token)
        let count = heard.count
        await peer.waitForEnd()
        #expect(heard.count == count)
    }

    /// Foundation drops the oldest notifications silently.
    @Test func aFullSequenceReportsTheLoss() async throws {
        let test = try TestCenter()
        var iterator = test.center.deliveries(of: TrackChanged.self, bufferSize: 10).makeAsyncIterator()
        let all = Events<Int>()
        let witness = try test.center.addObserver(for: TrackChanged.self) { all.add($0.number) }
        let peer = try Peer(test, "post", "track.changed", "100")
        await all.wait(for: 100)
        var heard: [String] = []
        for _ in 0..<11 {
            switch await iterator.next() {
            case .missed(let count): heard.append("missed \(count)")
            case .message(let change, _): heard.append("\(change.number)")
            case .reopened, .centerEnded, nil: heard.append("end")
            }
        }
        #expect(heard == ["missed 90"] + (90..<100).map(String.init))
        _ = (witness, peer)
    }

    /// In Foundation, a poster waits until the queue of `addObserver(forName:object:queue:)` has run the block.
    @Test func aQueueThatIsBusyHoldsUpNoPoster() async throws {
        let test = try TestCenter()
        let center = test.center
        let (gate, heard) = (Gate(), Events<Int>())
        let queue = DispatchQueue(label: "busy")
        queue.async { gate.pass() }
        let token = try center.addObserver(for: TrackChanged.self, options: .init(queue: queue)) {
            heard.add($0.number)
        }
        for number in 0..<100 { try center.post(TrackChanged(number: number)) }
        let peer = try Peer(test, "post", "track.changed", "10")
        await peer.waitForEnd()
        #expect(heard.count == 0)
        gate.open()
        expectEqual(await heard.wait(for: 110), Array(0..<100) + Array(0..<10))
        _ = token
    }

    /// The newest of each key, in the order of their posts, and all notifications without a key.
    @Test(arguments: [[], [.name], [.subject], [.name, .subject]] as [Center.Coalescing])
    func postingWhenIdleCoalesces(coalescing: Center.Coalescing) async throws {
        let test = try TestCenter()
        let center = test.center
        let peer = try Peer(test, "observe-untyped", "-", "-", "1000")
        expectEqual(await peer.line(), "observing")
        let posts = (0...100).map { number in
            let subject = number % 4 == 0 ? nil : "s\(number % 4)"
            return (name: number % 3 == 0 ? "track.paused" : "track.changed", subject: subject, number: number)
        }
        // On a slow machine this process may look idle in between: no post leaves before all are enqueued.
        try center.deferred.posting.withLock {
            for post in posts {
                let (subject, number) = (post.subject, post.number)
                if post.name == "track.paused" {
                    try center.enqueue(
                        TrackPaused(number: number),
                        postingStyle: .whenIdle, coalescing: coalescing, options: .init(subject: subject))
                } else {
                    try center.enqueue(
                        TrackChanged(number: number),
                        postingStyle: .whenIdle, coalescing: coalescing, options: .init(subject: subject))
                }
            }
        }
        center.postPending()
        try center.post(name: "end")
        func areEqual(_ one: Int, _ other: Int) -> Bool {
            !coalescing.isEmpty && (!coalescing.contains(.name) || posts[one].name == posts[other].name)
                && (!coalescing.contains(.subject) || posts[one].subject == posts[other].subject)
        }
        let newest = posts.filter { post in !((post.number + 1)..<posts.count).contains { areEqual(post.number, $0) } }
        let expected = newest.map { #"\#($0.name) \#($0.subject ?? "-") {"number":\#($0.number)}"# }
        expectEqual(await peer.lines(through: "end - none").dropFirst(), expected[...])
        let counts: [Center.Coalescing: Int] = [[]: 101, [.name]: 2, [.subject]: 4, [.name, .subject]: 8]
        #expect(newest.count == counts[coalescing])
    }

    /// A typical use of `NotificationQueue`: one name; some posts may be sent meanwhile.
    @Test func theLastOfABurstArrivesLast() async throws {
        let test = try TestCenter()
        let center = test.center
        let peer = try Peer(test, "observe-untyped", "-", "-", "1000")
        expectEqual(await peer.line(), "observing")
        for number in 0...100 {
            try center.enqueue(
                TrackChanged(number: number), postingStyle: .whenIdle, coalescing: [.name, .subject])
        }
        center.postPending()
        try center.post(name: "end")
        expectEqual(await peer.lines(through: "end - none").last, #"track.changed - {"number":100}"#)
    }
}
