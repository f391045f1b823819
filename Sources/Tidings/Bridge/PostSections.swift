// The sections of a record: trace context beside the payload.
internal import CTidings

extension tidings_post_options {
    /// Adds a trace context. The caller deallocates the result after the post.
    ///
    /// Fields that do not fit are left out: first `baggage`, then `tracestate`. They never make a post fail.
    mutating func addSections(_ trace: TraceFields) -> UnsafeMutableRawPointer {
        let most = 3
        let heads = most * MemoryLayout<tidings_section>.stride
        // The sections, then their bytes.
        let memory = UnsafeMutableRawPointer.allocate(byteCount: heads + Int(TIDINGS_SECTIONS_MAX), alignment: 8)
        let sections = memory.bindMemory(to: tidings_section.self, capacity: most)
        // The area and each section have a head of 8 bytes.
        var left = Int(TIDINGS_SECTIONS_MAX) - (1 + most) * 8
        var place = memory + heads
        for (type, text) in [
            (TIDINGS_SECTION_TRACEPARENT, trace.traceparent), (TIDINGS_SECTION_TRACESTATE, trace.tracestate),
            (TIDINGS_SECTION_BAGGAGE, trace.baggage),
        ] {
            guard var text, !text.isEmpty else { continue }
            text.withUTF8 { text in
                let size = (text.count + 7) / 8 * 8
                guard size <= left else { return }
                place.copyMemory(from: text.baseAddress!, byteCount: text.count)
                (sections + Int(section_count)).initialize(
                    to: tidings_section(bytes: place, size: text.count, type: UInt16(type)))
                section_count += 1
                place += size
                left -= size
            }
        }
        self.sections = UnsafePointer(sections)
        flags |= UInt8(TIDINGS_POST_SECTIONS)
        return memory
    }
}
