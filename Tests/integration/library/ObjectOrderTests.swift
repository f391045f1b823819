import Dispatch
import Glibc
import Testing
import TidingsAdministration

@testable import Tidings

/// The observations of one owner keep one order. A closure whose thread only waits for a processor does not count as
/// one that hangs.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ObjectOrderTests {
    struct Play: Center.Message {
        static let name: Center.Name = "order.play"
        var number: Int
    }
    struct Stop: Center.Message {
        static let name: Center.Name = "order.stop"
        var number: Int
    }

    final class Player: Sendable {
        let heard = Events<String>()
        let gate = Gate()

        func play(_ play: Play) {
            if play.number == 0 { gate.pass() }
            heard.add("play \(play.number)")
        }
        func stop(_ stop: Stop) { heard.add("stop \(stop.number)") }
        @MainActor func stopOnMain(_ stop: Stop) { heard.add("stop \(stop.number)") }
        @TestActor func stopOnActor(_ stop: Stop) { heard.add("stop \(stop.number)") }
        func stopLater(_ stop: Stop) async {
            await Task.yield()
            heard.add("stop \(stop.number)")
        }
    }

    /// While one closure hangs, another leader serves the witness, and keeps the notifications for the owner's other
    /// closures.
    @Test func theClosuresOfOneOwnerKeepTheirOrderWhileOneHangs() async throws {
        let test = try TestCenter()
        let player = Player()
        let witness = Events<Int>()
        _ = try test.center.addObserver(for: Play.self, options: .init(owner: player)) { [weak player] in
            player?.play($0)
        }
        _ = try test.center.addObserver(for: Stop.self, options: .init(owner: player)) { [weak player] in
            player?.stop($0)
        }
        let token = try test.center.addObserver(for: Stop.self) { witness.add($0.number) }
        var expected: [String] = []
        for number in 0..<50 {
            try test.center.post(Play(number: number))
            try test.center.post(Stop(number: number))
            expected += ["play \(number)", "stop \(number)"]
        }
        // The watch has set the hanging closure aside, and everything has been routed.
        let seen = await witness.wait(for: 50)
        #expect(seen == Array(0..<50), "\(seen)")
        #expect(player.heard.all == [])
        player.gate.open()
        let heard = await player.heard.wait(for: 100)
        #expect(heard == expected, "\(heard)")
        // Afterwards too, whether or not the closure runs on the dispatcher thread again.
        for number in 50..<250 {
            try test.center.post(Play(number: number))
            try test.center.post(Stop(number: number))
            expected += ["play \(number)", "stop \(number)"]
        }
        let all = await player.heard.wait(for: 500)
        #expect(all == expected, "\(all)")
        token.cancel()
        test.center.removeObservers(of: player)
    }

    enum Place: CaseIterable { case queue, otherQueue, main, globalActor, task }

    /// One closure runs on the dispatcher thread or a queue, the other in another context.
    @Test(arguments: Place.allCases, [false, true])
    func theClosuresOfOneOwnerKeepTheirOrderWhereverTheyRun(_ place: Place, _ isQueued: Bool) async throws {
        let test = try TestCenter()
        let player = Player()
        player.gate.open()
        let queue = DispatchQueue(label: "order")
        let plays = Center.ObserverOptions(owner: player, queue: isQueued ? queue : nil)
        _ = try test.center.addObserver(for: Play.self, options: plays) { [weak player] in player?.play($0) }
        var stops = Center.ObserverOptions(owner: player)
        switch place {
        case .queue, .otherQueue:
            stops.queue = place == .queue ? queue : DispatchQueue(label: "other", attributes: .concurrent)
            _ = try test.center.addObserver(for: Stop.self, options: stops) { [weak player] in player?.stop($0) }
        case .main:
            _ = try test.center.addObserver(for: Stop.self, options: stops) { @MainActor [weak player] in
                player?.stopOnMain($0)
            }
        case .globalActor:
            _ = try test.center.addObserver(for: Stop.self, options: stops) { @TestActor [weak player] in
                player?.stopOnActor($0)
            }
        case .task:
            _ = try test.center.addObserver(for: Stop.self, options: stops) { [weak player] in
                await player?.stopLater($0)
            }
        }
        var expected: [String] = []
        for number in 0..<300 {
            // Batches of one, two and three, so that they begin and end at any number.
            for _ in 0...number % 3 {
                try test.center.post(Play(number: number))
                expected.append("play \(number)")
            }
            try test.center.post(Stop(number: number))
            expected.append("stop \(number)")
        }
        let heard = await player.heard.wait(for: expected.count)
        #expect(heard == expected, "\(heard)")
        test.center.removeObservers(of: player)
        // The thread that has ended closes its observer after the removal returns.
        while try test.center.statistics.observers > 0 { await Task.yield() }
    }

    /// A closure removes its owner while the owner's other closures wait in the lane: nothing more runs, nothing hangs.
    @Test func anOwnerRemovesItselfWhileItsClosuresWait() async throws {
        final class Leaver: @unchecked Sendable {
            // Sendable: set before it is registered.
            var center: Center!
            let heard = Events<Int>()
            let gate = Gate()
            func play(_ play: Play) {
                gate.pass()
                heard.add(play.number)
                if play.number == 2 { center.removeObservers(of: self) }
            }
            func stop(_ stop: Stop) { heard.add(-stop.number) }
        }
        let test = try TestCenter()
        let leaver = Leaver()
        leaver.center = test.center
        let witness = Events<Int>()
        _ = try test.center.addObserver(for: Play.self, options: .init(owner: leaver)) { [weak leaver] in
            leaver?.play($0)
        }
        _ = try test.center.addObserver(for: Stop.self, options: .init(owner: leaver)) { [weak leaver] in
            leaver?.stop($0)
        }
        let token = try test.center.addObserver(for: Stop.self) { witness.add($0.number) }
        for number in 1..<10 {
            try test.center.post(Play(number: number))
            try test.center.post(Stop(number: number))
        }
        await witness.wait(for: 9)
        leaver.gate.open()
        await leaver.heard.wait(for: 3)
        // Waits for running closures. Afterwards no closure can be called any more.
        test.center.removeObservers(of: leaver)
        try test.center.post(Stop(number: 10))
        await witness.wait(for: 10)
        #expect(leaver.heard.all == [1, -1, 2])
        token.cancel()
    }

    /// Two threads remove an owner while one of its closures runs and others wait in the lane: both wait for the
    /// closure, and the others do not run.
    @Test func removalOfAnOwnerWaitsForItsClosure() async throws {
        final class Player: Sendable {
            let heard = Events<String>()
            let gate = Gate()
            func play(_ play: Play) {
                heard.add("begun")
                gate.pass()
                heard.add("ended")
            }
            func stop(_ stop: Stop) { heard.add("stop") }
        }
        let test = try TestCenter()
        let center = test.center
        let player = Player()
        let witness = Events<Int>()
        _ = try center.addObserver(for: Play.self, options: .init(owner: player)) { [weak player] in player?.play($0) }
        let stop = try center.addObserver(for: Stop.self, options: .init(owner: player)) { [weak player] in
            player?.stop($0)
        }
        let token = try center.addObserver(for: Stop.self) { witness.add($0.number) }
        try center.post(Play(number: 1))
        try center.post(Stop(number: 1))
        await witness.wait(for: 1)
        await player.heard.wait(for: 1)
        let numbers = Events<Int32>()
        let removers = try (0..<2).map { _ in
            try WorkerThread {
                numbers.add(WorkerThread.currentNumber ?? 0)
                center.removeObservers(of: player)
                player.heard.add("removed")
            }
        }
        while !stop.isCancelled { await Task.yield() }
        // The threads sleep, most likely in `removeObservers(of:)`.
        for number in await numbers.wait(for: 2) {
            while ThreadTime.look(at: number)?.isReady == true { await Task.yield() }
        }
        player.gate.open()
        for remover in removers { remover.join() }
        expectEqual(player.heard.all, ["begun", "ended", "removed", "removed"])
        token.cancel()
    }

    @Test func removalOfAnOwnerWaitsForAClosureThatRemovedIt() async throws {
        final class Leaver: Sendable {
            let center: Center
            let heard = Events<String>()
            let gate = Gate()
            init(_ center: Center) { self.center = center }
            func play(_ play: Play) {
                center.removeObservers(of: self)
                heard.add("begun")
                gate.pass()
                heard.add("ended")
            }
        }
        let test = try TestCenter()
        let center = test.center
        let leaver = Leaver(center)
        _ = try center.addObserver(for: Play.self, options: .init(owner: leaver)) { [weak leaver] in leaver?.play($0) }
        try center.post(Play(number: 1))
        await leaver.heard.wait(for: 1)
        let numbers = Events<Int32>()
        let remover = try WorkerThread {
            numbers.add(WorkerThread.currentNumber ?? 0)
            center.removeObservers(of: leaver)
            leaver.heard.add("removed")
        }
        let number = await numbers.wait(for: 1)[0]
        while leaver.heard.count == 1, ThreadTime.look(at: number)?.isReady == true { await Task.yield() }
        leaver.gate.open()
        remover.join()
        expectEqual(leaver.heard.all, ["begun", "ended", "removed"])
        // Now the owner is forgotten.
        center.removeObservers(of: leaver)
    }

    /// A closure registers its owner with a closure for another context, which ends the observation that it runs for.
    @Test func removalOfAnOwnerWaitsForAClosureThatExchangedItself() async throws {
        final class Changer: Sendable {
            let center: Center
            let heard = Events<String>()
            let gate = Gate()
            init(_ center: Center) { self.center = center }
            func play(_ play: Play) {
                #expect(throws: Never.self) {
                    _ = try center.addObserver(for: Play.self, options: .init(owner: self)) { [weak self] in
                        await self?.playLater($0)
                    }
                }
                heard.add("begun")
                gate.pass()
                heard.add("ended")
            }
            func playLater(_ play: Play) async {}
        }
        let test = try TestCenter()
        let center = test.center
        let changer = Changer(center)
        _ = try center.addObserver(for: Play.self, options: .init(owner: changer)) { [weak changer] in
            changer?.play($0)
        }
        try center.post(Play(number: 1))
        await changer.heard.wait(for: 1)
        let numbers = Events<Int32>()
        let remover = try WorkerThread {
            numbers.add(WorkerThread.currentNumber ?? 0)
            center.removeObservers(of: changer)
            changer.heard.add("removed")
        }
        let number = await numbers.wait(for: 1)[0]
        while changer.heard.count == 1, ThreadTime.look(at: number)?.isReady == true { await Task.yield() }
        changer.gate.open()
        remover.join()
        expectEqual(changer.heard.all, ["begun", "ended", "removed"])
        // The thread that ran the closure ends without a further call.
        while try center.statistics.observers > 0 { await Task.yield() }
    }

    /// A closure removes its owner and registers it anew: later notifications wait for the closure, also if the center
    /// object has no other observer.
    @Test(arguments: [false, true])
    func aClosureThatRegistersAnewRunsAlone(isAsynchronous: Bool) async throws {
        final class Fickle: Sendable {
            let center: Center
            let isAsynchronous: Bool
            let (heard, opened) = (Events<String>(), Events<Void>())
            init(_ center: Center, _ isAsynchronous: Bool) {
                (self.center, self.isAsynchronous) = (center, isAsynchronous)
            }
            func register() {
                #expect(throws: Never.self) {
                    if isAsynchronous {
                        _ = try center.addObserver(for: Play.self, options: .init(owner: self)) { [weak self] in
                            await self?.playLater($0)
                        }
                    } else {
                        _ = try center.addObserver(for: Play.self, options: .init(owner: self)) { [weak self] in
                            self?.play($0)
                        }
                    }
                }
            }
            func play(_ play: Play) {
                begin(play)
                opened.block(for: 1)
                heard.add("ended \(play.number)")
            }
            func playLater(_ play: Play) async {
                begin(play)
                await opened.wait(for: 1)
                heard.add("ended \(play.number)")
            }
            private func begin(_ play: Play) {
                if play.number == 1 {
                    center.removeObservers(of: self)
                    register()
                }
                heard.add("begun \(play.number)")
            }
        }
        let test = try TestCenter()
        let fickle = Fickle(test.center, isAsynchronous)
        fickle.register()
        try test.center.post(Play(number: 1))
        await fickle.heard.wait(for: 1)
        try test.center.post(Play(number: 2))
        // A thread of another center object, which has the same distance to run.
        let witness = Events<Int>()
        let token = try test.other().addObserver(for: Play.self) { witness.add($0.number) }
        try test.center.post(Play(number: 3))
        await witness.wait(for: 1)
        for _ in 0..<1000 where fickle.heard.count == 1 { await Task.yield() }
        fickle.opened.add(())
        expectEqual(
            await fickle.heard.wait(for: 6), ["begun 1", "ended 1", "begun 2", "ended 2", "begun 3", "ended 3"])
        test.center.removeObservers(of: fickle)
        token.cancel()
    }

    /// The center is replaced while one of an owner's closures runs, and the owner registers another closure. The
    /// thread that goes on to the next center serves that closure, too.
    @Test func anOwnerThatRegistersWhileItsCenterObjectGoesOnKeepsOneOrder() async throws {
        // A registration waits a second for the move. If the thread had no processor that long, the two closures have
        // two dispatchers, and no common order.
        for _ in 0..<5 where try await registersWhileItGoesOn() { return }
        Issue.record("each of five registrations got another dispatcher")
    }

    /// False: the closures have two dispatchers.
    private func registersWhileItGoesOn() async throws -> Bool {
        let test = try TestCenter(expecting: ["reopened"])
        let configuration = Center.Configuration(directory: test.directory, followsName: true)
        let center = test.recorded(try Center(named: test.name, configuration: configuration))
        let player = Player()
        let play = try center.addObserver(for: Play.self, options: .init(owner: player)) { [weak player] in
            player?.play($0)
        }
        let (begun, witness) = (Events<Int>(), Events<Int>())
        let before = try center.addObserver(for: Play.self) { begun.add($0.number) }
        try center.post(Play(number: 0))
        // The other observer is served while the closure hangs.
        await begun.wait(for: 1)
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        let next = try Center(named: test.name, configuration: .init(directory: test.directory))
        let stop = try center.addObserver(for: Stop.self, options: .init(owner: player)) { [weak player] in
            player?.stop($0)
        }
        guard play.anchor?.observation.dispatcher === stop.anchor?.observation.dispatcher else {
            player.gate.open()
            center.removeObservers(of: player)
            return false
        }
        let after = try center.addObserver(for: Stop.self) { witness.add($0.number) }
        try next.post(Stop(number: 1))
        await witness.wait(for: 1)
        for _ in 0..<1000 where player.heard.count == 0 { await Task.yield() }
        player.gate.open()
        expectEqual(await player.heard.wait(for: 2), ["play 0", "stop 1"])
        #expect(test.reports.all == ["reopened"])
        center.removeObservers(of: player)
        for token in [before, after] { token.cancel() }
        return true
    }

    /// A registration waits for its dispatcher to go on to the next center. The dispatcher's last observer ends
    /// instead.
    @Test func aDispatcherThatEndsWakesARegistrationThatWaitsForItsMove() async throws {
        let test = try TestCenter()
        let token = try test.center.addObserver(for: Play.self) { _ in }
        let observation = try #require(token.anchor?.observation)
        let dispatcher = observation.dispatcher
        let (numbers, moved) = (Events<Int32>(), Events<Bool>())
        let waiting = try WorkerThread {
            numbers.add(WorkerThread.currentNumber ?? 0)
            // An hour: longer than this test may take.
            moved.add(dispatcher.waitUntilMoved(beyond: dispatcher.moves, within: 3_600_000_000_000))
        }
        let number = await numbers.wait(for: 1)[0]
        // The cancellation itself wakes threads, too. The test requires that only the end of the dispatcher wakes this
        // one.
        observation.endRuns()
        for _ in 0..<100 {
            while ThreadTime.look(at: number)?.isReady == true { await Task.yield() }
        }
        token.cancel()
        expectEqual(await moved.wait(for: 1), [false])
        waiting.join()
    }

    /// Artificial checks of one closure's thread: no other thread influences its processor time.
    @Test func aClosureThatWaitsForAProcessorIsNotSetAside() {
        let (enough, hour) = (HandlerWatch.enough, 3_600_000_000_000 as UInt64)
        let begun = ThreadTime(began: 1000, ended: 2000, ran: 100, waited: 10, isReady: true)
        func hangs(after elapsed: UInt64, ran: UInt64, waited: UInt64, isReady: Bool) -> Bool {
            let began = begun.ended + elapsed
            return HandlerWatch.hangs(
                since: begun,
                now: ThreadTime(
                    began: began, ended: began + hour, ran: begun.ran + ran, waited: begun.waited + waited,
                    isReady: isReady))
        }
        // During its wait for a processor, which the kernel has not counted yet, and afterwards.
        #expect(!hangs(after: hour, ran: 0, waited: 0, isReady: true))
        #expect(!hangs(after: hour, ran: enough - 1, waited: 0, isReady: true))
        #expect(!hangs(after: hour, ran: enough - 1, waited: hour - enough + 1, isReady: false))
        // The thread ran, was blocked, or both.
        #expect(hangs(after: hour, ran: enough, waited: hour - enough, isReady: true))
        #expect(hangs(after: hour, ran: 0, waited: hour - enough, isReady: false))
        #expect(hangs(after: hour, ran: enough / 2, waited: hour - enough, isReady: false))
        // If the kernel does not report it, the clock alone decides, and the watch has checked the clock.
        #expect(HandlerWatch.hangs(since: nil, now: begun) && HandlerWatch.hangs(since: begun, now: nil))
    }

    /// The time that counts as spent in the closure.
    @Test func waitingForAProcessorDoesNotCount() {
        let begin = ThreadTime(began: 1000, ended: 1000, ran: 100, waited: 10, isReady: true)
        #expect(ThreadTime(began: 2000, ended: 2000, ran: 300, waited: 10, isReady: true).spent(since: begin) == 200)
        #expect(ThreadTime(began: 2000, ended: 2000, ran: 300, waited: 510, isReady: false).spent(since: begin) == 500)
        #expect(ThreadTime(began: 2000, ended: 2000, ran: 300, waited: 2010, isReady: false).spent(since: begin) == 0)
        // The time of the check does not count either.
        #expect(ThreadTime(began: 2000, ended: 9000, ran: 300, waited: 10, isReady: false).spent(since: begin) == 1000)
    }

    @Test func theKernelTellsWhatAThreadDoes() async throws {
        let own = try #require(WorkerThread.currentNumber)
        #expect(try #require(ThreadTime.look(at: own)).isReady)
        #expect(ThreadTime.look(at: Int32.max) == nil)
        let gate = Gate()
        let number = Locked<Int32?>(nil)
        let ready = Events<Void>()
        let thread = try WorkerThread {
            number.withLock { $0 = WorkerThread.currentNumber }
            ready.add(())
            gate.pass()
        }
        await ready.wait(for: 1)
        let blocked = try #require(number.withLock { $0 })
        while try #require(ThreadTime.look(at: blocked)).isReady { await Task.yield() }
        gate.open()
        thread.join()
    }
}
