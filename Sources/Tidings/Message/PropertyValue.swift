#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension SharedNotificationCenter {
    /// What goes with an untyped notification: property-list values by name.
    ///
    /// ```swift
    /// var userInfo: SharedNotificationCenter.UserInfo = ["volume": 0.5, "muted": false, "tags": ["a", "b"], "by": ["name": "Miles"]]
    /// userInfo["when"] = .date(Date())
    /// let volume = userInfo["volume"]?.double          // 0.5
    /// let name = userInfo["by"]?["name"]?.string       // "Miles"
    /// ```
    public typealias UserInfo = [String: PropertyValue]

    /// A value of a property list: text, number, truth, date, data, or arrays and dictionaries of these, 127 deep at most.
    ///
    /// ```swift
    /// let value: SharedNotificationCenter.PropertyValue = ["title": "So What", "year": 1959, "players": ["Davis", "Coltrane"]]
    /// let year = value["year"]?.integer               // 1959
    /// let first = value["players"]?[0]?.string        // "Davis"
    /// ```
    ///
    /// Travels as what CBOR has for it, so that what is posted comes out as what it was: 1 stays an integer and 1.0 a floating-point number
    /// (dates are good to 0.2 µs). Other CBOR is understood as far as it has such values: a null is left out of its dictionary, and anything
    /// else does not decode. JSON has neither dates nor data, and whole numbers in it are integers as far as `Int` has them. Nested
    /// further than 128 deep, neither decodes.
    public enum PropertyValue: Hashable, Sendable {
        /// A text.
        case string(String)
        /// An integer of 64 bits.
        case integer(Int)
        /// A floating-point number.
        case double(Double)
        /// True or false.
        case boolean(Bool)
        /// A moment.
        case date(Date)
        /// Bytes.
        case data(Data)
        /// Values in a row.
        case array([PropertyValue])
        /// Values by name.
        case dictionary([String: PropertyValue])
    }
}

extension SharedNotificationCenter.PropertyValue {
    /// The text; `nil` if it is something else.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The integer; `nil` if it is something else.
    public var integer: Int? { if case .integer(let value) = self { value } else { nil } }
    /// The number, also that of an integer; `nil` if it is something else.
    public var double: Double? {
        switch self {
        case .double(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }
    /// The truth value; `nil` if it is something else.
    public var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
    /// The date; `nil` if it is something else.
    public var date: Date? { if case .date(let value) = self { value } else { nil } }
    /// The data; `nil` if it is something else.
    public var data: Data? { if case .data(let value) = self { value } else { nil } }
    /// The array; `nil` if it is something else.
    public var array: [Self]? { if case .array(let value) = self { value } else { nil } }
    /// The dictionary; `nil` if it is something else.
    public var dictionary: [String: Self]? { if case .dictionary(let value) = self { value } else { nil } }

    /// The value of a dictionary's key; `nil` if there is none, or this is no dictionary.
    public subscript(key: String) -> Self? { dictionary?[key] }

    /// The element of an array; `nil` if there is none, or this is no array.
    public subscript(index: Int) -> Self? {
        guard let array, array.indices.contains(index) else { return nil }
        return array[index]
    }
}

extension SharedNotificationCenter.PropertyValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An integer.
    public init(integerLiteral value: Int) { self = .integer(value) }
    /// A floating-point number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// True or false.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// An array.
    public init(arrayLiteral elements: Self...) { self = .array(elements) }
    /// A dictionary. Of equal keys the last counts.
    public init(dictionaryLiteral elements: (String, Self)...) {
        self = .dictionary(Dictionary(elements) { $1 })
    }
}

extension SharedNotificationCenter.PropertyValue {
    /// What has a place in a property list, as it comes out of `[String: Any]`: strings, numbers, truth values, dates, data, and arrays and
    /// dictionaries with text keys of these. `nil` for anything else, also inside, and for integers beyond `Int`.
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

    /// The value itself, for code that takes `Any`.
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
