import Dispatch
import Glibc
import Testing

@testable import Tidings

/// Methods of objects.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct TargetTests {
    struct Ticks: Center.Message {
        static let name: Center.Name = "ticks"
        var number: Int
    }

    struct Tocks: Center.Message {
        static let name: Center.Name = "tocks"
        var number: Int
    }

    static let progress = Center.Key<Int, String>("test.progress")

    class Target: @unchecked Sendable {
        // Sendable: what it holds never changes.
        let got: Events<Int>
        let ended: Events<Void>?

        init(_ got: Events<Int> = Events(), ended: Events<Void>? = nil) {
            self.got = got
            self.ended = ended
        }

        deinit { ended?.add(()) }

        func tick(_ tick: Ticks) { got.add(tick.number) }
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

    @Test func theSameTwiceIsCalledOnceAndInOrder() async throws {
        let test = try TestCenter()
        let target = Target()
        try test.center.addTarget(target, action: Target.tick, for: Ticks.self)
        try test.center.addTarget(target, action: Target.tick, for: Ticks.self)
        for _ in 0..<10 { try test.center.addTarget(target, action: Target.tick, for: Ticks.self) }
        let peer = try Peer(test, "post", "ticks", "1000")
        await peer.waitForEnd()
        try test.center.post(Ticks(number: 1000))
        while target.got.all.last != 1000 { await Task.yield() }
        #expect(target.got.all == Array(0...1000))
        #expect(try test.center.observedNames.filter { $0.name == "ticks" }.count == 1)
        test.center.removeTarget(target)
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func eachTargetForItself() async throws {
        let test = try TestCenter()
        let (one, two) = (Target(), Target())
        try test.center.addTarget(one, action: Target.tick, for: Ticks.self)
        try test.center.addTarget(two, action: Target.tick, for: Ticks.self)
        try test.center.addTarget(two, action: Target.tock, for: Tocks.self)
        try test.center.addTarget(two, action: Target.progressed, for: Self.progress)
        try test.center.addTarget(two, action: Target.tick, for: Ticks.self, subject: "s")
        try test.center.post(Ticks(number: 1))
        try test.center.post(Tocks(number: 2))
        try test.center.post(Self.progress, 3, "")
        try test.center.post(Ticks(number: 4), subject: "s")
        expectEqual(await two.got.wait(for: 5), [1, 2, 3, 4, 4])
        expectEqual(await one.got.wait(for: 2), [1, 4])
        test.center.removeTarget(two, for: Ticks.self, subject: "s")
        test.center.removeTarget(two, for: Self.progress)
        try test.center.post(Self.progress, 5, "")
        try test.center.post(Ticks(number: 6), subject: "s")
        expectEqual(await two.got.wait(for: 6), [1, 2, 3, 4, 4, 6])
        test.center.removeTarget(two)
        try test.center.post(Tocks(number: 7))
        try test.center.post(Ticks(number: 8))
        expectEqual(await one.got.wait(for: 4), [1, 4, 6, 8])
        #expect(two.got.count == 6)
        // What was removed can be added again.
        try test.center.addTarget(two, action: Target.tick, for: Ticks.self)
        try test.center.post(Ticks(number: 9))
        expectEqual(await two.got.wait(for: 7).last, 9)
    }

    @Test func anotherActionTakesThePlaceOfTheOneBefore() async throws {
        let test = try TestCenter()
        let target = Target()
        try test.center.addTarget(target, action: Target.tick, for: Ticks.self)
        try test.center.post(Ticks(number: 1))
        await target.got.wait(for: 1)
        try test.center.addTarget(target, action: Target.tickNegative, for: Ticks.self)
        try test.center.post(Ticks(number: 2))
        await target.got.wait(for: 2)
        // Also one that runs elsewhere.
        try test.center.addTarget(target, action: Target.tickSlowly, for: Ticks.self)
        try test.center.post(Ticks(number: 3))
        expectEqual(await target.got.wait(for: 3), [1, -2, 3])
        test.center.removeTarget(target)
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func aTargetIsHeldWeakly() async throws {
        let test = try TestCenter()
        let (got, ended) = (Events<Int>(), Events<Void>())
        var target: Target? = Target(got, ended: ended)
        try test.center.addTarget(target!, action: Target.tick, for: Ticks.self)
        try test.center.addTarget(target!, action: Target.tickSlowly, for: Ticks.self, subject: "s")
        try test.center.post(Ticks(number: 1))
        await got.wait(for: 1)
        target = nil
        await ended.wait(for: 1)
        try test.center.post(Ticks(number: 2), subject: "s")
        // Both registrations are given up with that.
        while try test.center.statistics.observers > 0 { await Task.yield() }
        #expect(got.all == [1] && target == nil)
    }

    @Test func aTargetLivesWhileItsActionRuns() async throws {
        final class Slow: Sendable {
            let (began, gate, ended) = (Events<Void>(), Gate(), Events<Bool>())
            let isOver = Locked(false)
            func tick(_ tick: Ticks) {
                began.add(())
                gate.pass()
                isOver.withLock { $0 = true }
            }
            deinit { ended.add(isOver.withLock { $0 }) }
        }
        let test = try TestCenter()
        var slow: Slow? = Slow()
        let (began, gate, ended) = (slow!.began, slow!.gate, slow!.ended)
        try test.center.addTarget(slow!, action: Slow.tick, for: Ticks.self)
        try test.center.post(Ticks(number: 1))
        await began.wait(for: 1)
        slow = nil
        gate.open()
        expectEqual(await ended.wait(for: 1), [true])
        #expect(slow == nil)
    }

    @Test func removalWaitsForTheActionAndNoneFollows() async throws {
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
                    try center.addTarget(slow, action: Slow.tick, for: Ticks.self)
                    for number in 0..<10 { try center.post(Ticks(number: number)) }
                } catch { return -1 }
                slow.began.block(for: 1)
                center.removeTarget(slow)
                let count = slow.began.count
                if slow.isInside.withLock({ $0 }) { return round }
                guard (try? center.post(Ticks(number: 10))) != nil, slow.began.count == count else { return round }
            }
            return 100
        }
        #expect(rounds == 100)
    }

    /// The removal does not wait for a queue that stands still, and leaves no observer in the center.
    @Test func aTargetIsRemovedWhileItsQueueStandsStill() async throws {
        let test = try TestCenter()
        let center = try test.other()
        let (target, witness) = (Target(), Events<Int>())
        let queue = DispatchQueue(label: "stopped")
        queue.suspend()
        try center.addTarget(target, action: Target.tick, for: Ticks.self, queue: queue)
        // Served after the target: by then the block for the target's queue is on its way.
        let token = try center.addObserver(for: Ticks.self) { witness.add($0.number) }
        try test.center.post(Ticks(number: 1))
        await witness.wait(for: 1)
        token.cancel()
        center.removeTarget(target)
        #expect(try test.center.statistics.observers == 0)
        // A new registration is served, and not held up by what is on its way for the removed one.
        try center.addTarget(target, action: Target.tickNegative, for: Ticks.self)
        try test.center.post(Ticks(number: 2))
        expectEqual(await target.got.wait(for: 1), [-2])
        let passed = Events<Void>()
        queue.async { passed.add(()) }
        queue.resume()
        await passed.wait(for: 1)
        try test.center.post(Ticks(number: 3))
        expectEqual(await target.got.wait(for: 2), [-2, -3])
        center.removeTarget(target)
        #expect(try test.center.statistics.observers == 0)
    }

    @Test func anActionMayRemoveItsTargetAndAddOthers() async throws {
        final class Fickle: Sendable {
            let center: Center
            let got = Events<Int>()
            let other = Target()
            init(_ center: Center) { self.center = center }
            func tick(_ tick: Ticks) {
                got.add(tick.number)
                center.removeTarget(self)
                try? center.addTarget(other, action: Target.tick, for: Ticks.self)
            }
        }
        let test = try TestCenter()
        let fickle = Fickle(try test.other())
        try fickle.center.addTarget(fickle, action: Fickle.tick, for: Ticks.self)
        try test.center.post(Ticks(number: 1))
        await fickle.got.wait(for: 1)
        var number = 2
        while fickle.other.got.count == 0 {
            try test.center.post(Ticks(number: number))
            number += 1
            await Task.yield()
        }
        #expect(fickle.got.all == [1])
        fickle.center.removeTarget(fickle.other)
    }

    /// Without another removal.
    @Test func whatTheHandlerOfLossesHoldsIsReleasedAfterATargetHasRemovedItself() async throws {
        final class Held: Sendable {
            let released: Events<Void>
            init(_ released: Events<Void>) { self.released = released }
            deinit { released.add(()) }
        }
        final class Leaver: Sendable {
            let center: Center
            init(_ center: Center) { self.center = center }
            func tick(_ tick: Ticks) { center.removeTarget(self) }
        }
        let test = try TestCenter()
        let (leaver, released) = (Leaver(test.center), Events<Void>())
        var held: Held? = Held(released)
        try test.center.addTarget(
            leaver, action: Leaver.tick, for: Ticks.self, onMissed: { [held] _ in withExtendedLifetime(held) {} })
        held = nil
        try test.center.post(Ticks(number: 1))
        await released.wait(for: 1)
        #expect(held == nil)
    }

    @Test func aTargetMayRemoveItselfInItsDeinit() async throws {
        final class Reclaim: Sendable {
            let center: Center
            let ended: Events<Void>
            let gate = Gate()
            init(_ center: Center, _ ended: Events<Void>) { (self.center, self.ended) = (center, ended) }
            func tick(_ tick: Ticks) { gate.pass() }
            deinit {
                center.removeTarget(self)
                ended.add(())
            }
        }
        let test = try TestCenter()
        let ended = Events<Void>()
        // Once here, once where the action was the last to hold it.
        try test.center.addTarget(Reclaim(test.center, ended), action: Reclaim.tick, for: Ticks.self)
        await ended.wait(for: 1)
        #expect(try test.center.statistics.observers == 0)
        var reclaim: Reclaim? = Reclaim(test.center, ended)
        let gate = reclaim!.gate
        try test.center.addTarget(reclaim!, action: Reclaim.tick, for: Ticks.self)
        try test.center.post(Ticks(number: 1))
        reclaim = nil
        gate.open()
        await ended.wait(for: 2)
        while try test.center.statistics.observers > 0 { await Task.yield() }
        #expect(reclaim == nil)
    }

    /// A registration of an object that is gone says nothing about one that has its address now.
    @Test(.enabled(if: !isSanitized, "a sanitizer uses freed memory anew much later, if ever"))
    func anAddressUsedAnewIsAnotherTarget() async throws {
        let test = try TestCenter()
        for round in 1... {
            // Before, or it may be what gets the place of the one that goes.
            let got = Events<Int>()
            var kept: [Target] = []
            kept.reserveCapacity(1000)
            var address: ObjectIdentifier?
            do {
                let target = Target()
                address = ObjectIdentifier(target)
                try test.center.addTarget(target, action: Target.tick, for: Ticks.self)
            }
            while kept.last.map(ObjectIdentifier.init) != address, kept.count < 1000 { kept.append(Target(got)) }
            let target = kept.last!
            // Another thread was faster.
            if ObjectIdentifier(target) != address, round < 1000 { continue }
            #expect(ObjectIdentifier(target) == address)
            try test.center.addTarget(target, action: Target.tick, for: Ticks.self)
            // From here and from elsewhere.
            try test.center.post(Ticks(number: 1))
            let peer = try Peer(test, "post", "ticks", "1")
            await peer.waitForEnd()
            try test.center.post(Ticks(number: 2))
            expectEqual(await got.wait(for: 3), [1, 0, 2])
            break
        }
    }

    @Test func mainActorQueueTaskEnvelopeAndKeys() async throws {
        let test = try TestCenter()
        let (controller, second) = await MainActor.run { (Controller(), Controller()) }
        try test.center.addTarget(controller, action: Controller.tick, for: Ticks.self)
        try test.center.addTarget(second, action: Controller.progressed, for: Self.progress)
        let targets = (0..<4).map { _ in Target() }
        try test.center.addTarget(targets[0], action: Target.tick, for: Ticks.self, queue: .global())
        try test.center.addTarget(targets[1], action: Target.tickSlowly, for: Ticks.self)
        try test.center.addTarget(targets[2], action: Target.tickWithEnvelope, for: Ticks.self)
        try test.center.addTarget(targets[3], action: Target.progressedSlowly, for: Self.progress)
        let peer = try Peer(test, "post", "ticks", "100", "key", "test.progress", "100", "wait")
        expectEqual(await controller.got.wait(for: 100), Array(0..<100))
        expectEqual(await second.got.wait(for: 100), Array(0..<100))
        expectEqual(await targets[0].got.wait(for: 100), Array(0..<100))
        expectEqual(await targets[1].got.wait(for: 100), Array(0..<100))
        expect(await targets[2].got.wait(for: 100)) { all in all.allSatisfy { $0 == peer.pid } }
        expectEqual(await targets[3].got.wait(for: 100), Array(0..<100))
    }

    @Test func whatFailsChangesNothing() async throws {
        let test = try TestCenter()
        let target = Target()
        let error = #expect(throws: SharedNotificationError.self) {
            try test.center.addTarget(target, action: Target.tick, for: Ticks.self, subject: "a\0b")
        }
        #expect(error?.code == .invalidName)
        #expect(try test.center.statistics.observers == 0)
        let undecodable = Events<String>()
        try test.center.addTarget(
            target, action: Target.tick, for: Ticks.self,
            onUndecodable: { undecodable.add($0.notification.payload.json) })
        try test.center.post(name: "ticks", payload: .json("[]"))
        try test.center.post(Ticks(number: 1))
        expectEqual(await target.got.wait(for: 1), [1])
        #expect(undecodable.all == ["[]"])
    }

    @Test func targetsEndWithTheirCenterObject() async throws {
        let test = try TestCenter()
        let target = Target()
        do {
            let other = try test.other()
            try other.addTarget(target, action: Target.tick, for: Ticks.self)
            try test.center.post(Ticks(number: 1))
            await target.got.wait(for: 1)
        }
        #expect(try test.center.statistics.participants == 1)
        try test.center.post(Ticks(number: 2))
        #expect(target.got.all == [1])
    }
}
