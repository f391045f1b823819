/// Reads the pairs of a map. `CBORReader.find` says how keys are compared.
struct CBORKeyedDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let reader: CBORReader
    let map: CBORContents
    let step: UInt32

    var codingPath: [any CodingKey] { reader.path(step) }

    /// Empty if the payload changes while it is read, or if its decoding is over.
    var allKeys: [Key] { (try? reader.keys(Key.self, of: map)) ?? [] }

    func contains(_ key: Key) -> Bool { (try? reader.find(key, in: map, keeping: false)) != nil }

    func decodeNil(forKey key: Key) throws -> Bool {
        let isNull = try read(key, Any?.self, keeping: false) { (hit) throws(CBORFault) in
            try reader.isNull(at: hit.value)
        }
        guard let isNull else { throw notFound(key) }
        return isNull
    }

    @inline(__always)
    func decode<Value: CBORValue>(_ type: Value.Type, forKey key: Key) throws -> Value { try value(key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try value(key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try value(key) }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        guard let hit = try hit(key) else { throw notFound(key) }
        return try reader.value(type, at: hit.value, step: step, .key(hit.key, key.intValue))
    }

    // One lookup instead of the three of the standard library's defaults: `contains`, `decodeNil`, `decode`.
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try valueIfPresent(key) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try valueIfPresent(key) }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let hit = try hit(key), (try? reader.isNull(at: hit.value)) != true else { return nil }
        return try reader.value(type, at: hit.value, step: step, .key(hit.key, key.intValue))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    // A missing key counts as null: the decoder's user decides what that means.
    func superDecoder() throws -> any Decoder { try decoder(CBORKey.super, orNull: true) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key, orNull: true) }

    // MARK: Shared

    @inline(__always)
    private func value<Value: CBORValue>(_ key: Key) throws -> Value {
        let value = try read(key, Value.self) { (hit) throws(CBORFault) in try Value(from: reader, at: hit.value) }
        guard let value else { throw notFound(key) }
        return value
    }

    @inline(__always)
    private func valueIfPresent<Value: CBORValue>(_ key: Key) throws -> Value? {
        try read(key, Value.self) { (hit) throws(CBORFault) -> Value? in
            try reader.isNull(at: hit.value) ? nil : Value(from: reader, at: hit.value)
        } ?? nil
    }

    private func hit(_ key: some CodingKey) throws -> CBORHit? { try read(key, Any.self) { $0 } }

    /// `nil`: the map doesn't have the key.
    @inline(__always)
    private func read<Value>(
        _ key: some CodingKey, _ type: Any.Type, keeping: Bool = true, _ value: (CBORHit) throws(CBORFault) -> Value
    ) throws -> Value? {
        do throws(CBORFault) {
            guard let hit = try reader.find(key, in: map, keeping: keeping) else { return nil }
            return try value(hit)
        } catch {
            throw error.error(expecting: type, path: codingPath + [key])
        }
    }

    @inline(never)
    private func notFound(_ key: some CodingKey) -> DecodingError {
        let text = "the map has no key \"\(key.stringValue)\""
        return .keyNotFound(key, DecodingError.Context(codingPath: codingPath, debugDescription: text))
    }

    private func decoder(_ key: some CodingKey, orNull: Bool = false) throws -> CBORDecoder {
        let hit = try hit(key)
        guard hit != nil || orNull else { throw notFound(key) }
        let place = hit?.value ?? .missing
        let spot = hit.map { CBORStep.Spot.key($0.key, key.intValue) } ?? .absent(key)
        return CBORDecoder(reader: reader, step: try reader.add(step, spot, to: place), place: place)
    }
}
