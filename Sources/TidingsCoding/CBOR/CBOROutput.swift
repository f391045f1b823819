/// What both encoders, for `Codable` and for fields, write CBOR items to.
@usableFromInline
protocol CBOROutput: ~Copyable {
    /// Makes room for `size` bytes at the cursor, all of which the caller writes, and moves the cursor behind them.
    mutating func room(_ size: Int) throws -> UnsafeMutableRawPointer
}

extension CBOROutput where Self: ~Copyable {
    @inlinable @inline(__always)
    mutating func write(byte: UInt8) throws {
        try room(1).storeBytes(of: byte, as: UInt8.self)
        // In bounds: one byte of room.
    }

    /// A head in shortest form.
    @inlinable @inline(__always)
    mutating func write(_ major: CBORMajor, _ argument: UInt64) throws {
        if argument < 24 {
            try write(byte: major.initialByte | UInt8(truncatingIfNeeded: argument))
        } else {
            CBORHead.put(major, argument, at: try room(CBORHead.size(argument)))
        }
    }

    /// An integer of up to 128 bits.
    @inlinable @inline(__always)
    mutating func write<I: FixedWidthInteger>(integer value: I) throws {
        // A negative n travels as −1 − n, which is its complement and never overflows.
        let isNegative = value < 0
        let argument = isNegative ? ~value : value
        if I.bitWidth <= 64 {
            try write(isNegative ? .negative : .unsigned, UInt64(truncatingIfNeeded: argument))
        } else {
            try write(wide: UInt128(truncatingIfNeeded: argument), isNegative: isNegative)
        }
    }

    @inlinable @inline(__always)
    mutating func write(_ value: Bool) throws { try write(byte: value ? CBORByte.true : CBORByte.false) }

    @inlinable @inline(__always)
    mutating func write(_ value: Float) throws { try write(CBORByte.float, value.bitPattern) }

    @inlinable @inline(__always)
    mutating func write(_ value: Double) throws { try write(CBORByte.double, value.bitPattern) }

    @inlinable @inline(__always)
    mutating func write<Bits: FixedWidthInteger & BitwiseCopyable>(_ first: UInt8, _ bits: Bits) throws {
        let place = try room(1 + MemoryLayout<Bits>.size)
        place.storeBytes(of: first, as: UInt8.self)
        place.storeBytes(of: bits.bigEndian, toByteOffset: 1, as: Bits.self)
        // In bounds: 1 + size bytes of room.
    }

    @inline(__always)
    mutating func write(_ value: String) throws {
        // A closure that captured `self` would retain the string.
        let done: Void? = try withUnsafeMutablePointer(to: &self) { output in
            try value.utf8.withContiguousStorageIfAvailable {
                try output.pointee.write(.text, bytes: UnsafeRawBufferPointer($0))
            }
        }
        // A string of Swift's own is contiguous; another one is copied.
        if done == nil { try Array(value.utf8).withUnsafeBytes { try write(.text, bytes: $0) } }
    }

    /// A byte or text string, head and contents.
    @inline(__always)
    mutating func write(_ major: CBORMajor, bytes: UnsafeRawBufferPointer) throws {
        let count = bytes.count
        guard let source = bytes.baseAddress, count > 0 else { return try write(byte: major.initialByte) }
        if count < 24 {
            let place = try room(count + 1)
            place.storeBytes(of: major.initialByte | UInt8(truncatingIfNeeded: count), as: UInt8.self)
            copyShort(source, count, to: place + 1)
            // In bounds: 1 + count bytes of room.
        } else {
            let argument = UInt64(truncatingIfNeeded: count)
            let head = CBORHead.size(argument)
            let place = try room(head + count)
            CBORHead.put(major, argument, at: place)
            (place + head).copyMemory(from: source, byteCount: count)
            // In bounds: head + count bytes of room; a string in memory is far below the size where that overflows.
        }
    }

    /// The argument, or −1 − argument: an integer if it fits the 64 bits of a head, a bignum without leading zeros if
    /// not (RFC 8949, 3.4.3).
    @usableFromInline
    mutating func write(wide argument: UInt128, isNegative: Bool) throws {
        if let argument = UInt64(exactly: argument) {
            return try write(isNegative ? .negative : .unsigned, argument)
        }
        try write(.tag, isNegative ? CBORTag.negativeBignum : CBORTag.positiveBignum)
        try withUnsafeBytes(of: argument.bigEndian) { bytes in
            let zeros = argument.leadingZeroBitCount / 8
            try write(.bytes, bytes: UnsafeRawBufferPointer(rebasing: bytes[zeros...]))
        }
    }
}

/// Copies 1 to 23 bytes, most often a key's, without a call.
@inline(__always)
private func copyShort(_ source: UnsafeRawPointer, _ count: Int, to place: UnsafeMutableRawPointer) {
    func copy<I: FixedWidthInteger & BitwiseCopyable>(_ type: I.Type, _ offset: Int) {
        place.storeBytes(of: source.loadUnaligned(fromByteOffset: offset, as: type), toByteOffset: offset, as: type)
    }
    // In bounds on both sides: no copy goes beyond `count`. Two copies that overlap spare a loop over the rest.
    if count >= 16 {
        copy(UInt64.self, 0)
        copy(UInt64.self, 8)
        copy(UInt64.self, count - 8)
    } else if count >= 8 {
        copy(UInt64.self, 0)
        copy(UInt64.self, count - 8)
    } else if count >= 4 {
        copy(UInt32.self, 0)
        copy(UInt32.self, count - 4)
    } else {
        for offset in 0..<count { copy(UInt8.self, offset) }
    }
}

extension CBORHead {
    /// The bytes taken by a head in shortest form.
    @inlinable @inline(__always)
    static func size(_ argument: UInt64) -> Int {
        if argument < 24 { return 1 }
        if argument <= 0xFF { return 2 }
        if argument <= 0xFFFF { return 3 }
        return argument <= 0xFFFF_FFFF ? 5 : 9
    }

    /// Writes a head in shortest form. The caller made `size(argument)` bytes of room.
    @usableFromInline
    static func put(_ major: CBORMajor, _ argument: UInt64, at place: UnsafeMutableRawPointer) {
        // `storeBytes` needs no alignment.
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
}
