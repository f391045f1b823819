/// A pair of a map.
struct CBORPair {
    var key: CBORPlace
    var name: CBORKeyName
    var value: CBORPlace
}

/// What a key says.
enum CBORKeyName {
    /// The offsets of a text's bytes, compared with the payload's size.
    case text(Int, Int)
    /// A text that the payload does not have in one piece.
    case joined(String)
    case integer(Int128)

    var isInteger: Bool { if case .integer = self { true } else { false } }

    /// The bytes of the text; of an integer those of its digits.
    func withBytes<R>(in bytes: PayloadBytes, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        var name: String
        switch self {
        case .text(let start, let end): return body(bytes.slice(start..<end))
        case .joined(let text): name = text
        case .integer(let integer): name = String(integer)
        }
        return name.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }

    func isEqual(_ other: CBORKeyName, in bytes: PayloadBytes) -> Bool {
        withBytes(in: bytes) { left in other.withBytes(in: bytes) { right in left.elementsEqual(right) } }
    }

    func isASCII(in bytes: PayloadBytes) -> Bool { withBytes(in: bytes, PayloadBytes.isASCII) }

    func string(in bytes: PayloadBytes) throws(CBORFault) -> String {
        switch self {
        case .text(let start, let end): try bytes.text(from: start, to: end)
        case .joined(let text): text
        case .integer(let integer): String(integer)
        }
    }
}

extension CBORReader {
    /// The pair whose key is at a place.
    func pair(at place: CBORPlace) throws(CBORFault) -> CBORPair {
        guard let (name, end) = try bytes.key(at: Int(place.offset)) else {
            throw CBORFault(.keys, at: Int(place.offset))
        }
        var value = CBORPlace(offset: UInt32(truncatingIfNeeded: end), span: place.span)
        if case .joined = name {
            // A text of indefinite length has a span.
            value = try skip(place)
            guard value.offset == UInt32(truncatingIfNeeded: end) else {
                throw CBORFault(.changed, at: Int(place.offset))
            }
        }
        try spend(end - Int(place.offset))
        return CBORPair(key: place, name: name, value: value)
    }

    /// Whether a map has a pair of that number, known to begin at `place` if so.
    @inline(__always)
    func hasPair(_ map: CBORContents, _ ordinal: Int, at place: CBORPlace) throws(CBORFault) -> Bool {
        map.count >= 0 ? ordinal < map.count : try !bytes.isStop(at: Int(place.offset))
    }

    /// Walks through a map's pairs from the front, `most` at most, until `body` returns false. False: there are more
    /// than `most`.
    @inline(__always) @discardableResult
    func walk(
        _ map: CBORContents, most: Int = .max, _ body: (_ ordinal: Int, CBORPair) throws(CBORFault) -> Bool
    ) throws(CBORFault) -> Bool {
        var place = map.first
        var ordinal = 0
        while try hasPair(map, ordinal, at: place) {
            if ordinal == most { return false }
            guard place.offset < map.end else { throw CBORFault(.changed, at: Int(place.offset)) }
            let pair = try pair(at: place)
            guard try body(ordinal, pair) else { return true }
            place = try skip(pair.value)
            ordinal += 1
        }
        return true
    }

    /// All keys of a map in their order, each once. Swift holds some keys for equal though their bytes differ (`é` in
    /// one character and in two). Of these the first counts: a dictionary of all would keep the last.
    func keys<Key: CodingKey>(_ type: Key.Type, of map: CBORContents) throws(CBORFault) -> [Key] {
        guard isLive else { throw CBORFault(.finished, at: 0) }
        var names: [CBORKeyName] = []
        let bytes = self.bytes
        var isSmall = map.count <= CBORLimit.scannedPairs
        if isSmall {
            isSmall = try walk(map, most: CBORLimit.scannedPairs) { (_, pair) in
                if !names.contains(where: { $0.isEqual(pair.name, in: bytes) }) { names.append(pair.name) }
                return true
            }
        }
        if !isSmall {
            names = []
            for entry in try index(of: map).entries { names.append(try pair(at: entry.key).name) }
        }
        var keys: [Key] = []
        for name in names {
            if let key = try makeKey(type, name) { keys.append(key) }
        }
        if names.allSatisfy({ $0.isASCII(in: bytes) }) { return keys }
        var seen: Set<String> = []
        return keys.filter { seen.insert($0.stringValue).inserted }
    }

    private func makeKey<Key: CodingKey>(_ type: Key.Type, _ name: CBORKeyName) throws(CBORFault) -> Key? {
        if case .integer(let integer) = name, let number = Int(exactly: integer), let key = Key(intValue: number) {
            return key
        }
        return Key(stringValue: try name.string(in: bytes))
    }
}
