// The fuzzer's bytes as what a peer, or another process of the center, can write: a frame, parts of frames, a
// checkpoint, or a script of a hostile peer (Session.swift).

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let start, count > 0 else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    switch start[0] {
    case 0..<32: decodes(bytes)
    case 32..<48: joins(bytes)
    case 48..<64: begins(bytes)
    default:
        var session = Session(bytes, shape: start[0])
        session.play()
    }
    return 0
}

func fail(_ why: String) -> Never { fatalError("not so: \(why)") }

/// What decodes must encode, and the result must decode to an equal frame and encode to the same bytes.
@discardableResult
func settles(_ bytes: [UInt8], _ limits: LinkLimits) -> Frame? {
    guard let frame = FrameCoding.decode(bytes, limits: limits) else { return nil }
    let once = FrameCoding.encode(frame)
    guard let again = FrameCoding.decode(once, limits: limits), again == frame, FrameCoding.encode(again) == once else {
        fail("a decoded frame changes: \(frame)")
    }
    if case .items(let items) = frame.body {
        // Each content lies in the frame.
        var size = 0
        for item in items.items {
            let content = items.content(of: item)
            size += content.subject.utf8.count + content.payload.count
        }
        if size > bytes.count { fail("the contents of a frame are larger than the frame") }
    }
    return frame
}

private func decodes(_ bytes: [UInt8]) {
    var small = LinkLimits()
    small.payload = 16
    small.table = 4
    for limits in [LinkLimits(), small] { settles(bytes, limits) }
}

/// The bytes are sizes, each with a part of that size. Then a frame of these bytes is split, and its parts are joined.
private func joins(_ bytes: [UInt8]) {
    var joiner = FrameJoiner(limit: 256)
    var at = 0
    while at < bytes.count {
        let end = min(bytes.count, at + 1 + Int(bytes[at]))
        if let frame = joiner.frame(from: Array(bytes[(at + 1)..<end])) {
            if frame.count > 256 { fail("a joined frame is larger than the limit") }
            settles(frame, LinkLimits())
        }
        at = end
    }
    var splitter = FrameSplitter(maximum: Int(bytes.first ?? 0), number: UInt64(bytes.last ?? 0))
    joiner = FrameJoiner(limit: bytes.count)
    let parts = splitter.parts(of: bytes)
    for (number, part) in parts.enumerated() {
        let frame = joiner.frame(from: part)
        // A frame that begins as a part does is no frame.
        if parts.count == 1, bytes.first == FrameSplitter.format { return }
        if frame != (number == parts.count - 1 ? bytes : nil) { fail("a frame changes when it is split and joined") }
    }
}

/// A relay begins with the bytes of a checkpoint.
private func begins(_ bytes: [UInt8]) {
    guard let own = bytes.first, let last = bytes.last,
        let checkpoint = CheckpointCoding.decode(Array(bytes.dropFirst()), incarnation: UInt64(own))
    else { return }
    isKept(checkpoint)
    guard checkpoint.position < LinkLimits.number / 2 else { return }
    var core = RelayCore(
        checkpoint: checkpoint, oldest: checkpoint.position &+ UInt64(last % 4), slots: 16, links: Session.links,
        limits: Session.limits)
    let center = SimulatedCenter(origin: Origin(incarnation: UInt64(own)), slots: 16)
    core.refresh([], date: 1)
    for link in Session.links.indices { core.connected(link, session: UInt64(link) + 1) }
    for _ in 0..<100 {
        guard let output = core.next(center) else { break }
        if case .store(let checkpoint) = output { isKept(checkpoint) }
        core.stored()
    }
}

/// A checkpoint that a relay stores can be read by the next one.
func isKept(_ checkpoint: Checkpoint) {
    let bytes = CheckpointCoding.encode(checkpoint)
    guard let again = CheckpointCoding.decode(bytes, incarnation: checkpoint.origins[0].origin.incarnation) else {
        fail("a stored checkpoint does not decode")
    }
    var expected = checkpoint
    // The origins of values are in the list of origins.
    expected.values = checkpoint.values.mapValues {
        Checkpoint.Value(
            version: $0.version, position: $0.position, origin: Origin(incarnation: $0.origin.incarnation))
    }
    if again != expected { fail("a stored checkpoint changes") }
}
