/// Walks through a whole payload once, before any value is made of it, and leaves spans: they make passing over an item
/// O(1), so that a payload is decoded in linear time whatever is nested in it. A span is 8 bytes for an item of 2 bytes
/// or more, or of 1 byte around another: at most 8 times the payload.
struct CBORScanner {
    let bytes: PayloadBytes
    let reader: CBORReader

    init(_ reader: CBORReader) {
        bytes = reader.bytes
        self.reader = reader
    }

    /// The payload must be exactly one well-formed item.
    func scan() throws(CBORFault) {
        guard bytes.count < 1 << 31 else { throw CBORFault(.tooLarge, at: 0) }
        let end = try end(ofItemAt: 0, depth: 0)
        if end != bytes.count { throw CBORFault(.trailing, at: end) }
    }

    /// The offset behind an item that is `depth` maps and arrays deep in a payload.
    @inline(__always)
    func end(ofItemAt offset: Int, depth: Int) throws(CBORFault) -> Int {
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
        case .bytes, .text:
            guard head.isIndefinite else { return try bytes.endOfString(head) }
            return try span { (_) throws(CBORFault) in try bytes.pieces(of: head) { (_, _) throws(CBORFault) in } }
        case .array: return try array(head, depth: depth)
        case .map: return try map(head, depth: depth)
        }
    }

    private func array(_ head: CBORHead, depth: Int) throws(CBORFault) -> Int {
        #if MUTANT_DEPTH_UNBOUNDED  // Found by: fuzz decoder
            let depth = isMutant("DEPTH_UNBOUNDED") ? 0 : depth
        #endif
        return try entries(head, depth: depth) { (offset, _) throws(CBORFault) in
            try end(ofItemAt: offset, depth: depth + 1)
        }
    }

    private func map(_ head: CBORHead, depth: Int) throws(CBORFault) -> Int {
        try entries(head, depth: depth) { (offset, hasOddKeys) throws(CBORFault) in
            try pair(at: offset, depth: depth + 1, &hasOddKeys)
        }
    }

    /// Passes over the elements of an array, or the pairs of a map. `entry` returns the offset behind one of them.
    @inline(__always)
    private func entries(
        _ head: CBORHead, depth: Int, _ entry: (Int, inout Bool) throws(CBORFault) -> Int
    ) throws(CBORFault) -> Int {
        guard depth < CBORLimit.depth else { throw CBORFault(.depth, at: head.end) }
        let count = try bytes.count(of: head)
        if count == 0 { return head.end }
        return try span { (hasOddKeys) throws(CBORFault) in
            var offset = head.end
            if head.isIndefinite {
                while try !bytes.isStop(at: offset) { offset = try entry(offset, &hasOddKeys) }
                return offset + 1
            }
            for _ in 0..<count { offset = try entry(offset, &hasOddKeys) }
            return offset
        }
    }

    /// Notes where an item ends. Its span comes before those of the items within it.
    @inline(__always)
    private func span(_ end: (_ hasOddKeys: inout Bool) throws(CBORFault) -> Int) throws(CBORFault) -> Int {
        let number = reader.state.pointee.spans.add()
        var hasOddKeys = false
        let end = try end(&hasOddKeys)
        let next = UInt32(truncatingIfNeeded: reader.state.pointee.spans.count)
        reader.state.pointee.spans[number] = CBORSpan(
            end: UInt32(truncatingIfNeeded: end), next: next, hasOddKeys: hasOddKeys)
        // Both numbers fit 31 bits, for the payload's size does.
        return end
    }

    @inline(__always)
    private func pair(at offset: Int, depth: Int, _ hasOddKeys: inout Bool) throws(CBORFault) -> Int {
        if let value = bytes.endOfShortASCII(at: offset) { return try end(ofItemAt: value, depth: depth) }
        return try end(ofItemAt: longKey(at: offset, depth: depth, &hasOddKeys), depth: depth)
    }

    @inline(never)
    private func longKey(at offset: Int, depth: Int, _ hasOddKeys: inout Bool) throws(CBORFault) -> Int {
        // The head of a key is read once: a second read could tell another length, for each byte of the payload.
        guard let (name, end) = try bytes.key(at: offset) else {
            hasOddKeys = true
            return try self.end(ofItemAt: offset, depth: depth)
        }
        switch name {
        // Text keys are validated here, all of them: a lookup compares bytes, and would pass over a bad one.
        case .text(let start, let end):
            if !bytes.isASCII(from: start, to: end) { _ = try bytes.text(from: start, to: end) }
        case .integer: break
        case .joined:
            // Leaves a span.
            guard try self.end(ofItemAt: offset, depth: depth) == end else { throw CBORFault(.changed, at: offset) }
        }
        return end
    }
}
