import Dispatch
import Foundation
import Glibc
import Testing
import TidingsAdministration

@testable import Tidings

/// Observers and posters are told when their center is removed, deleted or replaced.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct EndOfCenterTests {
    enum End: CaseIterable { case removed, deleted, replaced }

    func end(_ test: TestCenter, _ how: End) throws {
        switch how {
        case .removed: try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        case .deleted: #expect(unlink(test.center.path) == 0)
        case .replaced:
            let other = try Center(named: "other", configuration: .init(directory: test.directory))
            #expect(rename(other.path, test.center.path) == 0)
        }
    }

    @Test(arguments: End.allCases) func everyObserverIsToldOfTheEnd(_ how: End) async throws {
        let test = try TestCenter()
        let reports = Events<SharedNotificationError.Code>()
        test.center.onDiagnostic = { diagnostic in
            if case .dispatchFailed(let error) = diagnostic { reports.add(error.code) }
        }
        let numbers = Events<Int>()
        let token = try test.center.addObserver(for: Track.self) { numbers.add($0.number) }
        let pollable = try test.center.pollableObserver(forNames: .all)
        let read = Events<Int>()
        let isReading = Events<Void>()
        let reading = Task {
            var iterator = test.center.messages(of: Track.self).makeAsyncIterator()
            isReading.add(())
            while let track = await iterator.next() { read.add(track.number) }
        }
        // The sequence observes from the creation of its iterator.
        await isReading.wait(for: 1)
        try test.center.post(Track(1))
        await read.wait(for: 1)
        try end(test, how)
        // The sequence ends after the posted notifications; the closure's report arrives; the descriptor is readable.
        await reading.value
        #expect(read.all == [1])
        let told = await reports.wait(for: 1)
        #expect(told == [.removed], "\(told)")
        #expect(numbers.all == [1])
        #expect(try pollable.next() != nil)
        let ended = #expect(throws: SharedNotificationError.self) { while try pollable.next() != nil {} }
        #expect(ended?.code == .removed)
        token.cancel()
    }

    @Test(arguments: End.allCases) func nothingBeginsAfterTheEnd(_ how: End) async throws {
        let test = try TestCenter()
        try test.center.post(Track(0))
        try end(test, how)
        // A poster checks the name from time to time. Until its next check, its posts go to the processes that have the
        // center open.
        while (try? test.center.post(Track(1))) != nil { await Task.yield() }
        let post = #expect(throws: SharedNotificationError.self) { try test.center.post(Track(1)) }
        #expect(post?.code == .removed)
        let add = #expect(throws: SharedNotificationError.self) {
            try test.center.addObserver(for: Track.self) { _ in }
        }
        #expect(add?.code == .removed)
    }

    @Test func eachCenterOfANameHasANumberOfItsOwn() throws {
        let test = try TestCenter()
        let first = test.center.incarnation
        #expect(first != 0)
        #expect(try test.other().incarnation == first)
        try end(test, .removed)
        let next = try Center(named: test.name, configuration: .init(directory: test.directory))
        #expect(next.incarnation != first && next.incarnation != 0)
    }

    // MARK: The reported reason of the end

    @Test(arguments: End.allCases) func aSequenceDeliversWaitingNotificationsBeforeTheReason(_ how: End) async throws {
        let test = try TestCenter()
        let reports = Events<SharedNotificationError.Code>()
        test.center.onDiagnostic = { diagnostic in
            if case .dispatchFailed(let error) = diagnostic { reports.add(error.code) }
        }
        var messages = test.center.deliveries(of: Track.self).makeAsyncIterator()
        var raw = test.center.deliveries(ofNames: .all).makeAsyncIterator()
        for number in 0..<3 { try test.center.post(Track(number)) }
        try end(test, how)
        await reports.wait(for: 1)
        var numbers: [Int] = []
        var reasons: [SharedNotificationError.Code] = []
        while let delivery = await messages.next() {
            switch delivery {
            case .message(let track, _): numbers.append(track.number)
            case .centerEnded(let error): reasons.append(error.code)
            case .missed, .reopened: Issue.record("\(delivery)")
            }
        }
        #expect(numbers == [0, 1, 2])
        #expect(reasons == [.removed])
        var last: Center.RawDelivery?
        while let delivery = await raw.next() { last = delivery }
        guard case .centerEnded(let error) = last else {
            Issue.record("\(last as Any)")
            return
        }
        #expect(error.code == .removed)
    }

    @Test func notificationsThatWaitForAQueueAreDeliveredAfterTheEnd() async throws {
        let test = try TestCenter()
        let reports = Events<Void>()
        test.center.onDiagnostic = { if case .dispatchFailed = $0 { reports.add(()) } }
        let queue = DispatchQueue(label: "test")
        queue.suspend()
        let numbers = Events<Int>()
        let token = try test.center.addObserver(for: Track.self, options: .init(queue: queue)) {
            numbers.add($0.number)
        }
        for number in 0..<3 { try test.center.post(Track(number)) }
        try end(test, .removed)
        await reports.wait(for: 1)
        #expect(!token.isCancelled)
        queue.resume()
        let got = await numbers.wait(for: 3)
        #expect(got == [0, 1, 2])
        while !token.isCancelled { await Task.yield() }
        token.cancel()
    }

    // MARK: Starting after a position in the order

    @Test func aStartPositionBelongsToOneCenter() async throws {
        let test = try TestCenter()
        var sequences: [UInt64] = []
        for number in 0..<4 {
            sequences.append(
                try test.center.post(name: Track.name, payload: .init(encoding: Track(number))))
        }
        func observe(from start: Center.Start) throws -> (Events<Int>, Center.ObservationToken) {
            let numbers = Events<Int>()
            return (
                numbers,
                try test.center.addObserver(for: Track.self, options: .init(from: start)) { numbers.add($0.number) }
            )
        }
        let (numbers, token) = try observe(from: .after(sequences[1], in: test.center.incarnation))
        let got = await numbers.wait(for: 2)
        #expect(got == [2, 3])
        token.cancel()
        var envelopes = test.center.deliveries(of: Track.self, options: .init(from: .oldest)).makeAsyncIterator()
        guard case .message(_, let envelope)? = await envelopes.next() else {
            Issue.record("no message")
            return
        }
        #expect(envelope.incarnation == test.center.incarnation)
        let (others, otherToken) = try observe(from: .after(envelope))
        let gotAfter = await others.wait(for: 3)
        #expect(gotAfter == [1, 2, 3])
        otherToken.cancel()
        let other = #expect(throws: SharedNotificationError.self) {
            try observe(from: .after(sequences[1], in: test.center.incarnation &+ 1))
        }
        #expect(other?.code == .otherIncarnation)
        #expect(other?.message.hasSuffix("; start with .now or .oldest") == true, "\(String(describing: other))")
        for beyond in [sequences[3] + 1, .max - 1, .max] {
            let error = #expect(throws: SharedNotificationError.self) {
                try observe(from: .after(beyond, in: test.center.incarnation))
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.hasSuffix("; start with .now or .oldest") == true, "\(String(describing: error))")
            #expect(error?.message.contains("UINT64_MAX") == false)
        }
    }

    // MARK: Going on in the next center

    /// A center object that follows its name, and the reports to the object and to its observers.
    private func following(_ test: TestCenter, creation: Center.Configuration.Creation = .ifNeeded) throws -> (
        Center, reopened: Events<UInt64>
    ) {
        let center = try Center(
            named: test.name, configuration: .init(directory: test.directory, creation: creation, followsName: true))
        let reopened = Events<UInt64>()
        center.onDiagnostic = { diagnostic in
            switch diagnostic {
            case .reopened(let incarnation): reopened.add(incarnation)
            default: Issue.record("\(diagnostic)")
            }
        }
        return (center, reopened)
    }

    @Test(arguments: End.allCases) func observersAndPostersGoOnInTheNextCenter(_ how: End) async throws {
        let test = try TestCenter()
        let (center, reopened) = try following(test)
        let first = center.incarnation
        let numbers = Events<String>()
        // The report of the new center arrives before the notifications posted there.
        center.onDiagnostic = { diagnostic in
            if case .reopened(let incarnation) = diagnostic {
                numbers.add("reopened")
                reopened.add(incarnation)
            }
        }
        let token = try center.addObserver(for: Track.self) { numbers.add("\($0.number)") }
        var deliveries = center.deliveries(of: Track.self).makeAsyncIterator()
        try center.post(Track(1))
        await numbers.wait(for: 1)
        try end(test, how)
        let told = await reopened.wait(for: 1)
        // A post may be the first to find out, and then goes to the next center.
        for number in 2...50 { try center.post(Track(number)) }
        #expect(center.incarnation != first)
        #expect(told == [center.incarnation])
        let got = await numbers.wait(for: 51)
        #expect(got == ["1", "reopened"] + (2...50).map { "\($0)" })
        var seen: [String] = []
        while seen.count < 51, let delivery = await deliveries.next() {
            switch delivery {
            case .message(let track, let envelope):
                seen.append("\(track.number)")
                #expect(envelope.incarnation == (track.number == 1 ? first : center.incarnation))
            case .reopened(let incarnation):
                seen.append("reopened")
                #expect(incarnation == center.incarnation)
            case .missed, .centerEnded: Issue.record("\(delivery)")
            }
        }
        #expect(seen == got)
        // Other processes that open the name now open the same center.
        let other = try Center(named: test.name, configuration: .init(directory: test.directory))
        #expect(other.incarnation == center.incarnation)
        try other.post(Track(51))
        let last = await numbers.wait(for: 52).last
        #expect(last == "51")
        token.cancel()
    }

    @Test func anObserverWithoutTheRightToCreateWaitsForTheNextCenter() async throws {
        let test = try TestCenter()
        let (center, reopened) = try following(test, creation: .never)
        let retained = Events<Int>()
        let history = Events<Int>()
        let tokens = [
            try center.addObserver(for: Track.self) { retained.add($0.number) },
            try center.addObserver(for: Track.self, options: .init(from: .oldest, lossless: true)) {
                history.add($0.number)
            },
        ]
        for round in 1...3 {
            try end(test, .removed)
            var refused: SharedNotificationError?
            // The poster may find out only at its next check of the clock.
            while refused == nil {
                do { try center.post(Track(0)) } catch { refused = error }
            }
            #expect(refused?.code == .removed)
            let sofar = (retained.count, history.count)
            let next = try Center(named: test.name, configuration: .init(directory: test.directory))
            try next.post(Track(round * 10), options: .init(retain: true))
            try next.post(Track(round * 10 + 1))
            // One report for each of the two observers.
            let told = await reopened.wait(for: 2 * round)
            #expect(told.suffix(2) == [next.incarnation, next.incarnation])
            try center.post(Track(round * 10 + 2))
            let all = await history.wait(for: sofar.1 + 3).suffix(3)
            #expect(all == [round * 10, round * 10 + 1, round * 10 + 2])
            // The ordinary observer has the retained value, and the notifications posted after its check.
            var got = retained.all
            while got.last != round * 10 + 2 { got = await retained.wait(for: got.count + 1) }
            #expect(got.contains(round * 10))
            #expect(try center.state(for: Track.self)?.number == round * 10)
        }
        for token in tokens { token.cancel() }
    }

    /// A dispatcher that follows the name may open a center that ends before the dispatcher has registered there.
    @Test func aNextCenterMayEndAtOnce() async throws {
        let test = try TestCenter()
        let (center, reopened) = try following(test, creation: .never)
        let numbers = Events<Int>()
        let tokens = [
            try center.addObserver(for: Track.self) { numbers.add($0.number) },
            try center.addObserver(for: Track.self, options: .init(from: .oldest)) { numbers.add($0.number) },
        ]
        try end(test, .removed)
        let configuration = Center.Configuration(directory: test.directory)
        for _ in 0..<(isSanitized ? 30 : 300) {
            let next = try Center(named: test.name, configuration: configuration)
            try Center.remove(named: next.name, configuration: configuration)
        }
        let last = try Center(named: test.name, configuration: configuration)
        var told: [UInt64] = []
        while told.count(where: { $0 == last.incarnation }) < tokens.count {
            told = await reopened.wait(for: told.count + 1)
        }
        try center.post(Track(1))
        await expectEqual(numbers.wait(for: 2), [1, 1])
        for token in tokens { token.cancel() }
    }

    /// The position up to which a post waited in one center is meaningless in the next center, whose order starts
    /// again.
    @Test @MainActor func aPostWaitsForItsOwnObserversInTheNextCenter() async throws {
        let test = try TestCenter()
        let (center, reopened) = try following(test)
        let seen = Events<Int>()
        let token = center.addObserver(for: Paused.self) { seen.add($0.at) }
        for number in 1...20 { center.post(Paused(at: number, by: "")) }
        #expect(seen.all == Array(1...20))
        try end(test, .removed)
        await reopened.wait(for: 1)
        for number in 21...30 {
            center.post(Paused(at: number, by: ""))
            #expect(seen.all == Array(1...number))
        }
        token.cancel()
    }

    /// Waiting notifications of the last center come first, although positions begin again in the next center.
    @Test func theClosuresOfOneOwnerKeepTheirOrderAcrossCenters() async throws {
        typealias Order = ObjectOrderTests
        let test = try TestCenter()
        let (center, reopened) = try following(test)
        let player = Order.Player()
        let witness = Events<Int>()
        _ = try center.addObserver(for: Order.Play.self, options: .init(owner: player)) { [weak player] in
            player?.play($0)
        }
        _ = try center.addObserver(for: Order.Stop.self, options: .init(owner: player)) { [weak player] in
            player?.stop($0)
        }
        let token = try center.addObserver(for: Order.Stop.self) { witness.add($0.number) }
        var expected: [String] = []
        for numbers in [0..<10, 10..<20] {
            for number in numbers { try center.post(Order.Play(number: number)) }
            for number in numbers { try center.post(Order.Stop(number: number)) }
            expected += numbers.map { "play \($0)" } + numbers.map { "stop \($0)" }
            // The first closure hangs: all these notifications wait for the owner.
            await witness.wait(for: numbers.upperBound)
            guard numbers.lowerBound == 0 else { break }
            try end(test, .removed)
            await reopened.wait(for: 1)
        }
        player.gate.open()
        await expectEqual(player.heard.wait(for: 40), expected)
        token.cancel()
        center.removeObservers(of: player)
    }

    /// After the next post, neither observers nor cached publishers keep the last center open.
    @Test func theLastCenterIsClosed() async throws {
        let test = try TestCenter(expecting: ["reopened"])
        let configuration = Center.Configuration(directory: test.directory, followsName: true)
        let center = test.recorded(try Center(named: "followed", configuration: configuration))
        let numbers = Events<Int>()
        let token = try center.addObserver(for: Track.self) { numbers.add($0.number) }
        try center.post(Track(1), options: .init(subject: "1"))
        try center.post(name: "test.other")
        func isOpen(_ path: String) throws -> Bool {
            let descriptors = "/proc/self/fd/"
            return try FileManager.default.contentsOfDirectory(atPath: descriptors).contains {
                // Another thread may close its publisher a little later.
                (try? FileManager.default.destinationOfSymbolicLink(atPath: descriptors + $0)) == path + " (deleted)"
            }
        }
        let path = center.path
        try Center.remove(named: "followed", configuration: configuration)
        #expect(try isOpen(path))
        await numbers.wait(for: 1)
        while numbers.count < 2 {
            try center.post(Track(2))
            await Task.yield()
        }
        // A post during the move of the center object may have kept a publisher of the last center: the next post drops
        // it.
        try center.post(Track(3))
        while try isOpen(path) { await Task.yield() }
        token.cancel()
    }

    /// No post reports it: the next center has no such value.
    @Test @MainActor func anObservedStateHasTheValueOfTheNextCenter() async throws {
        let test = try TestCenter()
        let (center, reopened) = try following(test)
        let state = try center.observedState(for: Track.self)
        try state.set(Track(1))
        #expect(state.value == Track(1))
        try end(test, .deleted)
        await reopened.wait(for: 1)
        while state.value != nil { await Task.yield() }
        try state.set(Track(2))
        #expect(state.value == Track(2))
    }

    @Test func aWaitForTheNextCenterCanBeCancelled() async throws {
        let test = try TestCenter()
        let (center, _) = try following(test, creation: .never)
        let token = try center.addObserver(for: Track.self) { _ in }
        let isReading = Events<Void>()
        let waiting = Task {
            var iterator = center.messages(of: Track.self).makeAsyncIterator()
            isReading.add(())
            while await iterator.next() != nil {}
        }
        await isReading.wait(for: 1)
        let own = try center.addObserver(for: Track.self, options: .init(from: .oldest)) { _ in }
        try end(test, .deleted)
        let none = #expect(throws: SharedNotificationError.self) {
            try center.addObserver(for: Track.self, options: .init(from: .oldest)) { _ in }
        }
        #expect(none?.code == .removed)
        waiting.cancel()
        await waiting.value
        token.cancel()
        own.cancel()
    }

    @Test func everyKindOfPostGoesOnInTheNextCenter() async throws {
        let test = try TestCenter()
        let (center, _) = try following(test)
        let large = String(repeating: "x", count: 100_000)
        let posts: [() throws -> Void] = [
            { try center.post(Track(1)) },
            { try center.post(Track(2), options: .init(subject: "a")) },
            { try center.post(Track(3, title: large)) },
            { try center.post(Track(4), options: .init(timeout: .seconds(100_000))) },
            { try center.post(name: "raw", payload: .json("5")) },
            { try center.setState(Track(6)) },
            { try center.setState(nil, for: Track.name) },
        ]
        for (number, post) in posts.enumerated() {
            let before = center.incarnation
            try end(test, .removed)
            // The center is marked as removed, so the next post finds out.
            try post()
            #expect(center.incarnation != before, "\(number)")
            #expect(try center.statistics.posted >= 1, "\(number)")
        }
        try end(test, .removed)
        let state = try center.state(for: Track.self)
        #expect(state == nil)
        let token = try center.addObserver(for: Track.self) { _ in }
        token.cancel()
        try end(test, .removed)
        let pollable = try center.pollableObserver(forNames: .all)
        #expect(try pollable.next() == nil)
    }

    // MARK: The report of the next center

    /// The report runs on the dispatcher thread, and may wait for the thread that cancels.
    @Test(arguments: [false, true]) func cancelDoesNotWaitForTheReportOfTheNextCenter(_ isLossless: Bool) async throws {
        let test = try TestCenter()
        let (center, _) = try following(test)
        let reported = Events<Void>()
        let gate = Gate()
        center.onDiagnostic = { _ in
            reported.add(())
            gate.pass()
        }
        let token = try center.addObserver(for: Track.self, options: .init(lossless: isLossless)) { _ in }
        try end(test, .removed)
        await reported.wait(for: 1)
        token.cancel()
        gate.open()
        while try center.statistics.observers > 0 { await Task.yield() }
    }

    @Test(arguments: [false, true]) func theReportOfTheNextCenterMayEndTheLastObservation(
        _ isLossless: Bool
    ) async throws {
        let test = try TestCenter()
        let (center, _) = try following(test)
        let last = Locked<Center.ObservationToken?>(nil)
        let reported = Events<Void>()
        center.onDiagnostic = { _ in
            // Taken out: the closure belongs to the center, which the token refers to.
            last.withLock { $0.take() }?.cancel()
            reported.add(())
        }
        let token = try center.addObserver(for: Track.self, options: .init(lossless: isLossless)) { _ in }
        last.withLock { $0 = token }
        try end(test, .removed)
        await reported.wait(for: 1)
        while try center.statistics.observers > 0 { await Task.yield() }
    }

    // MARK: Posts that wait for their observers

    /// If each post waited for them, for 10 s, the test would take an hour.
    @Test(.timeLimit(.minutes(10))) func noPostWaitsForObserversThatCouldNotGoOn() async throws {
        let test = try TestCenter()
        let (center, _) = try following(test)
        let failed = Events<SharedNotificationError.Code>()
        center.onDiagnostic = { if case .dispatchFailed(let error) = $0 { failed.add(error.code) } }
        let iterator = center.settlingMessages(Track.self, name: Track.name, subject: nil, limit: 1).makeAsyncIterator()
        // All observer slots of the next center are taken before it gets the name, by processes that do not notice the
        // renaming.
        let next = try Center(named: "next", configuration: .init(directory: test.directory, observers: 2))
        let peers = try (0..<2).map { _ in try Peer(test, named: "next", "observe", "test.name", "1") }
        for peer in peers {
            await expectEqual(peer.line(), "observing")
            peer.signal(SIGSTOP)
            try peer.waitUntilStopped()
        }
        #expect(rename(next.path, test.center.path) == 0)
        await expectEqual(failed.wait(for: 1), [.tooManyObservers])
        for number in 0..<360 { center.postSettling(Track(number), name: Track.name, subject: nil) }
        #expect(try center.statistics.posted == 360)
        withExtendedLifetime((iterator, peers)) {}
    }

    /// A post that was under way when the center ended may get its position after its observers have left that center.
    /// If each post waited for them, for 10 s, the test would take an hour.
    @Test(.timeLimit(.minutes(10))) func noPostWaitsForObserversThatHaveLeftItsCenter() async throws {
        let test = try TestCenter()
        let (center, reopened) = try following(test, creation: .never)
        let iterator = center.settlingMessages(Track.self, name: Track.name, subject: nil, limit: 1).makeAsyncIterator()
        let incarnation = center.incarnation
        try end(test, .removed)
        for _ in 0..<180 { center.subjects.settle(Track.name, nil, 1000, in: incarnation) }
        let next = try Center(named: test.name, configuration: .init(directory: test.directory))
        await reopened.wait(for: 1)
        for _ in 0..<180 { center.subjects.settle(Track.name, nil, 1000, in: incarnation) }
        withExtendedLifetime((iterator, next)) {}
    }
}
