extension SharedNotificationCenter {
    /// A notification name and the types of its arguments, declared as a value: no message type is needed.
    ///
    /// ```swift
    /// let progress = SharedNotificationCenter.Key<Int, String>("com.example.import.progress")
    /// let center = try SharedNotificationCenter(named: "com.example.import")
    /// let token = try center.addObserver(for: progress) { percent, stage in print("\(stage): \(percent) %") }
    /// try center.post(progress, 42, "decoding")
    /// ```
    ///
    /// The arguments travel as one CBOR array. The array is empty for `Key< >`, a key without arguments. An observer
    /// also understands JSON from the command, such as `["decoding", 42]`. An observer decodes by its own key:
    /// - It ignores elements beyond its own arguments, so a poster may have added arguments at the end.
    /// - If the array ends before an argument, the argument takes its value from the key's `defaults`. Without a
    ///   default, an optional argument is `nil`.
    /// - Any other difference makes the payload undecodable, and it is reported as such. Examples are an argument of
    ///   another type, a missing argument in the middle, and a missing argument without a default. The closure never
    ///   receives an invented value.
    public struct Key<each Argument: Codable & Sendable>: Sendable {
        /// The name of its notifications, the same in all processes.
        public let name: Name
        /// The value of each argument for a payload that ends before it.
        let defaults: (repeat (each Argument)?)

        /// Creates a key. Its arguments must all be present, except optional ones at the end and those with a default.
        /// `defaults` are for arguments that were added later: `nil` for each argument that every poster sends.
        ///
        /// ```swift
        /// let progress = SharedNotificationCenter.Key<Int, String, Double>(
        ///     "com.example.import.progress", defaults: (nil, nil, 1))
        /// ```
        public init(_ name: Name, defaults: (repeat (each Argument)?)? = nil) {
            self.name = name
            self.defaults = defaults ?? (repeat Optional<each Argument>.none)
        }
    }
}

/// The arguments of a post, as one array.
struct PostedArguments<each Argument: Encodable>: Encodable {
    let values: (repeat each Argument)

    static var types: [Any.Type] {
        var types: [Any.Type] = []
        repeat types.append((each Argument).self)
        return types
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        repeat try container.encode(each values)
    }
}

/// The arguments in a payload: `nil` for each argument that the array ends before.
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
    /// The arguments in a payload, with the defaults for missing ones.
    func arguments(
        format: UInt8, bytes: UnsafeRawBufferPointer, isShared: Bool = false
    ) throws -> (repeat each Argument) {
        // A key without arguments needs no payload.
        if bytes.isEmpty, PostedArguments<repeat each Argument>.types.isEmpty {
            return (repeat try complete(nil, with: each defaults, at: 0))
        }
        let arrived = try PayloadCoding.decode(
            ArrivedArguments<repeat each Argument>.self,
            format: SharedNotificationCenter.PayloadFormat(rawValue: format), bytes: bytes, isShared: isShared)
        var index = 0
        func next<Value>(_ value: Value?, _ standIn: Value?) throws -> Value {
            defer { index += 1 }
            return try complete(value, with: standIn, at: index)
        }
        return (repeat try next(each arrived.values, each defaults))
    }

    /// The least number of arguments in a decodable payload.
    var needed: Int {
        var (needed, count) = (0, 0)
        func add<Value>(_ standIn: Value?) {
            count += 1
            if standIn == nil, !(Value.self is any ExpressibleByNilLiteral.Type) { needed = count }
        }
        repeat add(each defaults)
        return needed
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
