/// A type with a form of its own in CBOR. Its own `Codable` code is not called.
///
/// In each container, one generic method is the witness of all overloads for these types, except those of `Int128` and
/// `UInt128`: for these, the standard library has defaults.
protocol CBORValue: Codable {
    init(from reader: CBORReader, at place: CBORPlace) throws(CBORFault)
    func write(to writer: inout CBORWriter) throws

    /// As `init`, for a caller that compared `T` with this type.
    static func read<T>(_ type: T.Type, _ reader: CBORReader, _ place: CBORPlace) throws(CBORFault) -> T
    /// As `write(to:)`, for a caller that compared `T` with this type.
    static func write<T>(_ value: T, to writer: inout CBORWriter) throws
}

// Both bit casts are between a type and itself.
extension CBORValue {
    @inline(__always)
    static func read<T>(_ type: T.Type, _ reader: CBORReader, _ place: CBORPlace) throws(CBORFault) -> T {
        unsafeBitCast(try Self(from: reader, at: place), to: type)
    }

    @inline(__always)
    static func write<T>(_ value: T, to writer: inout CBORWriter) throws {
        try unsafeBitCast(value, to: Self.self).write(to: &writer)
    }
}

enum CBORForm {
    /// The type itself if generic code may meet it and it has a form of its own.
    ///
    /// The comparisons are of two pointers each; the most frequent types come first. The other integers come by the
    /// overloads of the containers, or decode and encode themselves as a single value.
    @inline(__always)
    static func of(_ type: Any.Type) -> (any CBORValue.Type)? {
        if type == String.self { return String.self }
        if type == Int.self { return Int.self }
        if type == Double.self { return Double.self }
        if type == Bool.self { return Bool.self }
        if type == UInt8.self { return UInt8.self }
        if type == Float.self { return Float.self }
        return ofFoundation(type)
    }
}

extension CBORValue where Self: FixedWidthInteger {
    @inline(__always)
    init(from reader: CBORReader, at place: CBORPlace) throws(CBORFault) {
        self = try reader.integer(Self.self, at: place)
    }

    @inline(__always) func write(to writer: inout CBORWriter) throws { try writer.write(integer: self) }
}

extension Int: CBORValue {}
extension Int8: CBORValue {}
extension Int16: CBORValue {}
extension Int32: CBORValue {}
extension Int64: CBORValue {}
extension Int128: CBORValue {}
extension UInt: CBORValue {}
extension UInt8: CBORValue {}
extension UInt16: CBORValue {}
extension UInt32: CBORValue {}
extension UInt64: CBORValue {}
extension UInt128: CBORValue {}

extension Bool: CBORValue {
    init(from reader: CBORReader, at place: CBORPlace) throws(CBORFault) { self = try reader.bool(at: place) }
    func write(to writer: inout CBORWriter) throws { try writer.write(self) }
}

extension String: CBORValue {
    init(from reader: CBORReader, at place: CBORPlace) throws(CBORFault) { self = try reader.string(at: place) }
    @inline(never) func write(to writer: inout CBORWriter) throws { try writer.write(self) }
}

extension Double: CBORValue {
    init(from reader: CBORReader, at place: CBORPlace) throws(CBORFault) { self = try reader.double(at: place) }
    @inline(__always) func write(to writer: inout CBORWriter) throws { try writer.write(self) }
}

extension Float: CBORValue {
    init(from reader: CBORReader, at place: CBORPlace) throws(CBORFault) { self = try reader.float(at: place) }
    func write(to writer: inout CBORWriter) throws { try writer.write(self) }
}
