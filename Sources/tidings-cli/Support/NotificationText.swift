import Foundation
import Tidings

/// Writes notifications, losses and the ends of centers as lines. Keeps the text of the latest name, time and
/// incarnation, which most notifications share with the one before.
struct NotificationText {
    enum Style {
        case pretty, json
        case template(Template)
    }

    let style: Style
    /// The latest line, without its end.
    private(set) var line: [UInt8] = []
    private var name: (value: Center.Name, text: [UInt8]) = ("", [])
    private var incarnation: (value: UInt64, text: [UInt8]) = (0, [])
    private var second: (value: UInt64?, before: [UInt8], after: [UInt8]) = (nil, [], [])

    init(_ style: Style) {
        self.style = style
    }

    mutating func set(_ notification: Center.Notification) {
        line.removeAll(keepingCapacity: true)
        switch style {
        case .pretty: setPretty(notification)
        case .json: setJSON(notification)
        case .template(let template): line.append(template.text(of: notification))
        }
    }

    /// `{"missed":7,"name":"com.example.*"}`
    static func missed(_ count: Int, of name: String?) -> [UInt8] {
        Array("{\"missed\":\(count),\"name\":\(name?.jsonString ?? "null")}".utf8)
    }

    /// `{"reopened":"7c1d55a09e2b4f36"}`
    static func reopened(_ incarnation: UInt64) -> [UInt8] {
        Array("{\"reopened\":\"\(String(incarnation, radix: 16))\"}".utf8)
    }

    /// `{"ended":"removed","message":"can't …"}`
    static func ended(_ error: SharedNotificationError) -> [UInt8] {
        #if MUTANT_END_NOT_IN_THE_STREAM  // Found by: command jsonSaysThatItGoesOnAndThatItEnds
            if isMutant("END_NOT_IN_THE_STREAM") { return [] }
        #endif
        return Array("{\"ended\":\"\(error.code)\",\"message\":\(error.line.jsonString)}".utf8)
    }

    /// `12:34:56.789012 #42 com.example.changed [subject] {"volume":0.5} from 4711 (player)`; with date and zone,
    /// `2026-11-27 12:34:56.789012 +0100 #42 …`, if it was not posted today.
    private mutating func setPretty(_ notification: Center.Notification) {
        let envelope = notification.envelope
        setSecond(envelope.postedAtNanoseconds / 1_000_000_000) { Self.localSecond($0) }
        line.append(contentsOf: second.before)
        line.append(envelope.postedAtNanoseconds % 1_000_000_000 / 1000, digits: 6)
        line.append(contentsOf: second.after)
        line.append(" #")
        line.append(envelope.sequence)
        line.append(" ")
        setName(notification.name) { $0.printable }
        line.append(contentsOf: name.text)
        if let subject = envelope.subject { line.append(" [\(subject.printable)]") }
        line.append(" ")
        line.append(notification.payload.json.printable)
        line.append(" from ")
        if let origin = envelope.origin {
            line.append("\(origin.pid) on \((origin.host ?? "another machine").printable)")
        } else {
            line.append(String(envelope.poster.pid))
            if let executable = envelope.poster.executable { line.append(" (\(executable.printable))") }
        }
        if envelope.isRetained { line.append(" retained") }
        if envelope.isCleared { line.append(" cleared") }
    }

    /// One JSON object on one line. No encoder is used, because the payload is JSON text already.
    private mutating func setJSON(_ notification: Center.Notification) {
        let (envelope, payload) = (notification.envelope, notification.payload)
        line.append("{\"sequence\":")
        line.append(envelope.sequence)
        if envelope.incarnation != incarnation.value || incarnation.text.isEmpty {
            incarnation = (envelope.incarnation, Array(String(envelope.incarnation, radix: 16).utf8))
        }
        line.append(",\"incarnation\":\"")
        line.append(contentsOf: incarnation.text)
        line.append("\",\"name\":")
        setName(notification.name) { $0.jsonString }
        line.append(contentsOf: name.text)
        line.append(",\"subject\":")
        line.append(envelope.subject?.jsonString ?? "null")
        line.append(",\"payload\":")
        let json = payload.json
        line.append(json.printable)
        if let field = payload.formatField(besides: json) { line.append(field) }
        line.append(",\"postedAt\":\"")
        setSecond(envelope.postedAtNanoseconds / 1_000_000_000) { (Self.universalSecond($0), "Z") }
        line.append(contentsOf: second.before)
        line.append(envelope.postedAtNanoseconds % 1_000_000_000, digits: 9)
        line.append(contentsOf: second.after)
        line.append("\",\"pid\":")
        line.append(String(envelope.poster.pid))
        line.append(",\"uid\":")
        line.append(UInt64(envelope.poster.uid))
        if let origin = envelope.origin { append(origin) }
        if envelope.isRetained { line.append(",\"retained\":true") }
        if envelope.isCleared { line.append(",\"cleared\":true") }
        line.append("}")
    }

