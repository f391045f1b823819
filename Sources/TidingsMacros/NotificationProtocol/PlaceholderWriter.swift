#if Macros
    import SwiftSyntax

    /// Replaces types by editor placeholders where only the programmer can choose the type.
    final class PlaceholderWriter: SyntaxRewriter {
        private var names: Set<String>
        private let areAssociated: Bool
        private var count = 0
        /// The replaced types as written in their declarations, in the order of their first use.
        private(set) var replaced: [String] = []

        /// Replaces the generic parameters of methods, and `some` types.
        init(ofGenerics names: [String] = []) {
            self.names = Set(names)
            areAssociated = false
        }

        /// Replaces the associated types of a protocol.
        init(ofAssociatedTypes names: [String]) {
            self.names = Set(names)
            areAssociated = true
        }

        /// The message of the fix-it.
        func remedy(ifUnused unused: String) -> String {
            replaced.isEmpty
                ? unused : "take \(replaced.count == 1 ? "a type" : "types") in place of \(replaced.listed)"
        }

        // MARK: Names

        override func visit(_ node: IdentifierTypeSyntax) -> TypeSyntax {
            let name = node.name.bareText
            guard node.genericArgumentClause == nil, names.contains(name) else { return super.visit(node) }
            return placeholder(name, for: node)
        }

        /// Replaces `Self.Item`.
        override func visit(_ node: MemberTypeSyntax) -> TypeSyntax {
            let name = node.name.bareText
            guard areAssociated, node.baseType.as(IdentifierTypeSyntax.self)?.name.text == "Self",
                node.genericArgumentClause == nil, names.contains(name)
            else { return super.visit(node) }
            return placeholder(name, for: node)
        }

        /// A generic parameter of a method hides the protocol's associated type of the same name.
        override func visit(_ node: FunctionDeclSyntax) -> DeclSyntax {
            let all = names
            defer { names = all }
            names.subtract(node.genericParameterClause?.parameters.map(\.name.bareText) ?? [])
            return super.visit(node)
        }

        // MARK: Generic types

        override func visit(_ node: SomeOrAnyTypeSyntax) -> TypeSyntax {
            guard !areAssociated, node.isOpaque else { return super.visit(node) }
            return placeholder(node.constraint.inOneLine, for: node, called: node.inOneLine)
        }

        /// Removes the parentheses in `(some Codable)?`: a placeholder needs none.
        override func visit(_ node: TupleTypeSyntax) -> TypeSyntax {
            guard !areAssociated, node.elements.count == 1, let element = node.elements.first, element.firstName == nil,
                let opaque = element.type.as(SomeOrAnyTypeSyntax.self), opaque.isOpaque
            else { return super.visit(node) }
            return placeholder(opaque.constraint.inOneLine, for: node, called: opaque.inOneLine)
        }

        override func visit(_ node: PackElementTypeSyntax) -> TypeSyntax {
            guard let pack = node.pack.as(IdentifierTypeSyntax.self), names.contains(pack.name.bareText) else {
                return super.visit(node)
            }
            return placeholder(pack.name.bareText, for: node)
        }

        /// Removes the repetition: without its pack there is nothing to repeat.
        override func visit(_ node: PackExpansionTypeSyntax) -> TypeSyntax {
            let before = count
            let expansion = super.visit(node)
            guard !areAssociated, count > before,
                let pattern = expansion.as(PackExpansionTypeSyntax.self)?.repetitionPattern
            else { return expansion }
            return pattern.with(\.leadingTrivia, node.leadingTrivia + pattern.leadingTrivia)
        }

        private func placeholder(_ text: String, for node: some TypeSyntaxProtocol, called name: String? = nil)
            -> TypeSyntax
        {
            count += 1
            if !replaced.contains(name ?? text) { replaced.append(name ?? text) }
            return TypeSyntax(
                IdentifierTypeSyntax(
                    leadingTrivia: node.leadingTrivia + Trivia(inFront: node.trimmed.comments),
                    name: .identifier("<#\(text)#>"), trailingTrivia: node.trailingTrivia))
        }
    }

    extension SomeOrAnyTypeSyntax {
        fileprivate var isOpaque: Bool { someOrAnySpecifier.tokenKind == .keyword(.some) }
    }

    extension [String] {
        /// The strings as a list: `'a', 'b' and 'c'`.
        var listed: String {
            let quoted = map { "'\($0)'" }
            guard quoted.count > 1 else { return quoted.joined() }
            return quoted.dropLast().joined(separator: ", ") + " and \(quoted.last!)"
        }
    }
#endif
