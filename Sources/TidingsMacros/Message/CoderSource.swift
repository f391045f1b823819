#if Macros
    /// Generates the source text of a coder for the fields of a message.
    struct CoderSource {
        var fields: [Field]
        /// The access modifier, followed by a space.
        var access: String

        var encode: String {
            lines(
                ["\(access)func _encodeField(to encoder: inout SharedNotificationCenter._FieldEncoder) throws {"],
                ["    let map = try encoder.beginMap()"],
                fields.map { "    try encoder.encode(self.\($0.name), for: \(quoted($0.key)))" },
                ["    try encoder.endMap(map)", "}"])
        }

        var decode: String {
            let cases = fields.enumerated().filter { !$0.element.isConstant }.flatMap { index, field in
                [
                    "        case \(index) where \(field.local) == nil:",
                    """
                    \(field.local) = try decoder.decode(\(field.fullType).self, for: \(quoted(field.key)))
                    """,
                ]
            }
            // The compiler warns about a `switch` that has only a default.
            let take =
                cases.isEmpty
                ? ["        try decoder.skipValue()"]
                : ["        switch field {"] + cases
                    + ["        default:", "            try decoder.skipValue()", "        }"]
            return lines(
                ["\(access)init(_decodingField decoder: inout SharedNotificationCenter._FieldDecoder) throws {"],
                read.map { "    var \($0.local): \($0.fullType)?" },
                ["    var map = try decoder.beginMap()"],
                ["    while let \(cases.isEmpty ? "_" : "field") = try decoder.nextField(in: &map, of: \(names)) {"],
                take,
                ["    }"],
                read.map { "    self.\($0.name) = \(value(of: $0))" },
                ["}"])
        }

        /// The fields whose values are read from a payload.
        private var read: [Field] { fields.filter { !$0.isConstant } }

        private func value(of field: Field) -> String {
            // An optional that is nil is not sent. A missing optional is therefore nil, also if its declaration has a
            // value.
            if field.isOptional { return "\(field.local) ?? nil" }
            if let standIn = field.standIn { return "\(field.local) ?? \(parenthesised(standIn))" }
            return "try decoder.required(\(field.local), \(quoted(field.key)))"
        }

        /// Whether an `init(from:)` must be generated, by which `Codable` decodes payloads in JSON.
        ///
        /// The compiler's own `init(from:)` would refuse a payload that lacks a field with a default.
        var needsCodable: Bool { fields.contains { !$0.isOptional && $0.standIn != nil } }

        var codingKeys: String {
            lines(
                ["private enum CodingKeys: String, CodingKey {"],
                fields.map { "    case \($0.name)" + ($0.key == $0.bareName ? "" : " = \(quoted($0.key))") },
                ["}"])
        }

        var initFromDecoder: String {
            if read.isEmpty { return "\(access)init(from decoder: any Decoder) throws {}" }
            return lines(
                ["\(access)init(from decoder: any Decoder) throws {"],
                ["    let container = try decoder.container(keyedBy: CodingKeys.self)"],
                read.map { "    self.\($0.name) = \(codableValue(of: $0))" },
                ["}"])
        }

        private func codableValue(of field: Field) -> String {
            let arguments = "\(field.type).self, forKey: .\(field.name)"
            if field.isOptional { return "try container.decodeIfPresent(\(arguments))" }
            let decode = "try container.decode(\(arguments))"
            guard let standIn = field.standIn else { return decode }
            return "container.contains(.\(field.name)) ? \(decode) : \(standIn)"
        }

        // MARK: Pieces

        private func lines(_ lines: [String]...) -> String { lines.joined().joined(separator: "\n") }

        private func parenthesised(_ expression: String) -> String {
            let isText =
                expression.hasPrefix("\"") && !expression.dropFirst().dropLast().contains("\"")
                && expression.hasSuffix("\"")
            let isPlain = expression.allSatisfy { $0.isLetter || $0.isNumber || $0 == "." || $0 == "_" }
            return isText || isPlain ? expression : "(\(expression))"
        }

        /// A string literal. A field's name in the payload may contain any characters if `CodingKeys` sets it.
        private func quoted(_ text: String) -> String {
            "\"" + text.unicodeScalars.map(\.escaped).joined() + "\""
        }

        /// All names as CBOR texts, concatenated, for `_FieldDecoder.nextField(in:of:)`.
        private var names: String {
            let parts = fields.map { field in
                let count = field.key.utf8.count
                let head = count < 24 ? escape(0x60 + count) : escape(0x78) + escape(count)
                return head + quoted(field.key).dropFirst().dropLast()
            }
            return "\"\(parts.joined())\""
        }

        private func escape(_ number: Int) -> String { "\\u{\(String(number, radix: 16, uppercase: true))}" }
    }

    extension Unicode.Scalar {
        fileprivate var escaped: String {
            switch self {
            case "\"", "\\": "\\\(self)"
            case _ where value < 32: "\\u{\(String(value, radix: 16))}"
            default: String(self)
            }
        }
    }
#endif
