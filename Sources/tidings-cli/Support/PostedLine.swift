import Tidings

/// A notification as a line of `tidings observe --format json`, to be posted again.
struct PostedLine {
    var name: String
    var subject: String?
    /// `nil`: the name's retained value was cleared.
    var payload: Center.RawPayload?
    var isRetained: Bool

    /// Whether the library itself posts under the name: notices of presence, and the announcements of requests, which
    /// mean something only where their calls are.
    var isOfLibrary: Bool { name == "tidings.presence" || name.hasPrefix("tidings.requests.") }

    /// Posts it, or clears the name's retained value.
    ///
    /// - Returns: its position; `nil`: the value was cleared.
    func post(to center: Center, timeout: Seconds?) throws(SharedNotificationError) -> UInt64? {
        let (name, timeout) = (Center.Name(name), timeout.map { Duration.seconds($0.value) })
        guard let payload else {
            try center.setState(nil, for: name, timeout: timeout)
            return nil
        }
        return try center.post(
            name: name, payload: payload, options: .init(subject: subject, retain: isRetained, timeout: timeout))
    }

    /// How many notifications of that kind were left out.
    static func omitted(_ count: Int) -> String { "left out \(counted(count, "notice")) of presence and requests" }

    /// What a line is. The other kinds are objects of the same stream that report no notification.
    enum Kind {
        case notification(PostedLine)
        case missed(String)
        case reopened
        case ended
    }

    /// - Returns: `nil` if the line is none of these.
    static func read(_ line: [UInt8]) -> Kind? {
        guard let object = JSONValue(line) else { return nil }
        guard let name = object["name"]?.string, object["missed"] == nil else {
            if let count = object["missed"] { return .missed(String(decoding: count.text, as: UTF8.self)) }
            return object["reopened"] != nil ? .reopened : object["ended"] != nil ? .ended : nil
        }
        #if MUTANT_SUBJECT_OF_A_LINE_LOST  // Found by: command postsAgainWhatObservePrinted
            if isMutant("SUBJECT_OF_A_LINE_LOST") {
                return .notification(
                    PostedLine(
                        name: name, payload: payload(object["payload"], object["format"]),
                        isRetained: object["retained"]?.isTrue == true))
            }
        #endif
        let isCleared = object["cleared"]?.isTrue == true
        return .notification(
            PostedLine(
                name: name, subject: object["subject"]?.string,
                payload: isCleared ? nil : payload(object["payload"], object["format"]),
                isRetained: object["retained"]?.isTrue == true))
    }

    private static func payload(_ value: JSONValue?, _ format: JSONValue?) -> Center.RawPayload {
        guard let value, !value.isNull else { return .empty }
        if let format = format.flatMap({ UInt8(String(decoding: $0.text, as: UTF8.self)) }),
            let digits = value["bytes"]?.string, let bytes = bytes(hexadecimal: digits)
        {
            return Center.RawPayload(format: .init(rawValue: format), bytes: bytes)
        }
        return value.string.map { .text($0) } ?? Center.RawPayload(format: .json, bytes: Array(value.text))
    }

    private static func bytes(hexadecimal digits: String) -> [UInt8]? {
        let values = digits.utf8.map { UInt8(String(UnicodeScalar($0)), radix: 16) }
        guard values.count.isMultiple(of: 2), !values.contains(nil) else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { values[$0]! << 4 | values[$0 + 1]! }
    }
}
