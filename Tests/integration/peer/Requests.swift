import Dispatch
import Glibc
import Tidings

/// As in RequestTests.
struct Work: SharedNotificationCenter.Request {
    static let name: SharedNotificationCenter.Name = "test.work"
    struct Reply: Codable { var number: Int, pid: Int32 }
    struct Failure: Error, Codable { var reason: String }

    var number: Int
    var way: String
}

/// As in RepliesTests.
struct Count: SharedNotificationCenter.Request {
    static let name: SharedNotificationCenter.Name = "test.count"
    typealias Reply = Int
    struct Failure: Error, Codable { var at: Int }

    var upTo: Int
    var then: String
}

extension TestPeer {
    // Used by the main thread only.
    nonisolated(unsafe) private static var server: SharedNotificationCenter.Server?

    static func serve(_ center: SharedNotificationCenter, _ concurrency: Int) throws {
        server = try center.serve(options: .init(concurrency: concurrency == 0 ? nil : concurrency)) {
            (request: Work, envelope) in
            say("handling \(request.number)\(envelope.isRepeated ? " again" : "")")
            switch request.way {
            case "refuse": throw Work.Failure(reason: "not \(request.number)")
            case "wait": await untilCancelled()
            case "second" where !envelope.isRepeated: await untilCancelled()
            default: break
            }
            return Work.Reply(number: request.number, pid: getpid())
        }
        say("serving")
    }

    static func count(_ center: SharedNotificationCenter) throws {
        server = try center.serve { (count: Count, _, writer) in
            for number in 0..<count.upTo { try await writer.write(number) }
            if count.then == "wait" { await untilCancelled() }
        }
        say("counting")
    }

    static func replies(_ center: SharedNotificationCenter, _ number: Int) {
        let done = DispatchSemaphore(value: 0)
        Task {
            do {
                var received = "replies"
                for try await reply in center.replies(to: Count(upTo: number, then: "end")) { received += " \(reply)" }
                say(received)
            } catch {
                say("failed \((error as? SharedNotificationError)?.code.description ?? "\(error)")")
            }
            done.signal()
        }
        done.wait()
    }

    static func unserve() {
        server?.cancel()
        say("unserved")
    }

    static func request(_ center: SharedNotificationCenter, _ number: Int, _ way: String) {
        let done = DispatchSemaphore(value: 0)
        Task {
            do {
                let reply = try await center.request(Work(number: number, way: way))
                say("reply \(reply.number) \(reply.pid)")
            } catch {
                say("failed \((error as? SharedNotificationError)?.code.description ?? "\(error)")")
            }
            done.signal()
        }
        done.wait()
    }

    /// Returns when the task is cancelled.
    private static func untilCancelled() async {
        let stream = AsyncStream<Void> { _ in }
        for await _ in stream {}
    }
}
