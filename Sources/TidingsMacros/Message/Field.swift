#if Macros
    import SwiftSyntax

    /// A field of a message, and the source of its value when a message is decoded.
    struct Field {
        /// The name in the declaration, with backticks if it has them.
        var name: String
        /// The name in the payload.
        var key: String
        /// The type. If the field is optional, without the question mark.
        var type: String
        var isOptional: Bool
        /// The expression for the field's value if a payload lacks the field.
        var standIn: String?
        /// The field is a constant with a value: the value is posted, and never read from a payload.
        var isConstant = false

        var bareName: String { name.filter { $0 != "`" } }
        /// The generated variable that holds the decoded value until all fields are read. No parameter of the generated
        /// code ends in `Value`.
        var local: String { bareName + "Value" }
        var fullType: String { isOptional ? "\(type)?" : type }
    }

    extension TypeSyntax {
        /// The wrapped type, if this type is written as an optional.
        var wrapped: TypeSyntax? {
            if let optional = self.as(OptionalTypeSyntax.self) { return optional.wrappedType }
            if let optional = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return optional.wrappedType }
            if let named = self.as(IdentifierTypeSyntax.self), named.name.text == "Optional",
                let arguments = named.genericArgumentClause?.arguments, arguments.count == 1,
                case .type(let type) = arguments.first!.argument
            {
                return type
            }
            return nil
        }

        /// The type's text, for a position before a question mark.
        var written: String {
            let text = trimmedDescription
            if self.is(SomeOrAnyTypeSyntax.self) || self.is(CompositionTypeSyntax.self) { return "(\(text))" }
            return text
        }
    }

    extension ExprSyntax {
        /// The type that Swift infers for a variable with this value, if the value alone determines it.
        var literalType: String? {
            if self.is(IntegerLiteralExprSyntax.self) { return "Int" }
            if self.is(FloatLiteralExprSyntax.self) { return "Double" }
            if self.is(BooleanLiteralExprSyntax.self) { return "Bool" }
            if self.is(StringLiteralExprSyntax.self) { return "String" }
            if let minus = self.as(PrefixOperatorExprSyntax.self), minus.operator.text == "-" {
                return minus.expression.literalType
            }
            if let call = self.as(FunctionCallExprSyntax.self) {
                let called = call.calledExpression
                if called.is(ArrayExprSyntax.self) || called.is(DictionaryExprSyntax.self) {
                    return called.trimmedDescription
                }
            }
            return nil
        }

        /// The type that the expression probably creates: `Date()`, `Set<Int>()`, `Kind.fast`.
        var likelyType: String? {
            func isType(_ expression: ExprSyntax) -> Bool {
                if let name = expression.as(DeclReferenceExprSyntax.self) {
                    return name.baseName.text.first!.isUppercase
                }
                if let generic = expression.as(GenericSpecializationExprSyntax.self) {
                    return isType(generic.expression)
                }
                if let member = expression.as(MemberAccessExprSyntax.self), let base = member.base {
                    return isType(base) && member.declName.baseName.text.first!.isUppercase
                }
                return false
            }
            if let call = self.as(FunctionCallExprSyntax.self), isType(call.calledExpression) {
                return call.calledExpression.trimmedDescription
            }
            if let member = self.as(MemberAccessExprSyntax.self), let base = member.base, isType(base) {
                return base.trimmedDescription
            }
            return nil
        }
    }
#endif
