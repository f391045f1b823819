#if Macros
    import SwiftDiagnostics
    import SwiftSyntax
    import SwiftSyntaxMacros

    /// What a macro can't do, why, and what to do instead.
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
        /// Puts one node in the place of another.
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

        /// What makes declarations of the generated code as visible as those they belong to; with a space behind it.
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
        /// Without the backticks that a keyword needs.
        var bareText: String { text.filter { $0 != "`" } }
    }

    extension ExprSyntax {
        /// A literal's text, if nothing is interpolated.
        var plainText: String? {
            self.as(StringLiteralExprSyntax.self)?.representedLiteralValue
        }
    }
#endif
