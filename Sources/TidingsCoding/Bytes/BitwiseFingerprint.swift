/// What a payload of a type's bytes in memory begins with: it tells types with another layout apart.
@usableFromInline package enum BitwiseFingerprint {
    /// In bytes. The value's bytes follow.
    @inlinable package static var size: Int { 8 }

    /// FNV-1a, 64 bits, of the name's bytes, the type's size, stride and alignment, and the kinds of its fields if
    /// every bit pattern is a value of the type (`isBitwise`). Part of the format: all processes must compute the same.
    package static func compute<Value>(name: String, of type: Value.Type, isBitwise: Bool) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        for byte in name.utf8 { mix(byte) }
        for number in [MemoryLayout<Value>.size, MemoryLayout<Value>.stride, MemoryLayout<Value>.alignment] {
            withUnsafeBytes(of: UInt64(number).littleEndian) { for byte in $0 { mix(byte) } }
        }
        if isBitwise {
            let zeros = UnsafeMutableRawPointer.allocate(
                byteCount: max(1, MemoryLayout<Value>.size), alignment: MemoryLayout<Value>.alignment)
            defer { zeros.deallocate() }
            zeros.initializeMemory(as: UInt8.self, repeating: 0, count: MemoryLayout<Value>.size)
            // All zeros are a value, by `isBitwise`.
            kinds(of: zeros.assumingMemoryBound(to: Value.self).pointee) { mix($0) }
        }
        return hash
    }

    /// Mixes in the kind of each number among the fields, nested ones too, and the name of each other field that has no
    /// fields of its own.
    private static func kinds(of value: Any, _ mix: (UInt8) -> Void) {
        let type = Swift.type(of: value)
        if let vector = type as? any SIMD.Type { return kinds(ofVector: vector, mix) }
        if let kind = kind(of: type) { return mix(kind) }
        // Without the modules and types around it: each program declares a message in a module of its own, and the name
        // of a local type has an address there.
        let name = _typeName(type, qualified: false)
        let fields = Mirror(reflecting: value).children
        // A mirror shows no element of an inline array.
        if fields.isEmpty || name.hasPrefix("InlineArray<") { return name.utf8.forEach(mix) }
        for field in fields { kinds(of: field.value, mix) }
    }

    private static func kinds<Vector: SIMD>(ofVector type: Vector.Type, _ mix: (UInt8) -> Void) {
        for _ in 0..<Vector.scalarCount {
            if let kind = kind(of: Vector.Scalar.self) {
                mix(kind)
            } else {
                _typeName(Vector.Scalar.self, qualified: false).utf8.forEach(mix)
            }
        }
    }

    private static func kind(of type: Any.Type) -> UInt8? {
        switch type {
        case let integer as any FixedWidthInteger.Type: integer.isSigned ? 1 : 2
        case is any BinaryFloatingPoint.Type: 3
        default: nil
        }
    }
}
