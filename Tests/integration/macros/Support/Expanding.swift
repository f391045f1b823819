#if Macros
    import SwiftParser
    import SwiftSyntaxMacroExpansion
    import SwiftSyntaxMacros
    import SwiftSyntaxMacrosGenericTestSupport
    import Testing

    @testable import TidingsMacros

    /// The package's macros by their names in source code.
    let macros = [
        "Message": MacroSpec(
            type: MessageMacro.self, conformances: ["SharedNotificationCenter.Message"]),
        "NotificationProtocol": MacroSpec(type: NotificationProtocolMacro.self),
    ]

    /// Expects no diagnostics when a type replaces each placeholder, as it must be after a fix-it.
    func expectNoComplaints(of source: String, location: Testing.SourceLocation = #_sourceLocation) {
        let chosen = source.replacing(/<#[^#]*#>/, with: "Int")
        let file = Parser.parse(source: chosen)
        let context = BasicMacroExpansionContext(
            sourceFiles: [file: .init(moduleName: "TestModule", fullFilePath: "test.swift")])
        let expanded = file.expand(macroSpecs: macros) {
            BasicMacroExpansionContext(sharingWith: context, lexicalContext: $0.allMacroLexicalContexts())
        }
        #expect(!file.hasError, "\(chosen)", sourceLocation: location)
        #expect(context.diagnostics.map(\.debugDescription).isEmpty, "\(chosen)", sourceLocation: location)
        #expect(expanded.description.contains("Poster: Sendable"), sourceLocation: location)
    }

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
