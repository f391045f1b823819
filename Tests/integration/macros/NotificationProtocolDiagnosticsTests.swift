#if Macros
    import SwiftSyntaxMacrosGenericTestSupport
    import Testing

    /// What `@NotificationProtocol` refuses, what it says then, and how it would mend it.
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
                "func left(who: Int) async",
                "posting waits for no observer, so an 'async' method would have nobody to wait for it: remove 'async', and start a Task in the observer's method",
                column: 25, fixIt: "remove 'async'", fixed: "func left(who: Int)")
        }

        @Test(arguments: ["throws", "throws(Failure)"]) func throwingMethods(effect: String) {
            refused(
                "func left(who: Int) \(effect)",
                "there may be many observers or none, and nobody to catch what one throws: remove 'throws', and post a notification of the failure",
                column: 25, fixIt: "remove '\(effect)'", fixed: "func left(who: Int)")
        }

        @Test func results() {
            refused(
                "func left(who: Int) -> Bool",
                "nobody waits for an answer to a notification: remove the result, and let observers post a notification of their own",
                column: 25, fixIt: "remove the result", fixed: "func left(who: Int)")
        }

        @Test func settableProperties() {
            refused(
                "var user: String { get set }",
                "setting a property is no notification: declare a method that says what has changed, or use setState(_:for:) for a value that stays",
                column: 28)
        }

        @Test func staticAndMutatingMethods() {
            refused(
                "static func left(who: Int)",
                "notifications go to objects: a type has nothing to register; make it an instance method", column: 5,
                fixIt: "remove 'static'", fixed: "func left(who: Int)")
            refused(
                "mutating func left(who: Int)", "observers are objects, which need no 'mutating' to change: remove it",
                column: 5,
                fixIt: "remove 'mutating'", fixed: "func left(who: Int)")
        }

        @Test func specifiers() {
            refused(
                "func left(who: inout Int)", "what an observer changes can't come back to the poster: remove 'inout'",
                column: 20,
                fixIt: "remove 'inout'", fixed: "func left(who: Int)")
            refused(
                "func left(who: consuming Int)",
                "arguments are copied to other processes: 'consuming' can't be, nor can types that aren't copyable; remove it",
                column: 20, fixIt: "remove 'consuming'", fixed: "func left(who: Int)")
        }

        @Test func parameters() {
            refused(
                "func left(who: Int...)",
                "a poster's arguments can't be handed on to a variadic parameter: send an array", column: 23,
                fixIt: "make it an array", fixed: "func left(who: [Int])")
            refused(
                "func left(then: @escaping () -> Void)",
                "a function can't travel to another process: send what it would be called with",
                column: 21)
            refused(
                "func left(where: [(x: Int, y: Int)])",
                "a tuple can't be sent, as it can't be Codable: declare its elements one by one, or a struct of them",
                column: 23)
            refused("func left(_: Int)", "this parameter needs a name to travel under: write '_ value'", column: 15)
            refused(
                "func left(who a: Int, who b: Int)",
                "two parameters would travel as one field: give them different labels", column: 10)
        }

        @Test func otherMembers() {
            refused("init(who: Int)", "a notification is for observers that exist: 'init' can't be one", column: 5)
            refused(
                "subscript(who: Int) -> Int { get }",
                "a subscript asks for an answer, and posters get none: make it a method", column: 5)
            refused(
                "@MainActor func left(who: Int)",
                "all methods of an observer are called in one place: write @MainActor before the protocol",
                column: 5)
        }

        @Test func details() {
            refused(
                "@NotificationDefault(\"whom\", 1) func left(who: Int)",
                "there is no parameter 'whom' that this could be the default of",
                column: 42)
        }

        @Test func whatOthersThanObjectsCouldConformTo() {
            for (before, after) in [
                ("protocol P {\n    func left()\n}", "protocol P: AnyObject {\n    func left()\n}"),
                ("protocol P: Sendable {\n    func left()\n}", "protocol P: AnyObject, Sendable {\n    func left()\n}"),
            ] {
                expectExpansion(
                    "@NotificationProtocol\n\(before)", before,
                    diagnostics: [
                        DiagnosticSpec(
                            message:
                                "observers are held weakly, so that nobody has to remove them: only objects can be; add 'AnyObject'",
                            line: 2, column: 10, fixIts: [FixItSpec(message: "add 'AnyObject'")])
                    ], fixed: "@NotificationProtocol\n\(after)", applying: ["add 'AnyObject'"])
            }
        }

        @Test func overloadsThatDifferInTypesOnly() {
            let source = "protocol P: AnyObject {\n    func left(who: Int)\n    func left(who: String)\n}"
            expectExpansion(
                "@NotificationProtocol\n\(source)", source,
                diagnostics: [
                    DiagnosticSpec(
                        message:
                            "two methods have the name \"P.left(who:)\", which leaves out their types: give one of them another by @NotificationName",
                        line: 2, column: 10)
                ])
        }

        @Test func otherDeclarations() {
            expectExpansion(
                "@NotificationProtocol\nstruct S {\n}", "struct S {\n}",
                diagnostics: [
                    DiagnosticSpec(
                        message:
                            "@NotificationProtocol is for protocols: their methods are the notifications; for a struct use @Message",
                        line: 1, column: 1)
                ])
            expectExpansion(
                "@NotificationProtocol(prefix: own)\nprotocol P: AnyObject {\n}", "protocol P: AnyObject {\n}",
                diagnostics: [
                    DiagnosticSpec(
                        message: "names are settled when the program is built: the prefix has to be a string literal",
                        line: 1,
                        column: 31)
                ])
        }
    }
#endif
