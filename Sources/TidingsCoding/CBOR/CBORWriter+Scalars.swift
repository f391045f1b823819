extension CBORWriter {
    /// Writes a head in shortest form where the room for it is known to be.
    @inline(__always)
    static func putHead(_ major: CBORMajor, _ argument: UInt64, at place: UnsafeMutableRawPointer) {
        // Every caller made `CBORHead.size(argument)` bytes of room; `storeBytes` needs no alignment.
        let first = major.initialByte
        if argument < 24 {
            place.storeBytes(of: first | UInt8(truncatingIfNeeded: argument), as: UInt8.self)
        } else if argument <= 0xFF {
            place.storeBytes(of: first | 24, as: UInt8.self)
            place.storeBytes(of: UInt8(truncatingIfNeeded: argument), toByteOffset: 1, as: UInt8.self)
        } else if argument <= 0xFFFF {
            place.storeBytes(of: first | 25, as: UInt8.self)
            place.storeBytes(of: UInt16(truncatingIfNeeded: argument).bigEndian, toByteOffset: 1, as: UInt16.self)
        } else if argument <= 0xFFFF_FFFF {
            place.storeBytes(of: first | 26, as: UInt8.self)
            place.storeBytes(of: UInt32(truncatingIfNeeded: argument).bigEndian, toByteOffset: 1, as: UInt32.self)
        } else {
            place.storeBytes(of: first | 27, as: UInt8.self)
            place.storeBytes(of: argument.bigEndian, toByteOffset: 1, as: UInt64.self)
        }
    }

    @inline(__always)
    func write(_ major: CBORMajor, _ argument: UInt64) throws {
        CBORWriter.putHead(major, argument, at: try room(CBORHead.size(argument)))
    }

    @inline(__always)
    func write(byte: UInt8) throws {
        try room(1).storeBytes(of: byte, as: UInt8.self)
        // In bounds: one byte of room.
    }

    func write(_ value: Bool) throws {
        try write(byte: value ? CBORByte.true : CBORByte.false)
    }

    @inline(__always)
    func write<I: FixedWidthInteger & SignedInteger>(signed value: I) throws {
        // A negative n travels as −1 − n, which is its complement and never overflows.
        let wide = Int64(truncatingIfNeeded: value)
        if wide >= 0 {
            try write(.unsigned, UInt64(bitPattern: wide))
        } else {
            try write(.negative, UInt64(bitPattern: ~wide))
        }
    }

    func write(_ value: Int128) throws {
        if value >= 0 {
            try write(magnitude: UInt128(bitPattern: value), major: .unsigned, tag: CBORTag.positiveBignum)
        } else {
            try write(magnitude: UInt128(bitPattern: ~value), major: .negative, tag: CBORTag.negativeBignum)
        }
    }

    func write(_ value: UInt128) throws {
        try write(magnitude: value, major: .unsigned, tag: CBORTag.positiveBignum)
    }

    /// An integer if it fits the 64 bits of a head, a bignum without leading zeros if not (RFC 8949, 3.4.3).
    func write(magnitude: UInt128, major: CBORMajor, tag: UInt64) throws {
        if magnitude <= UInt128(UInt64.max) {
            return try write(major, UInt64(truncatingIfNeeded: magnitude))
        }
        try write(.tag, tag)
        let count = (UInt128.bitWidth - magnitude.leadingZeroBitCount + 7) / 8
        try write(.bytes, UInt64(count))
        let place = try room(count)
        for index in 0..<count {
            let byte = UInt8(truncatingIfNeeded: magnitude >> UInt128(8 * (count - 1 - index)))
            place.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
            // In bounds: `index < count`, the room made.
        }
    }

    func write(_ value: Float) throws {
        let place = try room(5)
        place.storeBytes(of: CBORByte.float, as: UInt8.self)
        place.storeBytes(of: value.bitPattern.bigEndian, toByteOffset: 1, as: UInt32.self)
        // In bounds: 1 + 4 bytes of room.
    }

    @inline(__always)
    func write(_ value: Double) throws {
        let place = try room(9)
        place.storeBytes(of: CBORByte.double, as: UInt8.self)
        place.storeBytes(of: value.bitPattern.bigEndian, toByteOffset: 1, as: UInt64.self)
        // In bounds: 1 + 8 bytes of room.
    }

    @inline(__always)
    func write(_ value: String) throws {
        let done: Void? = try value.utf8.withContiguousStorageIfAvailable {
            try write(.text, bytes: UnsafeRawBufferPointer($0))
        }
        // A string of Swift's own is contiguous; another one is copied.
        if done == nil { try Array(value.utf8).withUnsafeBytes { try write(.text, bytes: $0) } }
    }

    /// A byte or text string, head and contents.
    @inline(__always)
    func write(_ major: CBORMajor, bytes: UnsafeRawBufferPointer) throws {
        let count = bytes.count
        guard let source = bytes.baseAddress, count > 0 else { return try write(byte: major.initialByte) }
        if count < 24 {
            let place = try room(count + 1)
            place.storeBytes(of: major.initialByte | UInt8(truncatingIfNeeded: count), as: UInt8.self)
            CBORWriter.copyShort(source, count, to: place + 1)
            // In bounds: 1 + count bytes of room.
        } else {
            let argument = UInt64(truncatingIfNeeded: count)
            let head = CBORHead.size(argument)
            let place = try room(head + count)
            CBORWriter.putHead(major, argument, at: place)
            (place + head).copyMemory(from: source, byteCount: count)
            // In bounds: head + count bytes of room; a string in memory is far below the size where that overflows.
        }
    }

    /// Copies 1 to 23 bytes, most often a key's, without a call.
    @inline(__always)
    private static func copyShort(_ source: UnsafeRawPointer, _ count: Int, to place: UnsafeMutableRawPointer) {
        // In bounds on both sides: no copy goes beyond `count`. Two copies that overlap spare a loop over the rest.
        if count >= 16 {
            copy(UInt64.self, source, place, 0)
            copy(UInt64.self, source, place, 8)
            copy(UInt64.self, source, place, count - 8)
        } else if count >= 8 {
            copy(UInt64.self, source, place, 0)
            copy(UInt64.self, source, place, count - 8)
        } else if count >= 4 {
            copy(UInt32.self, source, place, 0)
            copy(UInt32.self, source, place, count - 4)
        } else {
            for offset in 0..<count { copy(UInt8.self, source, place, offset) }
        }
    }

    @inline(__always)
    private static func copy<I: FixedWidthInteger & BitwiseCopyable>(
        _ type: I.Type, _ source: UnsafeRawPointer, _ place: UnsafeMutableRawPointer, _ offset: Int
    ) {
        place.storeBytes(of: source.loadUnaligned(fromByteOffset: offset, as: type), toByteOffset: offset, as: type)
        // In bounds: see the caller.
    }
}
