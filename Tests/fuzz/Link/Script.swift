// The bytes of a script. Each choice takes bytes; behind the end they are 0.

struct Script {
    private let bytes: [UInt8]
    private var at = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { at >= bytes.count }

    mutating func byte() -> UInt8 {
        guard at < bytes.count else { return 0 }
        defer { at += 1 }
        return bytes[at]
    }

    mutating func below(_ bound: Int) -> Int { Int(byte()) % bound }

    mutating func flag() -> Bool { byte() & 1 == 1 }

    /// Mostly a number near one of `near`; otherwise a small one, or one beside a bound.
    mutating func number(_ near: [UInt64]) -> UInt64 {
        let byte = byte()
        if byte < 96 { return UInt64(byte) }
        if byte < 192, !near.isEmpty { return near[Int(byte & 7) % near.count] &+ UInt64(byte >> 3 & 3) &- 1 }
        let bounds: [UInt64] = [
            1 << 7, 1 << 16, 1 << 31, 1 << 32, LinkLimits.number / 2, LinkLimits.number, LinkLimits.number * 2, 0,
        ]
        return bounds[Int(byte >> 2 & 7)] &+ UInt64(byte & 3) &- 2
    }

    mutating func text(_ most: Int = 255) -> String {
        let byte = byte()
        switch byte {
        case 0..<16: return ""
        case 240...: return String(repeating: "x", count: most + Int(byte & 3) - 2)
        default: return "t\(byte % 32)"
        }
    }

    /// Names that links pass, names that they do not, reserved ones, the longest ones, and names that are none.
    mutating func name() -> LinkName {
        let byte = byte()
        switch byte {
        case 0..<128: return LinkName("a.\(byte % 32)")
        case 128..<160: return LinkName("b.\(byte % 4)")
        case 160..<224: return LinkName("c.\(byte)")
        case 224..<232: return "tidings.a"
        case 232..<240: return LinkName("a." + String(repeating: "x", count: 250 + Int(byte & 7)))
        case 240: return ""
        default: return "a.\u{e9}"
        }
    }

    mutating func names(_ most: Int) -> [LinkName] { (0..<below(most)).map { _ in name() } }

    mutating func list() -> NameList {
        switch below(4) {
        case 0: .all
        case 1: NameList(prefixes: ["a."])
        case 2: NameList(names: names(4), prefixes: names(3))
        default: NameList(names: ["b.1"], prefixes: ["a.1"])
        }
    }

    /// Centers 1 to 3 are the relay's own one and those of its peers.
    mutating func origin() -> Origin {
        let byte = byte()
        let isTold = byte & 64 != 0
        return Origin(
            incarnation: UInt64(byte & 63), host: isTold ? text() : "", center: isTold ? text() : "")
    }

    mutating func payload() -> [UInt8] {
        let byte = byte()
        return [UInt8](repeating: byte, count: byte < 200 ? Int(byte & 7) : Int(byte) - 200 + 40)
    }
}
