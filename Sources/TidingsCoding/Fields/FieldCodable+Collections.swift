/// Within arrays and dictionaries: null. A field of a struct that is `nil` isn't written at all.
extension Optional: FieldCodable where Wrapped: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws {
        if let self { try self.encodeField(to: &encoder) } else { try encoder.write(byte: CBORByte.null) }
    }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        self = try decoder.takeNull() ? nil : Wrapped(decodingField: &decoder)
    }
}

extension Array: FieldCodable where Element: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws {
        try encoder.beginArray(count)
        var index = 0
        for element in self {
            do {
                try element.encodeField(to: &encoder)
            } catch {
                throw FieldPath.error(error, at: index)
            }
            index &+= 1
        }
        encoder.endArray()
    }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        var array = try decoder.beginArray()
        self.init()
        reserveCapacity(array.likelyCount)
        while try decoder.nextElement(in: &array) {
            do {
                append(try Element(decodingField: &decoder))
            } catch {
                throw FieldPath.error(error, at: count, expecting: Element.self)
            }
        }
    }
}

extension Dictionary: FieldCodable
where Key == String, Value: FieldCodable {
    @inlinable
    public func encodeField(to encoder: inout FieldEncoder) throws {
        let map = try encoder.beginMap()
        for (key, value) in self {
            encoder.pairs &+= 1
            try encoder.writeText(key)
            do {
                try value.encodeField(to: &encoder)
            } catch {
                throw FieldPath.error(error, in: key)
            }
        }
        try encoder.endMap(map)
    }

    @inlinable
    public init(decodingField decoder: inout FieldDecoder) throws {
        var map = try decoder.beginMap()
        self.init()
        while let key = try decoder.nextKey(in: &map) {
            // Of equal keys the first counts.
            guard self[key] == nil else {
                try decoder.skipValue()
                continue
            }
            do {
                updateValue(try Value(decodingField: &decoder), forKey: key)
            } catch {
                throw FieldPath.error(error, in: key, expecting: Value.self)
            }
        }
    }
}
