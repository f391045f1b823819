import Dispatch
import Glibc
import Testing
import TidingsAdministration

@testable import Tidings

/// Observations that belong to an owner.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct OwnerTests {
    struct Ticks: Center.Message {
        static let name: Center.Name = "ticks"
        var number: Int
    }

    struct Tocks: Center.Message {
        static let name: Center.Name = "tocks"
        var number: Int
    }

    static let progress = Center.Key<Int, String>("test.progress")

    class Owner: @unchecked Sendable {
        // Sendable: the properties never change.
        let got: Events<Int>
        let ended: Events<Void>?

        init(_ got: Events<Int> = Events(), ended: Events<Void>? = nil) {
            self.got = got
            self.ended = ended
        }

        deinit { ended?.add(()) }

        func tick(_ tick: Ticks) { got.add(tick.number) }

        @discardableResult
        func follow(_ center: Center) throws -> Center.ObservationToken {
            try center.addObserver(for: Ticks.self, options: .init(owner: self)) { [weak self] in self?.tick($0) }
        }
        func tock(_ tock: Tocks) { got.add(tock.number) }
        func tickNegative(_ tick: Ticks) { got.add(-tick.number) }
        func tickWithEnvelope(_ tick: Ticks, _ envelope: Center.Envelope) { got.add(Int(envelope.poster.pid)) }
        func tickSlowly(_ tick: Ticks) async {
            await Task.yield()
            got.add(tick.number)
        }
        func progressed(_ percent: Int, _ stage: String) { got.add(percent) }
        func progressedSlowly(_ percent: Int, _ stage: String) async { got.add(percent) }
    }

    @MainActor final class Controller {
        let got = Events<Int>()

        func tick(_ tick: Ticks) { got.add(tick.number) }
        func progressed(_ percent: Int, _ stage: String) { got.add(percent) }
    }

    @Test func aClosureRegisteredTwiceIsCalledOnceAndInOrder() async throws {
        let test = try TestCenter()
        let owner = Owner()
        let first = try owner.follow(test.center)
        for _ in 0..<11 {
            let again = try owner.follow(test.center)
            #expect(again == first)
        }
        let peer = try Peer(test, "post", "ticks", "1000")
        await peer.waitForEnd()
        try test.center.post(Ticks(number: 1000))
        while owner.got.all.last != 1000 { await Task.yield() }
        #expect(owner.got.all == Array(0...1000))
        #expect(try test.center.observedNames.filter { $0.name == "ticks" }.count == 1)
        test.center.removeObservers(of: owner)
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func eachOwnerForItself() async throws {
        let test = try TestCenter()
        let center = test.center
        let (one, two) = (Owner(), Owner())
        _ = try center.addObserver(for: Ticks.self, options: .init(owner: one)) { [weak one] in one?.tick($0) }
        _ = try center.addObserver(for: Ticks.self, options: .init(owner: two)) { [weak two] in two?.tick($0) }
        _ = try center.addObserver(for: Tocks.self, options: .init(owner: two)) { [weak two] in two?.tock($0) }
        let progress = try center.addObserver(for: Self.progress, options: .init(owner: two)) { [weak two] in
            two?.progressed($0, $1)
        }
        let subject = try center.addObserver(for: Ticks.self, options: .init(subject: "s", owner: two)) { [weak two] in
            two?.tick($0)
        }
        try center.post(Ticks(number: 1))
        try center.post(Tocks(number: 2))
        try center.post(Self.progress, 3, "")
        try center.post(Ticks(number: 4), options: .init(subject: "s"))
        expectEqual(await two.got.wait(for: 5), [1, 2, 3, 4, 4])
        expectEqual(await one.got.wait(for: 2), [1, 4])
        subject.cancel()
        progress.cancel()
        try center.post(Self.progress, 5, "")
        try center.post(Ticks(number: 6), options: .init(subject: "s"))
        expectEqual(await two.got.wait(for: 6), [1, 2, 3, 4, 4, 6])
        center.removeObservers(of: two)
        try center.post(Tocks(number: 7))
        try center.post(Ticks(number: 8))
        expectEqual(await one.got.wait(for: 4), [1, 4, 6, 8])
        #expect(two.got.count == 6)
        // After its removal, an owner can register again.
        _ = try center.addObserver(for: Ticks.self, options: .init(owner: two)) { [weak two] in two?.tick($0) }
        try center.post(Ticks(number: 9))
        expectEqual(await two.got.wait(for: 7).last, 9)
        center.removeObservers(of: one)
        center.removeObservers(of: two)
        #expect(try center.statistics.observers == 0)
    }

    /// A token that was cancelled does not keep the owner from registering the same again.
    @Test func aCancelledRegistrationCanBeMadeAgain() async throws {
        let test = try TestCenter()
        let owner = Owner()
        let first = try owner.follow(test.center)
        first.cancel()
        let second = try test.center.addObserver(for: Ticks.self, options: .init(owner: owner)) { [weak owner] in
            owner?.tickNegative($0)
        }
        #expect(first != second && !second.isCancelled)
        try test.center.post(Ticks(number: 1))
        expectEqual(await owner.got.wait(for: 1), [-1])
        test.center.removeObservers(of: owner)
        #expect(second.isCancelled)
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func anotherClosureReplacesThePreviousOne() async throws {
        let test = try TestCenter()
        let owner = Owner()
        let first = try owner.follow(test.center)
        try test.center.post(Ticks(number: 1))
        await owner.got.wait(for: 1)
        let second = try test.center.addObserver(for: Ticks.self, options: .init(owner: owner)) { [weak owner] in
            owner?.tickNegative($0)
        }
        #expect(first == second)
        try test.center.post(Ticks(number: 2))
        await owner.got.wait(for: 2)
        // A closure for another context ends the first observation.
        let third = try test.center.addObserver(for: Ticks.self, options: .init(owner: owner)) { [weak owner] in
            await owner?.tickSlowly($0)
        }
        #expect(first.isCancelled && third != first)
        try test.center.post(Ticks(number: 3))
        expectEqual(await owner.got.wait(for: 3), [1, -2, 3])
        test.center.removeObservers(of: owner)
        // The task of the last call may not have ended yet: the removal does not wait for tasks.
        while try test.center.statistics.observers > 0 { await Task.yield() }
    }

    /// The contexts in which a closure can run.
    enum Context: CaseIterable { case dispatcher, queue, mainActor, globalActor, task }

    /// The owner registers again and again while another process posts.
    @Test(arguments: Context.allCases)
    func aClosureIsReplacedWithoutLossOrRepetition(_ context: Context) async throws {
        let test = try TestCenter()
        let center = test.center
        let owner = Owner()
        let queue = DispatchQueue(label: "test")
        func register() throws -> Center.ObservationToken {
            let options = Center.ObserverOptions(owner: owner, queue: context == .queue ? queue : nil)
            return switch context {
            case .dispatcher, .queue:
                try center.addObserver(for: Ticks.self, options: options) { [weak owner] in owner?.tick($0) }
            case .mainActor:
                try center.addObserver(for: Ticks.self, options: options) { @MainActor [weak owner] in owner?.tick($0) }
            case .globalActor:
                try center.addObserver(for: Ticks.self, options: options) { @TestActor [weak owner] in owner?.tick($0) }
            case .task:
                try center.addObserver(for: Ticks.self, options: options) { [weak owner] in
                    await owner?.tickSlowly($0)
                }
            }
        }
        let first = try register()
        let peer = try Peer(test, "post", "ticks", "1000")
        while owner.got.count < 1000 {
            let again = try register()
            guard again == first else {
                Issue.record("another observation")
                break
            }
            await Task.yield()
        }
        await peer.waitForEnd()
        expectEqual(owner.got.all, Array(0..<1000))
        center.removeObservers(of: owner)
        #expect(first.isCancelled)
    }

    @Test func anOwnerIsHeldWeakly() async throws {
        let test = try TestCenter()
        let (got, ended) = (Events<Int>(), Events<Void>())
        var owner: Owner? = Owner(got, ended: ended)
        let token = try test.center.addObserver(for: Ticks.self, options: .init(owner: owner)) { [weak owner] in
            owner?.tick($0)
        }
        _ = try test.center.addObserver(for: Ticks.self, options: .init(subject: "s", owner: owner)) { [weak owner] in
            await owner?.tickSlowly($0)
        }
        try test.center.post(Ticks(number: 1))
        await got.wait(for: 1)
        owner = nil
        await ended.wait(for: 1)
        // The next notification ends both registrations, although the program has the token of one.
        try test.center.post(Ticks(number: 2), options: .init(subject: "s"))
        while try test.center.statistics.observers > 0 { await Task.yield() }
        #expect(got.all == [1] && owner == nil && token.isCancelled)
    }

    /// Also if the closure does not refer to it.
    @Test func anOwnerLivesWhileItsClosureRuns() async throws {
        final class Slow: Sendable {
            let (began, gate, ended) = (Events<Void>(), Gate(), Events<Bool>())
            let isOver = Locked(false)
            deinit { ended.add(isOver.withLock { $0 }) }
        }
        let test = try TestCenter()
        var slow: Slow? = Slow()
        let (began, gate, ended, isOver) = (slow!.began, slow!.gate, slow!.ended, slow!.isOver)
        _ = try test.center.addObserver(for: Ticks.self, options: .init(owner: slow)) { _ in
            began.add(())
            gate.pass()
            isOver.withLock { $0 = true }
        }
        try test.center.post(Ticks(number: 1))
        await began.wait(for: 1)
        slow = nil
        gate.open()
        expectEqual(await ended.wait(for: 1), [true])
        #expect(slow == nil)
    }

    @Test func removalWaitsForTheClosureAndNoneFollows() async throws {
        final class Slow: Sendable {
            let began = Events<Void>()
            let isInside = Locked(false)
            func tick(_ tick: Ticks) {
                isInside.withLock { $0 = true }
                began.add(())
                for _ in 0..<100 { sched_yield() }
                isInside.withLock { $0 = false }
            }
        }
        let test = try TestCenter()
        let center = test.center
        let rounds = await onThread {
            for round in 0..<100 {
                let slow = Slow()
                do {
                    _ = try center.addObserver(for: Ticks.self, options: .init(owner: slow)) { [weak slow] in
                        slow?.tick($0)
                    }
                    for number in 0..<10 { try center.post(Ticks(number: number)) }
                } catch { return -1 }
                slow.began.block(for: 1)
                center.removeObservers(of: slow)
                let count = slow.began.count
                if slow.isInside.withLock({ $0 }) { return round }
                guard (try? center.post(Ticks(number: 10))) != nil, slow.began.count == count else { return round }
            }
            return 100
        }
        #expect(rounds == 100)
    }

    /// The removal does not wait for a queue that stands still, and leaves no observer in the center.
    @Test func anOwnerIsRemovedWhileItsQueueStandsStill() async throws {
        let test = try TestCenter()
        let center = try test.other()
        let (owner, witness) = (Owner(), Events<Int>())
        let queue = DispatchQueue(label: "stopped")
        queue.suspend()
        _ = try center.addObserver(for: Ticks.self, options: .init(owner: owner, queue: queue)) { [weak owner] in
            owner?.tick($0)
        }
        // The witness is served after the owner. By then the block for the owner's queue is enqueued.
        let token = try center.addObserver(for: Ticks.self) { witness.add($0.number) }
        try test.center.post(Ticks(number: 1))
        await witness.wait(for: 1)
        token.cancel()
        center.removeObservers(of: owner)
        #expect(try test.center.statistics.observers == 0)
        // A new registration is served, and does not wait for the block of the removed one.
        _ = try center.addObserver(for: Ticks.self, options: .init(owner: owner)) { [weak owner] in
            owner?.tickNegative($0)
        }
        try test.center.post(Ticks(number: 2))
        expectEqual(await owner.got.wait(for: 1), [-2])
        let passed = Events<Void>()
        queue.async { passed.add(()) }
        queue.resume()
        await passed.wait(for: 1)
        try test.center.post(Ticks(number: 3))
        expectEqual(await owner.got.wait(for: 2), [-2, -3])
        center.removeObservers(of: owner)
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func aClosureMayRemoveItsOwnerAndAddOthers() async throws {
        final class Fickle: Sendable {
            let center: Center
            let got = Events<Int>()
            let other = Owner()
            init(_ center: Center) { self.center = center }
            func tick(_ tick: Ticks) {
                got.add(tick.number)
                center.removeObservers(of: self)
                _ = try? center.addObserver(for: Ticks.self, options: .init(owner: other)) {
                    [weak other = self.other] in other?.tick($0)
                }
            }
        }
        let test = try TestCenter()
        let fickle = Fickle(try test.other())
        _ = try fickle.center.addObserver(for: Ticks.self, options: .init(owner: fickle)) { [weak fickle] in
            fickle?.tick($0)
        }
        try test.center.post(Ticks(number: 1))
        await fickle.got.wait(for: 1)
        var number = 2
        while fickle.other.got.count == 0 {
            try test.center.post(Ticks(number: number))
            number += 1
            await Task.yield()
        }
        #expect(fickle.got.all == [1])
        fickle.center.removeObservers(of: fickle.other)
    }

    /// Without a second removal.
    @Test func theCapturesOfOnMissedAreReleasedAfterAnOwnerRemovedItself() async throws {
        final class Held: Sendable {
            let released: Events<Void>
            init(_ released: Events<Void>) { self.released = released }
            deinit { released.add(()) }
        }
        final class Leaver: Sendable {
            let center: Center
            init(_ center: Center) { self.center = center }
            func tick(_ tick: Ticks) { center.removeObservers(of: self) }
        }
        let test = try TestCenter()
        let (leaver, released) = (Leaver(test.center), Events<Void>())
        var held: Held? = Held(released)
        _ = try test.center.addObserver(
            for: Ticks.self,
            options: .init(owner: leaver, onMissed: { [held] _, _ in withExtendedLifetime(held) {} }),
            using: { [weak leaver] in leaver?.tick($0) })
        held = nil
        try test.center.post(Ticks(number: 1))
        await released.wait(for: 1)
        #expect(held == nil)
        withExtendedLifetime(leaver) {}
    }

    @Test func anOwnerMayRemoveItselfInItsDeinit() async throws {
        final class Reclaim: Sendable {
            let center: Center
            let ended: Events<Void>
            init(_ center: Center, _ ended: Events<Void>) { (self.center, self.ended) = (center, ended) }
            deinit {
                center.removeObservers(of: self)
                ended.add(())
            }
        }
        let test = try TestCenter()
        let ended = Events<Void>()
        // Once here, or once where the run of the closure held the last reference.
        _ = try test.center.addObserver(for: Ticks.self, options: .init(owner: Reclaim(test.center, ended))) { _ in }
        await ended.wait(for: 1)
        #expect(try test.center.statistics.observers == 0)
        var reclaim: Reclaim? = Reclaim(test.center, ended)
        let (began, gate) = (Events<Void>(), Gate())
        _ = try test.center.addObserver(for: Ticks.self, options: .init(owner: reclaim)) { _ in
            began.add(())
            gate.pass()
        }
        try test.center.post(Ticks(number: 1))
        await began.wait(for: 1)
        reclaim = nil
        gate.open()
        await ended.wait(for: 2)
        while try test.center.statistics.observers > 0 { await Task.yield() }
        #expect(reclaim == nil)
    }

    /// As many registrations as make the next one remove those of released owners.
    @Test func aFailedRegistrationEndsThoseOfReleasedOwners() throws {
        let test = try TestCenter()
        var released = (0..<16).map { _ in Owner() }
        let tokens = try released.map { try $0.follow(test.center) }
        // Made before, because it may otherwise have the address of a released one.
        let owner = Owner()
        released = []
        let start = Center.Start.after(1000, in: test.center.incarnation)
        let error = #expect(throws: SharedNotificationError.self) {
            try test.center.addObserver(for: Ticks.self, options: .init(from: start, owner: owner)) { _ in }
        }
        #expect(error?.code == .invalidArgument)
        #expect(tokens.filter { !$0.isCancelled }.isEmpty)
        #expect(try test.center.statistics.observers == 0)
    }

    /// A registration of an object that is gone says nothing about one that has its address now.
    @Test(.enabled(if: !isSanitized, "a sanitizer uses freed memory anew much later, if ever"))
    func aReusedAddressIsAnotherOwner() async throws {
        let test = try TestCenter()
        for round in 1... {
            // Allocated before, because a later allocation may reuse the memory of the released owner.
            let got = Events<Int>()
            var kept: [Owner] = []
            kept.reserveCapacity(1000)
            var address: ObjectIdentifier?
            do {
                let owner = Owner()
                address = ObjectIdentifier(owner)
                try owner.follow(test.center)
            }
            while kept.last.map(ObjectIdentifier.init) != address, kept.count < 1000 { kept.append(Owner(got)) }
            let owner = kept.last!
            // Another thread has reused the memory first.
            if ObjectIdentifier(owner) != address, round < 1000 { continue }
            #expect(ObjectIdentifier(owner) == address)
            try owner.follow(test.center)
            // Posts of this process and of another process.
            try test.center.post(Ticks(number: 1))
            let peer = try Peer(test, "post", "ticks", "1")
            await peer.waitForEnd()
            try test.center.post(Ticks(number: 2))
            expectEqual(await got.wait(for: 3), [1, 0, 2])
            test.center.removeObservers(of: owner)
            break
        }
    }

    @Test func mainActorQueueTaskEnvelopeAndKeys() async throws {
        let test = try TestCenter()
        let center = test.center
        let (controller, second) = await MainActor.run { (Controller(), Controller()) }
        _ = try center.addObserver(for: Ticks.self, options: .init(owner: controller)) { @MainActor [weak controller] in
            controller?.tick($0)
        }
        _ = try center.addObserver(for: Self.progress, options: .init(owner: second)) { @MainActor [weak second] in
            second?.progressed($0, $1)
        }
        let (queued, slow, informed, key) = (Owner(), Owner(), Owner(), Owner())
        _ = try center.addObserver(for: Ticks.self, options: .init(owner: queued, queue: .global())) { [weak queued] in
            queued?.tick($0)
        }
        _ = try center.addObserver(for: Ticks.self, options: .init(owner: slow)) { [weak slow] in
            await slow?.tickSlowly($0)
        }
        _ = try center.addObserver(for: Ticks.self, options: .init(owner: informed)) { [weak informed] in
            informed?.tickWithEnvelope($0, $1)
        }
        _ = try center.addObserver(for: Self.progress, options: .init(owner: key)) { [weak key] in
            await key?.progressedSlowly($0, $1)
        }
        let peer = try Peer(test, "post", "ticks", "100", "key", "test.progress", "100", "wait")
        expectEqual(await controller.got.wait(for: 100), Array(0..<100))
        expectEqual(await second.got.wait(for: 100), Array(0..<100))
        expectEqual(await queued.got.wait(for: 100), Array(0..<100))
        expectEqual(await slow.got.wait(for: 100), Array(0..<100))
        expect(await informed.got.wait(for: 100)) { all in all.allSatisfy { $0 == peer.pid } }
        expectEqual(await key.got.wait(for: 100), Array(0..<100))
        let owners: [AnyObject] = [controller, second, queued, slow, informed, key]
        for owner in owners { center.removeObservers(of: owner) }
    }

    /// All observations of an owner, of names and prefixes too, end with one call, and the others remain.
    @Test func removalEndsUntypedObservationsToo() async throws {
        let test = try TestCenter()
        let center = test.center
        let (owner, witness) = (Owner(), Events<Center.Name>())
        let tokens = [
            try center.addObserver(forNames: "ticks", options: .init(owner: owner)) { [weak owner] _ in
                owner?.got.add(1)
            },
            try center.addObserver(forNames: .prefix("tic"), options: .init(owner: owner)) { [weak owner] _ in
                owner?.got.add(2)
            },
            try center.addObserver(forNames: .all, options: .init(owner: owner)) { [weak owner] _ in
                owner?.got.add(3)
            },
        ]
        let other = try center.addObserver(forNames: .all) { witness.add($0.name) }
        try center.post(Ticks(number: 1))
        expectEqual(await owner.got.wait(for: 3).sorted(), [1, 2, 3])
        center.removeObservers(of: owner)
        #expect(tokens.map(\.isCancelled) == [true, true, true] && !other.isCancelled)
        try center.post(Ticks(number: 2))
        expectEqual(await witness.wait(for: 2), ["ticks", "ticks"])
        #expect(owner.got.count == 3)
        other.cancel()
    }

    @Test func aFailedRegistrationChangesNothing() async throws {
        let test = try TestCenter()
        let owner = Owner()
        let error = #expect(throws: SharedNotificationError.self) {
            _ = try test.center.addObserver(for: Ticks.self, options: .init(subject: "a\0b", owner: owner)) {
                [weak owner] in owner?.tick($0)
            }
        }
        #expect(error?.code == .invalidName)
        #expect(try test.center.statistics.observers == 0)
        let undecodable = Events<String>()
        _ = try test.center.addObserver(
            for: Ticks.self,
            options: .init(
                owner: owner, onUndecodable: { notification, _ in undecodable.add(notification.payload.json) }),
            using: { [weak owner] in owner?.tick($0) })
        try test.center.post(name: "ticks", payload: .json("[]"))
        try test.center.post(Ticks(number: 1))
        expectEqual(await owner.got.wait(for: 1), [1])
        #expect(undecodable.all == ["[]"])
        test.center.removeObservers(of: owner)
    }

    @Test func observationsOfOwnersEndWithTheirCenterObject() async throws {
        let test = try TestCenter()
        let owner = Owner()
        do {
            let other = try test.other()
            try owner.follow(other)
            try test.center.post(Ticks(number: 1))
            await owner.got.wait(for: 1)
        }
        #expect(try test.center.statistics.participants == 1)
        try test.center.post(Ticks(number: 2))
        #expect(owner.got.all == [1])
    }

    // MARK: What a closure captures

    /// A value whose release calls the center.
    private final class Captured: Sendable {
        let center: Center
        let released: Events<Void>

        init(_ center: Center, _ released: Events<Void>) {
            (self.center, self.released) = (center, released)
        }

        deinit {
            center.removeObservers(of: self)
            released.add(())
        }
    }

    private func capture(_ owner: Owner, _ test: TestCenter, _ released: Events<Void>) throws -> Center.ObservationToken
    {
        let captured = Captured(test.center, released)
        return try test.center.addObserver(for: Ticks.self, options: .init(owner: owner)) { [captured] _ in
            _ = captured
        }
    }

    /// The closure is replaced or registered again: the release of its captured values may call the center.
    @Test(arguments: [true, false])
    func theReleaseOfAClosureMayCallTheCenter(_ isCancelled: Bool) async throws {
        let test = try TestCenter()
        let (owner, released) = (Owner(), Events<Void>())
        let first = try capture(owner, test, released)
        if isCancelled { first.cancel() }
        let second = try capture(owner, test, released)
        await released.wait(for: 1)
        second.cancel()
        // The closure is released with the observation, not with the owner.
        await released.wait(for: 2)
        withExtendedLifetime(owner) {}
    }

    @Test func endedRegistrationsLeaveNothing() async throws {
        let test = try TestCenter()
        let released = Events<Void>()
        for number in 1...1000 {
            let token = try capture(Owner(), test, released)
            if number % 2 == 0 { token.cancel() }
        }
        // Released owners' registrations are removed when later ones are added, or with their next notification.
        try test.center.post(Ticks(number: 1))
        await released.wait(for: 1000)
        while try test.center.statistics.observers > 0 { await Task.yield() }
    }

    // MARK: Suspension

    /// Held notifications wait for the owner's running closure.
    @Test func heldNotificationsKeepTheOrderOfTheirOwner() async throws {
        let test = try TestCenter()
        let center = test.center
        let (owner, events, gate, began) = (Owner(), Events<String>(), Gate(), Events<Void>())
        _ = try center.addObserver(for: Ticks.self, options: .init(owner: owner)) { ticks in
            if ticks.number == 1 {
                began.add(())
                gate.pass()
            }
            events.add("ticks \(ticks.number)")
        }
        _ = try center.addObserver(forNames: ["a", "b"], options: .init(owner: owner), suspensionBehavior: .hold) {
            events.add($0.name.rawValue)
        }
        center.suspend()
        try center.post(name: "a")
        try center.post(Ticks(number: 1))
        await began.wait(for: 1)
        center.resume()
        try center.post(name: "b")
        try center.post(Ticks(number: 2))
        #expect(events.all == [])
        gate.open()
        expectEqual(await events.wait(for: 4), ["ticks 1", "a", "b", "ticks 2"])
        center.removeObservers(of: owner)
    }
}
