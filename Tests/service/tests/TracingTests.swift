#if Service
    import Testing
    import TidingsFoundation
    import TidingsTesting
    import Tracing

    @testable import Tidings
    @testable import TidingsService

    @Suite(.serialized, .timeLimit(.minutes(10)))
    struct TracingTests {
        private let tracer = W3CTracer()
        private let test: TestCenter
        private let center: Center

        init() throws {
            test = try TestCenter()
            center = test.center
            center.carriesServiceContext = true
        }

        private func context(_ number: Int, baggage: String? = nil) -> ServiceContext {
            var context = ServiceContext.topLevel
            context[W3CTracer.TraceKey.self] = "00-0000000000000000000000000000abcd-00000000000000ef-0\(number)"
            context[W3CTracer.BaggageKey.self] = baggage
            return context
        }

        /// What an observer receives of posts that `body` makes.
        private func traces(_ body: () throws -> Void) async throws -> [TraceFields?] {
            let posts = try test.other().deliveries(ofNames: .all).register()
            try withTracer(tracer) { try body() }
            posts.finish()
            var received: [TraceFields?] = []
            for await delivery in posts {
                if case .notification(let notification) = delivery { received.append(notification.envelope.trace) }
            }
            return received
        }

        struct Raw: Center.BitwiseMessage { var number: Int }

        /// One for each way of posting.
        @Test func everyPostCarriesTheCurrentContext() async throws {
            let key = Center.Key<Int, String>("test.key")
            let received = try await traces {
                for number in 1...2 {
                    try ServiceContext.withValue(context(number)) {
                        try center.post(Track(1))
                        try center.post(Track(1), options: .init(subject: "a", timeout: .seconds(10)))
                        try center.post(Raw(number: 1))
                        try center.post(contentsOf: [Track(1), Track(2)])
                        try center.post(key, 1, "a")
                        try center.post(name: "test.name")
                        try center.post(name: "test.built", capacity: 8) {
                            $0.append(repeating: 1, count: 8, as: UInt8.self)
                        }
                        try center.setState(1, for: "test.value")
                        try center.enqueue(Track(1), postingStyle: .now)
                        try center.enqueue(name: "test.later", postingStyle: .whenIdle, coalescing: [])
                    }
                    // Without a context, on another thread.
                    center.postPending()
                }
            }
            let expected = (1...2).flatMap { Array(repeating: context($0)[W3CTracer.TraceKey.self], count: 11) }
            #expect(received.map { $0?.traceparent } == expected)
        }

        @Test func aPostWithoutAContextCarriesNone() async throws {
            let received = try await traces {
                try center.post(Track(1))
                try ServiceContext.withValue(context(1)) { try center.post(Track(2)) }
                try center.post(Track(3))
                center.carriesServiceContext = false
                try ServiceContext.withValue(context(1)) { try center.post(Track(4)) }
                center.carriesServiceContext = true
                try ServiceContext.withValue(context(1)) { try center.post(Track(5)) }
            }
            #expect(received.map { $0 == nil } == [true, false, true, true, false])
        }

        /// The values that were posted, also by a center object that carries a context.
        @Test func stateCanBeRead() throws {
            try center.setState(Track(1))
            #expect(try center.state(for: Track.self) == Track(1))
            try center.setState(nil, for: Track.name)
            #expect(try center.state(for: Track.self) == nil)
        }

        @Test func errorsOfAPostAreItsOwn() throws {
            let error = #expect(throws: SharedNotificationError.self) { try center.post(name: "") }
            #expect(error?.code == .invalidName)
        }

        @Test(arguments: [0, 900, 1000, 100_000])
        func baggageThatDoesNotFitIsLeftOut(size: Int) async throws {
            let baggage = "a=" + String(repeating: "b", count: size)
            let received = try await traces {
                try ServiceContext.withValue(context(1, baggage: baggage)) { try center.post(Track(1)) }
            }
            #expect(received.count == 1)
            #expect(received.first??.traceparent != nil)
            #expect(received.first??.baggage == (size <= 900 ? baggage : nil))
        }

        @Test func aPayloadOfAnySizeHasAContext() async throws {
            let received = try await traces {
                for size in [0, 100, 200, 5000, 1 << 20] {
                    let payload = Center.RawPayload(format: .bytes, bytes: Array(repeating: 7, count: size))
                    _ = try ServiceContext.withValue(context(1)) {
                        try center.post(name: "test.large", payload: payload)
                    }
                }
            }
            #expect(received.count == 5)
            #expect(received.allSatisfy { $0?.traceparent != nil })
        }

        @Test func aTracerThatPostsHasAnEnd() async throws {
            tracer.state.onInject.withLock { $0 = { [center] in _ = try? center.post(name: "test.inner") } }
            let received = try await traces {
                try ServiceContext.withValue(context(1)) { try center.post(Track(1)) }
            }
            #expect(received.map { $0?.traceparent != nil } == [false, true])
        }

        /// A payload that posts while it is encoded: each post has its own context.
        @Test func aPostWithinAPostHasItsOwnContext() async throws {
            let received = try await traces {
                try ServiceContext.withValue(context(1)) {
                    _ = try center.post(name: "test.outer", capacity: 8) { output in
                        _ = try ServiceContext.withValue(context(2)) { try center.post(name: "test.inner") }
                        output.append(repeating: 1, count: 8, as: UInt8.self)
                    }
                }
            }
            #expect(received.map { $0?.traceparent?.last } == ["2", "1"])
        }

        @Test(arguments: [
            "", "00", "00-0000000000000000000000000000abcd-00000000000000ef-01-x",
            "ff-0000000000000000000000000000abcd-00000000000000ef-01",
            "00-00000000000000000000000000000000-00000000000000ef-01",
            "00-0000000000000000000000000000ABCD-00000000000000ef-01",
        ])
        func aContextThatIsNoneIsIgnored(text: String) {
            #expect(!Propagation.isTraceParent(text))
            var envelope = Center.Envelope()
            envelope.trace = TraceFields(traceparent: text, tracestate: "a=b", baggage: "c=d")
            withTracer(tracer) {
                #expect(envelope.serviceContext[W3CTracer.TraceKey.self] == nil)
                #expect(envelope.serviceContext[W3CTracer.BaggageKey.self] == "c=d")
            }
        }

        @Test(arguments: [SpanRelation.linked, .child])
        func aHandlersSpanLinksToThePost(spans: SpanRelation) async throws {
            let handled = Events<String?>()
            try center.setState(Track(0))
            let service = NotificationService(
                try test.other(), of: Track.self, spans: spans
            ) { track, _ in
                handled.add(ServiceContext.current?[W3CTracer.BaggageKey.self])
                if track.number == 2 { throw Unexpected() }
            }
            let task = Task { [tracer] in try await withTracer(tracer) { try await service.run() } }
            _ = try await handled.next()
            try withTracer(tracer) {
                for number in 1...2 {
                    try ServiceContext.withValue(context(1, baggage: "a=b")) { try center.post(Track(number)) }
                }
            }
            for _ in 1...2 { expectEqual(try await handled.next(), "a=b") }
            task.cancel()
            try await task.value
            let finished = tracer.state.finished.withLock { $0 }
            #expect(finished.map(\.name) == Array(repeating: "process test.track", count: 3))
            let posted = context(1)[W3CTracer.TraceKey.self]
            let links = finished.map { $0.links.map { $0.context[W3CTracer.TraceKey.self] } }
            #expect(links == (spans == .linked ? [[], [posted], [posted]] : [[], [], []]))
            #expect(finished.map(\.parent) == (spans == .child ? [nil, posted, posted] : [nil, nil, nil]))
            #expect(finished.map(\.errors) == [0, 0, 1])
            #expect(finished.allSatisfy { $0.kind == .consumer })
        }
    }
#endif
