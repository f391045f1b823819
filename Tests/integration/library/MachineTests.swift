import Testing

@testable import Tidings

// The state machines that decide, as values without threads.

@Suite(.serialized) struct RolesTests {
    @Test func aClosureThatReturnsIsNeverDeposed() {
        var roles = Roles()
        let tenure = roles.lead()
        #expect(roles.handlerBegins(others: true) == true)
        #expect(roles.look(pulse: 1) == .again)
        #expect(roles.handlerReturns(tenure) == true)
        // Each check finds another closure.
        #expect(roles.handlerBegins(others: true) == false)
        #expect(roles.look(pulse: 3) == .again)
        #expect(roles.look(pulse: 5) == .again)
        #expect(roles.handlerReturns(tenure) == true)
        #expect(roles.look(pulse: 6) == .again)
        #expect(roles.look(pulse: 6) == .rest)
        #expect(!roles.isWatched)
        // The next closure requests the watch again.
        #expect(roles.handlerBegins(others: true) == true)
    }

    @Test func theFirstCheckNeverDeposes() {
        var roles = Roles()
        _ = roles.lead()
        #expect(roles.handlerBegins(others: true) == true)
        #expect(roles.look(pulse: 1) == .again)
        #expect(roles.look(pulse: 1) == .depose)
    }

    @Test func aLeaderThatHasNotBegunTheClosureIsNotDeposed() {
        var roles = Roles()
        _ = roles.lead()
        #expect(roles.handlerBegins(others: true) == true)
        // The payload is being copied: the closure has not begun.
        #expect(roles.look(pulse: 0) == .again)
        #expect(roles.look(pulse: 0) == .again)
        #expect(roles.look(pulse: 0) == .again)
    }

    @Test func aDeposedLeaderDoesNotLead() {
        var roles = Roles()
        let old = roles.lead()
        _ = roles.handlerBegins(others: true)
        let new = roles.lead()
        #expect(roles.handlerReturns(old) == false)
        #expect(roles.leads(new) && !roles.leads(old) && !roles.isInHandler)
    }

    @Test func aSingleThreadIsNotWatched() {
        var roles = Roles()
        let tenure = roles.lead()
        #expect(roles.handlerBegins(others: false) == false)
        // Another thread arrives while the closure runs.
        #expect(roles.othersArrive() == true)
        #expect(roles.othersArrive() == false)
        #expect(roles.handlerReturns(tenure) == true)
    }

    @Test func threadsThatArriveBetweenClosuresNeedNoWatch() {
        var roles = Roles()
        _ = roles.lead()
        #expect(roles.othersArrive() == false)
    }

    @Test func stopping() {
        var idle = Roles()
        #expect(idle.stop(byLeader: false) == .nothing)
        var waiting = Roles()
        _ = waiting.lead()
        #expect(waiting.stop(byLeader: false) == .join)
        #expect(waiting.stop(byLeader: false) == .nothing)
        var own = Roles()
        _ = own.lead()
        #expect(own.stop(byLeader: true) == .detach)
        var busy = Roles()
        _ = busy.lead()
        _ = busy.handlerBegins(others: true)
        #expect(busy.stop(byLeader: false) == .detach)
        #expect(busy.look(pulse: 1) == .rest)
    }
}

@Suite(.serialized) struct ObservationMachineTests {
    fileprivate func machine(inline: Bool = true, lossless: Bool = false, items: Int = 4) -> ObservationMachine {
        ObservationMachine(
            isInline: inline, needsDrain: true, isLossless: lossless,
            bounds: .init(items: items, bytes: 1 << 20))
    }

