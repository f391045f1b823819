extension SharedNotificationCenter {
    /// A name together with the types of what goes with it, declared as a value: a notification without a type of its own.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter(named: "com.example.import")
    /// let token = try center.addObserver(for: progress) { percent, stage in print("\(stage): \(percent) %") }
    /// try center.post(progress, 42, "decoding")
    /// ```
    ///
    /// The arguments travel as one CBOR array (`Key< >`, without any: the empty one), so that `["decoding", 42]` in JSON from the command
    /// is understood as well. An observer goes by its own key:
    /// - elements beyond its arguments are passed over, so a poster may have got more of them at the end;
    /// - arguments at the end that a poster does not have yet take the key's `defaults`, and without one an optional is `nil`;
    /// - anything else is undecodable, and reported as such: an argument that is missing in the middle or without a default, or one of
    ///   another type. Never is a closure called with something made up.
    public struct Key<each Argument: Codable & Sendable>: Sendable {
        /// The name its notifications have, the same in all processes.
        public let name: Name
        /// What stands in for an argument that a payload ends before.
        let defaults: (repeat (each Argument)?)

        /// A key whose arguments all have to be there, but for optional ones at the end. ``Key`` has an example.
        public init(_ name: Name) {
            self.name = name
            defaults = (repeat Optional<each Argument>.none)
        }

        /// A key with defaults for arguments that were added later: `nil` for those that every poster has.
        ///
        /// ```swift
        /// let progress = SharedNotificationCenter.Key<Int, String, Double>("com.example.import.progress", defaults: (nil, nil, 1))
        /// ```
        public init(_ name: Name, defaults: (repeat (each Argument)?)) {
            self.name = name
            self.defaults = defaults
        }
    }
}

/// Arguments on their way out.
struct PostedArguments<each Argument: Encodable>: Encodable {
    let values: (repeat each Argument)

    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        repeat try container.encode(each values)
    }
}

/// Arguments as they came: `nil` for what the array ends before.
struct ArrivedArguments<each Argument: Decodable>: Decodable {
    let values: (repeat (each Argument)?)

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        func next<Value: Decodable>(_ type: Value.Type) throws -> Value? {
            container.isAtEnd ? nil : try container.decode(type)
        }
        values = (repeat try next((each Argument).self))
    }
}

extension SharedNotificationCenter.Key {
    /// The arguments in a payload, completed with the defaults.
    func arguments(format: UInt8, bytes: UnsafeRawBufferPointer) throws -> (repeat each Argument) {
        // Without arguments there is nothing to say, and a post without a payload says it.
        if bytes.isEmpty, Self.count == 0 { return (repeat try complete(nil, with: each defaults, at: 0)) }
        let arrived = try PayloadCoding.decode(
            ArrivedArguments<repeat each Argument>.self,
            format: SharedNotificationCenter.PayloadFormat(rawValue: format), bytes: bytes)
        var index = 0
        func next<Value>(_ value: Value?, _ standIn: Value?) throws -> Value {
            defer { index += 1 }
            return try complete(value, with: standIn, at: index)
        }
        return (repeat try next(each arrived.values, each defaults))
    }

    /// How many arguments a payload has to have at least.
    var needed: Int {
        var (needed, count) = (0, 0)
        func add<Value>(_ standIn: Value?) {
            count += 1
            if standIn == nil, !(Value.self is any ExpressibleByNilLiteral.Type) { needed = count }
        }
        repeat add(each defaults)
        return needed
    }

    private static var count: Int {
        var count = 0
        func add<Value>(_ type: Value.Type) { count += 1 }
        repeat add((each Argument).self)
        return count
    }

    private func complete<Value>(_ value: Value?, with standIn: Value?, at index: Int) throws -> Value {
        if let value = value ?? standIn { return value }
        if let optional = Value.self as? any ExpressibleByNilLiteral.Type,
            let none = optional.init(nilLiteral: ()) as? Value
        {
            return none
        }
        throw DecodingError.valueNotFound(
            Value.self,
            DecodingError.Context(
                codingPath: [], debugDescription: "the payload ends before argument \(index), which has no default"))
    }
}
