import Testing

/// A text that is a test's argument. The test run shows it on one line, with its line breaks escaped.
struct Quoted: ExpressibleByStringLiteral, CustomTestStringConvertible, Sendable {
    let text: String

    init(stringLiteral text: String) { self.text = text }

    var testDescription: String { text.debugDescription }
}