    /// A limit of held items may be higher than the buffer's.
    @Test func allHeldItemsFitTheBuffer() {
        var machine = ObservationMachine(
            isInline: false, needsDrain: true, isLossless: false, bounds: .init(items: 4, bytes: 1 << 20),
            held: HeldItems(.hold(limit: 6)))
        machine.suspend()
        for count in 1...6 { #expect(machine.keep(.missed(count, nil)) == .kept) }
        #expect(machine.resume() == .keptAndDrain)
        var counts: [Int] = []
        while case .missed(let count, _)? = machine.take(for: .task) { counts.append(count) }
        #expect(counts == [1, 2, 3, 4, 5, 6])
    }

    /// The report of dropped items needs room, too.
    @Test func theReportOfDroppedHeldItemsFitsTheBuffer() {
        var machine = ObservationMachine(
            isInline: false, needsDrain: true, isLossless: false, bounds: .init(items: 2, bytes: 1 << 20),
            held: HeldItems(.hold(limit: 2)))
        for _ in 1...2 { _ = machine.keep(item(bytes: 1)) }
        machine.suspend()
        for _ in 1...3 { #expect(machine.keep(item(bytes: 1)) == .kept) }
        #expect(machine.resume() == .kept)
        #expect(taken(&machine) == ["1", "1", "missed 1", "1", "1"])
    }

    @Test func allHeldBytesFitTheBuffer() {
        var machine = ObservationMachine(
            isInline: false, needsDrain: true, isLossless: false, bounds: .closure, held: HeldItems(.hold(limit: 2)))
        let large = item(bytes: 40 << 20)
        #expect(machine.keep(large) == .keptAndDrain)
        machine.suspend()
        #expect(machine.keep(large) == .kept)
        #expect(machine.resume() == .kept)
        #expect(taken(&machine) == ["\(40 << 20)", "\(40 << 20)"])
    }

    /// Without a suspension, no more waits than without held items.
    @Test func theBoundsOfHeldItemsAreThoseOfASuspension() {
        var machine = ObservationMachine(
            isInline: false, needsDrain: true, isLossless: false, bounds: .init(items: 2, bytes: 1 << 20),
            held: HeldItems(.hold(limit: 2)))
        for _ in 1...3 { _ = machine.keep(item(bytes: 1)) }
        #expect(taken(&machine) == ["missed 1", "1", "1"])
    }

    @Test func theBufferHasItsOrdinaryBoundsOnceItHasBeenEmptyAfterASuspension() {
        for held in [0, 2] {
            var machine = ObservationMachine(
                isInline: false, needsDrain: true, isLossless: false, bounds: .init(items: 2, bytes: 1 << 20),
                held: HeldItems(.hold(limit: 2)))
            machine.suspend()
            for _ in 0..<held { _ = machine.keep(item(bytes: 1)) }
            _ = machine.resume()
            #expect(taken(&machine) == Array(repeating: "1", count: held))
            for _ in 1...3 { _ = machine.keep(item(bytes: 1)) }
            #expect(taken(&machine) == ["missed 1", "1", "1"])
        }
    }

    private func item(bytes count: Int) -> Item {
        .arrival(
            Arrival(
                name: "a", format: 0, bytes: .owned(Array(repeating: 0, count: count)), origin: .envelope(.init())))
    }

    /// The sizes of the waiting arrivals, and the losses.
    private func taken(_ machine: inout ObservationMachine) -> [String] {
        var all: [String] = []
        while let item = machine.take(for: .task) {
            if case .missed(let count, _) = item { all.append("missed \(count)") } else { all.append("\(item.size)") }
        }
        return all
    }

    @Test func aPlainClosureRunsOnTheDispatcherThread() {
        var machine = machine()
        #expect(machine.arrives(on: .current) == .run)
        #expect(machine.runner == .thread(.current))
        machine.returns()
        #expect(machine.runner == .noRunner)
    }

    @Test func oneDrainAtATime() {
        var machine = machine(inline: false)
        #expect(machine.arrives(on: .current) == .keep)
        #expect(machine.keep(.missed(1, nil)) == .keptAndDrain)
        #expect(machine.keep(.missed(2, nil)) == .kept)
        #expect(machine.take(for: .task) != nil)
        #expect(machine.runner == .task)
        #expect(machine.take(for: .task) != nil)
        #expect(machine.take(for: .task) == nil)
        #expect(machine.runner == .noRunner)
        #expect(machine.keep(.missed(1, nil)) == .keptAndDrain)
    }

    @Test func nothingHappensAfterCancel() {
        var machine = machine(inline: false)
        _ = machine.keep(.missed(1, nil))
        #expect(machine.cancel() == true)
        #expect(machine.cancel() == false)
        #expect(machine.take(for: .task) == nil)
        #expect(machine.arrives(on: .current) == .ignore)
        #expect(machine.keep(.missed(1, nil)) == .ignore)
    }

    @Test func aLosslessObserverWaitsForRoom() {
        var machine = machine(inline: false, lossless: true, items: 2)
        #expect(machine.keep(.missed(1, nil)) == .keptAndDrain)
        #expect(machine.keep(.missed(1, nil)) == .kept)
        #expect(machine.keep(.missed(1, nil)) == .wait)
        _ = machine.take(for: .task)
        #expect(machine.keep(.missed(1, nil)) == .kept)
        _ = machine.cancel()
        #expect(machine.keep(.missed(1, nil)) == .ignore)
    }

    /// Two items that fit, and a third one that does not fit, although there is room for a smaller one.
    @Test func aLosslessObserverWaitsForRoomForLargePayloads() {
        func item(_ megabytes: Int) -> Item {
            .arrival(
                Arrival(
                    name: "a", format: 0, bytes: .owned(Array(repeating: 0, count: megabytes << 20)),
                    origin: .envelope(
                        .init(
                            sequence: 0, incarnation: 1, postedAtNanoseconds: 0, poster: .init(pid: 0, uid: 0),
                            subject: nil,
                            isRetained: false, isOwn: false, isCleared: false))))
        }
        var machine = ObservationMachine(
            isInline: false, needsDrain: true, isLossless: true, bounds: .init(items: 256, bytes: 16 << 20))
        #expect(machine.keep(item(6)) == .keptAndDrain)
        #expect(machine.keep(item(6)) == .kept)
        #expect(machine.keep(item(6)) == .wait)
        guard case .arrival = machine.take(for: .task) else {
            Issue.record("something was dropped")
            return
        }
        #expect(machine.keep(item(6)) == .kept)
    }

    @Test func setAsideAndBack() {
        var machine = machine()
        #expect(machine.arrives(on: .current) == .run)
        machine.setAside()
        // The closure's thread is the drain.
        #expect(machine.arrives(on: .current) == .keep)
        #expect(machine.keep(.missed(1, nil)) == .kept)
        #expect(machine.take(for: .thread(.current)) != nil)
        #expect(machine.take(for: .thread(.current)) == nil)
        #expect(machine.isAside)
        // 64 prompt runs, with one slow run between them that restarts the count.
        for _ in 0..<63 { machine.ran(nanoseconds: 1000) }
        machine.ran(nanoseconds: ObservationMachine.prompt + 1)
        for _ in 0..<63 { machine.ran(nanoseconds: 1000) }
        #expect(machine.take(for: .thread(.current)) == nil)
        #expect(machine.isAside)
        machine.ran(nanoseconds: 1000)
        #expect(machine.take(for: .thread(.current)) == nil)
        #expect(!machine.isAside)
        #expect(machine.arrives(on: .current) == .run)
        // The second time, twice as many prompt runs are needed.
        machine.setAside()
        for _ in 0..<127 { machine.ran(nanoseconds: 1000) }
        _ = machine.take(for: .thread(.current))
        #expect(machine.isAside)
        machine.ran(nanoseconds: 1000)
        _ = machine.take(for: .thread(.current))
        #expect(!machine.isAside)
    }
}

extension ObservationMachineTests {
    @Test func notificationsKeptWhileTheLastDrainEndsComeBeforeLaterOnes() {
        var machine = machine()
        #expect(machine.arrives(on: .current) == .run)
        machine.setAside()
        for _ in 0..<64 { machine.ran(nanoseconds: 1000) }
        // The leader makes its copy. Meanwhile the drain finds no item, and the closure has been prompt for long
        // enough.
        #expect(machine.arrives(on: .current) == .keep)
        #expect(machine.take(for: .thread(.current)) == nil)
        #expect(!machine.isAside)
        #expect(machine.keep(.missed(1, nil)) == .keptAndDrain)
        #expect(machine.arrives(on: .current) == .keep)
        #expect(machine.keep(.missed(2, nil)) == .kept)
        #expect(machine.take(for: .task) != nil)
        #expect(machine.take(for: .task) != nil)
        #expect(machine.take(for: .task) == nil)
        #expect(machine.arrives(on: .current) == .run)
    }
}

@Suite(.serialized) struct DeliveryBufferTests {
    private func arrival(_ number: UInt64, name: Center.Name = "a", size: Int = 0) -> Item {
        .arrival(
            Arrival(
                name: name, format: 0, bytes: .owned(Array(repeating: 0, count: size)),
                origin: .envelope(
                    .init(
                        sequence: number, incarnation: 1, postedAtNanoseconds: 0, poster: .init(pid: 0, uid: 0),
                        subject: nil,
                        isRetained: false, isOwn: false, isCleared: false))))
    }

    private func describe(_ item: Item?) -> String {
        switch item {
        case .arrival(let arrival): "\(arrival.envelope.sequence)"
        case .missed(let count, let name): "missed \(count) \(name?.rawValue ?? "any")"
        case .reopened(let incarnation): "reopened \(incarnation)"
        case .ended(let error): "ended: \(error)"
        case nil: "nothing"
        }
    }

    private func all(_ buffer: inout DeliveryBuffer) -> [String] {
        var all: [String] = []
        while let item = buffer.pop() { all.append(describe(item)) }
        return all
    }

    @Test func inOrder() {
        var buffer = DeliveryBuffer(.init(items: 1000, bytes: 1 << 20))
        var popped: [String] = []
        for number in 0..<500 {
            buffer.push(arrival(UInt64(number)))
            if number % 3 == 0 { popped.append(describe(buffer.pop())) }
        }
        #expect(popped + all(&buffer) == (0..<500).map { "\($0)" })
        #expect(buffer.isEmpty)
    }

    @Test func theOldestAreDroppedAndCountedInFront() {
        var buffer = DeliveryBuffer(.init(items: 3, bytes: 1 << 20))
        for number in 0..<5 { buffer.push(arrival(UInt64(number))) }
        #expect(all(&buffer) == ["missed 2 a", "2", "3", "4"])
    }

    @Test func earlierLossesAreAddedToDroppedNotifications() {
        var buffer = DeliveryBuffer(.init(items: 2, bytes: 1 << 20))
        buffer.push(arrival(0))
        buffer.push(.missed(10, "a"))
        buffer.push(arrival(11))
        buffer.push(arrival(12))
        #expect(all(&buffer) == ["missed 11 a", "11", "12"])
    }

    @Test func aReportOfAnotherCenterIsNeverDropped() {
        for keeping in [Center.Keeping.newest, .oldest] {
            var buffer = DeliveryBuffer(.init(items: 2, bytes: 1 << 20, keeping: keeping))
            buffer.push(arrival(7))
            buffer.push(.reopened(5))
            for number in 0..<3 { buffer.push(arrival(UInt64(number))) }
            buffer.push(.ended(SharedNotificationError(.removed, message: "it ended")))
            let got = all(&buffer)
            #expect(
                got
                    == (keeping == .newest
                        ? ["reopened 5", "missed 2 a", "1", "2", "ended: it ended"]
                        : ["7", "reopened 5", "missed 3 a", "ended: it ended"]))
        }
    }

    @Test func severalNamesAreCountedTogether() {
        var buffer = DeliveryBuffer(.init(items: 1, bytes: 1 << 20))
        buffer.push(arrival(0, name: "a"))
        buffer.push(arrival(1, name: "b"))
        buffer.push(arrival(2, name: "b"))
        #expect(all(&buffer) == ["missed 2 any", "2"])
        buffer.push(arrival(3, name: "b"))
        buffer.push(arrival(4, name: "a"))
        #expect(all(&buffer) == ["missed 1 b", "4"])
    }

    @Test func bytesAreBoundedButOneAlwaysFits() {
        var buffer = DeliveryBuffer(.init(items: 100, bytes: 1000))
        buffer.push(arrival(0, size: 400))
        buffer.push(arrival(1, size: 400))
        buffer.push(arrival(2, size: 400))
        #expect(buffer.hasRoom(for: arrival(3, size: 200)) && !buffer.hasRoom(for: arrival(3, size: 201)))
        buffer.push(arrival(3, size: 5000))
        #expect(!buffer.hasRoom(for: arrival(4)))
        #expect(all(&buffer) == ["missed 3 a", "3"])
    }
}

/// A peer may write any number as a position: no arithmetic on positions traps.
@Suite struct SpoiledPositionTests {
    @Test func theLastPositionHasNoneAfterIt() {
        #expect(UInt64(41).position(after: 1) == 42)
        #expect(UInt64.max.position(after: 0) == .max)
        #expect((UInt64.max - 2).position(after: 17) == .max)
    }

