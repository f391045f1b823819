#if Service
    import CoreMetrics
    import MetricsTestKit
    import Testing
    import Tidings
    import TidingsTesting

    @testable import TidingsService

    @Suite(.serialized, .timeLimit(.minutes(10)))
    struct MetricsTests {
        private let metrics = TestMetrics()
        private let labels = [("center", "test")]

        @Test func theNumbersOfACenterAreReported() async throws {
            let test = try TestCenter()
            let center = try test.other()
            for _ in 0..<7 { try test.center.post(name: "test.before") }
            let reader = try CenterMetrics(center, names: [Track.name], factory: metrics)
            for number in 0..<5 { try test.center.post(Track(number)) }
            try test.center.setState(1, for: "test.value")
            reader.collect()
            #expect(metrics.counterTotal(label: "tidings_posted_total") == 6)
            let byName = try metrics.expectCounter("tidings_name_posted_total", labels + [("name", "test.track")])
            #expect(byName.totalValue == 5)
            #expect(try metrics.expectGauge("tidings_up", labels).lastValue == 1)
            #expect(try metrics.expectGauge("tidings_participants", labels).lastValue == 2)
            #expect(try metrics.expectGauge("tidings_retained_values", labels).lastValue == 1)
            reader.collect()
            #expect(metrics.counterTotal(label: "tidings_posted_total") == 6)
            #expect(byName.totalValue == 5)
        }

        /// The reader is a whole ring behind: what it was too slow for counts, too.
        @Test func postsAreCountedThoughTheReaderIsLapped() throws {
            let test = try TestCenter(configuration: .init(slots: 256))
            let reader = try CenterMetrics(try test.other(), names: [Track.name], factory: metrics)
            for number in 0..<1000 { try test.center.post(Track(number)) }
            reader.collect()
            #expect(metrics.counterTotal(label: "tidings_name_posted_total") == 1000)
            // They were not missed by an observer of the program.
            #expect(metrics.counterTotal(label: "tidings_missed_total") == 0)
        }

        @Test func theNumberOfNamesIsBounded() throws {
            let test = try TestCenter()
            let names = (0...CenterMetrics.maximumNames).map { Center.Name("test.\($0)") }
            let error = #expect(throws: SharedNotificationError.self) {
                try CenterMetrics(test.center, names: names, factory: metrics)
            }
            #expect(error?.code == .invalidArgument)
        }

        /// However many names there are, the program's time series are those of one center.
        @Test func manyNamesAddNoMetrics() throws {
            let test = try TestCenter()
            let reader = try CenterMetrics(try test.other(), names: [Track.name], factory: metrics)
            for number in 0..<20_000 { try test.center.post(name: Center.Name("test.\(number)")) }
            reader.collect()
            #expect(metrics.counterTotal(label: "tidings_posted_total") == 20_000)
            #expect(metrics.counters.count == 5 && metrics.recorders.count + metrics.meters.count == 11)
        }

        @Test func theEndOfACenterIsReported() throws {
            let test = try TestCenter(in: .directory)
            let reader = try CenterMetrics(try test.other(), factory: metrics)
            try Center.remove(named: test.center.name, configuration: .init(directory: test.directory))
            reader.collect()
            #expect(try metrics.expectGauge("tidings_up", labels).lastValue == 0)
        }

        @Test func aServiceCountsWhatItsClosureReceives() async throws {
            let test = try TestCenter()
            let handled = Events<Int>()
            try test.center.setState(Track(0))
            let center = try test.other()
            let task = Task {
                try await withMetricsFactory(metrics) {
                    try await NotificationService(center, of: Track.self) { track, _ in
                        handled.add(track.number)
                        if track.number == 2 { throw Unexpected() }
                    }.run()
                }
            }
            for number in 0...3 {
                if number > 0 { try test.center.post(Track(number)) }
                expectEqual(try await handled.next(), number)
            }
            task.cancel()
            try await task.value
            let labels = labels + [("name", "test.track")]
            #expect(try metrics.expectCounter("tidings_delivered_total", labels).totalValue == 4)
            #expect(try metrics.expectCounter("tidings_handler_failures_total", labels).totalValue == 1)
            #expect(try metrics.expectTimer("tidings_handler_seconds", labels).values.count == 4)
            let waits = try metrics.expectTimer("tidings_wake_to_closure_seconds", labels).values
            // A clock that was not read would make it the machine's uptime.
            #expect(waits.count == 4 && waits.allSatisfy { (0..<60_000_000_000).contains($0) })
            // Not of the retained value.
            #expect(try metrics.expectTimer("tidings_delivery_seconds", labels).values.count == 3)
        }
    }
#endif
