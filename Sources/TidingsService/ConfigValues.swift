#if Service
    internal import Configuration
    internal import Tidings

    #if canImport(FoundationEssentials)
        internal import struct FoundationEssentials.Data
    #else
        internal import struct Foundation.Data
    #endif

    /// A configuration as it is retained and posted: a map of CBOR (or of JSON, as the command sets it).
    ///
    ///     {"values": {"log.level": "debug", "http.port": 8080}, "secrets": ["database.password"]}
    struct RetainedConfig: Codable, Equatable, Sendable {
        /// All values.
        var values: [String: StoredContent]
        /// The keys whose values are secret.
        var secrets: Set<String>?
        /// The keys that this notification removes.
        var removed: Set<String>?
        /// The positions at which the other keys were set or removed. `nil`: this notification replaces all values.
        var positions: [String: UInt64]?

        /// Replaces all values by none.
        static var empty: RetainedConfig {
            var config = RetainedConfig([:], [:])
            config.positions = nil
            return config
        }

        /// All values, after changes that get the position of the post.
        init(_ entries: [String: ConfigState.Entry], _ changes: [String: ConfigValue?]) {
            var all = entries.compactMapValues(\.value)
            for (key, value) in changes { all[key] = value }
            values = all.mapValues { StoredContent($0.content) }
            secrets = Set(all.filter(\.value.isSecret).keys)
            removed = Set(changes.filter { $0.value == nil }.keys)
            positions = entries.filter { changes[$0.key] == nil }.mapValues(\.position)
        }

        /// - Parameters:
        ///   - position: that of this notification.
        ///   - keys: what there is already.
        func entries(at position: UInt64, replacing keys: some Sequence<String> = []) -> [String: ConfigState.Entry] {
            var entries: [String: ConfigState.Entry] = [:]
            // A later position is a peer's mistake: no value could replace that one.
            for (key, earlier) in positions ?? [:] { entries[key] = .init(position: min(earlier, position)) }
            if positions == nil { for key in keys { entries[key] = .init(position: position) } }
            for key in removed ?? [] { entries[key] = .init(position: position) }
            for (key, value) in values {
                let value = ConfigValue(value.content, isSecret: secrets?.contains(key) ?? false)
                entries[key, default: .init(position: position)].value = value
            }
            return entries
        }
    }

    /// A value as plain CBOR or JSON: a text, a number, a truth value, bytes, or an array of one of these.
    struct StoredContent: Codable, Equatable, Sendable {
        let content: ConfigContent

        init(_ content: ConfigContent) { self.content = content }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let bool = try? container.decode(Bool.self) {
                content = .bool(bool)
            } else if let int = try? container.decode(Int.self) {
                content = .int(int)
            } else if let double = try? container.decode(Double.self) {
                content = .double(double)
            } else if let string = try? container.decode(String.self) {
                content = .string(string)
            } else if let bools = try? container.decode([Bool].self) {
                // An empty array is an array of any type (`ConfigContent.converted`).
                content = .boolArray(bools)
            } else if let ints = try? container.decode([Int].self) {
                content = .intArray(ints)
            } else if let doubles = try? container.decode([Double].self) {
                content = .doubleArray(doubles)
            } else if let strings = try? container.decode([String].self) {
                content = .stringArray(strings)
            } else if let chunks = try? container.decode([Data].self) {
                content = .byteChunkArray(chunks.map { Array($0) })
            } else {
                content = .bytes(Array(try container.decode(Data.self)))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch content {
            case .string(let value): try container.encode(value)
            case .int(let value): try container.encode(value)
            case .double(let value): try container.encode(value)
            case .bool(let value): try container.encode(value)
            case .bytes(let value): try container.encode(Data(value))
            case .stringArray(let values): try container.encode(values)
            case .intArray(let values): try container.encode(values)
            case .doubleArray(let values): try container.encode(values)
            case .boolArray(let values): try container.encode(values)
            case .byteChunkArray(let values): try container.encode(values.map { Data($0) })
            }
        }
    }

    extension ConfigContent {
        /// The content as that type. `nil`: it is of another type. An integer is a number of any kind, because a stored
        /// 2.0 is read as 2.
        func converted(to type: ConfigType) -> ConfigContent? {
            switch (self, type) {
            case (.string, .string), (.int, .int), (.double, .double), (.bool, .bool), (.bytes, .bytes),
                (.stringArray, .stringArray), (.intArray, .intArray), (.doubleArray, .doubleArray),
                (.boolArray, .boolArray), (.byteChunkArray, .byteChunkArray):
                self
            case (.int(let value), .double): .double(Double(value))
            case (.intArray(let values), .doubleArray): .doubleArray(values.map { Double($0) })
            case (.boolArray([]), .stringArray): .stringArray([])
            case (.boolArray([]), .intArray): .intArray([])
            case (.boolArray([]), .doubleArray): .doubleArray([])
            case (.boolArray([]), .byteChunkArray): .byteChunkArray([])
            default: nil
            }
        }
    }
#endif
