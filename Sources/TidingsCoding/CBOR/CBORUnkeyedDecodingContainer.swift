/// Reads the elements of an array.
struct CBORUnkeyedDecodingContainer: UnkeyedDecodingContainer {
    let reader: CBORReader
    /// Where the array itself is.
    let start: CBORPlace
    let step: UInt32
    /// Nil for an array of indefinite length.
    let count: Int?
    private(set) var currentIndex = 0
    /// Where the next element is.
    private var next: CBORPlace

    init(reader: CBORReader, start: CBORPlace, step: UInt32, count: Int, next: CBORPlace) {
        self.reader = reader
        self.start = start
        self.step = step
        self.count = count < 0 ? nil : count
        self.next = next
    }

    var codingPath: [any CodingKey] { reader.path(step, at: start) }

    var isAtEnd: Bool {
        if let count, currentIndex >= count { return true }
        // The next call says so: a loop that ended here would take what it has for all there is.
        if !reader.isLive { return false }
        if next.offset >= reader.bytes.count { return true }
        if count != nil { return false }
        return (try? reader.bytes.isStop(at: Int(next.offset))) ?? true
    }

    /// Reads the next element, and moves behind it unless that fails.
    @inline(__always)
    private mutating func element<V>(_ read: (CBORReader, CBORPlace) throws -> V) throws -> V {
        try checkNotAtEnd(V.self)
        do {
            let value = try read(reader, next)
            next = try reader.skip(next)
            currentIndex += 1
            return value
        } catch {
            throw CBORFault.describe(error, expecting: V.self, path: reader.path(step, .index(currentIndex)))
        }
    }

    @inline(__always)
    private func checkNotAtEnd(_ type: Any.Type) throws {
        if !reader.isLive { throw CBORFault(.finished, at: 0).error(expecting: type, path: []) }
        if isAtEnd { throw atEnd(type) }
    }

    @inline(never)
    private func atEnd(_ type: Any.Type) -> DecodingError {
        .valueNotFound(
            type,
            DecodingError.Context(
                codingPath: reader.path(step, .index(currentIndex)), debugDescription: "the array has no more elements")
        )
    }

    /// Moves on only if there is a null.
    mutating func decodeNil() throws -> Bool {
        try checkNotAtEnd(Any?.self)
        do {
            guard try reader.isNull(at: next) else { return false }
            next = try reader.skip(next)
            currentIndex += 1
            return true
        } catch {
            throw error.error(expecting: Any?.self, path: reader.path(step, .index(currentIndex)))
        }
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try element { try $0.bool(at: $1) } }
    mutating func decode(_ type: String.Type) throws -> String { try element { try $0.string(at: $1) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try element { try $0.double(at: $1) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try element { try $0.float(at: $1) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try element { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try element { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try element { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try element { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try element { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try element { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try element { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try element { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try element { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try element { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try element { try $0.integer(type, at: $1) } }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try element { try $0.integer(type, at: $1) } }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try checkNotAtEnd(type)
        let value = try reader.value(type, at: next, step: step, .index(currentIndex))
        try moveOn()
        return value
    }

    /// The default of the standard library passes the static type on to `decode`, and so loses a subclass.
    mutating func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
        if isAtEnd { return nil }
        if try decodeNil() { return nil }
        return try decode(type)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let container = try decoder([String: Any].self).container(keyedBy: type)
        try moveOn()
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try decoder([Any].self).unkeyedContainer()
        try moveOn()
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let decoder = try decoder((any Decoder).self)
        try moveOn()
        return decoder
    }

    private func decoder(_ type: Any.Type) throws -> CBORDecoder {
        try checkNotAtEnd(type)
        return CBORDecoder(reader: reader, step: reader.add(step, .index(currentIndex), to: next), place: next)
    }

    private mutating func moveOn() throws {
        do {
            next = try reader.skip(next)
            currentIndex += 1
        } catch {
            throw error.error(expecting: Any.self, path: reader.path(step, .index(currentIndex)))
        }
    }
}
