#if Service
    import ChildProcesses
    import Foundation
    import Synchronization
    import Testing
    import Tidings
    import TidingsTesting
    import Tracing

    typealias Center = SharedNotificationCenter

    struct Track: Center.Message, Equatable {
        static let name: Center.Name = "test.track"
        var number: Int
        init(_ number: Int) { self.number = number }
    }

    struct Unexpected: Error {}

    /// Events of other tasks, in their order.
    final class Events<Event: Sendable>: Sendable {
        private let stream: AsyncStream<Event>
        private let continuation: AsyncStream<Event>.Continuation
        private let events = Locked<[Event]>([])

        init() { (stream, continuation) = AsyncStream.makeStream() }

        func add(_ event: Event) {
            events.withLock { $0.append(event) }
            continuation.yield(event)
        }

        var all: [Event] { events.withLock { $0 } }

        /// Waits for the next event that no call has returned. One task calls it.
        func next() async throws -> Event {
            var iterator = stream.makeAsyncIterator()
            guard let event = await iterator.next() else { throw Unexpected() }
            return event
        }
    }

    /// A tracer that speaks W3C Trace Context: the tracer for tests of swift-distributed-tracing has other keys.
    struct W3CTracer: Tracer {
        struct Finished: Sendable {
            var name: String
            var kind: SpanKind
            var context: ServiceContext
            var parent: String?
            var links: [SpanLink]
            var attributes: SpanAttributes
            var errors: Int
        }

        final class State: Sendable {
            let finished = Locked<[Finished]>([])
            let numbers = Atomic<UInt64>(0)
            /// Called by `inject`.
            let onInject = Locked<(@Sendable () -> Void)?>(nil)
        }

        enum TraceKey: ServiceContextKey { typealias Value = String }
        enum BaggageKey: ServiceContextKey { typealias Value = String }

        let state = State()

        final class TestSpan: Tracing.Span {
            let context: ServiceContext
            let parent: String?
            let kind: SpanKind
            private let state: State
            private let content: Locked<(name: String, attributes: SpanAttributes, links: [SpanLink], errors: Int)>

            init(_ name: String, _ context: ServiceContext, parent: String?, _ kind: SpanKind, _ state: State) {
                (self.context, self.parent, self.kind, self.state) = (context, parent, kind, state)
                content = Locked((name, [:], [], 0))
            }

            var operationName: String {
                get { content.withLock { $0.name } }
                set { content.withLock { $0.name = newValue } }
            }
            var attributes: SpanAttributes {
                get { content.withLock { $0.attributes } }
                set { content.withLock { $0.attributes = newValue } }
            }
            var isRecording: Bool { true }
            func setStatus(_ status: SpanStatus) {}
            func addEvent(_ event: SpanEvent) {}
            func addLink(_ link: SpanLink) { content.withLock { $0.links.append(link) } }
            func recordError<Instant: TracerInstant>(
                _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
            ) {
                content.withLock { $0.errors += 1 }
            }
            func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
                let content = content.withLock { $0 }
                let finished = Finished(
                    name: content.name, kind: kind, context: context, parent: parent, links: content.links,
                    attributes: content.attributes, errors: content.errors)
                state.finished.withLock { $0.append(finished) }
            }
        }

        func startSpan<Instant: TracerInstant>(
            _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
            at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
        ) -> TestSpan {
            var context = context()
            let parent = context[TraceKey.self]
            let number = state.numbers.wrappingAdd(1, ordering: .relaxed).newValue
            let trace = parent.map { String($0.split(separator: "-")[1]) } ?? String(format: "%032lx", number)
            context[TraceKey.self] = "00-\(trace)-\(String(format: "%016lx", number))-01"
            return TestSpan(operationName, context, parent: parent, kind, state)
        }

        func forceFlush() {}

        func inject<Carrier, Inject: Injector>(
            _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
        ) where Carrier == Inject.Carrier {
            state.onInject.withLock { $0 }?()
            if let trace = context[TraceKey.self] { injector.inject(trace, forKey: "traceparent", into: &carrier) }
            if let baggage = context[BaggageKey.self] { injector.inject(baggage, forKey: "Baggage", into: &carrier) }
        }

        func extract<Carrier, Extract: Extractor>(
            _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
        ) where Carrier == Extract.Carrier {
            context[TraceKey.self] = extractor.extract(key: "traceparent", from: carrier)
            context[BaggageKey.self] = extractor.extract(key: "Baggage", from: carrier)
        }
    }

    /// Another process, with commands on its standard input and answers on its standard output.
    final class Peer: @unchecked Sendable {
        // Sendable: the test uses a peer from one task at a time.
        let process: ChildProcess
        private let output: UnsafeMutablePointer<FILE>
        private let input: Int32

        init(_ test: TestCenter, environment: [String: String] = [:]) throws {
            // A peer that has died can't be written to. Children have the default.
            signal(SIGPIPE, SIG_IGN)
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let peer = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("ServicePeer").path
            let (input, output) = (try PipeEnds(), try PipeEnds())
            process = try ChildProcess.start(
                peer, [test.center.name], environment: test.environment.merging(environment) { $1 },
                input: input.reading, output: output.writing, keepsOthers: false)
            close(input.reading)
            close(output.writing)
            self.input = input.writing
            self.output = fdopen(output.reading, "r")
        }

        deinit {
            close(input)
            process.send(SIGKILL)
            _ = process.waitUntilEnded()
            fclose(output)
        }

        func send(_ line: String) {
            let line = Array((line + "\n").utf8)
            _ = write(input, line, line.count)
        }

        /// The next line; `nil`: the process has ended.
        func line() async -> String? {
            await withCheckedContinuation { continuation in
                Thread { [self] in
                    var line: UnsafeMutablePointer<CChar>?
                    var capacity = 0
                    let count = getline(&line, &capacity, output)
                    let text = count > 0 ? String(cString: line!).trimmingCharacters(in: .newlines) : nil
                    free(line)
                    continuation.resume(returning: text)
                }.start()
            }
        }
    }

    /// `#expect` with an `await` in it prints no values.
    func expectEqual<Value: Equatable>(
        _ received: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(received == expected, sourceLocation: sourceLocation)
    }
#endif
