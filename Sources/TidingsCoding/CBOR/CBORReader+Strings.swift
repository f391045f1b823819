import FoundationEssentials

extension CBORReader {
    func string(at place: CBORPlace) throws(CBORFault) -> String {
        let bytes = self.bytes
        let head = try head(of: .text, at: place)
        if head.isIndefinite {
            let (text, end) = try bytes.text(of: head)
            try spend(end - Int(place.offset))
            return text
        }
        #if MUTANT_STRING_END_FROM_HEAD  // Found by: fuzz decoder
            if isMutant("STRING_END_FROM_HEAD") {
                return try bytes.text(from: head.end, to: head.end + Int(min(head.argument, 1 << 20)))
            }
        #endif
        let end = try bytes.endOfString(head)
        try spend(end &- head.end)
        return try bytes.text(from: head.end, to: end)
    }

    func data(at place: CBORPlace) throws(CBORFault) -> Data {
        let (data, end) = try bytes.data(of: head(of: .bytes, at: place))
        try spend(end - Int(place.offset))
        return data
    }
}

extension PayloadBytes {
    /// A copy of a byte string, and the offset behind the string.
    func data(of string: CBORHead) throws(CBORFault) -> (data: Data, end: Int) {
        var data = Data()
        let end = try pieces(of: string) { (start, end) throws(CBORFault) in
            let piece = Data(bytes: base + start, count: end - start)
            // In bounds: `pieces` compared both offsets with `count`.
            if data.isEmpty { data = piece } else { data.append(piece) }
        }
        return (data, end)
    }
}
