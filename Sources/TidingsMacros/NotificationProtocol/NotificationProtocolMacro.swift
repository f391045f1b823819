#if Macros
    import SwiftDiagnostics
    import SwiftSyntax
    import SwiftSyntaxBuilder
    import SwiftSyntaxMacros

    /// `@NotificationProtocol`, documented in the library. Public for the compiler's plugin only.
    public struct NotificationProtocolMacro: PeerMacro {
        /// Returns the poster and the messages. If they cannot be generated, returns nothing and reports the reasons at
        /// their source locations.
        ///
        /// - Throws: an error of swift-syntax for code that it cannot parse.
        public static func expansion(
            of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
            in context: some MacroExpansionContext
        ) throws -> [DeclSyntax] {
            guard let declaration = declaration.as(ProtocolDeclSyntax.self) else {
                context.complain(
                    Complaint(
                        id: "protocol",
                        message:
                            """
                            @NotificationProtocol is for protocols, whose methods are the notifications: for a struct \
                            use @Message
                            """
                    ),
                    at: node)
                return []
            }
            guard isForObjects(declaration, in: context), let prefix = prefix(of: node, in: context) else { return [] }
            let reading = NotificationMethodReading(declaration, in: context)
            guard reading.isComplete else { return [] }
            let source = NotificationProtocolSource(
                name: declaration.name.text, prefix: "\(prefix)\(declaration.name.bareText).", methods: reading.methods,
                typeAccess: declaration.modifiers.peerAccess, access: declaration.modifiers.access,
                isOnMainActor: declaration.attributes.contains {
                    $0.as(AttributeSyntax.self)?.attributeName.trimmedDescription == "MainActor"
                })
            guard areNamesValid(source, declaration, in: context) else { return [] }
            return ["\(raw: source.poster)", "\(raw: source.messages)"]
        }

        /// Refuses protocols with associated types, and protocols to which values could conform.
        private static func isForObjects(
            _ declaration: ProtocolDeclSyntax, in context: some MacroExpansionContext
        ) -> Bool {
            if let clause = declaration.associatedTypeClause {
                context.complain(
                    .associatedType, at: clause, [.takingTypes(inPlaceOfAssociatedTypesOf: declaration)])
                return false
            }
            let inherited = declaration.inheritanceClause?.inheritedTypes.map(\.type.trimmedDescription) ?? []
            if inherited.allSatisfy({ ["Sendable", "Equatable", "Hashable"].contains($0) }) {
                var bound = declaration
                let object = InheritedTypeSyntax(type: TypeSyntax("AnyObject"))
                if let clause = declaration.inheritanceClause {
                    bound.inheritanceClause = clause.with(
                        \.inheritedTypes,
                        [object.with(\.trailingComma, .commaToken(trailingTrivia: .space))] + clause.inheritedTypes)
                } else {
                    bound.name.trailingTrivia = []
                    bound.inheritanceClause = InheritanceClauseSyntax(
                        colon: .colonToken(trailingTrivia: .space), inheritedTypes: [object], trailingTrivia: .space)
                }
                context.complain(
                    Complaint(
                        id: "object",
                        message:
                            """
                            observers are held weakly, and only objects can be held weakly: add 'AnyObject'
                            """
                    ),
                    at: declaration.name, [.replacing("add 'AnyObject'", declaration, by: bound)])
                return false
            }
            return true
        }

        /// The prefix, followed by a full stop. If it is not a string literal, reports this and returns `nil`.
        private static func prefix(of node: AttributeSyntax, in context: some MacroExpansionContext) -> String? {
            guard let argument = node.arguments?.as(LabeledExprListSyntax.self)?.first?.expression else { return "" }
            guard let prefix = argument.plainText else {
                context.complain(
                    Complaint(
                        id: "prefix",
                        message: """
                            write the prefix as a string literal: names are fixed when the program is built
                            """),
                    at: argument)
                return nil
            }
            return prefix.isEmpty ? "" : "\(prefix)."
        }

        private static func areNamesValid(
            _ source: NotificationProtocolSource, _ declaration: ProtocolDeclSyntax,
            in context: some MacroExpansionContext
        ) -> Bool {
            var taken: Set<String> = []
            for method in source.methods {
                let name = source.prefix + method.name
                if !taken.insert(name).inserted {
                    context.complain(
                        Complaint(
                            id: "overload",
                            message:
                                """
                                two methods have the name "\(name)", because names do not include types: rename \
                                one of them by @NotificationName
                                """
                        ),
                        at: declaration.name)
                    return false
                }
                if name.utf8.count > 255 {
                    context.complain(
                        Complaint(
                            id: "length",
                            message:
                                """
                                the name "\(name)" has more than 255 bytes: shorten it by @NotificationName
                                """),
                        at: declaration.name)
                    return false
                }
            }
            return true
        }
    }

    /// `@NotificationName` and `@NotificationDefault`, which generate nothing: `@NotificationProtocol` reads them.
    ///
    /// Public for the compiler's plugin only.
    public struct NotificationDetailMacro: PeerMacro {
        /// Returns nothing. If the attribute is not on a method, reports this at the source location.
        ///
        /// - Throws: nothing.
        public static func expansion(
            of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
            in context: some MacroExpansionContext
        ) throws -> [DeclSyntax] {
            if !declaration.is(FunctionDeclSyntax.self) {
                context.complain(
                    Complaint(
                        id: "method",
                        message: "this attribute is for methods of a protocol with @NotificationProtocol"),
                    at: node)
            }
            return []
        }
    }

    extension DeclModifierListSyntax {
        /// The access modifier of a type beside the declaration, followed by a space.
        fileprivate var peerAccess: String {
            if contains(.private) || contains(.fileprivate) { return "fileprivate " }
            return access
        }
    }
#endif
