/// A second, simple reader of definite-length CBOR. The tests check the library's output with this reader, not with the
/// library. It refuses heads that are not the shortest, and duplicate keys in a map.
indirect enum CBORTree: Equatable {
    case unsigned(UInt64)
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORTree])
    case map([String: CBORTree])
    case tagged(UInt64, CBORTree)
    case simple(UInt8)
    case float(UInt32)
    case double(UInt64)

    init?(_ bytes: [UInt8]) {
        var rest = bytes[...]
        guard let tree = CBORTree(&rest), rest.isEmpty else { return nil }
        self = tree
    }

    private init?(_ rest: inout ArraySlice<UInt8>) {
        guard let first = rest.popFirst() else { return nil }
        let info = first & 31
        guard info < 28 else { return nil }
        var argument = UInt64(info)
        if info >= 24 {
            let size = 1 << Int(info - 24)
            guard rest.count >= size else { return nil }
            argument = rest.prefix(size).reduce(0) { $0 << 8 | UInt64($1) }
            rest.removeFirst(size)
            let least: [UInt64] = [24, 0x100, 0x1_0000, 0x1_0000_0000]
            if first >> 5 != 7 && argument < least[Int(info) - 24] { return nil }
        }
        switch first >> 5 {
        case 0: self = .unsigned(argument)
        case 1: self = .negative(argument)
        case 2, 3:
            guard argument <= UInt64(rest.count) else { return nil }
            let content = Array(rest.prefix(Int(argument)))
            rest.removeFirst(Int(argument))
            if first >> 5 == 2 {
                self = .bytes(content)
            } else {
                guard let text = String(validating: content, as: UTF8.self) else { return nil }
                self = .text(text)
            }
        case 4:
            var elements: [CBORTree] = []
            for _ in 0..<argument {
                guard let element = CBORTree(&rest) else { return nil }
                elements.append(element)
            }
            self = .array(elements)
        case 5:
            var pairs: [String: CBORTree] = [:]
            for _ in 0..<argument {
                guard case .text(let key)? = CBORTree(&rest), let value = CBORTree(&rest) else { return nil }
                guard pairs.updateValue(value, forKey: key) == nil else { return nil }
            }
            self = .map(pairs)
        case 6:
            guard let content = CBORTree(&rest) else { return nil }
            self = .tagged(argument, content)
        default:
            switch info {
            case 26: self = .float(UInt32(argument))
            case 27: self = .double(argument)
            case 20...23: self = .simple(info)
            default: return nil
            }
        }
    }
}
