import CCounting
import Tidings

// One thread only, and set once.
nonisolated(unsafe) private var center: SharedNotificationCenter!
nonisolated(unsafe) private var track: SharedNotificationCenter.RawPayload!
nonisolated(unsafe) private var generatedTrack: SharedNotificationCenter.RawPayload!
nonisolated(unsafe) private var meter: SharedNotificationCenter.RawPayload!

func prepareOperations() {
    do {
        var configuration = SharedNotificationCenter.Configuration()
        configuration.directory = COUNTING_DIRECTORY
        center = try SharedNotificationCenter(named: "counted", configuration: configuration)
        track = try SharedNotificationCenter.RawPayload(encoding: Track(number: 1))
        generatedTrack = try SharedNotificationCenter.RawPayload(encoding: GeneratedTrack(number: 1))
        precondition(generatedTrack == track)
        try center.post(Meter(number: 1), options: .init(retain: true))
        meter = try center.rawState(for: Meter.name)
    } catch {
        fatalError("\(error)")
    }
}

/// A failed operation would be an uncounted one.
@inline(__always)
private func repeated(_ times: Int32, _ body: (UInt64) throws -> Void) {
    do {
        for index in 0..<UInt64(times) { try body(index) }
    } catch {
        fatalError("\(error)")
    }
}

// MARK: Posts, encoding included

func postTracks(_ times: Int32) {
    let center = center!
    repeated(times) { try center.post(Track(number: $0)) }
}

func postGeneratedTracks(_ times: Int32) {
    let center = center!
    repeated(times) { try center.post(GeneratedTrack(number: $0)) }
}

func postMeters(_ times: Int32) {
    let center = center!
    repeated(times) { try center.post(Meter(number: $0)) }
}

func postTracksAboutSomething(_ times: Int32) {
    let center = center!
    repeated(times) { try center.post(Track(number: $0), options: .init(subject: "player-1")) }
}

func postKeys(_ times: Int32) {
    let center = center!
    let key = SharedNotificationCenter.Key<UInt64, String>("com.example.import.progress")
    repeated(times) { try center.post(key, $0, "decoding") }
}

/// Without the tracer's work, which is a library of the program's.
func postTracksWithTraceContext(_ times: Int32) {
    let center = center!
    let trace = TraceFields(
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: nil, baggage: nil)
    center.postTracer = { _ in trace }
    repeated(times) { try center.post(Track(number: $0)) }
}

// MARK: Encoding and decoding, outside shared memory

func encodeTracks(_ times: Int32) {
    repeated(times) { withExtendedLifetime(try SharedNotificationCenter.RawPayload(encoding: Track(number: $0))) {} }
}

func encodeGeneratedTracks(_ times: Int32) {
    repeated(times) {
        withExtendedLifetime(try SharedNotificationCenter.RawPayload(encoding: GeneratedTrack(number: $0))) {}
    }
}

func decodeGeneratedTracks(_ times: Int32) {
    let payload = generatedTrack!
    repeated(times) { _ in withExtendedLifetime(try payload.decode(GeneratedTrack.self)) {} }
}

func decodeTracks(_ times: Int32) {
    let payload = track!
    repeated(times) { _ in withExtendedLifetime(try payload.decode(Track.self)) {} }
}

func decodeMeters(_ times: Int32) {
    let payload = meter!
    repeated(times) { _ in withExtendedLifetime(try payload.decode(Meter.self)) {} }
}
