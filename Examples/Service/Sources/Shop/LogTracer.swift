import Logging
import Synchronization
import Tracing

/// A tracer that writes each span as a line of the log, and carries W3C trace context.
///
/// An example: a server uses an exporter of OpenTelemetry.
struct LogTracer: Tracer {
    enum TraceParent: ServiceContextKey { typealias Value = String }
    let logger: Logger

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> LogSpan {
        var context = context()
        let trace = context[TraceParent.self]?.split(separator: "-").dropFirst().first.map(String.init)
        context[TraceParent.self] = "00-\(trace ?? Self.hexadecimal(32))-\(Self.hexadecimal(16))-01"
        return LogSpan(operationName, context, logger)
    }

    private static func hexadecimal(_ count: Int) -> String {
        String((0..<count).map { _ in "123456789abcdef".randomElement()! })
    }

    func forceFlush() {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Carrier == Inject.Carrier {
        if let trace = context[TraceParent.self] { injector.inject(trace, forKey: "traceparent", into: &carrier) }
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Carrier == Extract.Carrier {
        context[TraceParent.self] = extractor.extract(key: "traceparent", from: carrier)
    }
}

final class LogSpan: Span {
    let context: ServiceContext
    private let logger: Logger
    private let begin = ContinuousClock.now
    private let state: Mutex<(name: String, attributes: SpanAttributes, links: [String])>

    init(_ name: String, _ context: ServiceContext, _ logger: Logger) {
        (self.context, self.logger) = (context, logger)
        state = Mutex((name, [:], []))
    }

    var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }
    var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { state.withLock { $0.attributes = newValue } }
    }
    var isRecording: Bool { true }
    func setStatus(_ status: SpanStatus) {}
    func addEvent(_ event: SpanEvent) {}
    func addLink(_ link: SpanLink) {
        state.withLock { $0.links.append(link.context[LogTracer.TraceParent.self] ?? "") }
    }
    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        logger.error("span", error: error)
    }
    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let links = state.withLock { $0.links }
        let metadata: Logger.Metadata = [
            "trace": "\(context[LogTracer.TraceParent.self] ?? "")", "links": "\(links)",
            "took": "\(begin.duration(to: .now))",
        ]
        logger.info("\(operationName)", metadata: metadata)
    }
}
