import Foundation
import Glibc
import Testing
import TidingsAdministration

@testable import Tidings

/// The request of these tests. TestPeer serves and makes it, too.
struct Work: Center.Request, Equatable {
    static let name: Center.Name = "test.work"
    struct Reply: Codable, Equatable { var number: Int, pid: Int32 }
    struct Failure: Error, Codable, Equatable { var reason: String }

    var number: Int
    /// What a server is to do, as the commands of TestPeer say.
    var way = "echo"
}

/// Requests and their servers, in one process and in several.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct RequestTests {
    /// Serves `Work` by replying its number.
    private func echo(_ center: Center, concurrency: Int? = nil) throws -> Center.Server {
        try center.serve(Work.self, options: .init(concurrency: concurrency)) { request, _ in
            Work.Reply(number: request.number, pid: getpid())
        }
    }

    /// The code of the error that the request fails with; `nil`: it does not.
    private func failure(
        _ center: Center, _ work: Work = Work(number: 1), timeout: Duration? = nil
    ) async -> SharedNotificationError.Code? {
        await error(center, work, timeout: timeout)?.code
    }

    private func error(
        _ center: Center, _ work: Work, timeout: Duration? = nil, isIdempotent: Bool = false
    ) async -> SharedNotificationError? {
        do {
            _ = try await center.request(work, timeout: timeout, options: .init(idempotent: isIdempotent))
            return nil
        } catch {
            return error as? SharedNotificationError
        }
    }

    /// A handler that waits until its task is cancelled, and the events of that.
    private func waiting(
        _ center: Center, concurrency: Int? = nil
    ) throws -> (server: Center.Server, begun: Events<Int>, cancelled: Events<Int>) {
        let (begun, cancelled) = (Events<Int>(), Events<Int>())
        let server = try center.serve(Work.self, options: .init(concurrency: concurrency)) { request, _ in
            begun.add(request.number)
            await untilCancelled()
            cancelled.add(request.number)
            return Work.Reply(number: 0, pid: 0)
        }
        return (server, begun, cancelled)
    }

    // MARK: Replies

    @Test func aRequestReceivesTheReplyOfAServerInItsProcess() async throws {
        let test = try TestCenter()
        let envelopes = Events<Center.RequestEnvelope>()
        let server = try test.center.serve(Work.self) { request, envelope in
            envelopes.add(envelope)
            return Work.Reply(number: 2 * request.number, pid: getpid())
        }
        for number in 1...3 {
            expectEqual(
                try await test.center.request(Work(number: number)), Work.Reply(number: 2 * number, pid: getpid()))
        }
        expectEqual(try await test.other().request(Work(number: 4)).number, 8)
        #expect(envelopes.count == 4)
        let one = envelopes.all[0]
        #expect(one.caller.pid == getpid() && one.caller.uid == getuid() && !one.isRepeated)
        #expect(one.caller.executable != nil)
        server.cancel()
        #expect(server.isCancelled)
    }

    @Test func processesRequestFromEachOther() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "serve", "0", "wait", "unserve", "request", "7", "echo", "wait")
        expectEqual(await peer.line(), "serving")
        let reply = try await test.center.request(Work(number: 21), timeout: .seconds(300))
        #expect(reply == Work.Reply(number: 21, pid: peer.pid))
        let server = try echo(test.center)
        peer.send()
        expectEqual(await peer.line(4), "reply 7 \(getpid())")
        expectEqual(await peer.line(3), "unserved")
        server.cancel()
    }

    @Test func aThrownFailureArrivesAsItself() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "serve", "0", "wait")
        _ = await peer.line()
        await #expect(throws: Work.Failure(reason: "not 5")) {
            try await test.center.request(Work(number: 5, way: "refuse"))
        }
    }

    @Test func anyOtherErrorArrivesWithTheServersDescription() async throws {
        struct Other: Error, CustomStringConvertible { var description: String { "out of\npaper" } }
        let test = try TestCenter()
        let server = try test.center.serve(Work.self) { _, _ in throw Other() }
        let error = await #expect(throws: SharedNotificationError.self) {
            try await test.center.request(Work(number: 1))
        }
        #expect(error?.code == .serverFailed)
        #expect(
            error?.message
                == "can't get a reply to \"test.work\" in center \"\(test.name)\": its server failed: out of paper")
        server.cancel()
    }

    @Test func aFailureThatTheCallerDoesNotDeclareIsItsServersFailure() async throws {
        struct Plain: Center.Request {
            static let name = Work.name
            typealias Reply = Int
        }
        let test = try TestCenter(expecting: ["undecodable: test.work"])
        let server = try test.center.serve(Work.self) { _, _ in throw Work.Failure(reason: "no") }
        // `Plain` has no fields: the request does not decode as `Work`, which has.
        let refused = await #expect(throws: SharedNotificationError.self) { try await test.center.request(Plain()) }
        #expect(refused?.code == .serverFailed && refused!.message.contains("does not decode as Work"), "\(refused!)")
        server.cancel()
    }

    // MARK: No reply

    @Test func withoutAServerARequestFailsAtOnce() async throws {
        let test = try TestCenter()
        let error = await #expect(throws: SharedNotificationError.self) {
            try await test.center.request(Work(number: 1))
        }
        #expect(error?.code == .noServer)
        #expect(
            error?.message
                == "can't call \"test.work\" in center \"\(test.name)\": no process serves it; start its server")
        let server = try echo(test.center)
        expectEqual(await failure(test.center), nil)
        server.cancel()
        expectEqual(await failure(test.center), .noServer)
        // The release of a server ends it.
        _ = try echo(test.center)
        expectEqual(await failure(test.center), .noServer)
    }

    @Test func aRequestTimesOutAndItsHandlerIsCancelled() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "serve", "0", "wait")
        _ = await peer.line()
        let error = await #expect(throws: SharedNotificationError.self) {
            try await test.center.request(Work(number: 1, way: "wait"), timeout: .milliseconds(20))
        }
        #expect(error?.code == .timedOut)
        // The handler may have been cancelled before it began.
        expectEqual(await failure(test.center, Work(number: 2, way: "wait"), timeout: .milliseconds(20)), .timedOut)
        expectEqual(await failure(test.center, timeout: .zero), .timedOut)
        expectEqual(await failure(test.center, timeout: .seconds(-1)), .timedOut)
        // A deadline that is earlier than the others, and one that no clock reaches.
        async let long = failure(test.center, Work(number: 3, way: "wait"), timeout: .milliseconds(200))
        expectEqual(await failure(test.center, Work(number: 4, way: "wait"), timeout: .milliseconds(20)), .timedOut)
        expectEqual(await long, .timedOut)
        expectEqual(await failure(test.center, timeout: .seconds(Int64.max)), nil)
        // The peer goes on.
        expectEqual(try await test.center.request(Work(number: 9)).number, 9)
    }

    @Test(arguments: [false, true])
    func aKilledServerEndsItsRequests(isIdempotent: Bool) async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "serve", "0", "wait")
        _ = await peer.line()
        async let ended = error(test.center, Work(number: 1, way: "wait"), isIdempotent: isIdempotent)
        expectEqual(await peer.line(2), "handling 1")
        peer.signal(SIGKILL)
        expectEqual(await ended?.code, .serverEnded)
        // Idempotence does not help without another server.
        expectEqual(await ended?.message.contains("make it idempotent"), !isIdempotent)
        expectEqual(await failure(test.center), .noServer)
    }

    @Test func aServerThatIsCancelledEndsItsRequestsAndHandlers() async throws {
        let test = try TestCenter()
        let (server, begun, cancelled) = try waiting(test.center)
        async let ended = failure(test.center)
        await begun.wait(for: 1)
        await server.cancelAndWait()
        #expect(cancelled.all == [1])
        expectEqual(await ended, .serverEnded)
        server.cancel()
    }

    @Test func anIdempotentRequestGoesToASecondServer() async throws {
        let test = try TestCenter()
        let peers = try [Peer(test, "serve", "0", "wait"), Peer(test, "serve", "0", "wait")]
        for peer in peers { _ = await peer.line() }
        // A server that receives it for the first time waits, and one that receives it again replies.
        async let reply = test.center.request(Work(number: 1, way: "second"), options: .init(idempotent: true))
        let first = await withTaskGroup(of: Int.self) { group in
            for index in 0...1 { group.addTask { await peers[index].line(2) == "" ? -1 : index } }
            let first = await group.next()!
            peers[first].signal(SIGKILL)
            return first
        }
        expectEqual(try await reply, Work.Reply(number: 1, pid: peers[1 - first].pid))
        expectEqual(await peers[1 - first].line(2), "handling 1 again")
    }

    // MARK: Cancellation

    @Test func cancellingTheTaskCancelsTheHandler() async throws {
        let test = try TestCenter()
        let (server, begun, cancelled) = try waiting(test.center)
        let task = Task { try await test.center.request(Work(number: 1)) }
        await begun.wait(for: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await cancelled.wait(for: 1)
        // A task that is cancelled before it calls.
        let early = Task {
            await untilCancelled()
            return try await test.center.request(Work(number: 2))
        }
        early.cancel()
        await #expect(throws: CancellationError.self) { try await early.value }
        #expect(begun.all == [1])
        server.cancel()
    }

    @Test func theDeathOfACallerCancelsTheHandler() async throws {
        let test = try TestCenter()
        let (server, begun, cancelled) = try waiting(test.center)
        let peer = try Peer(test, "request", "3", "echo", "wait")
        await begun.wait(for: 1)
        peer.signal(SIGKILL)
        expectEqual(await cancelled.wait(for: 1), [3])
        server.cancel()
    }

    // MARK: Several at a time

    @Test func aServerHandlesSoManyRequestsAtATime() async throws {
        let test = try TestCenter()
        let (server, begun, cancelled) = try waiting(test.center, concurrency: 2)
        let tasks = (1...6).map { number in Task { try? await test.center.request(Work(number: number)) } }
        // A full server learns that a request was cancelled; then the next one begins.
        for ended in 0..<4 {
            let running = await begun.wait(for: 2 + ended)
            #expect(running.count == 2 + ended)
            tasks[running[ended] - 1].cancel()
            await cancelled.wait(for: ended + 1)
        }
        await begun.wait(for: 6)
        #expect(Set(begun.all) == Set(1...6))
        server.cancel()
        for task in tasks { _ = await task.value }
    }

    @Test func aFullServerLeavesRequestsToAnother() async throws {
        let test = try TestCenter()
        let one = try waiting(test.center, concurrency: 1)
        let first = Task { try? await test.center.request(Work(number: 1)) }
        await one.begun.wait(for: 1)
        let two = try waiting(test.other(), concurrency: 1)
        let second = Task { try? await test.center.request(Work(number: 2)) }
        await two.begun.wait(for: 1)
        #expect(one.begun.all == [1] && two.begun.all == [2])
        // A third one waits for whichever is free first.
        let third = Task { try? await test.center.request(Work(number: 3)) }
        first.cancel()
        expectEqual(await one.begun.wait(for: 2), [1, 3])
        for task in [second, third] { task.cancel() }
        one.server.cancel()
        two.server.cancel()
    }

    @Test func aHandlerRequestsFromItsOwnProcess() async throws {
        struct Outer: Center.Request {
            static let name: Center.Name = "test.outer"
            typealias Reply = Int
            var number: Int
        }
        let test = try TestCenter()
        let inner = try echo(test.center, concurrency: 1)
        let outer = try test.center.serve(Outer.self, options: .init(concurrency: 1)) { request, _ in
            try await test.center.request(Work(number: request.number + 1)).number + 1
        }
        expectEqual(try await test.center.request(Outer(number: 1)), 3)
        inner.cancel()
        let error = await #expect(throws: SharedNotificationError.self) {
            try await test.center.request(Outer(number: 1))
        }
        #expect(error?.code == .serverFailed && error!.message.contains("no process serves it"))
        outer.cancel()
    }

    @Test func aThousandRequestsAreInFlight() async throws {
        let test = try TestCenter()
        let (gate, begun) = (Events<Void>(), Events<Void>())
        let server = try test.center.serve(Work.self, options: .init(concurrency: 1000)) { request, _ in
            begun.add(())
            await gate.wait(for: 1)
            return Work.Reply(number: request.number, pid: 0)
        }
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...1000 {
                group.addTask {
                    try await test.center.request(Work(number: number), timeout: .seconds(500)).number
                }
            }
            await begun.wait(for: 1000)
            gate.add(())
            return try await group.reduce(0, +)
        }
        #expect(sum == 500_500)
        server.cancel()
    }

    @Test func callersOfManyNamesAreClosedAgain() async throws {
        let test = try TestCenter()
        var servers: [Center.Server] = []
        for number in 0..<40 {
            let name = Center.Name("test.\(number)")
            servers.append(try test.center.serve(name: name, options: .init()) { payload, _, _ in payload })
            expectEqual(
                try await test.center.request(name: name, payload: .json("\(number)"), timeout: nil, options: .init()),
                .json("\(number)"))
        }
        #expect(test.center.callers.count == 16)
        let again = try await test.center.request(name: "test.0", payload: .json("1"), timeout: nil, options: .init())
        #expect(again == .json("1"))
        for server in servers { server.cancel() }
    }

    // MARK: What goes wrong

    @Test func aReplyOfAnotherTypeIsReported() async throws {
        struct Other: Center.Request {
            static let name = Work.name
            typealias Reply = String
            var number: Int
            var way: String
        }
        let test = try TestCenter(expecting: ["undecodable: test.work"])
        let server = try test.center.serve(Other.self) { _, _ in "a text" }
        expectEqual(await failure(test.center), .decodingFailed)
        // And a request that does not decode, to both sides.
        let error = await #expect(throws: SharedNotificationError.self) {
            try await test.center.request(name: Work.name, payload: .json("[]"), timeout: nil, options: .init())
        }
        #expect(error?.code == .serverFailed && error!.message.contains("does not decode as Other"), "\(error!)")
        #expect(test.reports.all == ["undecodable: test.work"])
        server.cancel()
    }

    @Test func whatIsTooLargeIsRefused() async throws {
        struct Large: Center.Request {
            static let name: Center.Name = "test.large"
            typealias Reply = [Int]
            var size: Int
            var filling: [Int] = []
        }
        let test = try TestCenter(.init(maximumPayloadSize: 16384))
        let server = try test.center.serve(Large.self) { request, _ in Array(repeating: 1 << 40, count: request.size) }
        let full = Array(repeating: 1 << 40, count: 1000)
        expectEqual(try await test.center.request(Large(size: 1000, filling: full)), full)
        let refused = await #expect(throws: SharedNotificationError.self) {
            try await test.center.request(Large(size: 1, filling: full + full + full))
        }
        #expect(refused?.code == .payloadTooLarge)
        let failed = await #expect(throws: SharedNotificationError.self) {
            try await test.center.request(Large(size: 3000))
        }
        #expect(failed?.code == .serverFailed && failed!.message.contains("the reply is too large"), "\(failed!)")
        server.cancel()
    }

    @Test func argumentsAreChecked() async throws {
        let test = try TestCenter()
        #expect(throws: SharedNotificationError.self) { try echo(test.center, concurrency: 0) }
        let long = Center.Name(String(repeating: "n", count: 239))
        for name in [long, Center.Name("")] {
            let refused = #expect(throws: SharedNotificationError.self) {
                try test.center.serve(name: name, options: .init()) { payload, _, _ in payload }
            }
            #expect(refused?.code == .invalidName)
            let unasked = await #expect(throws: SharedNotificationError.self) {
                try await test.center.request(name: name, payload: .empty, timeout: nil, options: .init())
            }
            #expect(unasked?.code == .invalidName)
        }
        let reader = try test.recorded(
            Center(named: test.name, configuration: .init(directory: test.directory, isReadOnly: true)))
        expectEqual(await failure(reader), .notPermitted)
        let refused = #expect(throws: SharedNotificationError.self) { try echo(reader) }
        #expect(refused?.code == .notPermitted)
    }

    @Test func theEndOfACenterEndsRequestsAndServers() async throws {
        let test = try TestCenter(expecting: ["dispatch failed"])
        let (server, begun, cancelled) = try waiting(test.center)
        async let ended = failure(test.center)
        await begun.wait(for: 1)
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        expectEqual(await ended, .removed)
        expectEqual(await failure(test.center), .removed)
        await cancelled.wait(for: 1)
        await server.cancelAndWait()
        #expect(server.isCancelled)
        #expect(test.reports.all == ["dispatch failed"])
    }

    @Test func serversAndRequestsGoOnInTheNextCenter() async throws {
        let test = try TestCenter(.init(followsName: true), expecting: ["reopened"])
        let (server, begun, cancelled) = try waiting(test.center)
        async let ended = failure(test.center)
        await begun.wait(for: 1)
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        expectEqual(await ended, .removed)
        await cancelled.wait(for: 1)
        // The server goes on as soon as there is a next center, which this center object creates.
        try test.center.post(Track(1))
        let task = Task {
            while true {
                do {
                    return try await test.center.request(Work(number: 2))
                } catch let error as SharedNotificationError where error.code == .noServer {
                    await Task.yield()
                }
            }
        }
        expectEqual(await begun.wait(for: 2), [1, 2])
        task.cancel()
        await server.cancelAndWait()
    }

    // MARK: Beside other parts

    @Test func aCenterObjectIsAnnouncedBesideItsServersAndRequests() async throws {
        let test = try TestCenter()
        let changes = Events<Center.PresenceChange>()
        let registered = try test.other().presence().register()
        let reading = Task { for await change in registered { changes.add(change) } }
        let server = try echo(test.center)
        expectEqual(await failure(test.center), nil)
        let announcement = try test.center.announce(role: "late")
        expectEqual(await failure(test.center), nil)
        await changes.wait(for: 1)
        announcement.withdraw()
        expectEqual(await changes.wait(for: 2).last, .left(announcement.participant, .closed))
        expectEqual(await failure(test.center), nil)
        server.cancel()
        reading.cancel()
    }

    @Test func aCenterWithoutAFileHasRequests() async throws {
        let center = try Center.sealed(named: "sealed")
        let server = try echo(center)
        expectEqual(try await center.request(Work(number: 5)).number, 5)
        server.cancel()
        expectEqual(await failure(center), .noServer)
    }

    @Test func aServerCanEndItselfAndOutlivesItsCenterObject() async throws {
        let test = try TestCenter()
        let own = Locked<Center.Server?>(nil)
        let done = Events<Void>()
        let server = try test.other().serve(Work.self) { request, _ in
            if request.number == 2 {
                await own.withLock { $0 }?.cancelAndWait()
                done.add(())
            }
            return Work.Reply(number: request.number, pid: 0)
        }
        own.withLock { $0 = server }
        expectEqual(try await test.center.request(Work(number: 1)).number, 1)
        expectEqual(await failure(test.center, Work(number: 2)), .serverEnded)
        await done.wait(for: 1)
        own.withLock { $0 = nil }
    }

    @MainActor private final class Counter {
        var count = 0
        func next() -> Int {
            count += 1
            return count
        }
    }

    @Test func aHandlerRunsInItsOwnIsolation() async throws {
        let test = try TestCenter()
        let counter = await MainActor.run { Counter() }
        let server = try test.center.serve(Work.self) { @MainActor _, _ in
            Work.Reply(number: counter.next(), pid: 0)
        }
        expectEqual(try await test.center.request(Work(number: 0)).number, 1)
        expectEqual(try await test.center.request(Work(number: 0)).number, 2)
        server.cancel()
    }

    @Test func repliesTravelInTheirOwnEncodingOrTheRequests() async throws {
        struct Place: Center.BitwiseMessage { var x: Int, y: Int }
        struct Bytes: Center.BytesMessage, Center.Request {
            static let name: Center.Name = "test.bytes"
            typealias Reply = Place
            var bytes: [UInt8]
            func payloadBytes() -> [UInt8] { bytes }
            init(payloadBytes bytes: UnsafeRawBufferPointer) { self.bytes = Array(bytes) }
        }
        struct Text: Center.Request {
            static let name: Center.Name = "test.text"
            static let encoding = Center.PayloadEncoding.json
            typealias Reply = [String]
        }
        let test = try TestCenter()
        let bytes = try test.center.serve(Bytes.self) { request, _ in Place(x: request.bytes.count, y: 2) }
        let text = try test.center.serve(Text.self) { _, _ in ["a", "b"] }
        let place = try await [1, 2, 3].withUnsafeBytes { Bytes(payloadBytes: $0) }.reply(test.center)
        #expect(place.x == 24 && place.y == 2)
        expectEqual(try await test.center.request(Text()), ["a", "b"])
        let raw = try await test.center.request(
            name: "test.text", payload: .json("{}"), timeout: nil, options: .init())
        #expect(raw == .json(#"["a","b"]"#))
        bytes.cancel()
        text.cancel()
    }
}

extension Center.Request {
    fileprivate func reply(_ center: Center) async throws -> Reply { try await center.request(self) }
}

/// Returns when the task is cancelled.
func untilCancelled() async {
    let stream = AsyncStream<Void> { _ in }
    for await _ in stream {}
}
