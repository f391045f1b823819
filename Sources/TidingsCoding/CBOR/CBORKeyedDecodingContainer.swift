/// Reads the pairs of a map, see `CBORReader.find` for how keys are compared.
struct CBORKeyedDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let reader: CBORReader
    let map: CBORMap
    let step: UInt32

    var codingPath: [any CodingKey] { reader.path(step) }

    /// Empty if the payload changes while it is read, or has gone.
    var allKeys: [Key] { (try? reader.keys(Key.self, of: map)) ?? [] }

    func contains(_ key: Key) -> Bool {
        (try? reader.find(key, in: map, keeping: false)) != nil
    }

    /// Finds a value and reads it.
    @inline(__always)
    private func value<V>(_ key: Key, _ read: (CBORReader, CBORPlace) throws -> V) throws -> V {
        do {
            if let hit = try reader.find(key, in: map, keeping: true) { return try read(reader, hit.value) }
        } catch {
            throw CBORFault.describe(error, expecting: V.self, path: codingPath + [key])
        }
        throw notFound(key)
    }

    /// As `value`, with nil for a key that isn't there, and for null.
    @inline(__always)
    func valueIfPresent<V>(
        _ key: Key, _ read: (CBORReader, CBORPlace) throws -> V
    ) throws -> V? {
        do {
            guard let hit = try reader.find(key, in: map, keeping: true) else { return nil }
            if try reader.isNull(at: hit.value) { return nil }
            return try read(reader, hit.value)
        } catch {
            throw CBORFault.describe(error, expecting: V.self, path: codingPath + [key])
        }
    }

    @inline(__always)
    private func integer<I: FixedWidthInteger>(_ key: Key) throws -> I {
        try value(key) { try $0.integer(I.self, at: $1) }
    }

    @inline(__always)
    func integerIfPresent<I: FixedWidthInteger>(_ key: Key) throws -> I? {
        try valueIfPresent(key) { try $0.integer(I.self, at: $1) }
    }

    @inline(never)
    private func notFound(_ key: some CodingKey) -> DecodingError {
        .keyNotFound(
            key,
            DecodingError.Context(codingPath: codingPath, debugDescription: "the map has no key \"\(key.stringValue)\"")
        )
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        do {
            if let hit = try reader.find(key, in: map, keeping: false) { return try reader.isNull(at: hit.value) }
        } catch {
            throw error.error(expecting: Any?.self, path: codingPath + [key])
        }
        throw notFound(key)
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try value(key) { try $0.bool(at: $1) } }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try value(key) { try $0.string(at: $1) } }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try value(key) { try $0.double(at: $1) } }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try value(key) { try $0.float(at: $1) } }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(key) }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        let hit = try self.hit(key)
        guard let hit else { throw notFound(key) }
        return try reader.value(type, at: hit.value, step: step, .key(hit.key, key.intValue))
    }

    func hit(_ key: Key) throws -> CBORHit? {
        do {
            return try reader.find(key, in: map, keeping: true)
        } catch {
            throw error.error(expecting: Any.self, path: codingPath + [key])
        }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    /// A key that isn't there counts as null, for the decoder's user to judge.
    func superDecoder() throws -> any Decoder {
        try decoder(CBORKey.super, orNull: true)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        try decoder(key, orNull: true)
    }

    private func decoder(_ key: some CodingKey, orNull: Bool = false) throws -> CBORDecoder {
        do {
            if let hit = try reader.find(key, in: map, keeping: true) {
                let step = reader.add(step, .key(hit.key, key.intValue), to: hit.value)
                return CBORDecoder(reader: reader, step: step, place: hit.value)
            }
        } catch {
            throw error.error(expecting: Any.self, path: codingPath + [key])
        }
        guard orNull else { throw notFound(key) }
        let step = reader.add(step, .absent(key), to: .missing)
        return CBORDecoder(reader: reader, step: step, place: .missing)
    }
}
