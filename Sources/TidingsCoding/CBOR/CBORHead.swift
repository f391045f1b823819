/// The eight major types of RFC 8949, section 3.1: the upper three bits of an item's first byte.
enum CBORMajor: UInt8 {
    case unsigned, negative, bytes, text, array, map, tag, simple

    /// The first byte of an item of this type with nothing in its lower five bits.
    @inline(__always)
    var initialByte: UInt8 { rawValue << 5 }
}

/// First bytes that stand for themselves.
enum CBORByte {
    static let emptyArray: UInt8 = 0x80
    static let emptyMap: UInt8 = 0xA0
    static let `false`: UInt8 = 0xF4
    static let `true`: UInt8 = 0xF5
    static let null: UInt8 = 0xF6
    static let float: UInt8 = 0xFA
    static let double: UInt8 = 0xFB
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

package enum CBORLimit {
    /// Arrays and maps inside one another, counted the same by both directions so that whatever is sent can be read.
    ///
    /// A level costs a recursion of the scanner and, for a recursive type, one of the type's own `init(from:)`. 128 of
    /// the latter took between 384 and 512 KiB of stack in a debug build, far less than glibc gives a thread (8 MiB).
    package static let depth = 128

    /// Tags in front of one item. Real data has one or two; the bound keeps passing over an item O(1).
    static let tags = 16

    /// Maps up to this size are searched from the front, larger ones through an index.
    static let scannedPairs = 16
}

extension CBORHead {
    /// The bytes taken by a head in shortest form.
    @inline(__always)
    static func size(_ argument: UInt64) -> Int {
        if argument < 24 { return 1 }
        if argument <= 0xFF { return 2 }
        if argument <= 0xFFFF { return 3 }
        return argument <= 0xFFFF_FFFF ? 5 : 9
    }
}

/// An item's head, decoded: its type, the five bits beside it, and the number they stand for or announce.
struct CBORHead {
    var major: CBORMajor
    /// 0–27, or 31 for an indefinite length or a stop. 28–30 are reserved and never get this far.
    var info: UInt8
    var argument: UInt64
    /// The offset behind the head.
    var end: Int

    @inline(__always)
    var isIndefinite: Bool { info == 31 }

    @inline(__always)
    var isStop: Bool { info == 31 && major == .simple }
}
