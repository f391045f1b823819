#if Service
    public import Tidings
    public import Tracing

    extension SharedNotificationCenter {
        /// Whether posts of this center object carry the current `ServiceContext`. Default: false.
        ///
        /// ```swift
        /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
        /// let center = try SharedNotificationCenter(named: "com.example.player")
        /// center.carriesServiceContext = true
        /// try withSpan("play") { _ in try center.post(TrackChanged(title: "So What")) }
        /// ```
        ///
        /// Promise: while this is true, each post in a task or thread with a `ServiceContext` carries what the
        /// program's tracer (`InstrumentationSystem.instrument`) injects for the keys `traceparent`, `tracestate` and
        /// `baggage`: the W3C headers of these names. They travel in sections beside the payload, and every observer
        /// receives them, in any language (`tidings_delivery_section` in C). Deferred posts carry the context of the
        /// call that deferred them. A request, and a value that is cleared, carry none.
        ///
        /// A notification has room for 992 bytes of them. What does not fit is left out: first the baggage, then the
        /// trace state. A post never fails for it. While this is false, a post costs nothing more. In a forked child it
        /// is false.
        ///
        /// Every process that may observe the center can read the context, and every process that may post can write
        /// any: put no secret into the baggage.
        public var carriesServiceContext: Bool {
            get { postTracer != nil }
            set {
                // Each change keeps the open publishers.
                if newValue != carriesServiceContext { postTracer = newValue ? Propagation.fields : nil }
            }
        }
    }

    extension SharedNotificationCenter.Envelope {
        /// The poster's `ServiceContext`, as the program's tracer extracts it. Without a trace context it is
        /// `.topLevel`.
        ///
        /// ```swift
        /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
        /// let center = try SharedNotificationCenter.default
        /// let token = try center.addObserver(for: TrackChanged.self) { change, envelope in
        ///     withSpan("changed", context: envelope.serviceContext) { _ in print(change.title) }
        /// }
        /// ```
        ///
        /// The poster may have written any text. A `traceparent` that is not as in W3C Trace Context is ignored, with
        /// the trace state, and so is a value that has other characters than printable ASCII.
        public var serviceContext: ServiceContext { Propagation.context(trace) }
    }

    /// How the span of a handler's call refers to that of the post.
    ///
    /// ```swift
    /// struct TrackChanged: SharedNotificationCenter.Message { var title: String }
    /// let center = try SharedNotificationCenter.default
    /// let changes = NotificationService(center, of: TrackChanged.self, spans: .child) { change, _ in
    ///     print(change.title)
    /// }
    /// ```
    public enum SpanRelation: Hashable, Sendable {
        /// The call's span begins a trace, and links to the poster's span. For notifications that many processes
        /// handle: a trace does not grow with their number. The baggage continues.
        case linked
        /// The call's span is a child of the poster's span. For notifications that one process handles.
        case child

        /// Calls `body` in a span; without one if the program has no tracer.
        func withSpan(
            of name: SharedNotificationCenter.Name, _ envelope: SharedNotificationCenter.Envelope,
            _ body: () async throws -> Void
        ) async throws {
            if InstrumentationSystem.instrument is NoOpInstrument { return try await body() }
            let poster = envelope.trace.map { Propagation.context($0) }
            let own = self == .child ? poster : Propagation.baggage(envelope.trace)
            try await Tracing.withSpan("process \(name)", context: own ?? .topLevel, ofKind: .consumer) { span in
                span.updateAttributes { attributes in
                    attributes["messaging.system"] = "tidings"
                    attributes["messaging.operation.type"] = "process"
                    attributes["messaging.destination.name"] = name.rawValue
                    attributes["messaging.message.id"] = envelope.messageID
                }
                var isLinked = self == .linked
                #if MUTANT_SERVICE_NO_LINK  // Found by: service aHandlersSpanLinksToThePost
                    if isMutant("SERVICE_NO_LINK") { isLinked = false }
                #endif
                if isLinked, let poster { span.addLink(SpanLink(context: poster, attributes: [:])) }
                try await body()
            }
        }
    }

    extension SharedNotificationCenter.Envelope {
        /// Identifies the notification among those of all centers of a name.
        var messageID: String { "\(String(incarnation, radix: 16))-\(sequence)" }
    }

    /// Trace context between a `ServiceContext` and the fields of a record.
    enum Propagation {
        /// The tracer, or the closure that it calls, posts: that post has no context, or it would have no end.
        @TaskLocal private static var isInjecting = false

        /// What the current context has for a post.
        @Sendable static func fields(_ name: SharedNotificationCenter.Name) -> TraceFields? {
            guard let context = ServiceContext.current, !isInjecting else { return nil }
            return $isInjecting.withValue(true) {
                var carrier: [String: String] = [:]
                InstrumentationSystem.instrument.inject(context, into: &carrier, using: Headers())
                return TraceFields(
                    traceparent: carrier["traceparent"], tracestate: carrier["tracestate"], baggage: carrier["baggage"])
            }
        }

        static func context(_ trace: TraceFields?) -> ServiceContext {
            var carrier: [String: String] = [:]
            if let traceparent = trace?.traceparent, isTraceParent(traceparent) {
                carrier["traceparent"] = traceparent
                carrier["tracestate"] = trace?.tracestate
            }
            carrier["baggage"] = trace?.baggage
            return extracted(carrier)
        }

        /// The context without a parent.
        static func baggage(_ trace: TraceFields?) -> ServiceContext? {
            trace?.baggage.map { extracted(["baggage": $0]) }
        }

        private static func extracted(_ carrier: [String: String]) -> ServiceContext {
            var context = ServiceContext.topLevel
            if !carrier.isEmpty { InstrumentationSystem.instrument.extract(carrier, into: &context, using: Headers()) }
            return context
        }

        /// Version, trace id, parent id and flags. A later version may add more after the flags.
        static func isTraceParent(_ text: String) -> Bool {
            let parts = text.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count >= 4, zip(parts, [2, 32, 16, 2]).allSatisfy({ $0.utf8.count == $1 }) else { return false }
            let isHexadecimal = parts.prefix(4).allSatisfy {
                $0.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
            }
            guard isHexadecimal, parts[0] != "ff", parts[0] != "00" || parts.count == 4 else { return false }
            return parts[1].contains { $0 != "0" } && parts[2].contains { $0 != "0" }
        }
    }

    /// Header names are not case-sensitive; a tracer may write them in any case.
    private struct Headers: Injector, Extractor {
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
            carrier[key.lowercased()] = value
        }

        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key.lowercased()] }
    }
#endif
