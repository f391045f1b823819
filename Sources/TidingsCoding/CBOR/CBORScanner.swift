/// Walks through a whole payload once, before any value is made of it. It must be exactly one well-formed item.
///
/// The spans it leaves make passing over an item O(1), so that a payload is decoded in linear time whatever is nested
/// in it. A span is 8 bytes for an item of 2 bytes or more, or of 1 byte around another: at most 8 times the payload.
struct CBORScanner {
    let bytes: PayloadBytes
    let reader: CBORReader

    init(_ reader: CBORReader) {
        bytes = reader.bytes
        self.reader = reader
    }

    func scan() throws(CBORFault) {
        guard bytes.count < 1 << 31 else { throw CBORFault(.tooLarge, at: 0) }
        let end = try item(at: 0, depth: 0)
        if end != bytes.count { throw CBORFault(.trailing, at: end) }
    }

    /// The offset behind an item within a payload, `depth` maps and arrays deep.
    func end(ofItemAt offset: Int, depth: Int) throws(CBORFault) -> Int { try item(at: offset, depth: depth) }

    /// Returns the offset behind the item.
    @inline(__always)
    private func item(at offset: Int, depth: Int) throws(CBORFault) -> Int {
        if let end = bytes.quickEnd(at: offset) { return end }
        return try longItem(at: offset, depth: depth)
    }

    private func longItem(at offset: Int, depth: Int) throws(CBORFault) -> Int {
        let head = try bytes.head(at: offset)
        if (head.major == .text || head.major == .bytes) && !head.isIndefinite { return try bytes.endOfString(head) }
        return try unusualItem(head, at: offset, depth: depth)
    }

    /// Containers, tagged items, strings of indefinite length.
    @inline(never)
    private func unusualItem(_ first: CBORHead, at offset: Int, depth: Int) throws(CBORFault) -> Int {
        let head = first.major == .tag ? try bytes.content(behind: first).head : first
        switch head.major {
        case .unsigned, .negative, .tag: return head.end
        case .simple:
            if head.isIndefinite { throw CBORFault(.stop, at: offset) }
            return head.end
        case .bytes, .text: return head.isIndefinite ? try chunks(head) : try bytes.endOfString(head)
        case .array: return try array(head, depth: depth)
        case .map: return try map(head, depth: depth)
        }
    }

    private func chunks(_ head: CBORHead) throws(CBORFault) -> Int {
        let number = reader.beginSpan()
        let end = try bytes.pieces(of: head) { (_, _) throws(CBORFault) in }
        reader.endSpan(number, at: end)
        return end
    }

    private func array(_ head: CBORHead, depth: Int) throws(CBORFault) -> Int {
        #if MUTANT_DEPTH_UNBOUNDED  // Found by: fuzz decoder
            let depth = isMutant("DEPTH_UNBOUNDED") ? 0 : depth
        #endif
        guard depth < CBORLimit.depth else { throw CBORFault(.depth, at: head.end) }
        var offset = head.end
        if head.isIndefinite {
            let number = reader.beginSpan()
            while try !bytes.isStop(at: offset) { offset = try item(at: offset, depth: depth + 1) }
            reader.endSpan(number, at: offset + 1)
            return offset + 1
        }
        // Every element takes a byte or more: a count beyond the bytes that remain is a lie.
        guard head.argument <= UInt64(truncatingIfNeeded: bytes.count - offset) else {
            throw CBORFault(.longArray, at: offset)
        }
        if head.argument == 0 { return offset }
        let number = reader.beginSpan()
        for _ in 0..<head.argument { offset = try item(at: offset, depth: depth + 1) }
        reader.endSpan(number, at: offset)
        return offset
    }

    private func map(_ head: CBORHead, depth: Int) throws(CBORFault) -> Int {
        guard depth < CBORLimit.depth else { throw CBORFault(.depth, at: head.end) }
        var offset = head.end
        var hasOddKeys = false
        if head.isIndefinite {
            let number = reader.beginSpan()
            while try !bytes.isStop(at: offset) { offset = try pair(at: offset, depth: depth + 1, &hasOddKeys) }
            reader.endSpan(number, at: offset + 1, hasOddKeys)
            return offset + 1
        }
        guard head.argument <= UInt64(truncatingIfNeeded: bytes.count - offset) / 2 else {
            throw CBORFault(.longMap, at: offset)
        }
        if head.argument == 0 { return offset }
        let number = reader.beginSpan()
        for _ in 0..<head.argument { offset = try pair(at: offset, depth: depth + 1, &hasOddKeys) }
        reader.endSpan(number, at: offset, hasOddKeys)
        return offset
    }

    @inline(__always)
    private func pair(at offset: Int, depth: Int, _ hasOddKeys: inout Bool) throws(CBORFault) -> Int {
        if let end = bytes.endOfShortASCII(at: offset) { return try item(at: end, depth: depth) }
        return try item(at: longKey(at: offset, depth: depth, &hasOddKeys), depth: depth)
    }

    @inline(never)
    private func longKey(at offset: Int, depth: Int, _ hasOddKeys: inout Bool) throws(CBORFault) -> Int {
        let head = try bytes.head(at: offset)
        switch head.major {
        case .text where head.isIndefinite:
            _ = try bytes.text(of: head)
        case .text:
            // Text keys are validated here, all of them: a lookup compares bytes, and would pass over a bad one.
            let end = try bytes.endOfString(head)
            if !bytes.isASCII(from: head.end, to: end) { _ = try bytes.text(from: head.end, to: end) }
        case .unsigned, .negative: break
        default: hasOddKeys = true
        }
        return try item(at: offset, depth: depth)
    }
}

extension CBORReader {
    @inline(__always)
    func beginSpan() -> Int {
        if spanCount == state.pointee.spanCapacity { growSpans() }
        spanCount += 1
        return spanCount - 1
    }

    @inline(__always)
    func endSpan(_ number: Int, at end: Int, _ hasOddKeys: Bool = false) {
        (spans + number).initialize(
            to: CBORSpan(
                end: UInt32(truncatingIfNeeded: end), next: UInt32(truncatingIfNeeded: spanCount),
                hasOddKeys: hasOddKeys))
        // In bounds: `number` came from `beginSpan`. Both numbers fit 31 bits, for the payload's size does.
    }

    @inline(never)
    private func growSpans() {
        let capacity = state.pointee.spanCapacity * 2
        let grown = UnsafeMutablePointer<CBORSpan>.allocate(capacity: capacity)
        UnsafeMutableRawPointer(grown).copyMemory(from: spans, byteCount: spanCount * MemoryLayout<CBORSpan>.stride)
        // As bytes, for those of open items aren't initialized yet; spans are trivial, and the new memory is larger.
        spans.deallocate()
        state.pointee.spans = grown
        state.pointee.spanCapacity = capacity
    }

    /// Gives back the memory that only a large payload needed.
    func shrinkSpans() {
        guard state.pointee.spanCapacity > 1 << 13 else { return }
        spans.deallocate()
        // Spans are trivial, and none of them is used any more.
        state.pointee.spanCapacity = 32
        state.pointee.spans = .allocate(capacity: 32)
    }
}
