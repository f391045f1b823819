#if Macros
    import SwiftDiagnostics
    import SwiftSyntax

    extension Complaint {
        static var generic: Complaint {
            Complaint(
                id: "generic",
                message: """
                    a generic method can't be a notification, because the observer's process must know the type: \
                    write the type, or a method for each type
                    """)
        }

        static var associatedType: Complaint {
            Complaint(
                id: "associatedtype",
                message: """
                    a poster can't know an associated type, which differs between observers: write the type that is \
                    sent
                    """)
        }
    }

    extension FixIt {
        /// Replaces all generic parameters of a method, and its `some` types.
        ///
        /// One fix-it covers all of them, because the method stays generic while one of them is left.
        static func takingTypes(
            inPlaceOf generics: GenericParameterClauseSyntax, of function: FunctionDeclSyntax
        ) -> FixIt {
            let names = generics.parameters.map(\.name.bareText)
            let writer = PlaceholderWriter(ofGenerics: names)
            var mended = function.withoutWhereClause
            mended.name.trailingTrivia = generics.trailingTrivia
            mended.genericParameterClause = nil
            mended.signature = writer.rewrite(mended.signature).cast(FunctionSignatureSyntax.self)
            return .replacing(
                writer.remedy(ifUnused: "remove '<\(names.joined(separator: ", "))>'"), function,
                by: mended.withComments(of: function))
        }

        static func removingWhereClause(of function: FunctionDeclSyntax) -> FixIt {
            .replacing("remove the where clause", function, by: function.withoutWhereClause.withComments(of: function))
        }

        /// Replaces all associated types of a protocol. One fix-it covers all of them, because they may depend on each
        /// other.
        static func takingTypes(inPlaceOfAssociatedTypesOf declaration: ProtocolDeclSyntax) -> FixIt {
            let names = declaration.associatedTypes
            let writer = PlaceholderWriter(ofAssociatedTypes: names)
            var mended = declaration.withoutRequirements(on: names)
            if let clause = declaration.primaryAssociatedTypeClause {
                mended.name.trailingTrivia = clause.trailingTrivia
                mended.primaryAssociatedTypeClause = nil
            }
            let members = declaration.memberBlock
            let brace = members.leftBrace.followed(
                by: declaration.comments(missingIn: mended), indentation: members.members.first?.indentation ?? [],
                before: members.leftBrace.nextToken(viewMode: .sourceAccurate))
            mended.memberBlock = members.withoutAssociatedTypes.with(\.leftBrace, brace)
            mended = writer.rewrite(mended).cast(ProtocolDeclSyntax.self)
            let areDeclared = declaration.hasAssociatedTypes || declaration.primaryAssociatedTypeClause != nil
            return .replacing(
                writer.remedy(ifUnused: "remove \(areDeclared ? "" : "what is required of ")\(names.listed)"),
                declaration,
                by: mended)
        }
    }

    extension FunctionDeclSyntax {
        fileprivate var withoutWhereClause: FunctionDeclSyntax {
            guard let clause = genericWhereClause else { return self }
            return with(\.genericWhereClause, nil).with(\.trailingTrivia, clause.trailingTrivia)
        }

        fileprivate func withComments(of original: FunctionDeclSyntax) -> FunctionDeclSyntax {
            followed(
                by: original.comments(missingIn: self), indentation: original.indentation,
                before: original.nextToken(viewMode: .sourceAccurate))
        }
    }
#endif
