import Glibc
import Synchronization
import Testing
import TidingsAdministration

@testable import Tidings

@Suite(.serialized, .timeLimit(.minutes(10)))
struct SequenceTests {
    @Test func messagesComeInOrder() async throws {
        let test = try TestCenter()
        var iterator = test.center.messages(of: Track.self).makeAsyncIterator()
        for number in 0..<500 { try test.center.post(Track(number)) }
        for number in 0..<500 { expectEqual(await iterator.next(), Track(number)) }
    }

    @Test func observationStartsWithTheIterator() async throws {
        let test = try TestCenter()
        let messages = test.center.messages(of: Track.self)
        try test.center.post(Track(0))
        #expect(try test.center.statistics.observers == 0)
        var iterator: Center.ObservedSequence<Track>.Iterator? = messages.makeAsyncIterator()
        #expect(try test.center.statistics.observers == 1)
        try test.center.post(Track(1))
        expectEqual(await iterator?.next(), Track(1))
        iterator = nil
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func aRegisteredSequenceObservesAtOnce() async throws {
        let test = try TestCenter()
        let key = Center.Key<Int, String>("test.registered")
        let messages = try test.center.messages(of: Track.self).register()
        let deliveries = try test.center.deliveries(of: key).register()
        let raw = try test.center.deliveries(ofNames: .all).register()
        #expect(try test.center.statistics.observers == 1)
        for number in 0..<5 { try test.center.post(Track(number)) }
        try test.center.post(key, 6, "six")
        let numbers = Task {
            var numbers: [Int] = []
            for await message in messages {
                numbers.append(message.number)
                if message.number == 4 { break }
            }
            return numbers
        }
        expectEqual(await numbers.value, [0, 1, 2, 3, 4])
        for await delivery in deliveries {
            guard case .message((let number, let text), _) = delivery else { continue }
            #expect(number == 6 && text == "six")
            break
        }
        var count = 0
        for await case .notification(let notification) in raw {
            count += 1
            if notification.name == key.name { break }
        }
        #expect(count == 6)
    }

    @Test func aSequenceThatCannotRegisterThrows() throws {
        let test = try TestCenter()
        #expect(throws: SharedNotificationError.self) {
            _ = try test.center.deliveries(ofNames: .prefix("com.*")).register()
        }
        let late = Center.ObserverOptions(from: .after(1 << 40, in: test.center.incarnation))
        let error = #expect(throws: SharedNotificationError.self) {
            _ = try test.center.messages(of: Track.self, options: late).register()
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func aReleasedRegistrationEndsWithoutAnIteration() async throws {
        let test = try TestCenter()
        var messages: Center.ObservedSequence<Track>.Iterator? = try test.center.messages(of: Track.self).register()
        try test.center.post(Track(1))
        #expect(messages != nil)
        messages = nil
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func aLoopContinuesWhereAnotherEnded() async throws {
        let test = try TestCenter()
        let messages = try test.center.messages(of: Track.self).register()
        for number in 0..<4 { try test.center.post(Track(number)) }
        for await message in messages where message.number == 1 { break }
        for await message in messages {
            #expect(message.number == 2)
            break
        }
        try test.center.post(Track(4))
        for await message in messages {
            #expect(message.number == 3)
            break
        }
    }

    @Test func aRegisteredSequenceEndsWithItsCenter() async throws {
        let test = try TestCenter(expecting: ["dispatch failed"])
        let deliveries = try test.center.deliveries(of: Track.self).register()
        try test.center.post(Track(1))
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        var seen: [String] = []
        for await delivery in deliveries {
            switch delivery {
            case .message(let message, _): seen.append("\(message.number)")
            case .centerEnded(let error): seen.append("\(error.code)")
            case .missed, .reopened: seen.append("\(delivery)")
            }
        }
        #expect(seen == ["1", "removed"])
    }

    @Test func aWaitingIteratorIsResumed() async throws {
        let test = try TestCenter()
        let center = test.center
        let got = Events<Int>()
        let task = Task {
            for await message in center.messages(of: Track.self) {
                got.add(message.number)
                if message.number == 2 { return }
            }
        }
        while try center.statistics.observers == 0 { await Task.yield() }
        for number in 0..<3 {
            try center.post(Track(number))
            await got.wait(for: number + 1)
        }
        await task.value
        #expect(got.all == [0, 1, 2])
    }

    @Test func cancellingTheTaskEndsTheSequence() async throws {
        let test = try TestCenter()
        let center = test.center
        let got = Events<String>()
        let task = Task {
            for await message in center.messages(of: Track.self) { got.add("\(message.number)") }
            got.add("ended")
        }
        while try center.statistics.observers == 0 { await Task.yield() }
        try center.post(Track(0))
        await got.wait(for: 1)
        task.cancel()
        expectEqual(await got.wait(for: 2), ["0", "ended"])
        #expect(try center.statistics.observers == 0)
    }

    @Test func aFullBufferDropsTheOldestAndReportsHowMany() async throws {
        let test = try TestCenter()
        // The sequence's posts have one order with those of a closure, which reports when all are dispatched.
        var iterator = test.center.deliveries(of: Track.self, bufferSize: 10).makeAsyncIterator()
        let seen = Events<Int>()
        let token = try test.center.addObserver(for: Track.self) { seen.add($0.number) }
        for number in 0..<100 { try test.center.post(Track(number)) }
        await seen.wait(for: 100)
        guard case .missed(90) = await iterator.next() else {
            Issue.record("90 should have been missed")
            return
        }
        for number in 90..<100 {
            guard case .message(let track, let envelope) = await iterator.next() else {
                Issue.record("nothing more should have been missed")
                return
            }
            #expect(track == Track(number) && envelope.isOwn)
        }
        #expect(try test.center.statistics.missed == 90)
        token.cancel()
    }

    @Test func theOldestAreKeptIfRequestedAndTheLossIsReportedAtItsPosition() async throws {
        let test = try TestCenter()
        let missed = Events<Int>()
        var iterator = test.center.deliveries(of: Track.self, bufferSize: 3, keeping: .oldest).makeAsyncIterator()
        var messages = test.center.messages(
            of: Track.self, options: .init(onMissed: { count, _ in missed.add(count) }), bufferSize: 3, keeping: .oldest
        )
        .makeAsyncIterator()
        let seen = Events<Int>()
        let token = try test.center.addObserver(for: Track.self) { seen.add($0.number) }
        var posted = 0
        func post(_ count: Int) async throws {
            for _ in 0..<count {
                try test.center.post(Track(posted))
                posted += 1
            }
            await seen.wait(for: posted)
        }
        func next() async -> String {
            switch await iterator.next() {
            case .message(let track, _): "\(track.number)"
            case .missed(let count): "missed \(count)"
            case .reopened, .centerEnded, nil: "end"
            }
        }
        try await post(10)
        var got: [String] = [await next()]
        try await post(1)  // The buffer has room for one.
        for _ in 0..<4 { got.append(await next()) }
        #expect(got == ["0", "1", "2", "missed 7", "10"])
        // Without a later post: the loss is reported when all kept notifications have been taken.
        try await post(5)
        got = []
        for _ in 0..<4 { got.append(await next()) }
        #expect(got == ["11", "12", "13", "missed 2"])
        try await post(1)
        expectEqual(await next(), "16")
        for number in 0..<3 { expectEqual(await messages.next(), Track(number)) }
        #expect(missed.all == [])
        try await post(1)
        expectEqual(await messages.next(), Track(17))
        #expect(missed.all == [14])
        #expect(try test.center.statistics.missed == 9 + 14)
        token.cancel()
    }

    @Test func messagesCallOnMissed() async throws {
        let test = try TestCenter()
        let missed = Events<Int>()
        var iterator = test.center.messages(
            of: Track.self, options: .init(onMissed: { count, _ in missed.add(count) }), bufferSize: 1
        )
        .makeAsyncIterator()
        let seen = Events<Int>()
        let token = try test.center.addObserver(for: Track.self) { seen.add($0.number) }
        for number in 0..<5 { try test.center.post(Track(number)) }
        await seen.wait(for: 5)
        expectEqual(await iterator.next(), Track(4))
        #expect(missed.all == [4])
        token.cancel()
    }

    @Test func lossesWithoutOnMissedGoToDiagnostics() async throws {
        let test = try TestCenter()
        let told = Events<String>()
        test.center.onDiagnostic = { told.add("\($0)") }
        var iterator = test.center.messages(of: Track.self, bufferSize: 1).makeAsyncIterator()
        let seen = Events<Int>()
        let token = try test.center.addObserver(for: Track.self) { seen.add($0.number) }
        for number in 0..<3 { try test.center.post(Track(number)) }
        await seen.wait(for: 3)
        _ = await iterator.next()
        #expect(told.all == ["missed(2, Optional(test.track))"])
        token.cancel()
    }

    @Test func rawDeliveriesOfSeveralNames() async throws {
        let test = try TestCenter()
        var iterator = test.center.deliveries(ofNames: ["a", "b"]).makeAsyncIterator()
        for name in ["b", "c", "a"] as [Center.Name] { try test.center.post(name: name, payload: .text("\(name)")) }
        var names: [Center.Name] = []
        for _ in 0..<2 {
            if case .notification(let notification) = await iterator.next() { names.append(notification.name) }
        }
        #expect(names == ["b", "a"])
    }

    @Test func aSequenceThatCannotStartEndsAndReportsTheError() async throws {
        let test = try TestCenter()
        let told = Events<String>()
        test.center.onDiagnostic = {
            if case .observerFailed(nil, let error) = $0 { told.add("\(error.code)") }
        }
        for await _ in test.center.deliveries(ofNames: [""]) { Issue.record("nothing can come") }
        #expect(told.all == ["invalidName"])
    }

    @Test @MainActor func iteratorsStayOnTheirActor() async throws {
        let test = try TestCenter()
        var iterator = test.center.messages(of: Track.self).makeAsyncIterator()
        try test.center.post(Track(1))
        let message = await iterator.next()
        MainActor.assertIsolated()
        #expect(message == Track(1))
    }

    /// The runtime cancels a task while it holds the task's lock, which the dispatcher thread needs to resume the task.
    @Test func aTaskIsCancelledWhileItIsBeingResumed() async throws {
        let test = try TestCenter()
        final class Round: Sendable { let number = Atomic(0) }
        let rounds = isSanitized ? 50 : 2000
        let round = Round()
        // Posts once a round, a little earlier or later each time.
        let poster = try WorkerThread {
            for number in 1...rounds {
                while round.number.load(ordering: .acquiring) < number { sched_yield() }
                for _ in 0..<(number % 64) * 16 { _ = round.number.load(ordering: .relaxed) }
                _ = try? test.center.post(Track(number))
            }
        }
        let subscription = Subscription(names: [Track.name], start: .now, excludesOwn: false, isLossless: false)
        for number in 1...rounds {
            let anchor = try test.center.core.observe(
                subscription, onMissed: nil, bounds: .sequence(8, .newest), as: .pull)
            let observation = anchor.observation
            let task = Task { while await anchor.next(isolation: nil) != nil {} }
            while observation.dispatcher.lock.withLock({ observation.pulling.isEmpty }) { await Task.yield() }
            round.number.store(number, ordering: .releasing)
            for _ in 0..<(number / 64 % 64) * 16 { _ = round.number.load(ordering: .relaxed) }
            task.cancel()
            await task.value
        }
        poster.join()
        #expect(try test.center.statistics.observers == 0)
    }
}
