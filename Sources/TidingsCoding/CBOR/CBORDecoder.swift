/// The `Decoder` a value sees: the place of an item.
///
/// Three words, so that `any Decoder` holds it without a box.
package struct CBORDecoder: Decoder {
    let reader: CBORReader
    /// The number of the step that led here.
    let step: UInt32
    let place: CBORPlace

    package var codingPath: [any CodingKey] { reader.path(step, at: place) }
    package var userInfo: [CodingUserInfoKey: Any] { reader.isLive ? reader.userInfo : [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        do {
            let map = try reader.map(at: place)
            return KeyedDecodingContainer(CBORKeyedDecodingContainer<Key>(reader: reader, map: map, step: step))
        } catch {
            throw error.error(expecting: [String: Any].self, path: codingPath)
        }
    }

    package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        do {
            let (first, count) = try reader.array(at: place)
            return CBORUnkeyedDecodingContainer(
                reader: reader, start: place, step: step, count: count, next: first)
        } catch {
            throw error.error(expecting: [Any].self, path: codingPath)
        }
    }

    package func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
}

extension CBORReader {
    func map(at place: CBORPlace) throws(CBORFault) -> CBORMap {
        guard isLive else { throw CBORFault(.finished, at: 0) }
        let head = try bytes.content(at: place).head
        guard head.major == .map else { throw .mismatch(head, at: place.offset) }
        var first = CBORPlace(offset: UInt32(truncatingIfNeeded: head.end), span: place.span)
        if head.isIndefinite || head.argument > 0 {
            guard try !span(at: place).hasOddKeys else {
                throw CBORFault(.keys, at: Int(place.offset))
            }
            first.span += 1
            // No overflow: `span(at:)` compared it with the number of spans.
        }
        return CBORMap(start: place.offset, first: first, count: try length(head))
    }

    func array(at place: CBORPlace) throws(CBORFault) -> (first: CBORPlace, count: Int) {
        guard isLive else { throw CBORFault(.finished, at: 0) }
        let head = try bytes.content(at: place).head
        guard head.major == .array else { throw .mismatch(head, at: place.offset) }
        var first = CBORPlace(offset: UInt32(truncatingIfNeeded: head.end), span: place.span)
        if head.isIndefinite || head.argument > 0 {
            _ = try span(at: place)
            first.span += 1
            // No overflow: `span(at:)` compared it with the number of spans.
        }
        return (first, try length(head))
    }

    /// The number of a container's entries, −1 for an indefinite one. The scan compared it with the size before.
    private func length(_ head: CBORHead) throws(CBORFault) -> Int {
        if head.isIndefinite { return -1 }
        guard head.argument <= UInt64(truncatingIfNeeded: bytes.count) else {
            throw CBORFault(.changed, at: head.end)
        }
        return Int(truncatingIfNeeded: head.argument)
        // Exact, for it is at most `count`.
    }

    /// Decodes a value of any type. `spot` is its key's offset or its index in the container that `step` led to.
    func value<T: Decodable>(
        _ type: T.Type, at place: CBORPlace, step: UInt32, _ spot: CBORStep.Spot
    ) throws -> T {
        if CBORReader.knows(type) {
            do {
                return try known(type, at: place)
            } catch {
                throw error.error(expecting: type, path: path(step, spot))
            }
        }
        let (savedHint, savedSteps, savedIndexes) = (hint, steps.count, state.pointee.indexed.count)
        defer {
            hint = savedHint
            if state.pointee.indexed.count > savedIndexes { forgetIndexes(downTo: savedIndexes) }
            state.pointee.steps.removeLast(max(steps.count - savedSteps, 0))
        }
        return try type.init(from: CBORDecoder(reader: self, step: add(step, spot, to: place), place: place))
    }
}

extension CBORDecoder: SingleValueDecodingContainer {
    @inline(__always)
    private func single<V>(_ read: (CBORReader, CBORPlace) throws -> V) throws -> V {
        do {
            guard reader.isLive else { throw CBORFault(.finished, at: 0) }
            return try read(reader, place)
        } catch {
            throw CBORFault.describe(error, expecting: V.self, path: codingPath)
        }
    }

    package func decodeNil() -> Bool { reader.isLive && (try? reader.isNull(at: place)) ?? false }
    package func decode(_ type: Bool.Type) throws -> Bool { try single { try $0.bool(at: $1) } }
    package func decode(_ type: String.Type) throws -> String { try single { try $0.string(at: $1) } }
    package func decode(_ type: Double.Type) throws -> Double { try single { try $0.double(at: $1) } }
    package func decode(_ type: Float.Type) throws -> Float { try single { try $0.float(at: $1) } }
    package func decode(_ type: Int.Type) throws -> Int { try single { try $0.integer(type, at: $1) } }
    package func decode(_ type: Int8.Type) throws -> Int8 { try single { try $0.integer(type, at: $1) } }
    package func decode(_ type: Int16.Type) throws -> Int16 { try single { try $0.integer(type, at: $1) } }
    package func decode(_ type: Int32.Type) throws -> Int32 { try single { try $0.integer(type, at: $1) } }
    package func decode(_ type: Int64.Type) throws -> Int64 { try single { try $0.integer(type, at: $1) } }
    package func decode(_ type: Int128.Type) throws -> Int128 { try single { try $0.integer(type, at: $1) } }
    package func decode(_ type: UInt.Type) throws -> UInt { try single { try $0.integer(type, at: $1) } }
    package func decode(_ type: UInt8.Type) throws -> UInt8 { try single { try $0.integer(type, at: $1) } }
    package func decode(_ type: UInt16.Type) throws -> UInt16 { try single { try $0.integer(type, at: $1) } }
    package func decode(_ type: UInt32.Type) throws -> UInt32 { try single { try $0.integer(type, at: $1) } }
    package func decode(_ type: UInt64.Type) throws -> UInt64 { try single { try $0.integer(type, at: $1) } }
    package func decode(_ type: UInt128.Type) throws -> UInt128 { try single { try $0.integer(type, at: $1) } }

    package func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if CBORReader.knows(type) { return try single { try $0.known(type, at: $1) } }
        // Said here: a type without fields would ask for nothing.
        guard reader.isLive else { throw CBORFault(.finished, at: 0).error(expecting: type, path: []) }
        let savedHint = reader.hint
        defer { reader.hint = savedHint }
        return try type.init(from: self)
    }
}
