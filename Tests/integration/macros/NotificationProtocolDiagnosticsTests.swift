#if Macros
    import SwiftSyntaxMacrosGenericTestSupport
    import Testing

    /// The declarations that `@NotificationProtocol` refuses, its diagnostics, and its fix-its.
    @Suite struct NotificationProtocolDiagnosticsTests {
        private func refused(
            _ method: String, _ message: String, column: Int, fixIt: String? = nil, fixed: String? = nil,
            location: Testing.SourceLocation = #_sourceLocation
        ) {
            func source(_ method: String) -> String { "protocol UserObserver: AnyObject {\n    \(method)\n}" }
            expectExpansion(
                "@NotificationProtocol\n\(source(method))", source(method),
                diagnostics: [
                    DiagnosticSpec(
                        message: message, line: 3, column: column, fixIts: fixIt.map { [FixItSpec(message: $0)] } ?? [])
                ], fixed: fixed.map { "@NotificationProtocol\n\(source($0))" }, applying: fixIt.map { [$0] },
                location: location)
        }

        @Test func asynchronousMethods() {
            refused(
                "func left(uid: Int) async",
                """
                posters do not wait for observers, so a notification can't be 'async': remove 'async', and start a \
                Task in the observer's method
                """,
                column: 25, fixIt: "remove 'async'", fixed: "func left(uid: Int)")
        }

        @Test(arguments: ["throws", "throws(Failure)"]) func throwingMethods(effect: String) {
            refused(
                "func left(uid: Int) \(effect)",
                "posters can't catch errors of observers: remove 'throws', and post a notification of the failure",
                column: 25, fixIt: "remove '\(effect)'", fixed: "func left(uid: Int)")
        }

        @Test func results() {
            refused(
                "func left(uid: Int) -> Bool",
                """
                posters receive no result from observers: remove the result, and let observers post a notification of \
                their own
                """,
                column: 25, fixIt: "remove the result", fixed: "func left(uid: Int)")
        }

        @Test func settableProperties() {
            refused(
                "var user: String { get set }",
                """
                a settable property can't be a notification: declare a method that reports the change, or use \
                setState(_:for:) for a value that stays
                """,
                column: 28)
        }

        @Test func staticAndMutatingMethods() {
            refused(
                "static func left(uid: Int)",
                "observers are objects, and a type can't be one: make it an instance method", column: 5,
                fixIt: "remove 'static'", fixed: "func left(uid: Int)")
            refused(
                "mutating func left(uid: Int)", "observers are objects, whose methods need no 'mutating': remove it",
                column: 5,
                fixIt: "remove 'mutating'", fixed: "func left(uid: Int)")
        }

        @Test func specifiers() {
            refused(
                "func left(uid: inout Int)", "an observer's changes can't return to the poster: remove 'inout'",
                column: 20,
                fixIt: "remove 'inout'", fixed: "func left(uid: Int)")
            refused(
                "func left(uid: consuming Int)",
                """
                arguments are copied to other processes, so 'consuming' has no effect, and types that can't be copied \
                can't be sent: remove it
                """,
                column: 20, fixIt: "remove 'consuming'", fixed: "func left(uid: Int)")
        }

        @Test func parameters() {
            refused(
                "func left(uid: Int...)",
                "a poster's arguments can't be passed to a variadic parameter: send an array", column: 23,
                fixIt: "make it an array", fixed: "func left(uid: [Int])")
            refused(
                "func left(then: @escaping () -> Void)",
                "a function can't be sent to another process: send the arguments for its call",
                column: 21)
            refused(
                "func left(where: [(x: Int, y: Int)])",
                "a tuple can't be sent, because it is not Codable: declare its elements one by one, or a struct",
                column: 23)
            refused("func left(_: Int)", "this parameter needs a name for its field: write '_ value'", column: 15)
            refused(
                "func left(uid a: Int, uid b: Int)",
                "two parameters would have one field name: give them different labels", column: 10)
        }

        @Test func otherMembers() {
            refused(
                "init(uid: Int)",
                "'init' can't be a notification, because observers exist already: make it a method", column: 5)
            refused(
                "subscript(uid: Int) -> Int { get }",
                "a subscript returns a value, and posters receive none: make it a method", column: 5)
            refused(
                "@MainActor func left(uid: Int)",
                "all methods of an observer have one isolation: write @MainActor before the protocol",
                column: 5)
        }

        @Test func details() {
            refused(
                "@NotificationDefault(\"other\", 1) func left(uid: Int)",
                "there is no parameter 'other': write the label of a parameter of this method",
                column: 43)
        }

        @Test func protocolsThatValuesCouldConformTo() {
            for (before, after) in [
                ("protocol P {\n    func left()\n}", "protocol P: AnyObject {\n    func left()\n}"),
                ("protocol P: Sendable {\n    func left()\n}", "protocol P: AnyObject, Sendable {\n    func left()\n}"),
            ] {
                expectExpansion(
                    "@NotificationProtocol\n\(before)", before,
                    diagnostics: [
                        DiagnosticSpec(
                            message:
                                "observers are held weakly, and only objects can be held weakly: add 'AnyObject'",
                            line: 2, column: 10, fixIts: [FixItSpec(message: "add 'AnyObject'")])
                    ], fixed: "@NotificationProtocol\n\(after)", applying: ["add 'AnyObject'"])
            }
        }

        @Test func overloadsThatDifferInTypesOnly() {
            let source = "protocol P: AnyObject {\n    func left(uid: Int)\n    func left(uid: String)\n}"
            expectExpansion(
                "@NotificationProtocol\n\(source)", source,
                diagnostics: [
                    DiagnosticSpec(
                        message:
                            """
                            two methods have the name \"P.left(uid:)\", because names do not include types: rename one \
                            of them by @NotificationName
                            """,
                        line: 2, column: 10)
                ])
        }

        @Test func otherDeclarations() {
            expectExpansion(
                "@NotificationProtocol\nstruct S {\n}", "struct S {\n}",
                diagnostics: [
                    DiagnosticSpec(
                        message:
                            """
                            @NotificationProtocol is for protocols, whose methods are the notifications: for a struct \
                            use @Message
                            """,
                        line: 1, column: 1)
                ])
            expectExpansion(
                "@NotificationProtocol(prefix: own)\nprotocol P: AnyObject {\n}", "protocol P: AnyObject {\n}",
                diagnostics: [
                    DiagnosticSpec(
                        message: "write the prefix as a string literal: names are fixed when the program is built",
                        line: 1,
                        column: 31)
                ])
        }
    }
#endif
