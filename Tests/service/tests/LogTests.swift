#if Service
    import InMemoryLogging
    import Logging
    import Testing
    import TidingsTesting

    @testable import Tidings
    @testable import TidingsService

    private final class Handler: LogHandler, @unchecked Sendable {
        // Sendable: one thread at a time uses it.
        var calls = 0
        var body: () -> Void = {}
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) {
            calls += 1
            body()
        }
    }

    @Suite(.serialized, .timeLimit(.minutes(10)))
    struct LogTests {
        private let handler = InMemoryLogHandler()
        private var logger: Logger { Logger(label: "test") { _ in handler } }

        @Test func aDiagnosticIsALineWithMetadata() async throws {
            let test = try TestCenter()
            let center = try test.other()
            center.log(to: logger)
            let tracks = try center.messages(of: Track.self).register()
            let position = try test.center.post(name: Track.name, payload: .text("no track"))
            tracks.finish()
            for await track in tracks { Issue.record("decoded \(track)") }
            let entry = try #require(handler.entries.first)
            #expect(handler.entries.count == 1)
            #expect(entry.level == .warning)
            #expect(entry.metadata["tidings.center"] == "test")
            #expect(entry.metadata["tidings.name"] == "test.track")
            #expect(entry.metadata["tidings.sequence"] == "\(position)")
        }

        @Test func theLogIsLimitedAndCountsWhatItLeavesOut() {
            let log = DiagnosticLog(logger, center: "test", burst: 3, perSecond: 0)
            for _ in 0..<10 { log.write(.missed(5, "a")) }
            // Each kind has its own limit.
            log.write(.dispatchFailed(SharedNotificationError(.removed, message: "removed")))
            #expect(handler.entries.count == 4)
            #expect(handler.entries.last?.level == .error)
            #expect(handler.entries.last?.metadata["tidings.code"] == "removed")
        }

        @Test func theNextLineHasTheNumberOfThoseLeftOut() {
            var limit = DiagnosticLog.Limit(burst: 1, perSecond: 2)
            let begin = ContinuousClock.now
            let admitted = [0, 0, 0, 10, 10].map { limit.admit(at: begin + .seconds($0), false) }
            #expect(admitted == [0, nil, nil, 2, nil])
        }

        /// What the handler does is not logged again on its thread.
        @Test func aLogHandlerThatCausesDiagnosticsIsNotCalledWithinItself() throws {
            let handler = Handler()
            let log = DiagnosticLog(Logger(label: "test") { _ in handler }, center: "test", burst: 100, perSecond: 0)
            handler.body = { log.write(.missed(1, nil)) }
            log.write(.missed(1, nil))
            #expect(handler.calls == 1)
        }

        /// Each line causes the next diagnostic, on the dispatcher thread: the limit ends that.
        @Test func aLogHandlerThatPostsHasAnEnd() async throws {
            let test = try TestCenter()
            let center = try test.other()
            let (handler, lines, tracks) = (Handler(), Events<Void>(), Events<Int>())
            handler.body = {
                _ = try? test.center.post(name: Track.name, payload: .text("no track"))
                lines.add(())
            }
            center.log(to: Logger(label: "test") { _ in handler }, burst: 3, perSecond: 0)
            let token = try center.addObserver(for: Track.self) { tracks.add($0.number) }
            try test.center.post(name: Track.name, payload: .text("no track"))
            for _ in 1...3 { try await lines.next() }
            try test.center.post(Track(1))
            expectEqual(try await tracks.next(), 1)
            token.cancel()
            #expect(lines.all.count == 3)
        }
    }
#endif
