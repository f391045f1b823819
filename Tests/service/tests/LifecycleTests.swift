#if Service
    import Dispatch
    import ServiceLifecycle
    import ServiceLifecycleTestKit
    import Testing
    import TidingsAdministration
    import TidingsFoundation
    import TidingsTesting

    @testable import Tidings
    @testable import TidingsService

    @Suite(.serialized, .timeLimit(.minutes(2)))
    struct LifecycleTests {
        /// Runs the service until `body` has returned, shuts it down, and waits for its end.
        private func running(
            _ service: any Service, _ body: () async throws -> Void
        ) async throws {
            try await testGracefulShutdown { trigger in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await service.run() }
                    try await body()
                    trigger.triggerGracefulShutdown()
                    try await group.waitForAll()
                }
            }
        }

        /// All are in the ring when the shutdown begins, and the closure is in the first one.
        @Test(arguments: [false, true])
        func aShutdownDeliversWhatWasPosted(lossless: Bool) async throws {
            let test = try TestCenter()
            let handled = Events<Int>()
            let gate = Events<Void>()
            // The retained message shows that the service observes.
            try test.center.setState(Track(0))
            let service = NotificationService(
                try test.other(), of: Track.self, options: .init(lossless: lossless)
            ) { track, _ in
                handled.add(track.number)
                if track.number == 0 { try await gate.next() }
            }
            try await running(service) {
                expectEqual(try await handled.next(), 0)
                for number in 1...200 { try test.center.post(Track(number)) }
                gate.add(())
            }
            #expect(handled.all == Array(0...200))
        }

        /// Names that the service does not observe, up to the shutdown: it must not wait for its own name.
        @Test func aShutdownEndsAServiceThatReceivesNothing() async throws {
            let test = try TestCenter()
            let handled = Events<Int>()
            try test.center.setState(Track(0))
            let center = try test.other()
            let service = NotificationService(center, of: Track.self) { track, _ in handled.add(track.number) }
            try await running(service) {
                expectEqual(try await handled.next(), 0)
                for _ in 1...1000 { try test.center.post(name: "test.other") }
            }
            #expect(handled.all == [0])
        }

        /// The center object's queue is in the diagnostics hook, so the shutdown alone can post what was deferred.
        @Test func aShutdownPostsWhatWasDeferred() async throws {
            struct Large: Center.Message {
                static let name: Center.Name = "test.large"
                var text = String(repeating: "x", count: 5000)
            }
            let test = try TestCenter(configuration: .init(maximumPayloadSize: 1024))
            let center = try test.other()
            let numbers = try test.center.messages(of: Track.self).register()
            let told = Events<Center.Name>()
            let gate = DispatchSemaphore(value: 0)
            defer { gate.signal() }
            center.onDiagnostic = {
                guard case .postFailed(let name, _) = $0 else { return }
                told.add(name)
                gate.wait()
            }
            try center.enqueue(Large(), postingStyle: .asap)
            let failed = try await told.next()
            #expect(failed == Large.name)
            let service = NotificationService(center, of: Track.self) { _, _ in }
            try await running(service) { try center.enqueue(Track(1), postingStyle: .whenIdle) }
            numbers.finish()
            var received: [Int] = []
            for await track in numbers { received.append(track.number) }
            #expect(received == [1])
        }

        @Test func theServiceThrowsIfItsCenterEnds() async throws {
            let test = try TestCenter(in: .directory)
            let handled = Events<Int>()
            try test.center.setState(Track(0))
            let center = try test.other()
            let service = NotificationService(center, of: Track.self) { track, _ in handled.add(track.number) }
            // It ends without a shutdown.
            let running = Task { try await service.run() }
            _ = try await handled.next()
            try Center.remove(named: test.center.name, configuration: .init(directory: test.directory))
            let error = await #expect(throws: SharedNotificationError.self) { try await running.value }
            #expect(error?.code == .removed)
        }

        @Test func anErrorOfTheClosureEndsNothing() async throws {
            let test = try TestCenter()
            let handled = Events<Int>()
            let failed = Events<UInt64>()
            try test.center.setState(Track(0))
            let service = NotificationService(
                try test.other(), of: Track.self, onFailure: { failed.add($1.sequence) },
                using: { track, _ in
                    handled.add(track.number)
                    if track.number == 1 { throw Unexpected() }
                })
            try await running(service) {
                _ = try await handled.next()
                for number in 1...2 { try test.center.post(Track(number)) }
            }
            #expect(handled.all == [0, 1, 2])
            #expect(failed.all.count == 1)
        }

        @Test func aSequenceEndsAfterWhatWasPosted() async throws {
            let test = try TestCenter()
            let numbers = try test.other().messages(of: Track.self).register()
            try await testGracefulShutdown { trigger in
                for number in 1...100 { try test.center.post(Track(number)) }
                trigger.triggerGracefulShutdown()
                // Without an end this loop would not return: the test's time limit ends it.
                var received: [Int] = []
                for await track in numbers.endOnGracefulShutdown() { received.append(track.number) }
                #expect(received == Array(1...100))
            }
        }

        /// A thread posts without a pause while sequences end: each ends, and has everything from before. On a busy
        /// machine the poster may lap the observer, which then has the loss.
        @Test func sequencesEndUnderLoad() async throws {
            let test = try TestCenter(configuration: .init(slots: 65_536))
            let center = try test.other()
            let isOver = Locked(false)
            let poster = Task.detached {
                while !isOver.withLock({ $0 }) { try test.center.post(name: "test.other") }
            }
            for _ in 0..<200 {
                let deliveries = try center.deliveries(of: Track.self).register()
                let first = Track(Int.random(in: 0 ... .max / 2))
                try test.center.post(first)
                deliveries.finish()
                var received: [Track?] = []
                for await delivery in deliveries {
                    if case .message(let track, _) = delivery { received.append(track) }
                    if case .missed(1) = delivery { received.append(nil) }
                }
                #expect(received == [first] || received == [nil])
            }
            isOver.withLock { $0 = true }
            try await poster.value
        }

        @Test func aCenterIsAService() async throws {
            let test = try TestCenter(in: .directory)
            let center = try test.other()
            #expect(center.health == .init(isAttached: true, incarnation: center.incarnation, behind: 0))
            try await running(center) {}
            let running = Task { try await center.run() }
            // Its observer is there.
            while try !test.center.observedNames.contains(where: { $0.observers > 0 }) { await Task.yield() }
            try Center.remove(named: test.center.name, configuration: .init(directory: test.directory))
            let error = await #expect(throws: SharedNotificationError.self) { try await running.value }
            #expect(error?.code == .removed)
            #expect(!center.health.isAttached)
        }

        @Test func theHealthShowsHowFarAServiceIsBehind() async throws {
            let test = try TestCenter()
            let center = try test.other()
            let gate = Events<Void>()
            let began = Events<Void>()
            try test.center.setState(Track(0))
            let service = NotificationService(center, of: Track.self) { _, _ in
                began.add(())
                try await gate.next()
            }
            try await running(service) {
                try await began.next()
                for _ in 1...10 { try test.center.post(name: "test.other") }
                #expect(center.health.behind == 10)
                gate.add(())
            }
        }

        @Test func aCancelledServiceReturns() async throws {
            let test = try TestCenter()
            let handled = Events<Int>()
            try test.center.setState(Track(0))
            let center = try test.other()
            let service = NotificationService(center, of: Track.self) { track, _ in handled.add(track.number) }
            let task = Task { try await service.run() }
            _ = try await handled.next()
            task.cancel()
            try await task.value
        }
    }
#endif
