/// Reads the elements of an array.
struct CBORUnkeyedDecodingContainer: UnkeyedDecodingContainer {
    let reader: CBORReader
    /// The place of the array itself.
    let start: CBORPlace
    let step: UInt32
    /// `nil` for an array of indefinite length.
    let count: Int?
    private(set) var currentIndex = 0
    /// The place of the next element.
    private var next: CBORPlace
    /// As ``CBORContents/end``.
    private let end: UInt32

    init(reader: CBORReader, start: CBORPlace, step: UInt32, _ contents: CBORContents) {
        self.reader = reader
        self.start = start
        self.step = step
        count = contents.count < 0 ? nil : contents.count
        next = contents.first
        end = contents.end
    }

    var codingPath: [any CodingKey] { reader.path(step, at: start) }

    var isAtEnd: Bool {
        if let count, currentIndex >= count { return true }
        // The next call reports it. A loop that ended here would take the elements so far for the whole array.
        if !reader.isLive { return false }
        if next.offset >= end { return true }
        if count != nil { return false }
        return (try? reader.bytes.isStop(at: Int(next.offset))) ?? true
    }

    /// Moves on only if there is a null.
    mutating func decodeNil() throws -> Bool {
        try checkNotAtEnd(Any?.self)
        do {
            guard try reader.isNull(at: next) else { return false }
            try moveOn()
            return true
        } catch {
            throw fault(error, Any?.self)
        }
    }

    @inline(__always) mutating func decode<Value: CBORValue>(_ type: Value.Type) throws -> Value { try value() }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try value() }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try value() }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try element(type) { try $0.reader.value(type, at: $0.next, step: $0.step, .index($0.currentIndex)) }
    }

    /// The standard library's default passes the static type on to `decode`, and so loses a subclass.
    mutating func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
        if isAtEnd { return nil }
        return try decodeNil() ? nil : decode(type)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try element([String: Any].self) { try $0.decoder().container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try element([Any].self) { try $0.decoder().unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try element((any Decoder).self) { try $0.decoder() } }

    // MARK: Shared

    @inline(__always)
    private mutating func value<Value: CBORValue>() throws -> Value {
        try checkNotAtEnd(Value.self)
        do throws(CBORFault) {
            let value = try Value(from: reader, at: next)
            try moveOn()
            return value
        } catch {
            throw fault(error, Value.self)
        }
    }

    /// Reads the next element. Moves behind it unless that fails.
    @inline(__always)
    private mutating func element<Value>(_ type: Any.Type, _ read: (Self) throws -> Value) throws -> Value {
        try checkNotAtEnd(type)
        let value = try read(self)
        do throws(CBORFault) { try moveOn() } catch { throw fault(error, Any.self) }
        return value
    }

    @inline(__always)
    private mutating func moveOn() throws(CBORFault) {
        next = try reader.skip(next)
        currentIndex += 1
    }

    /// A decoder of the next element.
    private func decoder() throws -> CBORDecoder {
        CBORDecoder(reader: reader, step: try reader.add(step, .index(currentIndex), to: next), place: next)
    }

    @inline(__always)
    private func checkNotAtEnd(_ type: Any.Type) throws {
        if !reader.isLive { throw CBORFault(.finished, at: 0).error(expecting: type, path: []) }
        if isAtEnd { throw atEnd(type) }
    }

    @inline(never)
    private func atEnd(_ type: Any.Type) -> DecodingError {
        let text = "the array has no more elements"
        let path = reader.path(step, .index(currentIndex))
        return .valueNotFound(type, DecodingError.Context(codingPath: path, debugDescription: text))
    }

    @inline(never)
    private func fault(_ fault: CBORFault, _ type: Any.Type) -> DecodingError {
        fault.error(expecting: type, path: reader.path(step, .index(currentIndex)))
    }
}
