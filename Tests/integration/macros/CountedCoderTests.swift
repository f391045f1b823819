#if Macros
    import Foundation
    import SwiftParser
    import SwiftSyntax
    import Testing

    /// Benchmarks count the instructions of a generated coder without building the macros: they have a copy of the
    /// generated code.
    @Suite struct CountedCoderTests {
        @Test func theCountedCodeIsTheGeneratedCode() throws {
            let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
                "../../../Benchmarks/Regressions/Swift/GeneratedTrack.swift")
            let statements = Parser.parse(source: try String(contentsOf: path, encoding: .utf8)).statements
            let structure = try #require(statements.compactMap { $0.item.as(StructDeclSyntax.self) }.first)
                .trimmedDescription
            let written = try #require(statements.compactMap { $0.item.as(ExtensionDeclSyntax.self) }.first)
            expectExpansion("@Message\n\(structure)", "\(structure)\n\n\(written.trimmedDescription)")
        }
    }
#endif
