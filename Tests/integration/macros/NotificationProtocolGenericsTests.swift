#if Macros
    import SwiftSyntaxMacrosGenericTestSupport
    import Testing

    /// `@NotificationProtocol` refuses types that a poster can't know; its fix-its replace them by placeholders.
    @Suite struct NotificationProtocolGenericsTests {
        private static let generic =
            """
            a generic method can't be a notification, because the observer's process must know the type: write the \
            type, or a method for each type
            """
        private static let associated =
            "a poster can't know an associated type, which differs between observers: write the type that is sent"
        private static let conditional =
            "a where clause can't restrict a notification to some observers: remove it"

        private struct Refusal {
            var message: String
            var line = 3
            var column: Int
            var fixIt: String?
        }

        /// Expects the refusals of one protocol, and the source after all its fix-its.
        private func refused(
            _ source: String, _ refusals: [Refusal], expanded: String? = nil, fixed: String,
            location: Testing.SourceLocation = #_sourceLocation
        ) {
            expectExpansion(
                "@NotificationProtocol\n\(source)", expanded ?? source,
                diagnostics: refusals.map {
                    DiagnosticSpec(
                        message: $0.message, line: $0.line, column: $0.column,
                        fixIts: $0.fixIt.map { [FixItSpec(message: $0)] } ?? [])
                }, fixed: "@NotificationProtocol\n\(fixed)", location: location)
            expectNoComplaints(of: "@NotificationProtocol\n\(fixed)", location: location)
        }

        private func methods(_ methods: String) -> String { "protocol UserObserver: AnyObject {\n    \(methods)\n}" }

        private func refusedMethod(
            _ method: String, column: Int, fixIt: String, fixed: String,
            location: Testing.SourceLocation = #_sourceLocation
        ) {
            refused(
                methods(method), [Refusal(message: Self.generic, column: column, fixIt: fixIt)],
                fixed: methods(fixed), location: location)
        }

        // MARK: Generic methods

        @Test func genericMethods() {
            refusedMethod(
                "func moved<T: Codable>(to value: T)", column: 15, fixIt: "take a type in place of 'T'",
                fixed: "func moved(to value: <#T#>)")
            refusedMethod(
                "func moved<T, U>(to value: T, from old: U) where T: Codable, U: Codable", column: 15,
                fixIt: "take types in place of 'T' and 'U'",
                fixed: "func moved(to value: <#T#>, from old: <#U#>)")
            refusedMethod(
                "func moved<T, U, V>(by step: T, to value: U, from old: V, again: T)", column: 15,
                fixIt: "take types in place of 'T', 'U' and 'V'",
                fixed: "func moved(by step: <#T#>, to value: <#U#>, from old: <#V#>, again: <#T#>)")
            refusedMethod(
                "func left<T, U>(uid: Int)", column: 14, fixIt: "remove '<T, U>'", fixed: "func left(uid: Int)")
        }

        @Test(arguments: [
            ("[T]", "[<#T#>]"), ("T?", "<#T#>?"), ("[String: T]", "[String: <#T#>]"), ("[T: Int]", "[<#T#>: Int]"),
            ("Set<T>", "Set<<#T#>>"), ("Optional<Set<T>>", "Optional<Set<<#T#>>>"), ("T.ID", "<#T#>.ID"),
            ("[T.ID]?", "[<#T#>.ID]?"),
            ("any Collection<T>", "any Collection<<#T#>>"), ("T.Type", "<#T#>.Type"),
        ])
        func placesOfTheType(type: String, fixed: String) {
            refusedMethod(
                "func moved<T>(to value: \(type))", column: 15, fixIt: "take a type in place of 'T'",
                fixed: "func moved(to value: \(fixed))")
        }

        @Test func otherThingsOfThatName() {
            refusedMethod(
                "func moved<T>(T: Int, to T: T, in tree: Tree, by kind: Kind.T, of other: Self.T, at: T<Int>)",
                column: 15,
                fixIt: "take a type in place of 'T'",
                fixed: "func moved(T: Int, to T: <#T#>, in tree: Tree, by kind: Kind.T, of other: Self.T, at: T<Int>)")
            refusedMethod(
                "func T<T>(of value: T)", column: 11, fixIt: "take a type in place of 'T'",
                fixed: "func T(of value: <#T#>)")
            refusedMethod(
                "func moved<`Type`>(to value: `Type`)", column: 15, fixIt: "take a type in place of 'Type'",
                fixed: "func moved(to value: <#Type#>)")
        }

        @Test func packsAndValues() {
            refusedMethod(
                "func moved<each T: Codable>(to values: repeat each T)", column: 15,
                fixIt: "take a type in place of 'T'", fixed: "func moved(to values: <#T#>)")
            refusedMethod(
                "func moved<each T>(to values: /* all */ repeat [each T], from old: (repeat each T))", column: 15,
                fixIt: "take a type in place of 'T'",
                fixed: "func moved(to values: /* all */ [<#T#>], from old: (<#T#>))")
            refusedMethod(
                "func moved<let n: Int>(to values: InlineArray<n, Int>)", column: 15,
                fixIt: "take a type in place of 'n'", fixed: "func moved(to values: InlineArray<<#n#>, Int>)")
        }

        @Test func results() {
            let source = methods("func moved<T>(to value: T) -> [T] where T: Codable")
            expectExpansion(
                "@NotificationProtocol\n\(source)", source,
                diagnostics: [
                    DiagnosticSpec(
                        message: Self.generic, line: 3, column: 15,
                        fixIts: [FixItSpec(message: "take a type in place of 'T'")]),
                    DiagnosticSpec(
                        message:
                            """
                            posters receive no result from observers: remove the result, and let observers post a \
                            notification of their own
                            """,
                        line: 3, column: 32, fixIts: [FixItSpec(message: "remove the result")]),
                ], fixed: "@NotificationProtocol\n\(methods("func moved(to value: <#T#>) -> [<#T#>]"))",
                applying: ["take a type in place of 'T'"])
        }

        @Test func severalMethods() {
            refused(
                methods(
                    """
                    func left()

                        func moved<T>(to value: T)
                        func turned<U>(by angle: U) where U: Codable
                        func back(T: Tree)
                    """
                ),
                [
                    Refusal(message: Self.generic, line: 5, column: 15, fixIt: "take a type in place of 'T'"),
                    Refusal(message: Self.generic, line: 6, column: 16, fixIt: "take a type in place of 'U'"),
                ],
                fixed: methods(
                    """
                    func left()

                        func moved(to value: <#T#>)
                        func turned(by angle: <#U#>)
                        func back(T: Tree)
                    """
                ))
        }

        @Test func whereClausesAlone() {
            for (before, after) in [
                ("func left(uid: Int) where Self: Sendable", "func left(uid: Int)"),
                (
                    "func left(uid: Int)\n        where Self: /* all */ Sendable // them",
                    "func left(uid: Int) /* all */ // them"
                ),
            ] {
                let column = before.contains("\n") ? 9 : 25
                refused(
                    methods(before),
                    [
                        Refusal(
                            message: Self.conditional, line: before.contains("\n") ? 4 : 3, column: column,
                            fixIt: "remove the where clause")
                    ], fixed: methods(after))
            }
        }

        @Test(arguments: [
            ("func moved<T>(to value: T) // to all", "func moved(to value: <#T#>) // to all"),
            (
                "func moved /* that */ <T>(to value: T) /* far */ where T: Codable // to all",
                "func moved(to value: <#T#>) /* that */ /* far */ // to all"
            ),
            ("func moved<T>(to value: T) where T: Codable // to all", "func moved(to value: <#T#>) // to all"),
            ("func moved<T /* sent */>(to value: T) // to all", "func moved(to value: <#T#>) /* sent */ // to all"),
            (
                "func moved<T>(to value: /* new */ T /* one */, T: T)",
                "func moved(to value: /* new */ <#T#> /* one */, T: <#T#>)"
            ),
            (
                """
                func moved<
                        // What is sent.
                        T
                    >(to value: T)
                        // As it travels.
                        where T: Codable
                """,
                "func moved(to value: <#T#>) // What is sent.\n    // As it travels."
            ),
            (
                "func moved<T>(\n        to value: T,\n        from old: T\n    )",
                "func moved(\n        to value: <#T#>,\n        from old: <#T#>\n    )"
            ),
            ("func moved<T>(to value: T); func left()", "func moved(to value: <#T#>); func left()"),
        ])
        func commentsOfMethods(before: String, after: String) {
            let column = 5 + before.prefix { $0 != "<" }.count
            refusedMethod(before, column: column, fixIt: "take a type in place of 'T'", fixed: after)
        }

        @Test func oneLine() {
            refused(
                "protocol P: AnyObject { func moved<T // sent\n>(to value: T) }",
                [Refusal(message: Self.generic, line: 2, column: 35, fixIt: "take a type in place of 'T'")],
                expanded: "protocol P: AnyObject { func moved<T // sent\n>(to value: T) \n}",
                fixed: "protocol P: AnyObject { func moved(to value: <#T#>) // sent\n}")
        }

        // MARK: Opaque types

        @Test(arguments: [
            ("some Codable", "some Codable", "<#Codable#>"), ("[some Codable]", "some Codable", "[<#Codable#>]"),
            ("(some Codable)?", "some Codable", "<#Codable#>?"),
            ("[String: some Codable & Sendable]", "some Codable & Sendable", "[String: <#Codable & Sendable#>]"),
            ("some Collection<Int>", "some Collection<Int>", "<#Collection<Int>#>"),
            ("/* as */ some /* sent */ Codable", "some Codable", "/* as */ /* sent */ <#Codable#>"),
        ])
        func opaqueTypes(type: String, name: String, fixed: String) {
            refusedMethod(
                "func left(uid: \(type), when: Int)", column: type.hasPrefix("/*") ? 29 : 20,
                fixIt: "take a type in place of '\(name)'", fixed: "func left(uid: \(fixed), when: Int)")
        }

        @Test func severalOpaqueTypes() {
            refused(
                methods("func left(uid: some Codable, when: some Hashable)\n    func back(uid: some Sendable)"),
                [
                    Refusal(message: Self.generic, column: 20, fixIt: "take a type in place of 'some Codable'"),
                    Refusal(message: Self.generic, column: 40, fixIt: "take a type in place of 'some Hashable'"),
                    Refusal(
                        message: Self.generic, line: 4, column: 20, fixIt: "take a type in place of 'some Sendable'"),
                ], fixed: methods("func left(uid: <#Codable#>, when: <#Hashable#>)\n    func back(uid: <#Sendable#>)"))
        }

        /// A method has one diagnostic and one fix-it: two fix-its, applied one at a time, would leave it generic.
        @Test func opaqueTypesOfGenericMethods() {
            refusedMethod(
                "func moved<T>(to value: T, by uid: some Collection<T>)", column: 15,
                fixIt: "take types in place of 'T' and 'some Collection<T>'",
                fixed: "func moved(to value: <#T#>, by uid: <#Collection<T>#>)")
        }
    }
#endif
