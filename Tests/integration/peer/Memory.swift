import Foundation
import Tidings

extension TestPeer {
    /// Observes raw notifications with one kind of observer, until `count` have come. Says "got" for each when nothing
    /// holds its payload any more. Then says by how many KiB this process's own memory grew at most.
    static func observeMemory(
        _ center: SharedNotificationCenter, _ name: String, _ kind: String, _ count: Int
    ) throws {
        let names = [SharedNotificationCenter.Name(name)]
        let got = DispatchSemaphore(value: 0)
        let queue = DispatchQueue(label: "memory")
        // `own`: memory of this process alone. `most`: its peak, without what the process shares. The shared part only
        // grows, and is complete when a payload has been copied, so the difference is the peak of the own part.
        func memory() throws -> (own: Int, most: Int) {
            let lines = try String(contentsOfFile: "/proc/self/status", encoding: .utf8).split(separator: "\n")
            func value(_ key: String) -> Int {
                let line = lines.first { $0.hasPrefix(key + ":") }
                return line.flatMap { Int($0.split(whereSeparator: \.isWhitespace)[1]) } ?? 0
            }
            return (value("RssAnon"), value("VmHWM") - value("RssFile") - value("RssShmem"))
        }
        @Sendable func take(_ payload: SharedNotificationCenter.RawPayload) -> Int { payload.bytes.count }
        let next: () throws -> Void
        var observer: Any?
        defer { withExtendedLifetime(observer) {} }
        switch kind {
        case "closure", "untouched":
            let isTouched = kind == "closure"
            observer = try center.addObserver(forNames: .init(names)) {
                if isTouched { _ = take($0.payload) }
                got.signal()
            }
            next = { got.wait() }
        case "queue":
            observer = try center.addObserver(forNames: .init(names), options: .init(queue: queue)) {
                _ = take($0.payload)
                got.signal()
            }
            next = {
                got.wait()
                // The closure has returned, and the payload is gone.
                queue.sync {}
            }
        case "sequence":
            let iterator = Iterator(center.deliveries(ofNames: .init(names)).makeAsyncIterator())
            observer = iterator
            next = {
                Task {
                    await iterator.step()
                    got.signal()
                }
                got.wait()
            }
        case "pollable":
            let pollable = try center.pollableObserver(forNames: .init(names))
            observer = pollable
            next = {
                var loop = pollfd(fd: pollable.fileDescriptor, events: Int16(POLLIN), revents: 0)
                while poll(&loop, 1, -1) == 1 {
                    guard case .notification(let notification)? = try pollable.next() else { continue }
                    _ = take(notification.payload)
                    return
                }
            }
        default: exit(64)
        }
        let before = try memory().own
        say("observing")
        for _ in 0..<count {
            try next()
            say("got")
        }
        say("\(try memory().most - before)")
    }

    /// Payloads in place, for one thread at a time.
    private final class Kept: @unchecked Sendable {
        // Sendable: the observer's closure adds, and after that the main thread alone uses it.
        var payloads: [SharedNotificationCenter.RawPayload] = []
        let added = DispatchSemaphore(value: 0)
    }

    static func hold(
        _ center: SharedNotificationCenter, _ name: SharedNotificationCenter.Name, _ count: Int
    ) throws {
        let kept = Kept()
        let token = try center.addObserver(forNames: [name], options: .init(inPlace: .large)) {
            kept.payloads.append($0.payload)
            say("held")
            kept.added.signal()
        }
        say("holding")
        for _ in 0..<count { kept.added.wait() }
        token.cancel()
        if readLine() == nil { exit(0) }
        kept.payloads = []
        say("released")
    }

    private actor Iterator {
        typealias Deliveries = SharedNotificationCenter.ObservedSequence<SharedNotificationCenter.RawDelivery>
        private var iterator: Deliveries.Iterator

        init(_ iterator: Deliveries.Iterator) {
            self.iterator = iterator
        }

        func step() async {
            var own = iterator
            guard case .notification(let notification)? = await own.next() else { exit(65) }
            _ = notification.payload.bytes.count
        }
    }
}
