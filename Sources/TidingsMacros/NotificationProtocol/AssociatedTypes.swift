// Finds a protocol's associated types and the requirements on them, and removes them for a fix-it.
#if Macros
    import SwiftSyntax

    extension ProtocolDeclSyntax {
        /// The clause before the members that mentions associated types.
        ///
        /// It declares the primary associated types, or states conditions on those of inherited protocols.
        var associatedTypeClause: Syntax? {
            if let clause = primaryAssociatedTypeClause { return Syntax(clause) }
            return hasAssociatedTypes || associatedTypes.isEmpty ? nil : genericWhereClause.map { Syntax($0) }
        }

        var hasAssociatedTypes: Bool { memberBlock.members.contains { $0.decl.is(AssociatedTypeDeclSyntax.self) } }

        /// The protocol's own associated types, and those of inherited protocols that its clauses mention.
        var associatedTypes: [String] {
            let own = memberBlock.members.compactMap { $0.decl.as(AssociatedTypeDeclSyntax.self)?.name.bareText }
            let primary = primaryAssociatedTypeClause?.primaryAssociatedTypes.map(\.name.bareText) ?? []
            let required = genericWhereClause?.requirements.compactMap(\.associatedType) ?? []
            return (own + primary + required).reduce(into: []) { names, name in
                if !names.contains(name) { names.append(name) }
            }
        }

        /// Removes the requirements on associated types. Requirements on `Self` stay.
        func withoutRequirements(on names: [String]) -> ProtocolDeclSyntax {
            guard var clause = genericWhereClause else { return self }
            var kept = clause.requirements.filter { !names.contains($0.associatedType ?? "") }
            guard let last = kept.indices.last else {
                var without = with(\.genericWhereClause, nil)
                if without.inheritanceClause != nil {
                    without.inheritanceClause!.trailingTrivia = clause.trailingTrivia
                } else {
                    without.name.trailingTrivia = clause.trailingTrivia
                }
                return without
            }
            kept[last] = kept[last].with(\.trailingComma, nil).with(\.trailingTrivia, clause.trailingTrivia)
            clause.requirements = kept
            return with(\.genericWhereClause, clause)
        }
    }

    extension GenericRequirementSyntax {
        /// The associated type that the requirement is on; `nil` if the requirement is on `Self`.
        fileprivate var associatedType: String? {
            switch requirement {
            case .conformanceRequirement(let conformance): conformance.leftType.associatedType
            case .layoutRequirement(let layout): layout.type.associatedType
            case .sameTypeRequirement(let same):
                if case .type(let type) = same.leftType { type.associatedType } else { nil }
            }
        }
    }

    extension TypeSyntax {
        /// The associated type that the type refers to: `Item` for `Item`, `Self.Item` and `Item.Element`.
        fileprivate var associatedType: String? {
            guard let member = self.as(MemberTypeSyntax.self) else {
                let name = self.as(IdentifierTypeSyntax.self)?.name
                return name?.text == "Self" ? nil : name?.bareText
            }
            return member.baseType.trimmedDescription == "Self" ? member.name.bareText : member.baseType.associatedType
        }
    }

    extension MemberBlockSyntax {
        var withoutAssociatedTypes: MemberBlockSyntax {
            var kept: [MemberBlockItemSyntax] = []
            var pending: Trivia?
            for member in members {
                let before = pending.map { Trivia.joining($0, member.leadingTrivia, isAtEdge: kept.isEmpty) }
                let leading = before ?? member.leadingTrivia
                if member.decl.is(AssociatedTypeDeclSyntax.self) {
                    pending = leading + Trivia(inFront: member.with(\.leadingTrivia, []).comments)
                } else {
                    kept.append(member.with(\.leadingTrivia, leading))
                    pending = nil
                }
            }
            var block = with(\.members, MemberBlockItemListSyntax(kept))
            if let pending {
                block.rightBrace.leadingTrivia = .joining(pending, rightBrace.leadingTrivia, isAtEdge: true)
            }
            return block
        }
    }
#endif
