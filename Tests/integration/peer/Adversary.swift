import Dispatch
import Foundation
import Glibc
import Tidings
import TidingsAdministration
import TidingsFoundation

// The Swift target of the adversary test (Tests/adversary): an honest program that uses two centers by every part of
// the Swift API, while attackers write to their files. Ends when its standard input ends. Any result is right, as long
// as each call returns and the process lives.
final class AdversaryTarget: @unchecked Sendable {
    // Sendable: each instance belongs to one thread; they share only `isOver`, which only ever becomes true.
    typealias Center = SharedNotificationCenter
    struct Numbered: Center.Message {
        static let name: Center.Name = "a"
        var number: Int
        var text: String
        var at: Date
    }
    struct Flat: Center.BitwiseMessage {
        static let name: Center.Name = "b"
        var x: Double
        var y: Double
    }
    struct Question: Center.Request {
        typealias Reply = String
        static let name: Center.Name = "ask"
        var text: String
    }
    final class Model: Sendable {}
    struct Changed: Center.MainActorMessage {
        typealias Subject = Model
        var number: Int
    }
    final class Target: Sendable {
        func take(_ message: Numbered) { _ = message.text.utf8.count }
    }
    private static let key = Center.Key<Int, String>("key")

    /// Each thread has a page of the board (Tests/adversary/board.h).
    private static let pageSize = 4096
    private let page: UnsafeMutableRawPointer
    private let directory: String
    private var random: UInt64
    nonisolated(unsafe) private static var isOver = false  // one byte, written once by the main thread

    private init(_ directory: String, _ seed: UInt64, _ page: UnsafeMutableRawPointer) {
        self.directory = directory
        self.page = page
        random = seed &* 2_862_933_555_777_941_757 &+ 3_037_000_493
    }

    static func live(directory: String, seed: UInt64) {
        let threads = 3
        let board = mmap(nil, 8 * pageSize, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0)!
        guard board != MAP_FAILED else { exit(65) }
        let ended = DispatchGroup()
        for number in 0..<threads {
            let target = AdversaryTarget(directory, seed &* 8 &+ UInt64(number), board + number * pageSize)
            ended.enter()
            Thread {
                target.live()
                ended.leave()
            }.start()
        }
        Thread {
            while readLine() != nil {}
            isOver = true
            ended.wait()
            exit(0)
        }.start()
        // Runs the main actor's closures.
        while true { RunLoop.main.run(until: .distantFuture) }
    }

    private static var processorTime: UInt64 {
        var now = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
        return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
    }

    /// The kernel's number of this thread. Glibc's module has no `gettid`.
    private static var threadNumber: UInt64 {
        var path = [UInt8](repeating: 0, count: 64)
        let length = readlink("/proc/thread-self", &path, path.count)
        return UInt64(String(decoding: path.prefix(max(0, length)), as: UTF8.self).split(separator: "/").last ?? "")
            ?? 0
    }

    private func next(_ below: Int) -> Int {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return Int(truncatingIfNeeded: random >> 33) % below
    }

    /// Runs `body`, and writes to the board which call runs, so that the director can name a call that takes too long.
    @discardableResult
    private func call<Result>(_ what: StaticString, _ body: () throws -> Result) -> Result? {
        let (text, longestText) = (page + 32, page + 80)
        memset(text, 0, 48)
        memcpy(text, what.utf8Start, min(47, what.utf8CodeUnitCount))
        let words = page.assumingMemoryBound(to: UInt64.self)
        let from = Self.processorTime
        words[2] = from
        words[0] += 1
        defer {
            let took = Self.processorTime - from
            if took > words[1] {
                memcpy(longestText, text, 48)
                words[1] = took
            }
            words[0] += 1
        }
        return try? body()
    }

    private func live() {
        page.assumingMemoryBound(to: UInt64.self)[3] = Self.threadNumber
        while !Self.isOver {
            let isOpen = next(2) == 0
            let isReadOnly = isOpen && next(3) == 0
            let configuration = Center.Configuration(
                directory: directory, isReadOnly: isReadOnly, followsName: next(4) == 0)
            guard
                let center = call(
                    "open", { try Center(named: isOpen ? "open" : "closed", configuration: configuration) })
            else {
                usleep(2000)
                continue
            }
            center.onDiagnostic = { _ in }
            for _ in 0...next(10) where !Self.isOver {
                switch next(24) {
                case 0..<4: inspect(center)
                case 4..<8: sequences(center)
                case 8..<12: pollable(center)
                case 12: mainActor(center)
                case 13..<16: requests(center)
                default: closures(center)
                }
            }
            call("close") { withExtendedLifetime(center) {} }
        }
    }

