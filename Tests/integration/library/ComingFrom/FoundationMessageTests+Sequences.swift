import Testing
import TidingsAdministration
import TidingsFoundation

@testable import Tidings

extension FoundationMessageTests {
    @Test func cancellationWakesAWaitingTask() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let task = Task {
            for await _ in center.messages(for: BookAdded.self) {}
            return "ended"
        }
        // The task waits, or is about to wait.
        while (try? center.statistics.observers) == 0 { await Task.yield() }
        task.cancel()
        expectEqual(await task.value, "ended")
    }

    @Test func aCancelledTaskDoesNotWait() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let gate = Events<Void>()
        let task = Task {
            await gate.wait(for: 1)
            var iterator = center.messages(for: BookAdded.self).makeAsyncIterator()
            return try? await iterator.next()
        }
        task.cancel()
        gate.add(())
        expectEqual(await task.value?.number, nil)
    }

    @Test func observationStartsWithTheIterator() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let sequence = center.messages(of: nil, for: BookAdded.self)
        center.post(BookAdded(number: 0))
        var iterator = sequence.makeAsyncIterator()
        center.post(BookAdded(number: 1, title: "Eden"))
        let book: BookAdded? = try await iterator.next()
        #expect(book?.number == 1 && book?.title == "Eden")
    }

    @Test func observationEndsWithTheIterator() throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        #expect(try center.statistics.observers == 0)
        let sequence = center.messages(of: nil, for: BookAdded.self)
        do {
            let iterator = sequence.makeAsyncIterator()
            _ = iterator
            #expect(try center.statistics.observers == 1)
        }
        #expect(try center.statistics.observers == 0)
    }

    @Test func copiesOfAnIteratorAreOne() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        var iterator = center.messages(of: nil, for: BookAdded.self).makeAsyncIterator()
        var copy = iterator
        for number in 1...3 {
            center.post(BookAdded(number: number))
            let book = number == 2 ? try await copy.next() : try await iterator.next()
            #expect(book?.number == number)
        }
    }

    @Test func aFullBufferDropsTheOldest() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let missed = Events<Int>()
        center.onDiagnostic = { if case .missed(let count, _) = $0 { missed.add(count) } }
        let size = 12
        var iterator = center.messages(of: nil, for: BookAdded.self, bufferSize: size).makeAsyncIterator()
        for number in 1...4 { center.post(BookAdded(number: number)) }
        for number in 1...4 { expectEqual(try await iterator.next()?.number, number) }
        for number in 1...(size + 1) { center.post(BookAdded(number: number)) }
        for number in 2...(size + 1) { expectEqual(try await iterator.next()?.number, number) }
        // The loss is reported here; Foundation does not report it.
        #expect(missed.all == [1])
    }

    /// A message is in the sequence's buffer when its post returns: no queue of the center is between them.
    @Test func aPostIsInTheSequencesBuffer() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let missed = Events<Int>()
        center.onDiagnostic = { if case .missed(let count, _) = $0 { missed.add(count) } }
        var iterator = center.messages(of: nil, for: BookAdded.self, bufferSize: 2).makeAsyncIterator()
        for number in 1...5 { center.post(BookAdded(number: number)) }
        // A message that arrived later would be in the buffer too.
        for number in 4...5 { expectEqual(try await iterator.next()?.number, number) }
        #expect(missed.all == [3])
    }

    @Test func allWaysToCreateASequence() async throws {
        let center = try SharedNotificationCenter.sealed(named: "test")
        let library = Library()
        do {
            var iterator = center.messages(of: library, for: .changed).makeAsyncIterator()
            center.post(BookAdded(number: 1), subject: library)
            expectEqual(try await iterator.next()?.number, 1)
        }
        do {
            var iterator = center.messages(of: Library.self, for: .changed).makeAsyncIterator()
            center.post(BookAdded(number: 2))
            expectEqual(try await iterator.next()?.number, 2)
        }
        do {
            var iterator = center.messages(of: library, for: BookAdded.self).makeAsyncIterator()
            center.post(BookAdded(number: 3), subject: library)
            expectEqual(try await iterator.next()?.number, 3)
        }
        do {
            var iterator = center.messages(of: nil, for: BookAdded.self).makeAsyncIterator()
            center.post(BookAdded(number: 4))
            expectEqual(try await iterator.next()?.number, 4)
        }
    }
}
