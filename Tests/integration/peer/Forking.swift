import Foundation
import Glibc
import Tidings
import TidingsAdministration

extension TestPeer {
    /// What a forked child may do with the objects of its parent.
    static func forkAndPost(_ center: SharedNotificationCenter, _ name: String) throws {
        let name = SharedNotificationCenter.Name(name)
        func post(_ number: Int, subject: String? = nil) throws {
            let payload = try SharedNotificationCenter.RawPayload(encoding: Numbered(number: number))
            try center.post(name: name, payload: payload, options: .init(subject: subject))
        }
        let got = Got()
        let token = try center.addObserver(forNames: [name]) { notification in
            let number = (try? notification.payload.decode(Numbered.self))?.number ?? -1
            got.add("\(number) \(notification.envelope.isOwn ? "own" : "child")")
        }
        try post(1)
        _ = got.wait(for: 1)
        center.onDiagnostic = { _ in }
        let suspended = try SharedNotificationCenter.sealed(named: "suspended")
        suspended.suspend()
        // Once all observers sleep, the only other thread holds no lock that the child needs.
        while case let now = try center.statistics, now.observersAsleep < now.observers { sched_yield() }
        let child = fork()
        if child == 0 {
            var status: Int32 = 0
            do { try post(2) } catch { status |= 1 }
            do { try post(3, subject: "s") } catch { status |= 2 }
            do {
                _ = try center.addObserver(forNames: [name]) { _ in }
                status |= 4
            } catch { if error.code != .forked { status |= 8 } }
            token.cancel()
            do { try post(4) } catch { status |= 16 }
            if !tellsDiagnostics(center, name) { status |= 32 }
            if suspended.isSuspended { status |= 64 }
            _exit(status)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        say("child ended with \(status)")
        say("got " + got.wait(for: 4).joined(separator: ", "))
        token.cancel()
    }

    /// A forked child and its parent's payload in place.
    static func forkHeld(_ center: SharedNotificationCenter, _ name: SharedNotificationCenter.Name) throws {
        let observer = try center.pollableObserver(forNames: [name], options: .init(inPlace: .large))
        func post(_ letter: UInt8) throws {
            let bytes = Array(repeating: letter, count: 100_000)
            try center.post(name: name, payload: .init(format: .bytes, bytes: bytes))
        }
        func held() throws -> Int { try center.participants.filter(\.isOwn).map(\.payloadsHeld).reduce(0, +) }
        func isIntact(_ payload: SharedNotificationCenter.RawPayload?) -> Bool {
            payload?.withBytes { bytes in
                bytes.byteOffsets.allSatisfy { bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) == 1 }
            } ?? false
        }
        try post(1)
        func next() throws -> SharedNotificationCenter.RawPayload? {
            guard case .notification(let notification)? = try observer.next() else { return nil }
            return notification.payload
        }
        var payload = try next()
        let child = fork()
        if child == 0 {
            guard isIntact(payload) else { _exit(1) }
            payload = nil
            // The parent's hold is still there: the memory is not used for these.
            do { for _ in 0..<200 { try post(2) } } catch { _exit(2) }
            _exit(0)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        say("child ended with \(isIntact(payload) ? status : -1)")
        let before = try held()
        payload = nil
        say("held \(before), then \(try held())")
    }

    /// Forks children while another thread takes the lock of the diagnostics again and again: its calls take no lock of
    /// Swift's runtime.
    static func forkBesideDiagnostics(_ center: SharedNotificationCenter, _ count: Int) {
        let hook: @Sendable (SharedNotificationCenter.Diagnostic) -> Void = { _ in }
        Thread.detachNewThread { while true { center.onDiagnostic = hook } }
        while center.onDiagnostic == nil { sched_yield() }
        for _ in 0..<count {
            let child = fork()
            if child == 0 {
                // Ends a child that waits for the lock for ever.
                alarm(60)
                center.onDiagnostic = hook
                _exit(center.onDiagnostic == nil ? 1 : 0)
            }
            var status: Int32 = 0
            waitpid(child, &status, 0)
            if status != 0 { return say("child ended with \(status)") }
        }
        say("forked \(count)")
    }

    /// Swift hides it.
    private static func fork() -> Int32 {
        typealias Fork = @convention(c) () -> Int32
        return unsafeBitCast(dlsym(nil, "fork")!, to: Fork.self)()
    }

    /// Builds a payload, and ends, stops or forks in the closure.
    static func build(
        _ center: SharedNotificationCenter, _ name: SharedNotificationCenter.Name, _ way: String
    ) throws {
        let parent = getpid()
        let result = Result {
            try center.post(name: name, capacity: 100_000) { output in
                output.append(repeating: 1, count: 50_000, as: UInt8.self)
                say("building")
                switch way {
                case "kill": kill(getpid(), SIGKILL)
                case "stop": raise(SIGSTOP)
                default: if fork() != 0 { wait(nil) }
                }
                output.append(repeating: 2, count: 50_000, as: UInt8.self)
            }
        }
        guard getpid() == parent else {
            if case .failure(let error as SharedNotificationError) = result { say("child: \(error.code)") }
            _exit(0)
        }
        _ = try result.get()
        say("posted")
    }

    /// The child doesn't inherit the parent's hook. Its own hook is told of sequences that could not start.
    private static func tellsDiagnostics(
        _ center: SharedNotificationCenter, _ name: SharedNotificationCenter.Name
    ) -> Bool {
        guard center.onDiagnostic == nil else { return false }
        let told = Got()
        center.onDiagnostic = { diagnostic in
            if case .observerFailed(_, let error) = diagnostic { told.add("\(error.code)") }
        }
        for _ in 0..<2 { _ = center.deliveries(ofNames: [name]).makeAsyncIterator() }
        return told.count == 2
    }

    /// The lines received so far, in order.
    private final class Got: @unchecked Sendable {
        // Sendable: `lines` is only touched under the condition's lock.
        private let condition = NSCondition()
        private var lines: [String] = []

        func add(_ line: String) {
            condition.lock()
            lines.append(line)
            condition.broadcast()
            condition.unlock()
        }

        var count: Int {
            condition.lock()
            defer { condition.unlock() }
            return lines.count
        }

        func wait(for count: Int) -> [String] {
            condition.lock()
            defer { condition.unlock() }
            while lines.count < count { condition.wait() }
            return lines
        }
    }
}
