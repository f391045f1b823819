import ArgumentParser
import Tidings

/// The form of a line that the user chooses: text with fields such as `{{.name}}` and `{{.payload.title}}`.
struct Template: ExpressibleByArgument {
    /// Text, and the field that follows: its name, and the path inside the payload.
    private struct Part {
        let text, field: String
        let path: [String]
    }

    private let parts: [Part]
    private let end: String

    static let fields = [
        "sequence", "incarnation", "name", "subject", "payload", "postedAt", "pid", "uid", "executable", "retained",
        "cleared", "host", "center",
    ]

    /// - Returns: `nil` if a field has no end, or is none of ``fields``.
    init?(argument: String) {
        var (parts, rest) = ([Part](), argument[...])
        while let begin = rest.firstRange(of: "{{") {
            let text = String(rest[..<begin.lowerBound])
            guard let end = rest[begin.upperBound...].firstRange(of: "}}") else { return nil }
            let inside = rest[begin.upperBound..<end.lowerBound].filter { $0 != " " }
            let path = inside.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard path.count >= 2, path[0].isEmpty, !path.dropFirst().contains(""), Self.fields.contains(path[1]),
                path.count == 2 || path[1] == "payload"
            else { return nil }
            parts.append(Part(text: text, field: path[1], path: Array(path[2...])))
            rest = rest[end.upperBound...]
        }
        self.parts = parts
        self.end = String(rest)
    }

    func text(of notification: Center.Notification) -> String {
        let parts = parts.map { part in
            let field =
                part.field == "payload"
                ? Self.text(part.path, of: notification.payload) : Self.text(part.field, of: notification)
            return part.text + field.printable
        }
        return parts.joined() + end
    }

    private static func text(_ field: String, of notification: Center.Notification) -> String {
        let envelope = notification.envelope
        return switch field {
        case "sequence": String(envelope.sequence)
        case "incarnation": String(envelope.incarnation, radix: 16)
        case "name": notification.name.rawValue
        case "subject": envelope.subject ?? ""
        case "postedAt": NotificationText.timestamp(envelope.postedAtNanoseconds)
        case "pid": String(envelope.poster.pid)
        case "uid": String(envelope.poster.uid)
        case "executable": envelope.poster.executable ?? ""
        case "host": envelope.origin?.host ?? ""
        case "center": envelope.origin?.center ?? ""
        case "retained": envelope.isRetained ? "retained" : ""
        default: envelope.isCleared ? "cleared" : ""
        }
    }

    /// A string's content, or another value as it is written; nothing if there is no such value, or it is null.
    private static func text(_ path: [String], of payload: Center.RawPayload) -> String {
        #if MUTANT_TEMPLATE_WITHOUT_PATHS  // Found by: command printsLinesOfATemplate
            if isMutant("TEMPLATE_WITHOUT_PATHS") { return payload.json }
        #endif
        let value = path.reduce(JSONValue(valid: Array(payload.json.utf8)[...])) { $0?[$1] }
        guard let value, !value.isNull else { return "" }
        return value.string ?? String(decoding: value.text, as: UTF8.self)
    }
}
