#if Macros
    import SwiftSyntax

    /// A written type or value that cannot be a field.
    ///
    /// The macro reports it at the field. Otherwise the compiler would report it in generated code.
    struct Untransportable {
        var id: String
        var message: String
        var node: Syntax

        static func function(_ node: some SyntaxProtocol) -> Untransportable {
            Untransportable(
                id: "function",
                message: "a function can't be sent to another process: send the arguments for its call",
                node: Syntax(node))
        }

        static func tuple(_ node: some SyntaxProtocol) -> Untransportable {
            Untransportable(
                id: "tuple",
                message:
                    "a tuple can't be sent, because it is not Codable: declare its elements one by one, or a struct",
                node: Syntax(node))
        }
    }

    extension TypeSyntax {
        /// The reason why this type cannot be sent, if there is one.
        ///
        /// Also the reason for an argument of a generic type of the standard library that stores values of its
        /// arguments. A generic type of another module may be Codable, whatever its arguments are.
        var complaint: Untransportable? {
            if self.is(FunctionTypeSyntax.self) { return .function(self) }
            if let tuple = self.as(TupleTypeSyntax.self) {
                guard tuple.elements.count == 1, let only = tuple.elements.first, only.firstName == nil else {
                    return .tuple(self)
                }
                return only.type.complaint
            }
            if let attributed = self.as(AttributedTypeSyntax.self) {
                guard var complaint = attributed.baseType.complaint else { return nil }
                // The report covers the attribute, such as `@Sendable`, as well.
                if complaint.node == Syntax(attributed.baseType) { complaint.node = Syntax(self) }
                return complaint
            }
            if let optional = self.as(OptionalTypeSyntax.self) { return optional.wrappedType.complaint }
            if let optional = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
                return optional.wrappedType.complaint
            }
            if let array = self.as(ArrayTypeSyntax.self) { return array.element.complaint }
            if let dictionary = self.as(DictionaryTypeSyntax.self) {
                return dictionary.key.complaint ?? dictionary.value.complaint
            }
            var (name, arguments): (String?, GenericArgumentClauseSyntax?)
            if let named = self.as(IdentifierTypeSyntax.self) {
                (name, arguments) = (named.name.text, named.genericArgumentClause)
            } else if let member = self.as(MemberTypeSyntax.self), member.baseType.trimmedDescription == "Swift" {
                (name, arguments) = (member.name.text, member.genericArgumentClause)
            }
            guard let name, TypeSyntax.storing.contains(name) else { return nil }
            for argument in arguments?.arguments ?? [] {
                if case .type(let type) = argument.argument, let complaint = type.complaint { return complaint }
            }
            return nil
        }

        private static let storing: Set = [
            "Optional", "Array", "ContiguousArray", "ArraySlice", "InlineArray", "CollectionOfOne", "Dictionary", "Set",
            "Range", "ClosedRange", "PartialRangeFrom", "PartialRangeThrough", "PartialRangeUpTo", "Result",
        ]
    }

    extension ExprSyntax {
        /// The reason why a value without a written type cannot be sent, if there is one.
        var complaint: Untransportable? {
            if self.is(ClosureExprSyntax.self) { return .function(self) }
            guard let tuple = self.as(TupleExprSyntax.self) else { return nil }
            if tuple.elements.count == 1, let only = tuple.elements.first { return only.expression.complaint }
            return .tuple(self)
        }
    }
#endif
