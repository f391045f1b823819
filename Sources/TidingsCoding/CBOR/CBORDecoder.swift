/// The `Decoder` that a value sees: the place of an item. Three words, so that `any Decoder` holds it without a box.
package struct CBORDecoder: Decoder {
    let reader: CBORReader
    /// The number of the step that led here.
    let step: UInt32
    let place: CBORPlace

    package var codingPath: [any CodingKey] { reader.path(step, at: place) }
    package var userInfo: [CodingUserInfoKey: Any] { reader.isLive ? reader.userInfo : [:] }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        do {
            let map = try reader.contents(of: .map, at: place)
            return KeyedDecodingContainer(CBORKeyedDecodingContainer<Key>(reader: reader, map: map, step: step))
        } catch {
            throw error.error(expecting: [String: Any].self, path: codingPath)
        }
    }

    package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        do {
            let array = try reader.contents(of: .array, at: place)
            return CBORUnkeyedDecodingContainer(reader: reader, start: place, step: step, array)
        } catch {
            throw error.error(expecting: [Any].self, path: codingPath)
        }
    }

    package func singleValueContainer() throws -> any SingleValueDecodingContainer {
        CBORSingleValueDecodingContainer(decoder: self)
    }

    /// What the payload holds, for types that take several kinds of values.
    package enum Kind {
        case integer, double, boolean, string, data, date, array, dictionary
        /// Null, a decimal fraction, or an item without a counterpart here.
        case other
    }

    package func kind() throws -> Kind {
        let (head, tag): (CBORHead, UInt64?)
        do throws(CBORFault) {
            (head, tag) = try reader.live().bytes.content(at: place)
        } catch {
            throw error.error(expecting: Any.self, path: codingPath)
        }
        switch head.major {
        case .unsigned, .negative: return tag == CBORTag.epochTime ? .date : .integer
        case .bytes: return tag == CBORTag.positiveBignum || tag == CBORTag.negativeBignum ? .integer : .data
        case .text: return tag == CBORTag.dateText ? .date : .string
        case .array: return tag == CBORTag.decimalFraction ? .other : .array
        case .map: return tag == CBORTag.extendedTime ? .date : .dictionary
        case .simple:
            if head.bool != nil { return .boolean }
            if head.float == nil { return .other }
            return tag == CBORTag.epochTime ? .date : .double
        case .tag: return .other
        }
    }
}

/// Reads one value: what the decoder's place holds.
struct CBORSingleValueDecodingContainer: SingleValueDecodingContainer {
    let decoder: CBORDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { (try? decoder.reader.live().isNull(at: decoder.place)) ?? false }

    @inline(__always) func decode<Value: CBORValue>(_ type: Value.Type) throws -> Value { try value() }
    func decode(_ type: Int128.Type) throws -> Int128 { try value() }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try value() }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let reader: CBORReader
        do {
            // Checked here: a type without fields would not ask for anything.
            reader = try decoder.reader.live()
            if let form = CBORForm.of(type) { return try form.read(type, reader, decoder.place) }
        } catch {
            throw error.error(expecting: type, path: codingPath)
        }
        let savedHint = reader.hint
        defer { reader.hint = savedHint }
        return try type.init(from: decoder)
    }

    @inline(__always)
    private func value<Value: CBORValue>() throws -> Value {
        do throws(CBORFault) {
            return try Value(from: decoder.reader.live(), at: decoder.place)
        } catch {
            throw error.error(expecting: Value.self, path: codingPath)
        }
    }
}

/// An array or a map that a container reads.
struct CBORContents {
    /// The offset of its place, tags included: tells it from others.
    var start: UInt32
    /// The place of the first element or key.
    var first: CBORPlace
    /// The number of elements or pairs, −1 for indefinite length.
    var count: Int
    /// The offset behind it, as it was scanned: no element begins there or later.
    var end: UInt32
}

extension CBORReader {
    func contents(of major: CBORMajor, at place: CBORPlace) throws(CBORFault) -> CBORContents {
        let head = try live().head(of: major, at: place)
        var first = CBORPlace(offset: UInt32(truncatingIfNeeded: head.end), span: place.span)
        var end = first.offset
        if head.isIndefinite || head.argument > 0 {
            let span = try span(at: place)
            guard !span.hasOddKeys else { throw CBORFault(.keys, at: Int(place.offset)) }
            end = span.end
            try spend(Int(end &- place.offset))
            first.span += 1
            // No overflow: `span(at:)` compared both.
        }
        return CBORContents(start: place.offset, first: first, count: try bytes.count(of: head), end: end)
    }

    /// Decodes a value of any type. `spot` is its key's offset or its index in the container that `step` led to.
    func value<T: Decodable>(_ type: T.Type, at place: CBORPlace, step: UInt32, _ spot: CBORStep.Spot) throws -> T {
        if let form = CBORForm.of(type) {
            do {
                return try form.read(type, self, place)
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
        let next = try add(step, spot, to: place)
        return try type.init(from: CBORDecoder(reader: self, step: next, place: place))
    }
}
