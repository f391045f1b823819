import Distributed
import Foundation
import Glibc
import TestActors
import Testing

@testable import Tidings
@testable import TidingsDistributed

/// Distributed actors, called by other systems of this process and of others.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct DistributedTests {
    /// The code of the error that the call fails with; `nil`: it does not.
    private func failure(_ call: () async throws -> Void) async -> SharedNotificationError.Code? {
        do {
            try await call()
            return nil
        } catch {
            return (error as? SharedNotificationError)?.code
        }
    }

    /// A process with an actor, and that actor here.
    private func peer(_ test: TestCenter, _ system: SharedActorSystem) async throws -> (peer: Peer, actor: Counter) {
        let peer = try Peer(test, "actors", "counter", "wait", "release", "counter", "wait")
        let id = try JSONDecoder().decode(SharedActorSystem.ActorID.self, from: Data(await peer.line().utf8))
        return (peer, try Counter.resolve(id: id, using: system))
    }

    // MARK: Calls

    @Test func anActorOfAnotherProcessIsCalled() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let (peer, actor) = try await peer(test, system)
        #expect(actor.id.system != system.id)
        expectEqual(try await actor.add(40), 40)
        expectEqual(try await actor.add(2), 42)
        expectEqual(try await actor.total, 42)
        try await actor.reset()
        expectEqual(try await actor.total, 0)
        expectEqual(try await actor.echo("So What"), "So What")
        let named = try await system.resolve(Counter.self, named: "counter")
        #expect(named == actor)
        expectEqual(try await named.add(1), 1)
        withExtendedLifetime(peer) {}
    }

    @Test func aThousandCallsAtATimeArriveOnce() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let (peer, actor) = try await peer(test, system)
        let sums = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<1000 { group.addTask { try await actor.add(1) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(sums == Set(1...1000))
        withExtendedLifetime(peer) {}
    }

    @Test func anActorIsAnArgumentAndAResultAndIsCalledBack() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        try await Counter.allowCalls(in: system)
        let own = Counter(actorSystem: system)
        let (peer, actor) = try await peer(test, system)
        expectEqual(try await actor.tell(own, 5, back: false).id, own.id)
        expectEqual(try await own.total, 5)
        // The peer's actor calls this one, which calls the peer's while that waits.
        let told = try await actor.tell(own, 7, back: true)
        #expect(told === own)
        expectEqual(try await actor.total, 7)
        withExtendedLifetime(peer) {}
    }

    @Test func systemsOfOneProcessCallEachOther() async throws {
        let test = try TestCenter()
        let (one, other) = (try SharedActorSystem(in: test.center), try SharedActorSystem(in: test.other()))
        try await Counter.allowCalls(in: one)
        let actor = Counter(actorSystem: one)
        #expect(try Counter.resolve(id: actor.id, using: one) === actor)
        let remote = try Counter.resolve(id: actor.id, using: other)
        #expect(remote !== actor)
        expectEqual(try await remote.add(3), 3)
        expectEqual(try await actor.total, 3)
        #expect(throws: SharedNotificationError.self) { try other.register(actor, as: "counter") }
    }

    // MARK: Errors

    @Test func anAllowedErrorArrivesAsItself() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let (peer, actor) = try await peer(test, system)
        expectEqual(await failure { _ = try await actor.refuse(1) }, .serverFailed)
        system.allow(errors: Counter.Refusal.self)
        await #expect(throws: Counter.Refusal(number: 2)) { try await actor.refuse(2) }
        let other = await #expect(throws: SharedNotificationError.self) { try await actor.print() }
        #expect(other?.code == .serverFailed)
        #expect(
            other?.message
                == "can't call TestActors.Counter.print() of actor \(actor.id): it threw "
                + "TestActors.Counter.OutOfPaper: out of paper")
        withExtendedLifetime(peer) {}
    }

    @Test func onlyAllowedCallsReachAnActor() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let (peer, actor) = try await peer(test, system)
        expectEqual(await failure { _ = try await actor.hidden() }, .notPermitted)
        expectEqual(await failure { _ = try await actor.echo(1) }, .notPermitted)
        // The call is allowed, but of another type than the actor's.
        let stranger = try Stranger.resolve(id: actor.id, using: system)
        expectEqual(await failure { _ = try await stranger.secret("?") }, .notPermitted)
        expectEqual(try await actor.add(1), 1)
        withExtendedLifetime(peer) {}
    }

    @Test func anActorOfItsOwnSystemHasOneType() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let actor = Counter(actorSystem: system)
        expectEqual(await failure { _ = try Stranger.resolve(id: actor.id, using: system) }, .notPermitted)
    }

    @Test func aClosureThatAllowsNothingIsRefused() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let actor = Counter(actorSystem: system)
        expectEqual(
            await failure { try await system.allow(Counter.self, calls: { _ in _ = try await actor.total }) },
            .invalidArgument)
    }

    // MARK: The end of a call, an actor, a process, a center

    @Test func cancellationReachesTheTarget() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let (peer, actor) = try await peer(test, system)
        let call = Task { try await actor.wait() }
        expectEqual(await peer.line(2), "waiting")
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        expectEqual(await peer.line(3), "cancelled")
    }

    @Test func aCallTimesOutAndItsTargetIsCancelled() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let (peer, actor) = try await peer(test, system)
        let late = await SharedActorSystem.$timeout.withValue(.milliseconds(1)) {
            await failure { try await actor.wait() }
        }
        #expect(late == .timedOut)
        // The target may not have begun; then it does not.
        expectEqual(try await actor.add(1), 1)
        let impatient = try SharedActorSystem(in: test.center, timeout: .milliseconds(1))
        peer.signal(SIGSTOP)
        try peer.waitUntilStopped()
        let stopped = try Counter.resolve(id: actor.id, using: impatient)
        expectEqual(await failure { _ = try await stopped.total }, .timedOut)
        peer.signal(SIGCONT)
        expectEqual(try await actor.add(1), 2)
    }

    @Test func theDeathOfAProcessEndsItsCallsAndItsIDs() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let (peer, actor) = try await peer(test, system)
        let call = Task { await failure { try await actor.wait() } }
        let end = Task { try await system.waitForEnd(of: actor.id) }
        expectEqual(await peer.line(2), "waiting")
        peer.signal(SIGKILL)
        expectEqual(await call.value, .serverEnded)
        try await end.value
        expectEqual(await failure { _ = try await actor.total }, .noServer)
        expectEqual(await failure { _ = try await system.resolve(Counter.self, named: "counter") }, .noServer)
        try await system.waitForEnd(of: actor.id)

        // Another process has the name, and its actor the same number. The old ID is not its.
        let (successor, next) = try await self.peer(test, system)
        #expect(next.id.number == actor.id.number)
        expectEqual(await failure { _ = try await actor.total }, .noServer)
        expectEqual(try await system.resolve(Counter.self, named: "counter").id, next.id)
        withExtendedLifetime(successor) {}
    }

    @Test func theReleaseOfAnActorEndsItsIDAndItsName() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let (peer, actor) = try await peer(test, system)
        let end = Task { try await system.waitForEnd(of: actor.id) }
        expectEqual(try await actor.total, 0)
        peer.send()
        expectEqual(await peer.line(2), "released")
        try await end.value
        // The system has ended with its last actor.
        expectEqual(await failure { _ = try await actor.total }, .noServer)
        expectEqual(await failure { _ = try await system.resolve(Counter.self, named: "counter") }, .noServer)
    }

    @Test func aReleasedActorOfALivingSystemIsNotFound() async throws {
        let test = try TestCenter()
        let (one, other) = (try SharedActorSystem(in: test.center), try SharedActorSystem(in: test.center))
        var actor: Counter? = Counter(actorSystem: one)
        weak let released = actor
        let id = actor!.id
        try one.register(actor!, as: "counter")
        let remote = try Counter.resolve(id: id, using: other)
        let ends = [Task { try await one.waitForEnd(of: id) }, Task { try await other.waitForEnd(of: id) }]
        let cancelled = Task { try await one.waitForEnd(of: id) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        actor = nil
        #expect(released == nil)
        for end in ends { try await end.value }
        expectEqual(await failure { _ = try await remote.total }, .notFound)
        expectEqual(await failure { _ = try Counter.resolve(id: id, using: one) }, .notFound)
        expectEqual(await failure { _ = try await other.resolve(Counter.self, named: "counter") }, .noServer)
    }

    @Test func theEndOfACenterEndsItsSystems() async throws {
        let test = try TestCenter(expecting: ["dispatch failed"])
        let (one, other) = (try SharedActorSystem(in: test.center), try SharedActorSystem(in: test.other()))
        try await Counter.allowCalls(in: one)
        let actor = Counter(actorSystem: one)
        let remote = try Counter.resolve(id: actor.id, using: other)
        expectEqual(try await remote.add(1), 1)
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        let code = await failure { _ = try await remote.total }
        #expect(code == .removed || code == .noServer || code == .serverEnded, "\(String(describing: code))")
        expectEqual(try await actor.total, 1)
    }

    @Test func aSystemGoesOnInTheNextCenter() async throws {
        let test = try TestCenter(.init(followsName: true), expecting: ["reopened"])
        let system = try SharedActorSystem(in: test.center)
        try await Counter.allowCalls(in: system)
        let actor = Counter(actorSystem: system)
        try system.register(actor, as: "counter")
        expectEqual(try await actor.add(1), 1)
        let id = actor.id
        try Center.remove(named: test.name, configuration: .init(directory: test.directory))
        // This creates the next center. The threads of the system notice it a little later.
        try test.center.post(Track(1))
        let other = try SharedActorSystem(in: test.other())
        while true {
            do {
                let named = try await other.resolve(Counter.self, named: "counter")
                expectEqual(named.id, id)
                expectEqual(try await named.add(1), 2)
                break
            } catch let error as SharedNotificationError where error.code == .noServer {
                await Task.yield()
            }
        }
    }

    // MARK: Names

    @Test func anActorIsFoundByItsNameInAnyProcessThatHasOne() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let none = await #expect(throws: SharedNotificationError.self) {
            _ = try await system.resolve(Counter.self, named: "counter")
        }
        #expect(
            none?.message
                == "can't resolve actor \"counter\" in center \"\(test.name)\": no process has registered it; start "
                + "one that does")
        let (peer, remote) = try await peer(test, system)
        let (own, second) = (Counter(actorSystem: system), Counter(actorSystem: system))
        try system.register(own, as: "counter")
        for _ in 0..<10 {
            let found = try await system.resolve(Counter.self, named: "counter")
            #expect(found == own || found == remote)
        }
        peer.signal(SIGKILL)
        await peer.waitForEnd()
        // The kernel has reported the death to the core when a call of the process has ended.
        try await system.waitForEnd(of: remote.id)
        expectEqual(try await system.resolve(Counter.self, named: "counter").id, own.id)
        try system.register(second, as: "counter")
        expectEqual(try await system.resolve(Counter.self, named: "counter").id, second.id)
        system.unregister("counter")
        expectEqual(await failure { _ = try await system.resolve(Counter.self, named: "counter") }, .noServer)
        expectEqual(await failure { try system.register(own, as: "") }, .invalidName)
        expectEqual(await failure { try system.register(own, as: String(repeating: "a", count: 219)) }, .invalidName)
    }

    // MARK: Adversaries

    /// Asks the system of an actor something, as any process can.
    private func ask(_ test: TestCenter, _ actor: Counter, _ payload: Center.RawPayload) async throws -> Answer {
        try await test.center.request(
            name: SharedActorSystem.name(of: actor.id.system), payload: payload, timeout: nil, options: .init()
        ).decode(Answer.self)
    }

    @Test func garbageIsAnsweredAndHarmsNothing() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let (peer, actor) = try await peer(test, system)
        var random = SystemRandomNumberGenerator()
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
            for format in [Center.PayloadFormat.cbor, .json, .bytes] {
                let payload = Center.RawPayload(format: format, bytes: bytes)
                expectEqual(await failure { _ = try await ask(test, actor, payload) }, .serverFailed)
            }
        }
        expectEqual(try await actor.add(1), 1)
        withExtendedLifetime(peer) {}
    }

    @Test func forgedCallsNeverReachSwiftsRuntime() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        let (peer, actor) = try await peer(test, system)
        let reference = Recording(actor.id)
        for call in [{ _ = try await actor.add(1) }, { _ = try await actor.echo("") }] as [() async throws -> Void] {
            _ = try? await Recording.$current.withValue(reference, operation: call)
        }
        let (add, echo) = (reference.calls.withLock { $0[0].0 }, reference.calls.withLock { $0[1].0 })
        func answer(_ call: Call, _ arguments: [Data], to number: UInt64 = actor.id.number) async throws -> Answer {
            try await ask(test, actor, .init(encoding: Question.call(number, call, arguments)))
        }
        let one = Data(try Center.RawPayload(encoding: 1).bytes)
        let text = Data(try Center.RawPayload(encoding: "a").bytes)
        guard case .returned(one) = try await answer(add, [one]) else { return #expect(Bool(false), "not 1") }
        guard case .returned(text) = try await answer(echo, [text]) else { return #expect(Bool(false), "not a") }
        // Bytes that are no argument, too few of them, and of another type: the target does not run.
        for arguments in [[], [Data()], [text], [Data([0xff])]] {
            guard case .threw = try await answer(add, arguments) else {
                return #expect(Bool(false), "\(arguments) taken")
            }
        }
        // A target that the process does not have, one of another type, and other generic arguments.
        var forged = [add, add, add, add, echo, echo, echo]
        forged[0].target = "$s"
        forged[1].target = String(add.target.dropLast(1))
        forged[2].substitutions = ["Swift.String"]
        // Kelvin's sign and K are equal texts.
        forged[3].target = String(add.target.map { $0 == "K" ? "\u{212A}" : $0 })
        #expect(forged[3] == add)
        forged[4].substitutions = []
        forged[5].substitutions = ["Swift.Int"]
        forged[6].substitutions = ["Swift.String", "Swift.String"]
        for call in forged {
            guard case .notAllowed = try await answer(call, [text]) else { return #expect(Bool(false), "\(call)") }
        }
        for number in [0, 2, UInt64.max] {
            guard case .noActor = try await answer(add, [one], to: number) else {
                return #expect(Bool(false), "\(number) is an actor")
            }
        }
        expectEqual(try await actor.total, 1)
        withExtendedLifetime(peer) {}
    }

    @Test func aForgedAnswerIsAnErrorOfTheCall() async throws {
        let test = try TestCenter()
        let system = try SharedActorSystem(in: test.center)
        system.allow(errors: Counter.Refusal.self)
        // A system that never existed, whose name another process serves.
        let fake = SharedActorSystem.ActorID(system: UUID(), number: 1)
        let actor = try Counter.resolve(id: fake, using: system)
        func failure(answering payload: Center.RawPayload) async throws -> SharedNotificationError.Code? {
            let server = try test.center.serve(name: SharedActorSystem.name(of: fake.system), options: .init()) {
                _, _, _ in payload
            }
            defer { server.cancel() }
            return await self.failure { _ = try await actor.total }
        }
        expectEqual(try await failure(answering: .empty), .decodingFailed)
        expectEqual(try await failure(answering: .json("[]")), .decodingFailed)
        let text = Data(try Center.RawPayload(encoding: "a").bytes)
        for (answer, code) in [
            (.returned(text), .decodingFailed), (.returnedNothing, .decodingFailed),
            (.returned(Data()), .decodingFailed),
            (.threw(type: "TestActors.Counter.Refusal", value: text, text: "no"), .serverFailed),
            (.threw(type: "Foundation.URLComponents", value: text, text: "no"), .serverFailed),
            (.noActor, .notFound), (.notAllowed, .notPermitted),
        ] as [(Answer, SharedNotificationError.Code)] {
            expectEqual(try await failure(answering: .init(encoding: answer)), code)
        }
        let server = try test.center.serve(name: "tidings.actors.name.fake", options: .init()) { _, _, _ in text.raw }
        expectEqual(await self.failure { _ = try await system.resolve(Counter.self, named: "fake") }, .decodingFailed)
        server.cancel()
    }
}

extension Data {
    fileprivate var raw: Center.RawPayload { .init(format: .cbor, bytes: Array(self)) }
}
