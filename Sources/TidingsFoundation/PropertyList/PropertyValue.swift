// `UserInfo` and `PropertyValue`: the payload of an untyped notification.
public import Foundation
public import Tidings

extension SharedNotificationCenter {
    /// The payload of an untyped notification: property-list values by name.
    ///
    /// ```swift
    /// var userInfo: SharedNotificationCenter.UserInfo = [
    ///     "volume": 0.5, "muted": false, "tags": ["a", "b"], "by": ["name": "Miles"],
    /// ]
    /// userInfo["when"] = .date(Date())
    /// let volume = userInfo["volume"]?.double          // 0.5
    /// let name = userInfo["by"]?["name"]?.string       // "Miles"
    /// ```
    public typealias UserInfo = [String: PropertyValue]

    /// A property-list value: text, number, Boolean, date, data, or arrays and dictionaries of these, at most 127 deep.
    ///
    /// ```swift
    /// let value: SharedNotificationCenter.PropertyValue = [
    ///     "title": "So What", "year": 1959, "players": ["Davis", "Coltrane"],
    /// ]
    /// let year = value["year"]?.integer               // 1959
    /// let first = value["players"]?[0]?.string        // "Davis"
    /// ```
    ///
    /// A value travels as its counterpart in CBOR, so the observer gets the kind of value that was posted. 1 stays an
    /// integer, and 1.0 a floating-point number. Dates are accurate to 0.2 µs. In other CBOR, a null is left out of its
    /// dictionary, and any value without a counterpart here does not decode. JSON has neither dates nor data. A whole
    /// number in JSON is an integer if an `Int` can hold it. CBOR or JSON that is nested more than 128 deep does not
    /// decode.
    public enum PropertyValue: Hashable, Sendable {
        /// A text.
        case string(String)
        /// An integer of 64 bits.
        case integer(Int)
        /// A floating-point number.
        case double(Double)
        /// A Boolean.
        case boolean(Bool)
        /// A date.
        case date(Date)
        /// Bytes.
        case data(Data)
        /// An array of values.
        case array([PropertyValue])
        /// A dictionary of values by name.
        case dictionary([String: PropertyValue])
    }
}

extension SharedNotificationCenter.PropertyValue {
    /// The text; `nil` if the value is not a text.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The integer; `nil` if the value is not an integer.
    public var integer: Int? { if case .integer(let value) = self { value } else { nil } }
    /// The number as a floating-point number, also of an integer; `nil` if the value is not a number.
    public var double: Double? {
        switch self {
        case .double(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }
    /// The Boolean; `nil` if the value is not a Boolean.
    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The date; `nil` if the value is not a date.
    public var date: Date? { if case .date(let value) = self { value } else { nil } }
    /// The data; `nil` if the value is not data.
    public var data: Data? { if case .data(let value) = self { value } else { nil } }
    /// The array; `nil` if the value is not an array.
    public var array: [Self]? { if case .array(let value) = self { value } else { nil } }
    /// The dictionary; `nil` if the value is not a dictionary.
    public var dictionary: [String: Self]? { if case .dictionary(let value) = self { value } else { nil } }

    /// The value for a key of a dictionary; `nil` if the key is missing, or if this is not a dictionary.
    public subscript(key: String) -> Self? { dictionary?[key] }

    /// The element of an array at an index; `nil` if the index is out of bounds, or if this is not an array.
    public subscript(index: Int) -> Self? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }
}

extension SharedNotificationCenter.PropertyValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates a text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// Creates a floating-point number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Creates an array.
    public init(arrayLiteral elements: Self...) { self = .array(elements) }
    /// Creates a dictionary. If keys are equal, the last one counts.
    public init(dictionaryLiteral elements: (String, Self)...) {
        self = .dictionary(Dictionary(elements) { $1 })
    }
}

extension SharedNotificationCenter.PropertyValue {
    /// Converts a value of `[String: Any]`: strings, numbers, Booleans, dates, data, and arrays and dictionaries with
    /// text keys of these.
    ///
    /// `nil` for any other value, also if it is inside an array or dictionary, and for an integer beyond `Int`.
    ///
    /// ```swift
    /// let settings: [String: Any] = ["volume": 0.5, "when": Date()]
    /// let userInfo = SharedNotificationCenter.PropertyValue(settings)?.dictionary
    /// ```
    public init?(_ value: Any) {
        switch value {
        case let value as Self: self = value
        case let value as Bool: self = .boolean(value)
        case let value as String: self = .string(value)
        case let value as any BinaryInteger:
            guard let integer = Int(exactly: value) else { return nil }
            self = .integer(integer)
        case let value as any BinaryFloatingPoint: self = .double(Double(value))
        case let value as Date: self = .date(value)
        case let value as Data: self = .data(value)
        case let value as [Any]:
            let elements = value.compactMap(Self.init)
            guard elements.count == value.count else { return nil }
            self = .array(elements)
        case let value as [AnyHashable: Any]:
            var entries: [String: Self] = [:]
            for (key, value) in value {
                guard let key = key.base as? String, let value = Self(value) else { return nil }
                entries[key] = value
            }
            self = .dictionary(entries)
        default: return nil
        }
    }

    /// The plain value, for code that takes `Any`.
    public var any: Any {
        switch self {
        case .string(let value): value
        case .integer(let value): value
        case .double(let value): value
        case .boolean(let value): value
        case .date(let value): value
        case .data(let value): value
        case .array(let value): value.map(\.any)
        case .dictionary(let value): value.mapValues(\.any)
        }
    }
}
