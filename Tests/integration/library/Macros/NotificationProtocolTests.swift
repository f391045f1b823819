#if Macros
    import Dispatch
    import Testing
    import TidingsAdministration

    @testable import Tidings

    @NotificationProtocol
    protocol UserObserver: AnyObject {
        func userNameChanged(oldName: String, newName: String)
        func userNameChanged(_ count: Int)
        func visited(_ cities: [String], from label: Label, on day: Int?)
        /// Optional.
        func signedOut()
    }

    extension UserObserver {
        func signedOut() {}
    }

    /// The protocol in an older build.
    enum Older {
        @NotificationProtocol
        protocol UserObserver: AnyObject {
            func userNameChanged(oldName: String, newName: String)
        }
    }

    /// The protocol in a newer build.
    enum Newer {
        @NotificationProtocol
        protocol UserObserver: AnyObject {
            @NotificationName("userNameChanged(oldName:newName:)")
            @NotificationDefault("reason", "unknown")
            func userNameChanged(oldName: String, newName: String, reason: String, by user: Int?)
        }
    }

    @MainActor @NotificationProtocol(prefix: "com.example")
    protocol MainObserver: AnyObject {
        func moved(x: Double)
    }

    @NotificationProtocol
    private protocol HiddenObserver: AnyObject {
        func seen(by user: String)
    }

    struct Counted: Center.Message {
        static let name: Center.Name = "watcher.counted"
        var number: Int
    }

    final class Watcher: UserObserver, Older.UserObserver, HiddenObserver, Sendable {
        let events: Events<String>
        let inside: (@Sendable () -> Void)?

        init(_ events: Events<String>, inside: (@Sendable () -> Void)? = nil) {
            self.events = events
            self.inside = inside
        }

        func userNameChanged(oldName: String, newName: String) {
            inside?()
            events.add("\(oldName) to \(newName)")
        }
        func userNameChanged(_ count: Int) { events.add("\(count)") }
        func count(_ counted: Counted) { events.add("number \(counted.number)") }
        func visited(_ cities: [String], from label: Label, on day: Int?) {
            events.add("\(cities) \(label.x) \(day ?? -1)")
        }
        func signedOut() { events.add("out") }
        func seen(by user: String) { events.add("seen by \(user)") }
    }

    final class Quiet: UserObserver, Newer.UserObserver, Sendable {
        let events: Events<String>
        init(_ events: Events<String>) { self.events = events }

        func userNameChanged(oldName: String, newName: String) { events.add("\(oldName) to \(newName)") }
        func userNameChanged(oldName: String, newName: String, reason: String, by user: Int?) {
            events.add("\(oldName) to \(newName), \(reason) \(user ?? -1)")
        }
        func userNameChanged(_ count: Int) { events.add("\(count)") }
        func visited(_ cities: [String], from label: Label, on day: Int?) {}
    }

    @MainActor final class OnMain: MainObserver {
        let events: Events<Double>
        init(_ events: Events<Double>) { self.events = events }

        func moved(x: Double) {
            MainActor.assertIsolated()
            events.add(x)
        }
    }

    @Suite(.serialized, .timeLimit(.minutes(10)))
    struct NotificationProtocolTests {
        @Test func methodsAreCalledInOrder() async throws {
            let test = try TestCenter()
            let watcher = Watcher(Events())
            let token = try test.center.addObserver(watcher, as: UserObserverMessages.self)
            let poster = UserObserverPoster(test.center)
            for round in 0..<100 {
                try poster.userNameChanged(oldName: "a\(round)", newName: "b")
                try poster.userNameChanged(round)
                try poster.visited(["Rome"], from: Label(x: round, city: nil), on: nil)
                try poster.signedOut()
            }
            expectEqual(
                await watcher.events.wait(for: 400),
                (0..<100).flatMap { ["a\($0) to b", "\($0)", "[\"Rome\"] \($0) -1", "out"] })
            token.cancel()
        }

        enum Second: CaseIterable { case otherProtocol, ownerOnItsQueue, owner }
        enum Blocked: CaseIterable { case nothing, ownMethod, otherObject }

        /// An object has two registrations. A blocked closure makes another thread the leader, which must not overtake.
        @Test(arguments: Second.allCases, Blocked.allCases)
        func theRegistrationsOfOneObjectKeepOneOrder(_ second: Second, _ blocked: Blocked) async throws {
            let test = try TestCenter()
            let center = test.center
            let gate = Gate()
            if blocked != .ownMethod { gate.open() }
            let watcher = Watcher(Events()) { gate.pass() }
            // Every tenth time, the other object waits until the watcher has received the same notification.
            let calls = Locked(0)
            let other = Watcher(Events()) {
                let call = calls.withLock { calls in
                    defer { calls += 1 }
                    return calls
                }
                if blocked == .otherObject, call % 10 == 0 { watcher.events.block(for: 2 * call + 1) }
            }
            var tokens: [Center.ObservationToken] = []
            try center.addObserver(other, as: UserObserverMessages.self).store(in: &tokens)
            try center.addObserver(watcher, as: UserObserverMessages.self).store(in: &tokens)
            if second == .otherProtocol {
                try center.addObserver(watcher, as: HiddenObserverMessages.self).store(in: &tokens)
            } else {
                let queue = second == .owner ? nil : DispatchQueue(label: "owner")
                try center.addObserver(for: Counted.self, options: .init(owner: watcher, queue: queue)) {
                    [weak watcher] in watcher?.count($0)
                }.store(in: &tokens)
            }
            let witness = Events<Void>()
            let name = second == .otherProtocol ? HiddenObserverMessages.messages[0].name : Counted.name
            try center.addObserver(forNames: [name]) { _ in witness.add(()) }.store(in: &tokens)
            var expected: [String] = []
            for number in 0..<50 {
                try UserObserverPoster(center).userNameChanged(oldName: "\(number)", newName: "")
                if second == .otherProtocol {
                    try HiddenObserverPoster(center).seen(by: "\(number)")
                } else {
                    try center.post(Counted(number: number))
                }
                expected += ["\(number) to ", second == .otherProtocol ? "seen by \(number)" : "number \(number)"]
            }
            // Everything has been routed, by another thread while one is blocked.
            await witness.wait(for: 50)
            if blocked == .ownMethod { expectEqual(watcher.events.all, []) }
            gate.open()
            expectEqual(await watcher.events.wait(for: 100), expected)
            expectEqual(await other.events.wait(for: 50), (0..<50).map { "\($0) to " })
            for token in tokens { token.cancel() }
        }

        /// The methods of its first registration still run and wait when the dispatcher has failed.
        @Test func anObserverOfAnEndedCenterCanNotBeRegisteredAgain() async throws {
            let test = try TestCenter()
            let failed = Events<Void>()
            test.center.onDiagnostic = { if case .dispatchFailed = $0 { failed.add(()) } }
            let (began, gate) = (Events<Void>(), Gate())
            let watcher = Watcher(Events()) {
                began.add(())
                gate.pass()
            }
            let options = Center.ObserverOptions(queue: DispatchQueue(label: "test"))
            let token = try test.center.addObserver(watcher, as: UserObserverMessages.self, options: options)
            let poster = UserObserverPoster(test.center)
            try poster.userNameChanged(oldName: "a", newName: "b")
            try poster.userNameChanged(1)
            await began.wait(for: 1)
            try Center.remove(named: test.name, configuration: .init(directory: test.directory))
            await failed.wait(for: 1)
            let error = #expect(throws: SharedNotificationError.self) {
                try test.center.addObserver(watcher, as: UserObserverMessages.self, options: options)
            }
            #expect(error?.code == .removed)
            #expect(!token.isCancelled)
            gate.open()
            await expectEqual(watcher.events.wait(for: 2), ["a to b", "1"])
            while !token.isCancelled { await Task.yield() }
        }

        @Test func namesOnTheWire() {
            func names(_ messages: [any Center.Message.Type]) -> [Center.Name] { messages.map { $0.name } }
            #expect(
                names(UserObserverMessages.messages) == [
                    "UserObserver.userNameChanged(oldName:newName:)", "UserObserver.userNameChanged(_:)",
                    "UserObserver.visited(_:from:on:)", "UserObserver.signedOut()",
                ])
            #expect(names(Newer.UserObserverMessages.messages) == ["UserObserver.userNameChanged(oldName:newName:)"])
            #expect(names(MainObserverMessages.messages) == ["com.example.MainObserver.moved(x:)"])
        }

        @Test func bothWaysBetweenProcesses() async throws {
            let test = try TestCenter()
            let watcher = Watcher(Events())
            let token = try test.center.addObserver(watcher, as: UserObserverMessages.self)
            let peer = try Peer(test, "observe-protocol", "3", "post-protocol")
            expectEqual(await peer.line(), "observing")
            let poster = UserObserverPoster(test.center)
            try poster.userNameChanged(oldName: "a", newName: "b")
            try poster.userNameChanged(5)
            try poster.signedOut()
            expectEqual(await peer.lines.wait(for: 4), ["observing", "changed a b", "count 5", "out"])
            expectEqual(await watcher.events.wait(for: 5), ["a to b", "5", "out", "c to d", "out"])
            token.cancel()
        }

        @Test func oldAndNewUnderstandEachOther() async throws {
            let name = "UserObserver.userNameChanged(oldName:newName:)"
            let report = "two types: \(name): UserNameChangedMessage, UserNameChangedMessage"
            let test = try TestCenter(expecting: [report])
            let (old, new) = (Watcher(Events()), Quiet(Events()))
            let first = try test.center.addObserver(old, as: Older.UserObserverMessages.self)
            let second = try test.center.addObserver(new, as: Newer.UserObserverMessages.self)
            try Newer.UserObserverPoster(test.center).userNameChanged(oldName: "a", newName: "b", reason: "r", by: 1)
            let peer = try Peer(test, "post-protocol")
            await peer.waitForEnd()
            expectEqual(await new.events.wait(for: 2), ["a to b, r 1", "c to d, unknown -1"])
            expectEqual(await old.events.wait(for: 2), ["a to b", "c to d"])
            first.cancel()
            second.cancel()
        }

        /// Also if one of the protocols is only observed. Reported once.
        @Test func twoProtocolsOfOneNameAreReported() throws {
            let test = try TestCenter()
            let (center, told) = (test.center, Events<String>())
            center.onDiagnostic = { diagnostic in
                if case .mistake(let mistake) = diagnostic,
                    case .nameOfTwoTypes(let name, let first, let second) = mistake.kind
                {
                    told.add("\(name): \(first.contains("Older")), \(second.contains("Older"))")
                }
            }
            let (watcher, quiet) = (Watcher(Events()), Quiet(Events()))
            let poster = Older.UserObserverPoster(center)
            for name in ["a", "b"] { try poster.userNameChanged(oldName: name, newName: "") }
            let old = try center.addObserver(watcher, as: Older.UserObserverMessages.self)
            #expect(told.count == 0)
            let new = [
                try center.addObserver(watcher, as: UserObserverMessages.self),
                try center.addObserver(quiet, as: UserObserverMessages.self),
            ]
            let once = ["UserObserver.userNameChanged(oldName:newName:): true, false"]
            #expect(told.all == once)
            try UserObserverPoster(center).userNameChanged(oldName: "", newName: "c")
            try UserObserverPoster(center).signedOut()
            #expect(told.all == once)
            old.cancel()
            for token in new { token.cancel() }
        }

        @Test func anOptionalMethodMayBeOmitted() async throws {
            let test = try TestCenter()
            let quiet = Quiet(Events())
            let token = try test.center.addObserver(quiet, as: UserObserverMessages.self)
            try UserObserverPoster(test.center).signedOut()
            try UserObserverPoster(test.center).userNameChanged(1)
            expectEqual(await quiet.events.wait(for: 1), ["1"])
            token.cancel()
        }

        @Test @MainActor func theMainActorsOnIt() async throws {
            let test = try TestCenter()
            let observer = OnMain(Events())
            let token = try test.center.addObserver(observer, as: MainObserverMessages.self)
            for number in 0..<50 { try MainObserverPoster(test.center).moved(x: Double(number)) }
            expectEqual(await observer.events.wait(for: 50), (0..<50).map(Double.init))
            await token.cancelAndWait()
        }

        @Test func aPrivateProtocolIsObserved() async throws {
            let test = try TestCenter()
            let watcher = Watcher(Events())
            let token = try test.center.addObserver(watcher, as: HiddenObserverMessages.self)
            try HiddenObserverPoster(test.center).seen(by: "Miles")
            expectEqual(await watcher.events.wait(for: 1), ["seen by Miles"])
            token.cancel()
        }

        @Test func anObserverAddedTwiceIsCalledOnce() async throws {
            let test = try TestCenter()
            let watcher = Watcher(Events())
            let first = try test.center.addObserver(watcher, as: UserObserverMessages.self)
            let second = try test.center.addObserver(watcher, as: UserObserverMessages.self)
            #expect(first == second)
            let poster = UserObserverPoster(test.center)
            try poster.userNameChanged(1)
            try poster.userNameChanged(2)
            expectEqual(await watcher.events.wait(for: 2), ["1", "2"])
            first.cancel()
            let third = try test.center.addObserver(watcher, as: UserObserverMessages.self)
            try poster.userNameChanged(3)
            expectEqual(await watcher.events.wait(for: 3), ["1", "2", "3"])
            third.cancel()
        }

        @Test func removalByProtocolAndAltogether() async throws {
            let test = try TestCenter()
            let watcher = Watcher(Events())
            var tokens: [Center.ObservationToken] = []
            try test.center.addObserver(watcher, as: UserObserverMessages.self).store(in: &tokens)
            try test.center.addObserver(watcher, as: HiddenObserverMessages.self).store(in: &tokens)
            tokens[0].cancel()
            #expect(tokens.map(\.isCancelled) == [true, false])
            try UserObserverPoster(test.center).userNameChanged(1)
            try HiddenObserverPoster(test.center).seen(by: "me")
            expectEqual(await watcher.events.wait(for: 1), ["seen by me"])
            try test.center.addObserver(watcher, as: UserObserverMessages.self).store(in: &tokens)
            // The watcher also owns an observation.
            try test.center.addObserver(for: Counted.self, options: .init(owner: watcher)) { [weak watcher] in
                watcher?.count($0)
            }.store(in: &tokens)
            test.center.removeObservers(of: watcher)
            #expect(tokens.map(\.isCancelled) == [true, true, true, true])
            try test.center.post(Counted(number: 7))
            let other = Watcher(Events())
            let token = try test.center.addObserver(other, as: UserObserverMessages.self)
            try UserObserverPoster(test.center).userNameChanged(2)
            await other.events.wait(for: 1)
            #expect(watcher.events.count == 1)
            token.cancel()
        }

        @Test func removalFromWithin() async throws {
            let test = try TestCenter()
            let center = test.center
            let holder = Locked<Watcher?>(nil)
            let events = Events<String>()
            let watcher = Watcher(events) {
                if let watcher = holder.withLock({ $0 }) { center.removeObservers(of: watcher) }
            }
            holder.withLock { $0 = watcher }
            let token = try center.addObserver(watcher, as: UserObserverMessages.self)
            let poster = UserObserverPoster(center)
            try poster.userNameChanged(oldName: "a", newName: "b")
            try poster.userNameChanged(oldName: "c", newName: "d")
            expectEqual(await events.wait(for: 1), ["a to b"])
            #expect(token.isCancelled)
            holder.withLock { $0 = nil }
        }

        enum Leaving: CaseIterable { case dropsItsToken, cancelsAndRegistersAnew }

        /// A method ends its own registration and goes on: a removal on another thread waits for the method.
        @Test(arguments: Leaving.allCases)
        func removalWaitsForAMethodThatEndedItsRegistration(_ leaving: Leaving) async throws {
            let test = try TestCenter()
            let center = test.center
            let events = Events<String>()
            let gate = Gate()
            let tokens = Locked<[Center.ObservationToken]>([])
            let holder = Locked<Watcher?>(nil)
            let watcher = Watcher(events) {
                // Released without the lock.
                var own = tokens.withLock { tokens in
                    defer { tokens = [] }
                    return tokens
                }
                switch leaving {
                case .dropsItsToken: own = []
                case .cancelsAndRegistersAnew:
                    own[0].cancel()
                    guard let watcher = holder.withLock({ $0 }) else { return }
                    #expect(throws: Never.self) {
                        let token = try center.addObserver(watcher, as: UserObserverMessages.self)
                        tokens.withLock { $0 = [token] }
                    }
                }
                events.add("begun")
                gate.pass()
            }
            holder.withLock { $0 = watcher }
            do {
                let token = try center.addObserver(watcher, as: UserObserverMessages.self)
                tokens.withLock { $0 = [token] }
            }
            try UserObserverPoster(center).userNameChanged(oldName: "a", newName: "b")
            await events.wait(for: 1)
            let numbers = Events<Int32>()
            let remover = try WorkerThread {
                numbers.add(WorkerThread.currentNumber ?? 0)
                center.removeObservers(of: watcher)
                events.add("removed")
            }
            let number = await numbers.wait(for: 1)[0]
            while events.count == 1, ThreadTime.look(at: number)?.isReady == true { await Task.yield() }
            gate.open()
            remover.join()
            expectEqual(events.all, ["begun", "a to b", "removed"])
            // The thread that ran the method ends without a further call.
            while try center.statistics.observers > 0 { await Task.yield() }
            holder.withLock { $0 = nil }
        }

        @Test func observersAreHeldWeakly() async throws {
            let test = try TestCenter()
            let events = Events<String>()
            var watcher: Watcher? = Watcher(events)
            weak let reference = watcher
            let token = try test.center.addObserver(watcher!, as: UserObserverMessages.self)
            let poster = UserObserverPoster(test.center)
            try poster.userNameChanged(1)
            await events.wait(for: 1)
            watcher = nil
            // The method that was running may still hold the observer: the next notification arrives after it returned.
            let other = Watcher(Events())
            let otherToken = try test.center.addObserver(other, as: UserObserverMessages.self)
            try poster.userNameChanged(2)
            await other.events.wait(for: 1)
            #expect(reference == nil && events.count == 1)
            token.cancel()
            otherToken.cancel()
        }

        @Test func anUndecodablePayloadIsReported() async throws {
            let test = try TestCenter()
            let watcher = Watcher(Events())
            let undecodable = Events<String>()
            let token = try test.center.addObserver(
                watcher, as: UserObserverMessages.self,
                options: .init(onUndecodable: { notification, _ in undecodable.add(notification.payload.json) }))
            let peer = try Peer(
                test, "post-json", "UserObserver.userNameChanged(oldName:newName:)", #"{"oldName":"a"}"#, "post-json",
                "UserObserver.userNameChanged(_:)", #"{"count":3,"more":true}"#)
            await peer.waitForEnd()
            expectEqual(await watcher.events.wait(for: 1), ["3"])
            #expect(undecodable.all == [#"{"oldName":"a"}"#])
            token.cancel()
        }

        @Test func subjects() async throws {
            let test = try TestCenter()
            let watcher = Watcher(Events())
            let token = try test.center.addObserver(
                watcher, as: UserObserverMessages.self, options: .init(subject: "x"))
            try UserObserverPoster(test.center, options: .init(subject: "y")).userNameChanged(1)
            try UserObserverPoster(test.center, options: .init(subject: "x")).userNameChanged(2)
            expectEqual(await watcher.events.wait(for: 1), ["2"])
            token.cancel()
        }

        /// Two subjects that are equal in Unicode, but have different bytes, are two subjects.
        @Test func subjectsAreComparedByTheirBytes() async throws {
            let test = try TestCenter()
            let watcher = Watcher(Events())
            let (one, other) = ("\u{e9}", "e\u{301}")
            let first = try test.center.addObserver(
                watcher, as: UserObserverMessages.self, options: .init(subject: one))
            let second = try test.center.addObserver(
                watcher, as: UserObserverMessages.self, options: .init(subject: other))
            #expect(first != second)
            #expect(
                try test.center.addObserver(watcher, as: UserObserverMessages.self, options: .init(subject: other))
                    == second)
            try UserObserverPoster(test.center, options: .init(subject: one)).userNameChanged(1)
            try UserObserverPoster(test.center, options: .init(subject: other)).userNameChanged(2)
            expectEqual(await watcher.events.wait(for: 2), ["1", "2"])
            for token in [first, second] { token.cancel() }
        }
    }
#endif
