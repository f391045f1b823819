#if Macros
    import SwiftSyntaxMacrosGenericTestSupport
    import Testing

    /// The declarations that `@Message` refuses, and its diagnostics.
    @Suite struct MessageDiagnosticsTests {
        private func refused(
            _ source: String, _ message: String, line: Int, column: Int, severity: String = "error",
            fixIt: String? = nil,
            fixed: String? = nil, location: Testing.SourceLocation = #_sourceLocation
        ) {
            let plain = source.replacing("@Message\n", with: "")
            expectExpansion(
                source, plain,
                diagnostics: [
                    DiagnosticSpec(
                        message: message, line: line, column: column, severity: .error,
                        fixIts: fixIt.map { [FixItSpec(message: $0)] } ?? [])
                ], fixed: fixed, applying: fixIt.map { [$0] }, location: location)
        }

        @Test(arguments: ["final class", "enum", "actor"]) func structsOnly(kind: String) {
            refused(
                "@Message\n\(kind) Track {}",
                """
                @Message is for structs, because a message is a value that is copied to other processes: for another \
                kind of type, conform to SharedNotificationCenter.Message and Codable
                """,
                line: 2, column: kind.hasPrefix("final") ? 7 : 1)
        }

        @Test func generics() {
            refused(
                "@Message\nstruct Changed<Value> {\n    var value: Value\n}",
                """
                a message can't be generic, because all its types would have one name: declare a message for each type
                """,
                line: 2, column: 15)
        }

        @Test func bitwiseMessages() {
            refused(
                "@Message\nstruct Meter: SharedNotificationCenter.BitwiseMessage {\n    var level: Double\n}",
                "a BitwiseMessage is sent as its bytes and needs no coder: remove @Message, or remove this conformance",
                line: 2, column: 15)
        }

        @Test func computedPropertiesOnly() {
            refused(
                "@Message\nstruct Track {\n    var title: String { \"\" }\n}",
                """
                computed properties aren't sent, and this struct has no stored property: declare a stored property for \
                each field
                """,
                line: 3, column: 5)
        }

        @Test(arguments: [
            (": (Int, Int)", 16), (": [(x: Int, y: Int)]?", 17), (": [String: (Int, Int)]", 25), (" = (1, 2)", 17),
            (": Optional<(Int, Int)>", 25), (": ()", 16), (": Result<(Int, Int), Never>", 23),
            (": Swift.ContiguousArray<(Int, Int)>", 38),
        ])
        func tuples(field: String, column: Int) {
            refused(
                "@Message\nstruct Track {\n    var title\(field)\n}",
                "a tuple can't be sent, because it is not Codable: declare its elements one by one, or a struct",
                line: 3, column: column)
        }

        @Test(arguments: [
            (": () -> Void", 16), (": (@Sendable (Int) -> Void)?", 17), (": [() -> Int]", 17), (" = { 1 }", 17),
            (": @Sendable () -> Void", 16),
        ])
        func functions(field: String, column: Int) {
            refused(
                "@Message\nstruct Track {\n    var title\(field)\n}",
                "a function can't be sent to another process: send the arguments for its call",
                line: 3, column: column)
        }

        @Test func invalidNames() {
            expectExpansion(
                "@Message(\"\")\nstruct Track {\n    var title: String\n}", "struct Track {\n    var title: String\n}",
                diagnostics: [
                    DiagnosticSpec(
                        message: "a message can't have an empty name: write a name, or omit it to use the type's name",
                        line: 1, column: 10)
                ])
            let long = String(repeating: "n", count: 256)
            expectExpansion(
                "@Message(\"\(long)\")\nstruct Track {\n    var title: String\n}",
                "struct Track {\n    var title: String\n}",
                diagnostics: [
                    DiagnosticSpec(
                        message: "a name can have up to 255 bytes, and this name has 256: shorten it", line: 1,
                        column: 10)
                ])
        }

        @Test func anInferredType() {
            refused(
                "@Message\nstruct Track {\n    var when = Date()\n}",
                "a macro can't see inferred types: write the type of 'when'",
                line: 3, column: 9, fixIt: "add ': Date'",
                fixed: "@Message\nstruct Track {\n    var when: Date = Date()\n}")
            refused(
                "@Message\nstruct Track {\n    var when = now()\n}",
                "a macro can't see inferred types: write the type of 'when'",
                line: 3, column: 9, fixIt: "add a type",
                fixed: "@Message\nstruct Track {\n    var when: <#type#> = now()\n}")
        }

        @Test func lazyProperties() {
            refused(
                "@Message\nstruct Track {\n    lazy var title: String = find()\n}",
                "a lazy property may have no value to send yet: remove 'lazy', or make it a computed property",
                line: 3, column: 5, fixIt: "remove 'lazy'",
                fixed: "@Message\nstruct Track {\n    var title: String = find()\n}")
        }

        @Test func propertyWrappers() {
            refused(
                "@Message\nstruct Track {\n    @Clamped var volume: Double\n}",
                "@Message can't know which type @Clamped stores for this property: declare the property without it",
                line: 3, column: 5)
        }

        @Test func conditions() {
            refused(
                "@Message\nstruct Track {\n    #if DEBUG\n    var title: String\n    #endif\n}",
                """
                @Message can't read #if: a field of one build only would be unknown to other builds; move it out of \
                the #if
                """,
                line: 3, column: 5)
        }

        @Test func tuples() {
            refused(
                "@Message\nstruct Track {\n    var (title, artist) = (\"\", \"\")\n}",
                "@Message needs a name for each field: declare the properties of this tuple one by one", line: 3,
                column: 9)
        }

        @Test(arguments: [
            "init(from decoder: any Decoder) throws {\n    }", "func encode(to encoder: any Encoder) throws {\n    }",
        ])
        func aCustomCoder(coder: String) {
            refused(
                "@Message\nstruct Track {\n    var title: String\n    \(coder)\n}",
                """
                this coder and that of @Message would encode the struct differently: remove this one, or remove \
                @Message and conform to SharedNotificationCenter.Message
                """,
                line: 4, column: coder.hasPrefix("func") ? 10 : 5)
        }

        @Test func keys() {
            refused(
                """
                @Message
                struct Track {
                    var title: String
                    enum CodingKeys: Int, CodingKey {
                        case title = 1
                    }
                }
                """,
                "field names are strings: give this case a string literal", line: 5, column: 22)
            refused(
                """
                @Message
                struct Track {
                    var title: String
                    var length: Int
                    enum CodingKeys: CodingKey {
                        case title
                    }
                }
                """,
                "CodingKeys leaves 'length' out, so an observer needs a default value for it", line: 4, column: 9)
            refused(
                """
                @Message
                struct Track {
                    var title: String
                    enum CodingKeys: CodingKey {
                        case title, length
                    }
                }
                """,
                "CodingKeys has 'length', and there is no such stored property", line: 2, column: 14)
            let long = String(repeating: "x", count: 128)
            refused(
                "@Message\nstruct Track {\n    var \(long): Int\n}",
                "a field's name can have up to 127 bytes: give it a shorter name in CodingKeys", line: 3, column: 9)
        }

        @Test func aConstantCausesAWarning() {
            expectExpansion(
                "@Message\nstruct Ping {\n    let version = 1\n}",
                """
                struct Ping {
                    let version = 1
                }

                extension Ping: SharedNotificationCenter.Message {
                    func _encodeField(to encoder: inout SharedNotificationCenter._FieldEncoder) throws {
                        let map = try encoder.beginMap()
                        try encoder.encode(self.version, for: "version")
                        try encoder.endMap(map)
                    }

                    init(_decodingField decoder: inout SharedNotificationCenter._FieldDecoder) throws {
                        var map = try decoder.beginMap()
                        while let _ = try decoder.nextField(in: &map, of: "\\u{67}version") {
                            try decoder.skipValue()
                        }
                    }

                    private enum CodingKeys: String, CodingKey {
                        case version
                    }

                    init(from decoder: any Decoder) throws {
                    }
                }
                """,
                diagnostics: [
                    DiagnosticSpec(
                        message:
                            """
                            a constant with a value is sent, but observers ignore the sent value: make it a variable, \
                            or 'static' if it is not to be sent
                            """,
                        line: 3, column: 9, severity: .warning, fixIts: [FixItSpec(message: "change 'let' to 'var'")])
                ])
        }
    }
#endif
