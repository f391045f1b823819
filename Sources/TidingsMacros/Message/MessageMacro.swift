#if Macros
    import SwiftDiagnostics
    import SwiftSyntax
    import SwiftSyntaxBuilder
    import SwiftSyntaxMacros

    /// `@Message`, documented at `Message()` in the library. Public for the compiler's plugin only.
    public struct MessageMacro: ExtensionMacro {
        /// Returns the extension with the coder. If the struct cannot have one, returns nothing and reports the reason
        /// at the source location.
        ///
        /// - Throws: an error of swift-syntax for code that it cannot parse.
        public static func expansion(
            of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
            providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
            in context: some MacroExpansionContext
        ) throws -> [ExtensionDeclSyntax] {
            guard let structure = declaration.as(StructDeclSyntax.self) else {
                context.complain(
                    Complaint(
                        id: "struct",
                        message: """
                            @Message is for structs, because a message is a value that is copied to other processes: \
                            for another kind of type, conform to SharedNotificationCenter.Message and Codable
                            """),
                    at: declaration.introducer)
                return []
            }
            guard isPossible(structure, in: context), isNameGood(node, in: context) else { return [] }
            let reading = FieldReading(structure.memberBlock, in: context)
            guard reading.isComplete else { return [] }
            let source = CoderSource(fields: reading.fields, access: structure.modifiers.access)
            var parts = [source.encode, source.decode]
            if source.needsCodable {
                if reading.keys == nil { parts.append(source.codingKeys) }
                parts.append(source.initFromDecoder)
            }
            if let name = node.arguments?.as(LabeledExprListSyntax.self)?.first?.expression {
                parts.insert(
                    """
                    \(source.access)static var name: SharedNotificationCenter.Name { \
                    \(name.trimmedDescription) }
                    """, at: 0)
            }
            let conformance = protocols.isEmpty ? "" : ": SharedNotificationCenter.Message"
            return [
                try ExtensionDeclSyntax(
                    """
                    extension \(type.trimmed)\(raw: conformance) {
                    \(raw: parts.joined(separator: "\n\n"))
                    }
                    """)
            ]
        }

        /// Checks a name that is a literal. The center checks any other expression when the message is posted or
        /// observed.
        private static func isNameGood(_ node: AttributeSyntax, in context: some MacroExpansionContext) -> Bool {
            guard let argument = node.arguments?.as(LabeledExprListSyntax.self)?.first?.expression,
                let name = argument.plainText
            else { return true }
            let message: String
            if name.isEmpty {
                message = "a message can't have an empty name: write a name, or omit it to use the type's name"
            } else if name.utf8.count > 255 {
                message = "a name can have up to 255 bytes, and this name has \(name.utf8.count): shorten it"
            } else {
                return true
            }
            context.complain(Complaint(id: "name", message: message), at: argument)
            return false
        }

        private static func isPossible(_ structure: StructDeclSyntax, in context: some MacroExpansionContext) -> Bool {
            if let generics = structure.genericParameterClause {
                context.complain(
                    Complaint(
                        id: "generic",
                        message: """
                            a message can't be generic, because all its types would have one name: declare a message \
                            for each type
                            """),
                    at: generics)
                return false
            }
            for inherited in structure.inheritanceClause?.inheritedTypes ?? []
            where inherited.type.trimmedDescription.hasSuffix("BitwiseMessage") {
                context.complain(
                    Complaint(
                        id: "bitwise",
                        message: """
                            a BitwiseMessage is sent as its bytes and needs no coder: remove @Message, or remove \
                            this conformance
                            """),
                    at: inherited)
                return false
            }
            return true
        }
    }

    extension DeclGroupSyntax {
        /// The keyword of the declaration: `class`, `enum`, …
        fileprivate var introducer: TokenSyntax {
            if let type = self.as(ClassDeclSyntax.self) { return type.classKeyword }
            if let type = self.as(EnumDeclSyntax.self) { return type.enumKeyword }
            if let type = self.as(ActorDeclSyntax.self) { return type.actorKeyword }
            if let type = self.as(ProtocolDeclSyntax.self) { return type.protocolKeyword }
            return firstToken(viewMode: .sourceAccurate)!
        }
    }
#endif
