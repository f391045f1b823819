import Foundation
import Testing
import TidingsAdministration

@testable import Tidings

/// Posts of several messages in one call, and deliveries of a backlog.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct BatchTests {
    private func roundTrip<M: Center.Message & Equatable>(_ messages: [M]) async throws {
        let test = try TestCenter()
        let (got, ofSubject) = (Events<M>(), Events<M>())
        let tokens = [
            try test.center.addObserver(for: M.self) { got.add($0) },
            try test.center.addObserver(for: M.self, options: .init(subject: "s")) { ofSubject.add($0) },
        ]
        try test.center.post(contentsOf: messages)
        try test.center.post(contentsOf: messages.lazy.reversed(), options: .init(subject: "s", timeout: .zero))
        try test.center.post(contentsOf: messages[..<0])
        expectEqual(await got.wait(for: 2 * messages.count), messages + messages.reversed())
        expectEqual(await ofSubject.wait(for: messages.count), messages.reversed())
        for token in tokens { token.cancel() }
    }

    @Test func ofCBOR() async throws {
        try await roundTrip((0..<300).map { Track($0, title: String(repeating: "é", count: $0)) })
    }
    @Test func ofValuesInMemory() async throws {
        try await roundTrip((0..<1000).map { PayloadTests.Point(x: 0.5, y: $0) })
    }
    @Test func ofJSON() async throws { try await roundTrip((0..<3).map { PayloadTests.AsJSON(text: "\($0)") }) }
    @Test func ofACoder() async throws { try await roundTrip((0..<3).map { PayloadTests.Custom(text: "\($0)") }) }
    @Test func ofLargePayloads() async throws {
        try await roundTrip((0..<3).map { PayloadTests.Blob(numbers: Array(0...(1000 * $0))) })
    }

    @Test func theLastRetainedMessageIsTheState() throws {
        let test = try TestCenter()
        try test.center.post(contentsOf: (0..<10).map { Track($0) }, options: .init(retain: true))
        #expect(try test.center.state(for: Track.self) == Track(9))
    }

    @Test func anErrorSaysHowManyWerePosted() throws {
        let test = try TestCenter(smallRing)
        let observer = try test.center.pollableObserver(forNames: .all, options: .init(lossless: true))
        let tracks = (0..<1000).map { Track($0) }
        let error = #expect(throws: SharedNotificationError.self) { try test.center.post(contentsOf: tracks) }
        let posted = try #require(error).postedCount
        #expect(error?.code == .full)
        #expect(error?.message.hasSuffix("; \(posted) of 1000 messages were posted") == true)
        var numbers: [Int] = []
        while case .notification(let notification) = try observer.next() {
            numbers.append(try notification.payload.decode(Track.self).number)
        }
        #expect(numbers == Array(0..<posted))
        #expect(posted >= 256)
        // There is room again: the others follow.
        try test.center.post(contentsOf: tracks[posted..<(posted + 100)])
        let alone = #expect(throws: SharedNotificationError.self) { while true { try test.center.post(Track(0)) } }
        #expect(alone?.postedCount == 0)
    }

    @Test func aMessageThatCanNotBeEncodedIsAFailureOfAll() throws {
        let test = try TestCenter()
        let observer = try test.center.pollableObserver(forNames: .all)
        let error = #expect(throws: SharedNotificationError.self) {
            try test.center.post(contentsOf: [PayloadTests.Frame(pixels: [1]), PayloadTests.Frame(pixels: [255])])
        }
        #expect(error?.code == .encodingFailed)
        #expect(error?.underlyingError is PayloadTests.Frame.TooBright)
        #expect(error?.postedCount == 0)
        #expect(try observer.next() == nil)
    }

    @Test func theFirstMessagesBeforeOneThatIsTooLargeArePosted() throws {
        let test = try TestCenter(.init(maximumPayloadSize: 1000))
        let sizes = [10, 100, 5000, 10]
        let error = #expect(throws: SharedNotificationError.self) {
            try test.center.post(contentsOf: sizes.map { PayloadTests.Frame(pixels: Array(repeating: 1, count: $0)) })
        }
        #expect(error?.code == .payloadTooLarge)
        #expect(error?.postedCount == 2)
    }

    @Test func aBatchGoesOnInTheNextCenter() throws {
        let test = try TestCenter(expecting: ["reopened"])
        let configuration = Center.Configuration(directory: test.directory, followsName: true)
        let center = test.recorded(try Center(named: "followed", configuration: configuration))
        try center.post(contentsOf: (0..<3).map { Track($0) })
        try Center.remove(named: "followed", configuration: configuration)
        try center.post(contentsOf: (3..<6).map { Track($0) })
        let next = test.recorded(try Center(named: "followed", configuration: configuration))
        let observer = try next.pollableObserver(forNames: .all, options: .init(from: .oldest))
        var numbers: [Int] = []
        while case .notification(let notification) = try observer.next() {
            numbers.append(try notification.payload.decode(Track.self).number)
        }
        #expect(numbers == [3, 4, 5])
    }

    @Test func aBatchFromInsideALosslessClosureDoesNotWaitForItself() async throws {
        let test = try TestCenter(smallRing)
        let center = test.center
        let errors = Events<SharedNotificationError>()
        let token = try center.addObserver(for: Track.self, options: .init(lossless: true)) { track in
            guard track.number == -1 else { return }
            do throws(SharedNotificationError) {
                let tracks = (0..<10_000).map { Track($0) }
                try center.post(contentsOf: tracks, options: .init(timeout: .seconds(100_000)))
            } catch { errors.add(error) }
        }
        try center.post(Track(-1))
        let error = await errors.wait(for: 1)[0]
        #expect(error.code == .full)
        #expect(error.message.contains("goes on only after the closure"))
        #expect(error.postedCount > 0)
        token.cancel()
    }

    // MARK: Deliveries

    @Test func aBacklogReachesAllClosuresInOrder() async throws {
        let test = try TestCenter()
        let gate = Gate()
        let (tracks, blobs, all) = (Events<Int>(), Events<Int>(), Events<Void>())
        let began = Events<Void>()
        let tokens = [
            try test.center.addObserver(for: Track.self) { track in
                if track.number == 0 {
                    began.add(())
                    gate.pass()
                }
                tracks.add(track.number)
            },
            try test.center.addObserver(for: PayloadTests.Blob.self) { blobs.add($0.numbers.count) },
            try test.center.addObserver(forNames: .all) { _ in all.add(()) },
        ]
        try test.center.post(Track(0))
        await began.wait(for: 1)
        try test.center.post(contentsOf: (1..<500).map { Track($0) })
        try test.center.post(PayloadTests.Blob(numbers: Array(0..<10_000)))
        try test.center.post(contentsOf: (500..<1000).map { Track($0) })
        gate.open()
        // Each closure in its order: one that hangs meanwhile may be behind another.
        expectEqual(await tracks.wait(for: 1000), Array(0..<1000))
        expectEqual(await blobs.wait(for: 1), [10_000])
        await all.wait(for: 1001)
        for token in tokens { token.cancel() }
    }

    /// The closure hangs in the middle of what one call of the C library took.
    @Test func aClosureThatHangsInABacklogHoldsUpNoOther() async throws {
        let test = try TestCenter()
        let (gate, hanging) = (Gate(), Gate())
        let began = Events<Void>()
        let (held, others) = (Events<Double>(), Events<Double>())
        let tokens = [
            try test.center.addObserver(forNames: [PayloadTests.Point.name]) { notification in
                let before = Array(notification.payload.bytes)
                let value = try? notification.payload.decode(PayloadTests.Point.self).x
                if value == 0 {
                    began.add(())
                    gate.pass()
                }
                if value == 20 { hanging.pass() }
                #expect(before == Array(notification.payload.bytes))
                held.add(value ?? -1)
            },
            try test.center.addObserver(for: PayloadTests.Point.self) { others.add($0.x) },
        ]
        let points = (0..<200).map { PayloadTests.Point(x: Double($0), y: 0) }
        try test.center.post(points[0])
        await began.wait(for: 1)
        try test.center.post(contentsOf: points[1...])
        gate.open()
        expectEqual(await others.wait(for: 200).sorted(), points.map(\.x))
        hanging.open()
        expectEqual(await held.wait(for: 200), points.map(\.x))
        for token in tokens { token.cancel() }
    }

    @Test(arguments: [false, true])
    func aCancelledClosureReceivesNothingMoreOfABacklog(isAlone: Bool) async throws {
        let test = try TestCenter()
        let got = Events<Int>()
        let last = Events<Void>()
        let gate = Gate()
        let began = Events<Void>()
        let holder = Events<Center.ObservationToken>()
        let token = try test.center.addObserver(for: Track.self) { track in
            if track.number == 0 {
                began.add(())
                gate.pass()
            }
            got.add(track.number)
            if track.number == 10 { holder.all[0].cancel() }
        }
        holder.add(token)
        let beside = isAlone ? nil : try test.center.addObserver(for: Track.self) { _ in }
        let other = try test.center.addObserver(for: PayloadTests.Point.self) { _ in last.add(()) }
        try test.center.post(Track(0))
        await began.wait(for: 1)
        try test.center.post(contentsOf: (1..<50).map { Track($0) })
        try test.center.post(PayloadTests.Point(x: 0, y: 0))
        gate.open()
        // The closure that waited at the gate may be behind the other one.
        await got.wait(for: 11)
        await last.wait(for: 1)
        token.cancel()
        #expect(got.all == Array(0...10))
        for token in [beside, other] { token?.cancel() }
    }

    /// Another thread cancels while the closure is called again and again.
    @Test func cancelReleasesTheCapturesInABacklog() async throws {
        final class Held: Sendable {}
        let test = try TestCenter()
        let points = (0..<300).map { PayloadTests.Point(x: Double($0), y: 0) }
        for _ in 0..<50 {
            var held: Held? = Held()
            weak let weakly = held
            let began = Events<Void>()
            let token = try test.center.addObserver(for: PayloadTests.Point.self) { [held] point in
                withExtendedLifetime(held) { if point.x == 0 { began.add(()) } }
            }
            held = nil
            try test.center.post(contentsOf: points)
            await began.wait(for: 1)
            await onThread { token.cancel() }
            #expect(weakly == nil)
        }
    }

    @Test func ownPostsAreLeftOutOfABacklog() async throws {
        let test = try TestCenter()
        let other = try test.other()
        let (gate, began, got) = (Gate(), Events<Void>(), Events<Int>())
        let token = try test.center.addObserver(for: Track.self, options: .init(excludingOwnPosts: true)) { track in
            if track.number == 0 {
                began.add(())
                gate.pass()
            }
            got.add(track.number)
        }
        try other.post(Track(0))
        await began.wait(for: 1)
        for number in 1...100 { try (number % 4 == 0 ? other : test.center).post(Track(number)) }
        gate.open()
        expectEqual(await got.wait(for: 26), Array(stride(from: 0, through: 100, by: 4)))
        token.cancel()
    }

    @Test func aSuspensionBeginsInABacklog() async throws {
        let test = try TestCenter()
        let center = test.center
        let (got, marked) = (Events<Int>(), Events<Void>())
        let tokens = [
            try center.addObserver(forNames: [Track.name], suspensionBehavior: .hold(limit: 100)) { notification in
                let number = (try? notification.payload.decode(Track.self).number) ?? -1
                if number == 0 {
                    // No gate: a closure that waits is taken for a hanging one. What has arrived for it by then is
                    // delivered in spite of a suspension.
                    try? center.post(contentsOf: (1..<50).map { Track($0) })
                    _ = try? center.post(name: "marker", payload: .empty)
                }
                got.add(number)
                if number == 10 { center.isSuspended = true }
            },
            try center.addObserver(forNames: "marker", suspensionBehavior: .deliverImmediately) { _ in
                marked.add(())
            },
        ]
        try center.post(Track(0))
        await marked.wait(for: 1)
        #expect(got.all == Array(0...10))
        center.isSuspended = false
        expectEqual(await got.wait(for: 50), Array(0..<50))
        for token in tokens { token.cancel() }
    }

    @Test func anIteratorTakesWhatWaits() async throws {
        let test = try TestCenter()
        var tracks = try test.center.messages(of: Track.self).register()
        let passed = Events<Void>()
        // Called after the sequence has each message, because it was registered later.
        let token = try test.center.addObserver(for: Track.self) { _ in passed.add(()) }
        try test.center.post(contentsOf: (0..<5).map { Track($0) })
        await passed.wait(for: 5)
        expectEqual(await tracks.next(atMost: 3), [Track(0), Track(1), Track(2)])
        expectEqual(await tracks.next(atMost: 3), [Track(3), Track(4)])
        try test.center.post(contentsOf: [Track(5), Track(6)])
        await passed.wait(for: 7)
        expectEqual(await tracks.next(atMost: 0), [Track(5)])
        expectEqual(await tracks.next(), Track(6))
        token.cancel()
    }

    @Test func slicesHaveTheLosses() async throws {
        let test = try TestCenter()
        var deliveries = try test.center.deliveries(of: Track.self, bufferSize: 2).register()
        let passed = Events<Void>()
        let token = try test.center.addObserver(for: Track.self) { _ in passed.add(()) }
        try test.center.post(contentsOf: (0..<5).map { Track($0) })
        await passed.wait(for: 5)
        let slice = await deliveries.next(atMost: 10) ?? []
        var told: [String] = []
        for delivery in slice {
            switch delivery {
            case .message(let track, _): told.append("\(track.number)")
            case .missed(let count): told.append("missed \(count)")
            default: told.append("?")
            }
        }
        #expect(told == ["missed 3", "3", "4"])
        token.cancel()
    }
}
