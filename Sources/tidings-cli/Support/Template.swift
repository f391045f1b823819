import ArgumentParser
import Tidings

/// The form of a line that the user chooses: text with fields such as `{{.name}}` and `{{.payload.title}}`.
struct Template: ExpressibleByArgument {
    private enum Part {
        case text(String)
        /// The field's name, and the path inside the payload.
        case field(String, [String])
    }

    private let parts: [Part]

    static let fields = [
        "sequence", "name", "subject", "payload", "postedAt", "pid", "uid", "executable", "retained", "cleared",
    ]

    /// - Returns: `nil` if a field has no end, or is none of ``fields``.
    init?(argument: String) {
        var (parts, rest) = ([Part](), argument[...])
        while let begin = rest.firstRange(of: "{{") {
            parts.append(.text(String(rest[..<begin.lowerBound])))
            guard let end = rest[begin.upperBound...].firstRange(of: "}}") else { return nil }
            let inside = rest[begin.upperBound..<end.lowerBound].filter { $0 != " " }
            let path = inside.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard path.count >= 2, path[0].isEmpty, !path.dropFirst().contains(""), Self.fields.contains(path[1]),
                path.count == 2 || path[1] == "payload"
            else { return nil }
            parts.append(.field(path[1], Array(path[2...])))
            rest = rest[end.upperBound...]
        }
        self.parts = parts + [.text(String(rest))]
    }

    func text(of notification: Center.Notification) -> String {
        parts.map { part in
            switch part {
            case .text(let text): text
            case .field("payload", let path): Self.text(path, of: notification.payload).printable
            case .field(let name, _): Self.text(name, of: notification).printable
            }
        }
        .joined()
    }

    private static func text(_ field: String, of notification: Center.Notification) -> String {
        let envelope = notification.envelope
        return switch field {
        case "sequence": String(envelope.sequence)
        case "name": notification.name.rawValue
        case "subject": envelope.subject ?? ""
        case "postedAt": NotificationText.timestamp(envelope.postedAtNanoseconds)
        case "pid": String(envelope.poster.pid)
        case "uid": String(envelope.poster.uid)
        case "executable": envelope.poster.executable ?? ""
        case "retained": envelope.isRetained ? "retained" : ""
        default: envelope.isCleared ? "cleared" : ""
        }
    }

    /// A string's content, or another value as it is written; nothing if there is no such value, or it is null.
    private static func text(_ path: [String], of payload: Center.RawPayload) -> String {
        let value = path.reduce(JSONValue(valid: Array(payload.json.utf8)[...])) { $0?[$1] }
        guard let value, !value.isNull else { return "" }
        return value.string ?? String(decoding: value.text, as: UTF8.self)
    }
}
