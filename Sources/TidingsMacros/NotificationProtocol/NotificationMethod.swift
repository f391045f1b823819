#if Macros
    import SwiftSyntax

    /// A method of a protocol that is a notification.
    struct NotificationMethod {
        struct Parameter {
            /// As the method is called: `oldName`, `_`.
            var label: String
            /// As the method's own code calls it.
            var name: String
            /// The field it travels as.
            var field: Field
        }

        /// The method's documentation, for the poster's.
        var documentation: [String]
        /// With backticks if it has them.
        var base: String
        var parameters: [Parameter]
        /// Everything behind the name, to be declared again.
        var parameterClause: String
        /// On the wire, behind the protocol's name: `userNameChanged(oldName:newName:)`.
        var name: String
        /// Of its message.
        var type = ""

        var bareBase: String { base.filter { $0 != "`" } }

        /// `UserNameChanged`, or with the labels where several methods have that name.
        func typeName(withLabels: Bool) -> String {
            var words = [bareBase]
            if withLabels { words += parameters.map { $0.label == "_" ? $0.name : $0.label } }
            return words.map { word in
                let bare = word.filter { $0 != "`" && $0 != "_" }
                return bare.prefix(1).uppercased() + bare.dropFirst()
            }.joined() + "Message"
        }

        /// How its observer's method is called with the fields of a message.
        var call: String {
            let arguments = parameters.map { parameter in
                (parameter.label == "_" ? "" : "\(parameter.label): ") + "arguments.\(parameter.field.name)"
            }
            return "observer.\(base)(\(arguments.joined(separator: ", ")))"
        }
    }
#endif