    private func post(_ center: Center) {
        for number in 0..<next(60) {
            let text = String(repeating: "x", count: [0, 10, 300, 9000][next(4)])
            let message = Numbered(number: number, text: text, at: Date(timeIntervalSince1970: Double(number)))
            switch next(8) {
            case 0: _ = call("post bitwise") { try center.post(Flat(x: 1, y: 2)) }
            case 1: call("set state") { try center.setState(message, for: "state") }
            case 3: _ = call("post key") { try center.post(Self.key, number, text) }
            case 2: _ = call("post untyped") { try center.post(name: .init("u.\(number % 3)"), userInfo: ["n": 1]) }
            default: _ = call("post") { try center.post(message, options: .init(retain: next(8) == 0)) }
            }
        }
    }

    private func closures(_ center: Center) {
        var tokens: [Center.ObservationToken?] = []
        tokens.append(
            call("add closure") {
                try center.addObserver(
                    for: Numbered.self, options: .init(onMissed: { _, _ in }, onUndecodable: { _, _ in })
                ) { message in
                    _ = message.number &+ message.text.utf8.count
                }
            })
        tokens.append(
            call("add closure with envelope") {
                try center.addObserver(for: Flat.self, options: .init(from: .oldest)) { _, envelope in
                    _ = "\(envelope.postedAt) \(envelope.poster) \(envelope.sequence)"
                }
            })
        tokens.append(
            call("add raw") {
                try center.addObserver(forNames: .all, options: .init(lossless: next(3) == 0)) { notification in
                    _ = notification.payload.json
                    _ = "\(notification.name) \(notification.envelope)"
                }
            })
        tokens.append(
            call("add untyped") {
                try center.addObserver(forNames: .all, suspensionBehavior: .hold) { _ = "\($0)" }
            })
        tokens.append(
            call("add key") { try center.addObserver(for: Self.key) { number, text in _ = number &+ text.utf8.count } })
        let target = Target()
        call("add owned") {
            _ = try center.addObserver(for: Numbered.self, options: .init(owner: target)) { [weak target] in
                target?.take($0)
            }
        }
        center.suspend()
        post(center)
        call("resume") { center.resume() }
        post(center)
        for token in tokens { call("cancel") { token?.cancel() } }
        call("remove owned") { center.removeObservers(of: target) }
    }

    private func sequences(_ center: Center) {
        let isDone = DispatchSemaphore(value: 0)
        let task = Task {
            var count = 0
            for await delivery in center.deliveries(of: Numbered.self, bufferSize: 4) {
                if case .missed(let missed) = delivery { count &+= missed }
                count &+= 1
            }
            isDone.signal()
            return count
        }
        post(center)
        task.cancel()
        call("end of a sequence") { isDone.wait() }
    }

    private func pollable(_ center: Center) {
        guard
            let observer = call(
                "add pollable", { try center.pollableObserver(forNames: .all, options: .init(from: .oldest)) })
        else {
            return
        }
        post(center)
        for _ in 0..<200 {
            guard let delivery = call("next", { try observer.next() }), let delivery else { break }
            if case .notification(let notification) = delivery { _ = notification.payload.json }
        }
        var readable = pollfd(fd: observer.fileDescriptor, events: Int16(POLLIN), revents: 0)
        _ = call("poll") { poll(&readable, 1, 5) }
        call("close pollable") { withExtendedLifetime(observer) {} }
    }

    /// Announces itself, serves and asks, as other threads and targets do.
    private func requests(_ center: Center) {
        let announcement = call("announce") { try center.announce(role: "role", timeout: .milliseconds(1)) }
        let server = call("serve") { try center.serve(Question.self) { question, _ in question.text } }
        let text = String(repeating: "x", count: [0, 10, 300, 9000][next(4)])
        let isDone = DispatchSemaphore(value: 0)
        Task {
            for _ in 0..<10 { _ = try? await center.request(Question(text: text), timeout: .milliseconds(50)) }
            isDone.signal()
        }
        post(center)
        call("end of requests") { isDone.wait() }
        call("end of a server") { withExtendedLifetime((announcement, server)) {} }
    }

    /// Posts from the main actor. Rarely called: such a post waits up to 10 s for the main actor's observers.
    private func mainActor(_ center: Center) {
        call("on the main actor") {
            DispatchQueue.main.sync {
                MainActor.assumeIsolated {
                    let token = center.addObserver(for: Changed.self) { _ = $0.number }
                    if let state = try? center.observedState(for: "observed") as Center.ObservedState<Double> {
                        try? state.set(0.5)
                        _ = state.value
                    }
                    if !Self.isOver { center.post(Changed(number: 1)) }
                    token.cancel()
                }
            }
        }
    }

    private func inspect(_ center: Center) {
        if let statistics = call("statistics", { try center.statistics }) { _ = "\(statistics)" }
        if let participants = call("participants", { try center.participants }) { _ = "\(participants)" }
        if let names = call("names", { try center.observedNames }) { _ = "\(names)" }
        if let orphans = call("orphans", { try center.orphans }) { _ = "\(orphans)" }
        _ = call("state") { try center.state(for: "state", as: Numbered.self) }
        _ = call("reclaim") { try center.reclaim() }
    }
}
