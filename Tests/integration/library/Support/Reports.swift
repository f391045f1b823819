import Foundation
import Testing

@testable import Tidings

/// The reports of centers to their hooks (`onDiagnostic`), one line each. A report that the test does not expect fails
/// the test, unless the report depends on time: a loss, a token that is released within 100 µs, many large payloads in
/// a second.
///
/// A center without a hook writes its reports to standard error. The output of a test run is kept free of such lines.
final class Reports: Sendable {
    private let expected: Set<String>
    private let sourceLocation: SourceLocation
    private let reported = Events<String>()
    private let isClosed = Locked(false)

    init(expecting expected: Set<String>, sourceLocation: SourceLocation) {
        self.expected = expected
        self.sourceLocation = sourceLocation
    }

    var all: [String] { reported.all }

    func record(_ center: Center) {
        center.onDiagnostic = { [self] diagnostic in
            if isClosed.withLock({ $0 }) { return }
            let line = Self.line(diagnostic)
            reported.add(line)
            if !expected.contains(line), !Self.dependsOnTime(diagnostic) {
                Issue.record("unexpected report: \(line): \(diagnostic)", sourceLocation: sourceLocation)
            }
        }
    }

    /// A center may report, after the end of its test, that its directory is gone.
    func close() { isClosed.withLock { $0 = true } }

    private static func dependsOnTime(_ diagnostic: Center.Diagnostic) -> Bool {
        switch diagnostic {
        case .missed: true
        case .mistake(let mistake):
            switch mistake.kind {
            case .tokenNotKept, .hugePayloads: true
            default: false
            }
        default: false
        }
    }

    private static func line(_ diagnostic: Center.Diagnostic) -> String {
        switch diagnostic {
        case .undecodable(let notification, _): "undecodable: \(notification.name)"
        case .missed(_, let name): "missed: \(name?.rawValue ?? "several names")"
        case .observerFailed(let name, _): "observer failed: \(name?.rawValue ?? "a sequence")"
        case .postFailed(let name, _): "post failed: \(name)"
        case .mistake(let mistake):
            switch mistake.kind {
            case .nameOfTwoTypes(let name, let first, let second): "two types: \(name): \(last(first)), \(last(second))"
            case .nameOfTwoKeys(let name, let first, let second): "two keys: \(name): \(first), \(second)"
            case .tokenNotKept(let names): "token not kept: \(list(names))"
            case .postsToItself(let names): "posts to itself: \(list(names))"
            case .hugePayloads(let name, _): "huge payloads: \(name)"
            }
        case .dispatchFailed: "dispatch failed"
        case .reopened: "reopened"
        }
    }

    /// The type's own name: the names of the types around it depend on the build. A key has no type around it.
    private static func last(_ type: String) -> String {
        type.hasPrefix("Key<") ? type : String(type.split(separator: ".").last ?? "")
    }

    private static func list(_ names: [Center.Name]?) -> String {
        names.map { $0.map(\.rawValue).joined(separator: ", ") } ?? "all names"
    }
}
