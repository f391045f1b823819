#if Macros
    import SwiftDiagnostics
    import SwiftSyntax
    import SwiftSyntaxMacros

    /// Finds a struct's fields, and reports members that cannot be fields.
    struct FieldReading<Context: MacroExpansionContext> {
        let context: Context
        /// The names in the struct's own `CodingKeys`, by property.
        var keys: [String: String]?
        var fields: [Field] = []
        var isComplete = true
        private var computed: VariableDeclSyntax?

        init(_ members: MemberBlockSyntax, in context: Context) {
            self.context = context
            for member in members.members {
                if let enumeration = member.decl.as(EnumDeclSyntax.self), enumeration.name.text == "CodingKeys" {
                    readKeys(enumeration)
                }
            }
            for member in members.members { read(member.decl) }
            if let computed, fields.isEmpty, isComplete {
                refuse(
                    "computed",
                    """
                    computed properties aren't sent, and this struct has no stored property: declare a stored property \
                    for each field
                    """,
                    at: computed)
            }
            if let keys, isComplete { checkAllAreThere(keys, members) }
        }

        private mutating func refuse(
            _ id: String, _ message: String, at node: some SyntaxProtocol, _ fixIts: [FixIt] = []
        ) {
            isComplete = false
            context.complain(Complaint(id: id, message: message), at: node, fixIts)
        }

        // MARK: Members

        private mutating func read(_ member: DeclSyntax) {
            if let variable = member.as(VariableDeclSyntax.self) {
                read(variable)
            } else if let conditional = member.as(IfConfigDeclSyntax.self) {
                refuse(
                    "conditional",
                    """
                    @Message can't read #if: a field of one build only would be unknown to other builds; move it out \
                    of the #if
                    """,
                    at: conditional.clauses.first?.poundKeyword ?? member.firstToken(viewMode: .sourceAccurate)!)
            } else if let initializer = member.as(InitializerDeclSyntax.self),
                initializer.signature.parameterClause.parameters.first?.firstName.text == "from",
                initializer.signature.parameterClause.parameters.first?.type.trimmedDescription.hasSuffix("Decoder")
                    == true
            {
                refuseOwnCoder(initializer.initKeyword)
            } else if let function = member.as(FunctionDeclSyntax.self), function.name.text == "encode",
                function.signature.parameterClause.parameters.first?.firstName.text == "to"
            {
                refuseOwnCoder(function.name)
            }
        }

        private mutating func refuseOwnCoder(_ token: TokenSyntax) {
            refuse(
                "coder",
                """
                this coder and that of @Message would encode the struct differently: remove this one, or remove \
                @Message and conform to SharedNotificationCenter.Message
                """,
                at: token)
        }

        private mutating func read(_ variable: VariableDeclSyntax) {
            if variable.modifiers.contains(.static) || variable.modifiers.contains(.class) { return }
            // Not the syntax collection's own `filter`: a diagnostic needs a source location, which its result lacks.
            let stored = Array(variable.bindings).filter { !$0.isComputed }
            if stored.isEmpty {
                computed = computed ?? variable
                return
            }
            if let lazy = variable.modifiers.first(where: { $0.name.tokenKind == .keyword(.lazy) }) {
                let without = variable.with(\.modifiers, variable.modifiers.filter { $0.id != lazy.id })
                    .with(\.leadingTrivia, variable.leadingTrivia)
                return refuse(
                    "lazy",
                    "a lazy property may have no value to send yet: remove 'lazy', or make it a computed property",
                    at: lazy, [.replacing("remove 'lazy'", variable, by: without)])
            }
            for attribute in variable.attributes {
                guard let attribute = attribute.as(AttributeSyntax.self),
                    !["available", "usableFromInline"].contains(attribute.attributeName.trimmedDescription)
                else { continue }
                return refuse(
                    "wrapper",
                    """
                    @Message can't know which type @\(attribute.attributeName.trimmedDescription) stores for this \
                    property: declare the property without it
                    """,
                    at: attribute)
            }
            read(stored, of: variable)
        }

        private mutating func read(_ bindings: [PatternBindingSyntax], of variable: VariableDeclSyntax) {
            // In `var a, b: Int` the type follows the last name.
            var following: TypeSyntax?
            var read: [Field] = []
            for binding in bindings.reversed() {
                guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else {
                    return refuse(
                        "tuple",
                        "@Message needs a name for each field: declare the properties of this tuple one by one",
                        at: binding.pattern)
                }
                let value = binding.initializer?.value
                following = binding.typeAnnotation?.type ?? (value == nil ? following : nil)
                guard let key = key(of: name.bareText) else {
                    if value == nil, following?.wrapped == nil {
                        return refuse(
                            "unsent",
                            "CodingKeys leaves '\(name.bareText)' out, so an observer needs a default value for it",
                            at: name)
                    }
                    continue
                }
                let isConstant = variable.bindingSpecifier.tokenKind == .keyword(.let) && value != nil
                if isConstant { warnOfConstant(name, variable) }
                guard key.utf8.count < 128 else {
                    return refuse(
                        "length", "a field's name can have up to 127 bytes: give it a shorter name in CodingKeys",
                        at: name)
                }
                // Before trimming: a diagnostic needs a source location, which a trimmed copy lacks.
                if let complaint = following?.complaint {
                    return refuse(complaint.id, complaint.message, at: complaint.node)
                }
                guard let type = following?.trimmed ?? value?.literalType.map({ TypeSyntax("\(raw: $0)") }) else {
                    return refuseUntyped(binding, name, value)
                }
                let wrapped = type.wrapped
                read.append(
                    Field(
                        name: name.text, key: key, type: (wrapped ?? type).written, isOptional: wrapped != nil,
                        standIn: value?.trimmedDescription, isConstant: isConstant))
            }
            fields += read.reversed()
        }

        private mutating func refuseUntyped(_ binding: PatternBindingSyntax, _ name: TokenSyntax, _ value: ExprSyntax?)
        {
            if let complaint = value?.complaint {
                return refuse(complaint.id, complaint.message, at: complaint.node)
            }
            let likely = value?.likelyType
            let typed = binding.with(
                \.pattern, binding.pattern.with(\.trailingTrivia, [])
            ).with(
                \.typeAnnotation,
                TypeAnnotationSyntax(
                    colon: .colonToken(trailingTrivia: .space), type: TypeSyntax("\(raw: likely ?? "<#type#>")"),
                    trailingTrivia: .space))
            refuse(
                "type",
                """
                a macro can't see inferred types: write the type of '\(name.bareText)'
                """,
                at: name, [.replacing(likely.map { "add ': \($0)'" } ?? "add a type", binding, by: typed)])
        }

        private func warnOfConstant(_ name: TokenSyntax, _ variable: VariableDeclSyntax) {
            var specifier = variable.bindingSpecifier
            specifier.tokenKind = .keyword(.var)
            context.complain(
                Complaint(
                    id: "constant",
                    message: """
                        a constant with a value is sent, but observers ignore the sent value: make it a variable, or \
                        'static' if it is not to be sent
                        """,
                    severity: .warning),
                at: name, [.replacing("change 'let' to 'var'", variable.bindingSpecifier, by: specifier)])
        }

        // MARK: CodingKeys

        private mutating func readKeys(_ enumeration: EnumDeclSyntax) {
            var keys: [String: String] = [:]
            for member in enumeration.memberBlock.members {
                for element in member.decl.as(EnumCaseDeclSyntax.self)?.elements ?? [] {
                    guard let value = element.rawValue?.value else {
                        keys[element.name.bareText] = element.name.bareText
                        continue
                    }
                    guard let text = value.plainText else {
                        return refuse(
                            "key", "field names are strings: give this case a string literal", at: value)
                    }
                    keys[element.name.bareText] = text
                }
            }
            self.keys = keys
        }

        /// The field's name in the payload; `nil` if the field is not sent.
        private func key(of name: String) -> String? {
            guard let keys else { return name }
            return keys[name]
        }

        private mutating func checkAllAreThere(_ keys: [String: String], _ members: MemberBlockSyntax) {
            // The compiler also refuses a key without a property, but reports it in the generated code.
            let names = Set(fields.map(\.bareName))
            for name in keys.keys.sorted() where !names.contains(name) {
                refuse("key", "CodingKeys has '\(name)', and there is no such stored property", at: members.leftBrace)
            }
        }
    }

    extension PatternBindingSyntax {
        var isComputed: Bool {
            switch accessorBlock?.accessors {
            case nil: false
            case .getter: true
            case .accessors(let accessors):
                // A property with `willSet` or `didSet` only is a stored property.
                !accessors.allSatisfy {
                    [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind)
                }
            }
        }
    }
#endif
