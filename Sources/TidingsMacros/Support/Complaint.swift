#if Macros
    import SwiftDiagnostics
    import SwiftSyntax
    import SwiftSyntaxMacros

    /// A diagnostic of a macro: what it cannot do, why, and what to write instead.
    struct Complaint: DiagnosticMessage, Error {
        var id: String
        var message: String
        var severity = DiagnosticSeverity.error

        var diagnosticID: MessageID { MessageID(domain: "TidingsMacros", id: id) }
    }

    struct Remedy: FixItMessage {
        var message: String
        var fixItID: MessageID { MessageID(domain: "TidingsMacros", id: message) }
    }

    extension MacroExpansionContext {
        func complain(_ complaint: Complaint, at node: some SyntaxProtocol, _ fixIts: [FixIt] = []) {
            diagnose(Diagnostic(node: Syntax(node), message: complaint, fixIts: fixIts))
        }
    }

    extension FixIt {
        /// Replaces one node by another.
        static func replacing(
            _ message: String, _ old: some SyntaxProtocol, by new: some SyntaxProtocol
        ) -> FixIt {
            FixIt(
                message: Remedy(message: message),
                changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
        }
    }

    extension DeclModifierListSyntax {
        func contains(_ keyword: Keyword) -> Bool { contains { $0.name.tokenKind == .keyword(keyword) } }

        /// The access modifier that gives generated declarations the visibility of their original, followed by a space.
        var access: String {
            for modifier in self {
                switch modifier.name.tokenKind {
                case .keyword(.public), .keyword(.open): return "public "
                case .keyword(.package): return "package "
                default: continue
                }
            }
            return ""
        }
    }

    extension TokenSyntax {
        /// The name without the backticks that a keyword needs.
        var bareText: String { text.filter { $0 != "`" } }
    }

    extension ExprSyntax {
        /// A string literal's text, if the literal has no interpolation.
        var plainText: String? {
            self.as(StringLiteralExprSyntax.self)?.representedLiteralValue
        }
    }
#endif