    /// A peer had moved a retained value to position 2^64 - 2. Each process that observed it crashed at the 257th of
    /// these positions.
    @Test(arguments: [0, 1, 16] as [UInt64]) func loopsAreDetectedAtTheLastPositions(_ left: UInt64) {
        let sequence = UInt64.max - left
        var suspicion = LoopSuspicion()
        var sampled = 0
        for _ in 0..<1024 {
            switch suspicion.begins(sequence, nothingSince: { _ in true }) {
            case .usual: continue
            case .caught: Issue.record("a loop")
            case .sampled:
                sampled += 1
                suspicion.returns(from: sequence, nothingSince: { _ in sampled.isMultiple(of: 2) })
            }
        }
        #expect(sampled == 4)
    }
}

struct WatchedTests {
    private final class Element {}

    /// The element was idle at the check, and has requested the watch again since then.
    @Test func anElementThatRequestsAgainStays() {
        var watched = Watched<Element>()
        let (resting, other) = (Element(), Element())
        watched.add(resting)
        watched.add(other)
        watched.add(resting)
        watched.forget([resting])
        #expect(watched.all.map(ObjectIdentifier.init) == [ObjectIdentifier(other), ObjectIdentifier(resting)])
        watched.forget([resting, other])
        #expect(watched.isEmpty)
    }
}
