#if Macros
    import SwiftSyntax

    /// A method of a protocol, as a notification.
    struct NotificationMethod {
        struct Parameter {
            /// The argument label: `oldName`, `_`.
            var label: String
            /// The parameter's own name.
            var name: String
            /// The field of the message that carries the argument.
            var field: Field
        }

        /// The method's documentation comments, copied to the poster's method.
        var documentation: [String]
        /// The method's base name, with backticks if it has them.
        var base: String
        var parameters: [Parameter]
        /// The source text after the name, for the poster's declaration.
        var parameterClause: String
        /// The name on the wire, after the protocol's name: `userNameChanged(oldName:newName:)`.
        var name: String
        /// The type name of the method's message.
        var type = ""

        var bareBase: String { base.filter { $0 != "`" } }

        /// `UserNameChanged`, with the labels if several methods have the same base name.
        func typeName(withLabels: Bool) -> String {
            var words = [bareBase]
            if withLabels { words += parameters.map { $0.label == "_" ? $0.name : $0.label } }
            return words.map { word in
                let bare = word.filter { $0 != "`" && $0 != "_" }
                return bare.prefix(1).uppercased() + bare.dropFirst()
            }.joined() + "Message"
        }

        /// The call of the observer's method with the fields of a message.
        var call: String {
            let arguments = parameters.map { parameter in
                (parameter.label == "_" ? "" : "\(parameter.label): ") + "arguments.\(parameter.field.name)"
            }
            return "observer.\(base)(\(arguments.joined(separator: ", ")))"
        }
    }
#endif
