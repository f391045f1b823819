import Dispatch
import Foundation
import Glibc
import Testing
import TidingsAdministration

@testable import Tidings

/// Observers in event loops of other libraries.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct PollableTests {
    private static func isReadable(_ descriptor: Int32, waiting milliseconds: Int32 = 0) -> Bool {
        var one = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&one, 1, milliseconds) == 1
    }

    private static func number(_ delivery: Center.RawDelivery) -> Int {
        guard case .notification(let notification) = delivery else { return -1 }
        return (try? notification.payload.decode(Numbered.self).number) ?? -2
    }

    /// Takes all available notifications.
    private static func drain(_ observer: Center.PollableObserver, into numbers: inout [Int]) throws {
        while let delivery = try observer.next() { numbers.append(number(delivery)) }
    }

    /// The descriptor of an observer that fails stays readable: a loop that ignores the error is called again at once.
    @Test(arguments: [
        "Sources/Tidings/Observation/PollableObserver.swift", "Examples/Sources/EveryWay/EventLoop.swift",
        "Sources/Tidings/Documentation.docc/Choosing.md",
    ])
    func documentedLoopsEndOnAnError(file: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
        #expect(text.contains("pollableObserver") && !text.contains("try? observer.next()"))
    }

    @Test func dispatchCallsForAnotherProcesssPosts() async throws {
        let test = try TestCenter()
        let observer = try test.center.pollableObserver(forNames: ["ticks"])
        let got = Events<Int>()
        let source = DispatchSource.makeReadSource(fileDescriptor: observer.fileDescriptor)
        source.setEventHandler {
            do {
                while let delivery = try observer.next() { got.add(Self.number(delivery)) }
            } catch {
                Issue.record(error)
                source.cancel()
            }
        }
        let isCancelled = Events<Void>()
        source.setCancelHandler { withExtendedLifetime(observer) { isCancelled.add(()) } }
        source.activate()
        let peer = try Peer(test, "post", "ticks", "1000", "wait", "post", "ticks", "1000")
        expectEqual(await got.wait(for: 1000), Array(0..<1000))
        peer.send()
        expectEqual(await got.wait(for: 2000), Array(0..<1000) + Array(0..<1000))
        await peer.waitForEnd()
        source.cancel()
        // Otherwise the source would still run when the test's center ends.
        await isCancelled.wait(for: 1)
    }

    /// Sleeps in `poll` without a timeout: an observer that loses one wake-up never wakes again.
    @Test func pollSeesEveryPost() async throws {
        let test = try TestCenter()
        let observer = try test.center.pollableObserver(forNames: ["ticks"])
        let peer = try Peer(test, "wait", "post", "ticks", "3000")
        let polling = Task {
            await onThread { () -> Result<[Int], any Error> in
                Result {
                    var numbers: [Int] = []
                    while numbers.count < 3000 {
                        var one = pollfd(fd: observer.fileDescriptor, events: Int16(POLLIN), revents: 0)
                        guard poll(&one, 1, -1) == 1, one.revents == POLLIN else { continue }
                        try Self.drain(observer, into: &numbers)
                    }
                    return numbers
                }
            }
        }
        peer.send()
        expectEqual(try await polling.value.get(), Array(0..<3000))
        await peer.waitForEnd()
    }

    /// Edge triggered, so that the observer does not recover from a lost wake-up.
    @Test func epollSeesEveryPost() async throws {
        let test = try TestCenter()
        let observer = try test.center.pollableObserver(forNames: ["ticks"])
        // Swift's Glibc module does not have these functions.
        func function<Function>(_ name: String, as: Function.Type) -> Function {
            unsafeBitCast(dlsym(nil, name)!, to: Function.self)
        }
        let create = function("epoll_create1", as: (@convention(c) (Int32) -> Int32).self)
        let control = function(
            "epoll_ctl", as: (@convention(c) (Int32, Int32, Int32, UnsafeMutableRawPointer) -> Int32).self)
        let wait = function(
            "epoll_wait", as: (@convention(c) (Int32, UnsafeMutableRawPointer, Int32, Int32) -> Int32).self)
        let (add, input, edge): (Int32, UInt32, UInt32) = (1, 1, 1 << 31)
        let peer = try Peer(test, "wait", "post", "ticks", "3000")
        let epoll = create(0)
        let polling = Task {
            await onThread { () -> Result<[Int], any Error> in
                Result {
                    // The greatest size on all processors.
                    let event = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 8)
                    defer { event.deallocate() }
                    event.initializeMemory(as: UInt8.self, repeating: 0, count: 16)
                    event.storeBytes(of: input | edge, as: UInt32.self)
                    guard control(epoll, add, observer.fileDescriptor, event) == 0 else { return [] }
                    var numbers: [Int] = []
                    while numbers.count < 3000 {
                        guard wait(epoll, event, 1, -1) == 1, event.load(as: UInt32.self) == input else { continue }
                        try Self.drain(observer, into: &numbers)
                    }
                    return numbers
                }
            }
        }
        peer.send()
        expectEqual(try await polling.value.get(), Array(0..<3000))
        await peer.waitForEnd()
        close(epoll)
    }

    /// Posters are killed meanwhile, the ring is filled more than once, the center is removed: the descriptor stays
    /// valid, and reports the end.
    @Test func theDescriptorOutlivesEverything() async throws {
        let test = try TestCenter(smallRing)
        let observer = try test.center.pollableObserver(forNames: ["ticks"])
        let descriptor = observer.fileDescriptor
        #expect(Self.isReadable(descriptor))
        #expect(try observer.next() == nil)
        #expect(!Self.isReadable(descriptor))
        var numbers: [Int] = []
        for round in 1...3 {
            let peer = try Peer(test, "post", "ticks", "2", "encode-and-kill", "ticks")
            await peer.waitForEnd()
            try Self.drain(observer, into: &numbers)
            #expect(numbers.count == 2 * round)
            #expect(!Self.isReadable(descriptor))
        }
        for number in 0..<1000 {
            try test.center.post(name: "ticks", payload: .init(encoding: Numbered(number: number)))
        }
        // The thread that waits for the observer makes the descriptor readable.
        #expect(Self.isReadable(descriptor, waiting: -1))
        guard case .missed(let missed, "ticks") = try observer.next() else {
            Issue.record("some should have been missed")
            return
        }
        numbers = []
        try Self.drain(observer, into: &numbers)
        #expect(missed + numbers.count == 1000 && numbers.last == 999)
        #expect(try test.center.statistics.missed == missed)
        let other = try test.other()
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        let refused = #expect(throws: SharedNotificationError.self) { try other.post(name: "ticks", payload: .empty) }
        #expect(refused?.code == .removed)
        // It reports the end each time: the loop has to end the observation.
        #expect(Self.isReadable(descriptor, waiting: -1))
        for _ in 0..<2 {
            let ended = #expect(throws: SharedNotificationError.self) { try observer.next() }
            #expect(ended?.code == .removed)
            #expect(Self.isReadable(descriptor))
        }
    }

    @Test func pollableObserversTakeTheSameOptions() async throws {
        let test = try TestCenter()
        let other = try test.other()
        try test.center.post(name: "a", payload: .text("old"), options: .init(subject: "x"))
        let observer = try test.center.pollableObserver(
            forNames: .all, options: .init(subject: "x", from: .oldest, excludingOwnPosts: false))
        let foreign = try test.center.pollableObserver(forNames: ["a"], options: .init(excludingOwnPosts: true))
        try test.center.post(name: "a", payload: .text("own"), options: .init(subject: "x"))
        try other.post(name: "a", payload: .text("y"), options: .init(subject: "y"))
        try other.post(name: "b", payload: .text("foreign"), options: .init(subject: "x"))
        func texts(_ observer: Center.PollableObserver) throws -> [String] {
            var texts: [String] = []
            while case .notification(let notification) = try observer.next() { texts.append(notification.payload.json) }
            return texts
        }
        #expect(try texts(observer) == [#""old""#, #""own""#, #""foreign""#])
        #expect(try texts(foreign) == [#""y""#])
        let error = #expect(throws: SharedNotificationError.self) { try test.center.pollableObserver(forNames: []) }
        #expect(error?.code == .invalidArgument)
        #expect(try test.center.statistics.observers == 2)
    }

    @Test func losslessObserversHoldPostersBack() async throws {
        let test = try TestCenter(smallRing)
        let observer = try test.center.pollableObserver(forNames: ["ticks"], options: .init(lossless: true))
        var posted = 0
        while (try? test.center.post(name: "ticks", payload: .init(encoding: Numbered(number: posted)))) != nil {
            posted += 1
        }
        var numbers: [Int] = []
        try Self.drain(observer, into: &numbers)
        #expect(numbers == Array(0..<posted))
        try test.center.post(name: "ticks", payload: .empty)
    }
}
