/// The eight major types of RFC 8949, section 3.1: the upper three bits of an item's first byte.
@usableFromInline
enum CBORMajor: UInt8 {
    case unsigned, negative, bytes, text, array, map, tag, simple

    /// The first byte of an item of this type with nothing in its lower five bits.
    @inlinable @inline(__always) var initialByte: UInt8 { rawValue << 5 }
}

/// First bytes that stand for themselves.
@usableFromInline
enum CBORByte {
    @inlinable static var `false`: UInt8 { 0xF4 }
    @inlinable static var `true`: UInt8 { 0xF5 }
    @inlinable static var null: UInt8 { 0xF6 }
    @inlinable static var float: UInt8 { 0xFA }
    @inlinable static var double: UInt8 { 0xFB }
    /// Ends an item of indefinite length.
    static let stop: UInt8 = 0xFF
}

/// The tags we write or give a meaning to (IANA registry "CBOR Tags"). Any other is skipped.
enum CBORTag {
    static let dateText: UInt64 = 0
    static let epochTime: UInt64 = 1
    static let positiveBignum: UInt64 = 2
    static let negativeBignum: UInt64 = 3
    static let decimalFraction: UInt64 = 4
    static let uri: UInt64 = 32
    static let uuid: UInt64 = 37
    static let extendedTime: UInt64 = 1001
}

/// The keys of extended time (RFC 9581) that we write.
enum CBORExtendedTime {
    /// Seconds since 1970, as near as a double has them.
    static let seconds: UInt64 = 1
    /// What `Date` stores, exactly. The key is a text: a decoder that doesn't know the key passes over it.
    static let sinceReferenceDate = "secondsSince2001"
}

@usableFromInline
package enum CBORLimit {
    /// Arrays and maps inside one another, counted the same by both directions so that whatever is sent can be read. In
    /// a debug build 128 calls of a recursive type's `init(from:)` took 464 KiB of stack, 128 of `encode(to:)` 576 KiB:
    /// far less than glibc gives a thread (8 MiB).
    @inlinable package static var depth: Int { 128 }

    /// Tags in front of one item. Real data has one or two; the bound keeps passing over an item O(1).
    static let tags = 16

    /// Maps up to this size are searched from the front, larger ones through an index.
    static let scannedPairs = 16
}

/// An item's head, decoded: its type, the five bits beside it, and the number they stand for or announce.
@usableFromInline
struct CBORHead {
    var major: CBORMajor
    /// 0–27, or 31 for an indefinite length or a stop. 28–30 are reserved: the parser refuses them.
    var info: UInt8
    var argument: UInt64
    /// The offset behind the head.
    var end: Int

    @inline(__always) var isIndefinite: Bool { info == 31 }
    @inline(__always) var isStop: Bool { info == 31 && major == .simple }
    /// Null or undefined.
    @inline(__always) var isNull: Bool { major == .simple && (info == 22 || info == 23) }

    @inline(__always) var bool: Bool? { major == .simple && (info == 20 || info == 21) ? info == 21 : nil }
    @inline(__always) var double: Double? { major == .simple && info == 27 ? Double(bitPattern: argument) : nil }

    @inline(__always)
    var single: Float? {
        major == .simple && info == 26 ? Float(bitPattern: UInt32(truncatingIfNeeded: argument)) : nil
        // The argument of such a head has 32 bits.
    }

    /// A floating-point number of any width.
    var float: Double? {
        if major == .simple && info == 25 { return CBORHead.half(UInt16(truncatingIfNeeded: argument)) }
        return double ?? single.map { Double($0) }
    }

    /// IEEE 754 binary16, by arithmetic: `Float16` doesn't exist everywhere.
    private static func half(_ bits: UInt16) -> Double {
        let fraction = Double(bits & 0x3FF)
        let exponent = Int(bits >> 10 & 0x1F)
        let magnitude: Double =
            switch exponent {
            case 0: fraction / 16_777_216
            case 31: fraction == 0 ? .infinity : .nan
            default: Double(sign: .plus, exponent: exponent - 25, significand: fraction + 1024)
            }
        return bits >> 15 == 0 ? magnitude : -magnitude
    }
}
