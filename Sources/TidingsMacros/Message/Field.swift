#if Macros
    import SwiftSyntax

    /// A field of a message, and how its value comes about.
    struct Field {
        /// As it is declared, with backticks if it has them.
        var name: String
        /// As it travels.
        var key: String
        /// Without the question mark, if it is optional.
        var type: String
        var isOptional: Bool
        /// What stands in for it where a payload doesn't have it: an expression.
        var standIn: String?
        /// It has one value always, which is posted and never read.
        var isConstant = false

        var bareName: String { name.filter { $0 != "`" } }
        /// Where its value waits until all have come. Ends in a way that no parameter of the generated code does.
        var local: String { bareName + "Value" }
        var fullType: String { isOptional ? "\(type)?" : type }
    }

    extension TypeSyntax {
        /// What is wrapped, if this is an optional one by how it is written.
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

        /// For a place where a question mark follows.
        var written: String {
            let text = trimmedDescription
            if self.is(SomeOrAnyTypeSyntax.self) || self.is(CompositionTypeSyntax.self) { return "(\(text))" }
            return text
        }
    }

    extension ExprSyntax {
        /// The type that Swift gives a variable of this value, where the value alone says it.
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

        /// What looks like a type that is made here: `Date()`, `Set<Int>()`, `Kind.fast`.
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