    private mutating func append(_ origin: Center.Origin) {
        let texts = [("host", origin.host), ("center", origin.center)].compactMap { key, text in
            text.map { "\"\(key)\":\($0.jsonString)," }
        }
        line.append(",\"origin\":{\(texts.joined())\"incarnation\":\"\(String(origin.incarnation, radix: 16))\"")
        line.append(",\"sequence\":\(origin.sequence)")
        line.append(",\"postedAt\":\"\(Self.timestamp(origin.postedAtNanoseconds))\"")
        line.append(",\"pid\":\(origin.pid),\"uid\":\(origin.uid)}")
    }

    private mutating func setName(_ value: Center.Name, _ text: (String) -> String) {
        if value != name.value || name.text.isEmpty { name = (value, Array(text(value.rawValue).utf8)) }
    }

    private mutating func setSecond(_ value: UInt64, _ text: (UInt64) -> (before: String, after: String)) {
        guard value != second.value else { return }
        let (before, after) = text(value)
        second = (value, Array(before.utf8), Array(after.utf8))
    }

    /// The time as ISO 8601 in UTC with nanoseconds, which a JSON number cannot hold.
    static func timestamp(_ nanoseconds: UInt64) -> String {
        universalSecond(nanoseconds / 1_000_000_000) + String(format: "%09dZ", Int(nanoseconds % 1_000_000_000))
    }

    /// `2026-11-27T12:34:56.`
    private static func universalSecond(_ seconds: UInt64) -> String {
        var (time, fields) = (time_t(seconds), tm())
        gmtime_r(&time, &fields)
        return text(of: &fields, "%Y-%m-%dT%H:%M:%S.")
    }

    private static func localSecond(_ seconds: UInt64) -> (before: String, after: String) {
        var (time, now) = (time_t(seconds), time(nil))
        var (fields, today) = (tm(), tm())
        localtime_r(&time, &fields)
        localtime_r(&now, &today)
        let isToday = (fields.tm_year, fields.tm_yday) == (today.tm_year, today.tm_yday)
        #if MUTANT_DATE_LEFT_OUT  // Found by: command aNotificationOfAnotherDayHasItsDateAndZone
            if isMutant("DATE_LEFT_OUT") { return (text(of: &fields, "%H:%M:%S."), "") }
        #endif
        return isToday
            ? (text(of: &fields, "%H:%M:%S."), "")
            : (text(of: &fields, "%Y-%m-%d %H:%M:%S."), text(of: &fields, " %z"))
    }

    private static func text(of fields: inout tm, _ format: String) -> String {
        var characters = [CChar](repeating: 0, count: 64)
        let count = strftime(&characters, characters.count, format, &fields)
        return String(decoding: characters[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ text: String) {
        append(contentsOf: text.utf8)
    }

    /// Appends the number in decimal, with leading zeros for that many digits.
    fileprivate mutating func append(_ number: UInt64, digits: Int = 1) {
        let start = count
        var rest = number
        while rest > 0 || count - start < digits {
            append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        }
        self[start...].reverse()
    }
}

extension Center.RawPayload {
    /// Whether the payload's JSON shows its bytes, `{"bytes":"00ff"}`, because the payload has no other form there. No
    /// payload that is itself such an object has a JSON text of this length: it is shorter than twice its bytes.
    func isHexadecimal(_ json: String) -> Bool {
        json.utf8.count == 2 * count + 12 && json.hasPrefix(#"{"bytes":""#)
    }

    /// Follows the payload in a JSON object, so that `tidings post --json-lines` posts the same bytes.
    func formatField(besides json: String) -> String? {
        isHexadecimal(json) ? ",\"format\":\(format.rawValue)" : nil
    }
}
