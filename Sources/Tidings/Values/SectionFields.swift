/// What the sections of a notification's record say. An object, so that an envelope without sections has one word for
/// it.
final class SectionFields: Hashable, Sendable {
    let trace: TraceFields?
    let origin: SharedNotificationCenter.Origin?

    /// `nil`: both are missing.
    init?(trace: TraceFields?, origin: SharedNotificationCenter.Origin?) {
        if trace == nil, origin == nil { return nil }
        self.trace = trace
        self.origin = origin
    }

    static func == (one: SectionFields, other: SectionFields) -> Bool {
        one.trace == other.trace && one.origin == other.origin
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(trace)
        hasher.combine(origin)
    }
}

/// The trace context of a notification: the values of the HTTP headers of the same names (W3C Trace Context, W3C
/// Baggage). They travel in sections of the record, beside the payload. For TidingsService.
package final class TraceFields: Hashable, Sendable {
    package let traceparent: String?
    package let tracestate: String?
    package let baggage: String?

    /// `nil`: all three are missing.
    package init?(traceparent: String?, tracestate: String?, baggage: String?) {
        if traceparent == nil, tracestate == nil, baggage == nil { return nil }
        self.traceparent = traceparent
        self.tracestate = tracestate
        self.baggage = baggage
    }

    package static func == (one: TraceFields, other: TraceFields) -> Bool {
        one.traceparent == other.traceparent && one.tracestate == other.tracestate && one.baggage == other.baggage
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(traceparent)
        hasher.combine(tracestate)
        hasher.combine(baggage)
    }
}

/// The trace context for a post under that name; `nil`: none. Called on the poster's thread, before the post. It may
/// post.
package typealias PostTracer = @Sendable (SharedNotificationCenter.Name) -> TraceFields?
