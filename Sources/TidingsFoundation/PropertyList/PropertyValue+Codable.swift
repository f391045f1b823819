// The `Codable` conformance of `PropertyValue`.
import Foundation
import Tidings
import TidingsCoding

extension SharedNotificationCenter.PropertyValue: Codable {
    /// Encodes the value as its counterpart in CBOR, or in the format of the encoder.
    ///
    /// - Throws: the encoder's error. The library's own encoder throws an `EncodingError` if arrays and maps are nested
    ///   more than 128 deep.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .boolean(let value): try container.encode(value)
        case .date(let value): try container.encode(value)
        case .data(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .dictionary(let value): try container.encode(value)
        }
    }

    /// Decodes the value, if a property list can hold it.
    ///
    /// - Throws: a `DecodingError` for any other value.
    public init(from decoder: any Decoder) throws {
        // CBOR declares the kind of each value. If the kinds were tried one by one, a date would decode as a number.
        if let decoder = decoder as? CBORDecoder {
            self = try Self(kind: decoder.kind(), from: decoder)
        } else {
            self = try Self(trying: decoder)
        }
    }

    private init(kind: CBORDecoder.Kind, from decoder: CBORDecoder) throws {
        let container = try decoder.singleValueContainer()
        switch kind {
        case .integer: self = .integer(try container.decode(Int.self))
        case .double: self = .double(try container.decode(Double.self))
        case .boolean: self = .boolean(try container.decode(Bool.self))
        case .string: self = .string(try container.decode(String.self))
        case .data: self = .data(try container.decode(Data.self))
        case .date: self = .date(try container.decode(Date.self))
        case .array: self = .array(try container.decode([Self].self))
        case .dictionary: self = .dictionary(try Self.entries(of: decoder))
        case .other: throw Self.foreign(decoder, "such a value")
        }
    }

    private static func foreign(_ decoder: any Decoder, _ what: String) -> DecodingError {
        .typeMismatch(
            Self.self,
            DecodingError.Context(
                codingPath: decoder.codingPath, debugDescription: "a property list does not have \(what)"))
    }

    /// Decodes a JSON value within another type. A value that is the whole payload, which may be large, is decoded by
    /// `init(jsonPayload:)`.
    private init(trying decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if var elements = try? decoder.unkeyedContainer() {
            var values: [Self] = []
            while !elements.isAtEnd { values.append(try elements.decode(Self.self)) }
            self = .array(values)
        } else {
            self = .dictionary(try Self.entries(of: decoder))
        }
    }

    private struct EntryKey: CodingKey {
        let stringValue: String
        let intValue: Int?
        init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
        init(intValue: Int) { (stringValue, self.intValue) = (String(intValue), intValue) }
    }

    private static func entries(of decoder: any Decoder) throws -> [String: Self] {
        let container = try decoder.container(keyedBy: EntryKey.self)
        var entries: [String: Self] = [:]
        for key in container.allKeys where try !container.decodeNil(forKey: key) {
            guard key.intValue == nil || !(decoder is CBORDecoder) else {
                throw foreign(decoder, "keys that are no text")
            }
            entries[key.stringValue] = try container.decode(Self.self, forKey: key)
        }
        return entries
    }
}
