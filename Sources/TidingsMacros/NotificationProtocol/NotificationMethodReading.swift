#if Macros
    import SwiftDiagnostics
    import SwiftSyntax
    import SwiftSyntaxMacros

    /// Finds a protocol's methods, and reports members that cannot be notifications.
    struct NotificationMethodReading<Context: MacroExpansionContext> {
        let context: Context
        let declaration: ProtocolDeclSyntax
        var methods: [NotificationMethod] = []
        var isComplete = true
        private var isReportedAsGeneric = false

        init(_ declaration: ProtocolDeclSyntax, in context: Context) {
            self.context = context
            self.declaration = declaration
            for member in declaration.memberBlock.members { read(member.decl) }
            nameTypes()
        }

        private mutating func refuse(
            _ id: String, _ message: String, at node: some SyntaxProtocol, _ fixIts: [FixIt] = []
        ) {
            refuse(Complaint(id: id, message: message), at: node, fixIts)
        }

        private mutating func refuse(_ complaint: Complaint, at node: some SyntaxProtocol, _ fixIts: [FixIt]) {
            isComplete = false
            context.complain(complaint, at: node, fixIts)
        }

        // MARK: Members

        private mutating func read(_ member: DeclSyntax) {
            if let function = member.as(FunctionDeclSyntax.self) { return read(function) }
            if let variable = member.as(VariableDeclSyntax.self) { return check(variable) }
            if let type = member.as(AssociatedTypeDeclSyntax.self) {
                refuse(
                    .associatedType, at: type.associatedtypeKeyword,
                    [.takingTypes(inPlaceOfAssociatedTypesOf: declaration)])
            } else if let initializer = member.as(InitializerDeclSyntax.self) {
                refuse(
                    "init", "'init' can't be a notification, because observers exist already: make it a method",
                    at: initializer.initKeyword)
            } else if let subscripting = member.as(SubscriptDeclSyntax.self) {
                refuse(
                    "subscript", "a subscript returns a value, and posters receive none: make it a method",
                    at: subscripting.subscriptKeyword)
            } else if let conditional = member.as(IfConfigDeclSyntax.self) {
                refuse(
                    "conditional",
                    """
                    @NotificationProtocol can't read #if: a method of one build only would have no observer in \
                    other builds; move it out of the #if
                    """,
                    at: conditional.clauses.first?.poundKeyword ?? member.firstToken(viewMode: .sourceAccurate)!)
            }
        }

        /// Refuses settable properties: a set value would have to be the same in all processes. A property that an
        /// observer only returns is allowed.
        private mutating func check(_ variable: VariableDeclSyntax) {
            for binding in variable.bindings {
                guard case .accessors(let accessors) = binding.accessorBlock?.accessors,
                    let setter = accessors.first(where: { $0.accessorSpecifier.tokenKind == .keyword(.set) })
                else { continue }
                refuse(
                    "property",
                    """
                    a settable property can't be a notification: declare a method that reports the change, or use \
                    setState(_:for:) for a value that stays
                    """,
                    at: setter)
            }
        }

        // MARK: Methods

        private mutating func read(_ function: FunctionDeclSyntax) {
            let before = isComplete
            isComplete = true
            defer { isComplete = isComplete && before }
            checkModifiers(function)
            checkEffects(function)
            isReportedAsGeneric = function.genericParameterClause != nil
            if let generics = function.genericParameterClause {
                refuse(.generic, at: generics, [.takingTypes(inPlaceOf: generics, of: function)])
            } else if let clause = function.genericWhereClause {
                refuse(
                    "where", "a where clause can't restrict a notification to some observers: remove it",
                    at: clause,
                    [.removingWhereClause(of: function)])
            }
            if let result = function.signature.returnClause, !["Void", "()"].contains(result.type.trimmedDescription) {
                let without = function.with(\.signature.returnClause, nil)
                refuse(
                    "result",
                    """
                    posters receive no result from observers: remove the result, and let observers post a \
                    notification of their own
                    """,
                    at: result, [.replacing("remove the result", function, by: without)])
            }
            var defaults = self.defaults(of: function)
            let parameters = function.signature.parameterClause.parameters.compactMap { self.parameter($0, &defaults) }
            for name in defaults.keys.sorted() {
                refuse(
                    "default", "there is no parameter '\(name)': write the label of a parameter of this method",
                    at: function.name)
            }
            guard isComplete else { return }
            let fields = parameters.map(\.field.name)
            guard Set(fields).count == fields.count else {
                return refuse(
                    "names", "two parameters would have one field name: give them different labels", at: function.name)
            }
            methods.append(
                NotificationMethod(
                    documentation: function.documentation, base: function.name.text, parameters: parameters,
                    parameterClause: function.signature.parameterClause.trimmedDescription,
                    name: ownName(of: function)
                        ?? "\(function.name.bareText)(\(parameters.map { "\($0.label):" }.joined()))"))
        }

        private mutating func checkModifiers(_ function: FunctionDeclSyntax) {
            for modifier in function.modifiers {
                switch modifier.name.tokenKind {
                case .keyword(.static), .keyword(.class):
                    refuse(
                        "static",
                        "observers are objects, and a type can't be one: make it an instance method",
                        at: modifier,
                        [.removing("remove '\(modifier.name.text)'", modifier, from: function)])
                case .keyword(.mutating):
                    refuse(
                        "mutating", "observers are objects, whose methods need no 'mutating': remove it",
                        at: modifier,
                        [.removing("remove 'mutating'", modifier, from: function)])
                case .keyword(.consuming), .keyword(.borrowing):
                    refuse(
                        "ownership", "observers stay registered after a call: remove '\(modifier.name.text)'",
                        at: modifier,
                        [.removing("remove '\(modifier.name.text)'", modifier, from: function)])
                default: break
                }
            }
            for attribute in function.attributes {
                guard let attribute = attribute.as(AttributeSyntax.self) else { continue }
                let name = attribute.attributeName.trimmedDescription
                if name.hasSuffix("Actor") {
                    refuse(
                        "isolation",
                        "all methods of an observer have one isolation: write @MainActor before the protocol",
                        at: attribute)
                }
            }
        }

        private mutating func checkEffects(_ function: FunctionDeclSyntax) {
            let effects = function.signature.effectSpecifiers
            if let asynchronous = effects?.asyncSpecifier {
                refuse(
                    "async",
                    """
                    posters do not wait for observers, so a notification can't be 'async': remove 'async', and start \
                    a Task in the observer's method
                    """,
                    at: asynchronous,
                    [
                        .replacing(
                            "remove 'async'", function, by: function.withoutEffects { $0.with(\.asyncSpecifier, nil) })
                    ])
            }
            if let throwing = effects?.throwsClause {
                refuse(
                    "throws",
                    """
                    posters can't catch errors of observers: remove 'throws', and post a notification of the failure
                    """,
                    at: throwing,
                    [
                        .replacing(
                            "remove '\(throwing.trimmedDescription)'", function,
                            by: function.withoutEffects { $0.with(\.throwsClause, nil) })
                    ])
            }
        }

        // MARK: Parameters

        private mutating func parameter(
            _ parameter: FunctionParameterSyntax, _ defaults: inout [String: String]
        ) -> NotificationMethod.Parameter? {
            let label = parameter.firstName.text
            let name = (parameter.secondName ?? parameter.firstName).text
            guard name != "_" else {
                refuse("unnamed", "this parameter needs a name for its field: write '_ value'", at: parameter)
                return nil
            }
            if let ellipsis = parameter.ellipsis {
                let array = parameter.with(\.ellipsis, nil).with(\.type, TypeSyntax("[\(parameter.type.trimmed)]"))
                refuse(
                    "variadic", "a poster's arguments can't be passed to a variadic parameter: send an array",
                    at: ellipsis,
                    [.replacing("make it an array", parameter, by: array)])
                return nil
            }
            guard isSendable(parameter) else { return nil }
            let field = label == "_" ? name : label
            let wrapped = parameter.type.wrapped
            return NotificationMethod.Parameter(
                label: label, name: name,
                field: Field(
                    name: field, key: field.filter { $0 != "`" }, type: (wrapped ?? parameter.type.trimmed).written,
                    isOptional: wrapped != nil,
                    standIn: defaults.removeValue(forKey: field.filter { $0 != "`" })))
        }

        private mutating func isSendable(_ parameter: FunctionParameterSyntax) -> Bool {
            var type = parameter.type
            if let attributed = type.as(AttributedTypeSyntax.self) {
                type = attributed.baseType
                if let specifier = attributed.specifiers.first {
                    let plain = parameter.with(\.type, type.with(\.leadingTrivia, parameter.type.leadingTrivia))
                    let word = specifier.trimmedDescription
                    refuse(
                        "specifier",
                        word == "inout"
                            ? "an observer's changes can't return to the poster: remove 'inout'"
                            : """
                            arguments are copied to other processes, so '\(word)' has no effect, and types that \
                            can't be copied can't be sent: remove it
                            """,
                        at: specifier, [.replacing("remove '\(word)'", parameter, by: plain)])
                    return false
                }
            }
            if let complaint = parameter.type.complaint {
                refuse(complaint.id, complaint.message, at: complaint.node)
                return false
            }
            return isConcrete(parameter.type)
        }

        private mutating func isConcrete(_ type: TypeSyntax) -> Bool {
            let writer = PlaceholderWriter()
            let mended = writer.rewrite(type)
            guard !writer.replaced.isEmpty else { return true }
            // For a method with generic parameters this has been reported, and that fix-it replaces these types as
            // well.
            if !isReportedAsGeneric {
                refuse(.generic, at: type, [.replacing(writer.remedy(ifUnused: ""), type, by: mended)])
            }
            return false
        }

        // MARK: Attributes

        private mutating func ownName(of function: FunctionDeclSyntax) -> String? {
            for arguments in function.arguments(of: "NotificationName") {
                guard let name = arguments.first?.expression.plainText, !name.isEmpty else {
                    refuse("name", "write the notification's name as a string literal", at: arguments)
                    continue
                }
                return name
            }
            return nil
        }

        private mutating func defaults(of function: FunctionDeclSyntax) -> [String: String] {
            var defaults: [String: String] = [:]
            for arguments in function.arguments(of: "NotificationDefault") {
                guard let name = arguments.first?.expression.plainText, arguments.count == 2 else {
                    refuse("default", "write the parameter's label as a string literal", at: arguments)
                    continue
                }
                defaults[name] = arguments.last!.expression.trimmedDescription
            }
            return defaults
        }

        /// Gives each message a type name of its own. `NotificationProtocolMacro` refuses two methods with the same
        /// name on the wire.
        private mutating func nameTypes() {
            var taken: Set<String> = []
            for index in methods.indices {
                let isAlone = methods.filter { $0.bareBase == methods[index].bareBase }.count == 1
                var name = methods[index].typeName(withLabels: !isAlone)
                while !taken.insert(name).inserted { name += "_" }
                methods[index].type = name
            }
        }
    }

    extension FunctionDeclSyntax {
        /// The documentation comments, one for each line.
        fileprivate var documentation: [String] {
            leadingTrivia.compactMap { piece in
                if case .docLineComment(let text) = piece { text } else { nil }
            }
        }

        fileprivate func arguments(of name: String) -> [LabeledExprListSyntax] {
            attributes.compactMap { attribute in
                guard let attribute = attribute.as(AttributeSyntax.self),
                    attribute.attributeName.trimmedDescription == name
                else { return nil }
                return attribute.arguments?.as(LabeledExprListSyntax.self)
            }
        }

        fileprivate func withoutEffects(
            _ change: (FunctionEffectSpecifiersSyntax) -> FunctionEffectSpecifiersSyntax
        ) -> FunctionDeclSyntax {
            guard let effects = signature.effectSpecifiers else { return self }
            let changed = change(effects)
            let isEmpty = changed.asyncSpecifier == nil && changed.throwsClause == nil
            var function = with(\.signature.effectSpecifiers, isEmpty ? nil : changed)
            if isEmpty && signature.returnClause == nil {
                function.signature.parameterClause.trailingTrivia = effects.trailingTrivia
            }
            return function
        }
    }

    extension FixIt {
        fileprivate static func removing(
            _ message: String, _ modifier: DeclModifierSyntax, from function: FunctionDeclSyntax
        ) -> FixIt {
            let without = function.with(\.modifiers, function.modifiers.filter { $0.id != modifier.id })
                .with(\.leadingTrivia, function.leadingTrivia)
            return .replacing(message, function, by: without)
        }
    }
#endif
