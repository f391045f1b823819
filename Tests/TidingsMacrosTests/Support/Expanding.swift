#if Macros
    import SwiftSyntaxMacroExpansion
    import SwiftSyntaxMacros
    import SwiftSyntaxMacrosGenericTestSupport
    import Testing

    @testable import TidingsMacros

    /// What this package's macros are called in sources.
    let macros = [
        "Message": MacroSpec(
            type: MessageMacro.self, conformances: ["SharedNotificationCenter.Message"]),
        "NotificationProtocol": MacroSpec(type: NotificationProtocolMacro.self),
    ]

    func expectExpansion(
        _ source: String, _ expanded: String, diagnostics: [DiagnosticSpec] = [], fixed: String? = nil,
        applying fixIts: [String]? = nil, location: Testing.SourceLocation = #_sourceLocation
    ) {
        assertMacroExpansion(
            source, expandedSource: expanded, diagnostics: diagnostics, macroSpecs: macros, applyFixIts: fixIts,
            fixedSource: fixed, indentationWidth: .spaces(4),
            failureHandler: { Issue.record("\($0.message)", sourceLocation: location) })
    }
#endif
