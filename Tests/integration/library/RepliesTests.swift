import Glibc
import Testing

@testable import Tidings

/// The request of these tests. TestPeer serves and makes it, too.
struct Count: Center.Request {
    static let name: Center.Name = "test.count"
    typealias Reply = Int
    struct Failure: Error, Codable, Equatable { var at: Int }

    /// How many replies to send.
    var upTo: Int
    /// What comes after them: "end", "fail", or "wait".
    var then = "end"
}

/// Several replies to one request, in one process and in several.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct RepliesTests {
    /// Serves `Count`. The events are the writes that have returned, and the handlers whose task was cancelled.
    private func counting(
        _ center: Center, concurrency: Int? = nil, wrote: Events<Int> = Events(), cancelled: Events<Int> = Events()
    ) throws -> Center.Server {
        try center.serve(Count.self, options: .init(concurrency: concurrency)) { count, _, writer in
            do {
                for number in 0..<count.upTo {
                    try await writer.write(number)
                    wrote.add(number)
                }
                if count.then == "fail" { throw Count.Failure(at: count.upTo) }
                if count.then == "wait" {
                    await untilCancelled()
                    throw CancellationError()
                }
            } catch is CancellationError {
                cancelled.add(count.upTo)
            }
        }
    }

    private func all(_ replies: some AsyncSequence<Int, any Error>) async throws -> [Int] {
        try await replies.reduce(into: []) { $0.append($1) }
    }

    /// The replies, and the code of the error after them.
    private func ending(_ replies: some AsyncSequence<Int, any Error>) async -> ([Int], SharedNotificationError.Code?) {
        var received: [Int] = []
        do {
            for try await reply in replies { received.append(reply) }
            return (received, nil)
        } catch {
            return (received, (error as? SharedNotificationError)?.code)
        }
    }

    // MARK: Replies

    @Test func repliesArriveInOrderAndEnd() async throws {
        let test = try TestCenter()
        let server = try counting(test.center)
        let replies = test.center.replies(to: Count(upTo: 1000), timeout: .seconds(300))
        expectEqual(try await all(replies), Array(0..<1000))
        // Another iteration is another request.
        expectEqual(try await all(replies).count, 1000)
        expectEqual(try await all(test.other().replies(to: Count(upTo: 0))), [])
        server.cancel()
    }

    @Test func repliesCrossProcesses() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "count", "wait", "replies", "5", "wait")
        expectEqual(await peer.line(), "counting")
        expectEqual(try await all(test.center.replies(to: Count(upTo: 300))), Array(0..<300))
        let server = try test.center.serve(Count.self) { _, _, writer in
            for number in 7...9 { try await writer.write(number) }
        }
        // The peer serves the name as well: one of the two receives the request.
        peer.send()
        expect(await peer.line(2)) { ["replies 7 8 9", "replies 0 1 2 3 4"].contains($0) }
        server.cancel()
    }

    @Test func largeRepliesArriveWhole() async throws {
        struct Pages: Center.Request {
            typealias Reply = [UInt8]
            var sizes: [Int]
        }
        // Each size has bytes of its own.
        let bytes = (0..<1_000_251).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        @Sendable func page(of size: Int) -> [UInt8] { Array(bytes[(size % 251)...].prefix(size)) }
        let test = try TestCenter()
        let server = try test.center.serve(Pages.self) { pages, _, writer in
            for size in pages.sizes { try await writer.write(page(of: size)) }
        }
        let sizes = [1, 100_000, 0, 1_000_000, 192, 193] + Array(repeating: 300_000, count: isSanitized ? 3 : 30)
        var received: [Int] = []
        for try await reply in test.center.replies(to: Pages(sizes: sizes)) {
            let isWhole = reply == page(of: reply.count)
            #expect(isWhole)
            received.append(reply.count)
        }
        expectEqual(received, sizes)
        server.cancel()
    }

    @Test func manySequencesAreReceivedAtATime() async throws {
        let test = try TestCenter()
        let server = try counting(test.center, concurrency: 40)
        let sums = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<40 {
                group.addTask { try await test.center.replies(to: Count(upTo: 100)).reduce(0, +) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        expectEqual(sums, Array(repeating: 4950, count: 40))
        server.cancel()
    }

    @Test func writesFromSeveralTasksAllArrive() async throws {
        let test = try TestCenter()
        let server = try test.center.serve(Count.self) { count, _, writer in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count.upTo { group.addTask { try await writer.write(number) } }
                try await group.waitForAll()
            }
        }
        expectEqual(try await all(test.center.replies(to: Count(upTo: 50))).sorted(), Array(0..<50))
        server.cancel()
    }

    @Test func aWriteReturnsWhenTheCallerHasAskedForTheReply() async throws {
        let test = try TestCenter()
        let order = Events<String>()
        let server = try test.center.serve(Count.self) { count, _, writer in
            for number in 0..<count.upTo {
                try await writer.write(number)
                order.add("wrote \(number)")
            }
        }
        var replies = test.center.replies(to: Count(upTo: 20)).makeAsyncIterator()
        for number in 0..<20 {
            order.add("asked \(number)")
            expectEqual(try await replies.next(), number)
        }
        expectEqual(try await replies.next(), nil)
        expectEqual(try await replies.next(), nil)
        for number in 0..<20 {
            let (asked, wrote) = (
                order.all.firstIndex(of: "asked \(number)"), order.all.firstIndex(of: "wrote \(number)")
            )
            #expect(asked! < wrote!, "\(order.all)")
        }
        server.cancel()
    }

    @Test func aServerOfOneReplyIsASequenceOfOne() async throws {
        let test = try TestCenter()
        let server = try test.center.serve(Count.self) { count, _ in count.upTo }
        expectEqual(try await all(test.center.replies(to: Count(upTo: 6))), [6])
        server.cancel()
    }

    @Test func aRequestForOneReplyEndsAServerOfSeveral() async throws {
        let test = try TestCenter()
        let cancelled = Events<Int>()
        let server = try counting(test.center, cancelled: cancelled)
        for count in [Count(upTo: 3), Count(upTo: 0)] {
            let error = await #expect(throws: SharedNotificationError.self) { try await test.center.request(count) }
            #expect(error?.code == .decodingFailed)
            #expect(error?.message.contains("receive them by replies(to:)") == true)
        }
        expectEqual(await cancelled.wait(for: 1), [3])
        server.cancel()
    }

    // MARK: Ends

    @Test func aFailureComesAfterTheReplies() async throws {
        let test = try TestCenter()
        let server = try counting(test.center)
        var received: [Int] = []
        await #expect(throws: Count.Failure(at: 2)) {
            for try await number in test.center.replies(to: Count(upTo: 2, then: "fail")) { received.append(number) }
        }
        expectEqual(received, [0, 1])
        server.cancel()
    }

    @Test func anIterationThatStopsCancelsTheHandler() async throws {
        let test = try TestCenter()
        let cancelled = Events<Int>()
        let server = try counting(test.center, cancelled: cancelled)
        for try await number in test.center.replies(to: Count(upTo: 10)) where number == 3 { break }
        expectEqual(await cancelled.wait(for: 1), [10])
        // While it waits for the next reply.
        let received = Events<Int>()
        let task = Task {
            for try await number in test.center.replies(to: Count(upTo: 2, then: "wait")) { received.add(number) }
        }
        await received.wait(for: 2)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        expectEqual(await cancelled.wait(for: 2), [10, 2])
        server.cancel()
    }

    @Test func anIterationEndsAfterItsError() async throws {
        struct Text: Center.Request {
            static let name = Count.name
            typealias Reply = String
            var upTo: Int
            var then = "end"
            var encodes = true

            enum CodingKeys: CodingKey { case upTo, then }
            func encode(to encoder: any Encoder) throws {
                guard encodes else {
                    throw EncodingError.invalidValue(self, .init(codingPath: [], debugDescription: ""))
                }
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(upTo, forKey: .upTo)
                try container.encode(then, forKey: .then)
            }
        }
        let test = try TestCenter()
        let cancelled = Events<Int>()
        let server = try counting(test.center, cancelled: cancelled)
        // The second reply must not be received after the first one was of another type.
        for (text, code) in [
            (Text(upTo: 3), SharedNotificationError.Code.decodingFailed),
            (Text(upTo: 3, encodes: false), .encodingFailed),
        ] {
            var replies = test.center.replies(to: text).makeAsyncIterator()
            let error = await #expect(throws: SharedNotificationError.self) { try await replies.next() }
            #expect(error?.code == code)
            expectEqual(try await replies.next(), nil)
            if code == .decodingFailed { expectEqual(await cancelled.wait(for: 1), [3]) }
        }
        server.cancel()
    }

    @Test func eachReplyHasTheTimeout() async throws {
        let test = try TestCenter()
        let cancelled = Events<Int>()
        let server = try counting(test.center, cancelled: cancelled)
        let (received, code) = await ending(
            test.center.replies(to: Count(upTo: 3, then: "wait"), timeout: .seconds(2)))
        // Under load, the time may be over before a reply that does come.
        #expect([0, 1, 2].starts(with: received) && code == .timedOut, "\(received)")
        if !received.isEmpty { expectEqual(await cancelled.wait(for: 1), [3]) }
        server.cancel()
    }

    @Test(arguments: [false, true])
    func theDeathOfTheServerEndsTheReplies(idempotent: Bool) async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "count", "wait")
        _ = await peer.line()
        // Another server, that would receive the request again if it had no reply yet.
        var replies = test.center.replies(
            to: Count(upTo: 2, then: "wait"), options: .init(idempotent: idempotent)
        ).makeAsyncIterator()
        expectEqual(try await replies.next(), 0)
        expectEqual(try await replies.next(), 1)
        let server = try counting(test.center)
        peer.signal(SIGKILL)
        let error = await #expect(throws: SharedNotificationError.self) { try await replies.next() }
        #expect(error?.code == .serverEnded)
        #expect(error?.message.hasSuffix("its server has ended after a part of it; request it anew") == true)
        expectEqual(try await replies.next(), nil)
        server.cancel()
    }

    @Test func theDeathOfTheServerBetweenTwoRepliesIsToldAtTheNext() async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "count", "wait")
        _ = await peer.line()
        var replies = test.center.replies(to: Count(upTo: 2, then: "wait")).makeAsyncIterator()
        expectEqual(try await replies.next(), 0)
        peer.signal(SIGKILL)
        await peer.waitForEnd()
        let error = await #expect(throws: SharedNotificationError.self) { try await replies.next() }
        #expect(error?.code == .serverEnded)
    }

    @Test func theDeathOfTheCallerCancelsTheHandler() async throws {
        let test = try TestCenter()
        let (wrote, cancelled) = (Events<Int>(), Events<Int>())
        let server = try counting(test.center, wrote: wrote, cancelled: cancelled)
        let peer = try Peer(test, "replies", "1000000", "wait")
        await wrote.wait(for: 10)
        peer.signal(SIGKILL)
        expectEqual(await cancelled.wait(for: 1), [1_000_000])
        server.cancel()
    }

    @Test func aServerThatIsCancelledEndsItsReplies() async throws {
        let test = try TestCenter()
        let cancelled = Events<Int>()
        let server = try counting(test.center, cancelled: cancelled)
        var replies = test.center.replies(to: Count(upTo: 9)).makeAsyncIterator()
        expectEqual(try await replies.next(), 0)
        await server.cancelAndWait()
        expectEqual(cancelled.all, [9])
        let error = await #expect(throws: SharedNotificationError.self) { try await replies.next() }
        #expect(error?.code == .serverEnded)
    }

    @Test func aServerThatEndsWhileRepliesAreAskedForHasEnded() async throws {
        let test = try TestCenter()
        for _ in 0..<50 {
            let wrote = Events<Int>()
            let server = try counting(test.center, concurrency: 16, wrote: wrote)
            await withTaskGroup(of: ([Int], SharedNotificationError.Code?).self) { group in
                for _ in 0..<16 {
                    group.addTask { await ending(test.center.replies(to: Count(upTo: 1_000_000))) }
                }
                await wrote.wait(for: 100)
                server.cancel()
                // A request that is made after the end, or that the server has not received, has no server.
                for await (received, code) in group where code != .noServer || !received.isEmpty {
                    expectEqual(code, .serverEnded)
                }
            }
        }
    }

    @Test func theEndOfACenterEndsReplies() async throws {
        let test = try TestCenter(expecting: ["dispatch failed"])
        let server = try counting(test.center)
        var replies = test.center.replies(to: Count(upTo: 1, then: "wait")).makeAsyncIterator()
        expectEqual(try await replies.next(), 0)
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        let error = await #expect(throws: SharedNotificationError.self) { try await replies.next() }
        #expect(error?.code == .removed)
        server.cancel()
    }

    // MARK: Writers

    @Test func whatCannotBeSentIsTheHandlersError() async throws {
        let test = try TestCenter(.init(maximumPayloadSize: 4096))
        struct Pages: Center.Request {
            typealias Reply = [UInt8]
        }
        let codes = Events<SharedNotificationError.Code?>()
        let server = try test.center.serve(Pages.self) { _, _, writer in
            do {
                try await writer.write(Array(repeating: 1, count: 10_000))
            } catch {
                codes.add((error as? SharedNotificationError)?.code)
            }
            try await writer.write([2])
        }
        var received: [[UInt8]] = []
        for try await page in test.center.replies(to: Pages()) { received.append(page) }
        #expect(received == [[2]] && codes.all == [.payloadTooLarge])
        server.cancel()
    }

    @Test func aWriterOfAnEndedHandlerSendsNothing() async throws {
        let test = try TestCenter()
        let writers = Events<Center.ReplyWriter<Int>>()
        let server = try test.center.serve(Count.self) { _, _, writer in writers.add(writer) }
        expectEqual(try await all(test.center.replies(to: Count(upTo: 1))), [])
        await #expect(throws: CancellationError.self) { try await writers.all[0].write(1) }
        server.cancel()
    }

    @Test func writersThatOutliveTheHandlerEndWithIt() async throws {
        let test = try TestCenter()
        let ended = Events<Int>()
        let server = try test.center.serve(Count.self) { count, _, writer in
            try await writer.write(-1)
            for number in 0..<count.upTo {
                Task {
                    do { try await writer.write(number) } catch is CancellationError {}
                    ended.add(number)
                }
            }
        }
        for count in 1...50 {
            expectEqual(try await all(test.center.replies(to: Count(upTo: 8))).first, -1)
            await ended.wait(for: count * 8)
        }
        server.cancel()
    }

    @Test func aCallerThatStopsEndsTheWritesOfTasksOfTheirOwn() async throws {
        let test = try TestCenter()
        let server = try test.center.serve(Count.self, options: .init(concurrency: 1)) { count, _, writer in
            // Not a child task: it is not cancelled with the handler's task.
            try await Task { for number in 0..<count.upTo { try await writer.write(number) } }.value
        }
        for try await _ in test.center.replies(to: Count(upTo: 2)) { break }
        // The handler has ended, or this request would have no server.
        expectEqual(try await all(test.center.replies(to: Count(upTo: 3))), [0, 1, 2])
        var replies = test.center.replies(to: Count(upTo: 2)).makeAsyncIterator()
        expectEqual(try await replies.next(), 0)
        await server.cancelAndWait()
    }

    @Test func aHandlerIsTestedWithAWriterOfItsOwn() async throws {
        let written = Events<Int>()
        try await Center.ReplyWriter { written.add($0) }.write(5)
        #expect(written.all == [5])
    }
}
