import ChildProcesses
import Foundation
import Tidings

/// Prints notifications, runs a command for each, and ends the observation at the limit.
final class NotificationPrinter: Sendable {
    private let format: Observe.Format
    private let command: String?
    private let lines: LineOutput
    private let underWay = Locked<UInt64?>(nil)

    init(format: Observe.Format, command: String?, limit: Int?, finish: Finish) {
        self.format = format
        self.command = command
        lines = LineOutput(limit: limit, finish: finish)
    }

    /// The sequence number of the notification whose command is running.
    var commandUnderWay: UInt64? { underWay.withLock { $0 } }

    /// Handles a notification. Called by an observer's closure: on one thread at a time, in order.
    func handle(_ notification: Center.Notification) {
        lines.print(format == .json ? Self.json(notification) : Self.pretty(notification)) {
            if let command { try run(command, for: notification) }
        }
    }

    /// `12:34:56.789012 #42 com.example.changed [subject] {"volume":0.5} from 4711 (player)`
    static func pretty(_ notification: Center.Notification) -> String {
        let envelope = notification.envelope
        let (seconds, rest) = split(envelope.postedAtNanoseconds)
        let time = local(seconds)
        var parts = [
            String(format: "%02d:%02d:%02d.%06d", time.tm_hour, time.tm_min, time.tm_sec, rest / 1000),
            "#\(envelope.sequence)", notification.name.rawValue.printable,
        ]
        if let subject = envelope.subject { parts.append("[\(subject.printable)]") }
        parts.append(notification.payload.json.printable)
        parts.append("from \(envelope.poster.pid)")
        if let executable = envelope.poster.executable { parts.append("(\(executable.printable))") }
        if envelope.isRetained { parts.append("retained") }
        if envelope.isCleared { parts.append("cleared") }
        return parts.joined(separator: " ")
    }

    /// One JSON object on one line. No encoder is used, because the payload is JSON text already.
    static func json(_ notification: Center.Notification) -> String {
        let (envelope, payload) = (notification.envelope, notification.payload)
        let json = payload.json
        let format = payload.isHexadecimal(json) ? ",\"format\":\(payload.format.rawValue)" : ""
        return """
            {"sequence":\(envelope.sequence),"name":\(notification.name.rawValue.jsonString),\
            "subject":\(envelope.subject?.jsonString ?? "null"),"payload":\(json.printable)\(format),\
            "postedAt":"\(timestamp(envelope.postedAtNanoseconds))",\
            "pid":\(envelope.poster.pid),"uid":\(envelope.poster.uid)\
            \(envelope.isRetained ? ",\"retained\":true" : "")\(envelope.isCleared ? ",\"cleared\":true" : "")}
            """
    }

    /// The time as ISO 8601 in UTC with nanoseconds, which a JSON number cannot hold.
    static func timestamp(_ nanoseconds: UInt64) -> String {
        let (seconds, rest) = split(nanoseconds)
        var time = seconds
        var fields = tm()
        gmtime_r(&time, &fields)
        return String(
            format: "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ", fields.tm_year + 1900, fields.tm_mon + 1, fields.tm_mday,
            fields.tm_hour, fields.tm_min, fields.tm_sec, rest)
    }

    private static func split(_ nanoseconds: UInt64) -> (seconds: time_t, nanoseconds: Int) {
        (time_t(nanoseconds / 1_000_000_000), Int(nanoseconds % 1_000_000_000))
    }

    private static func local(_ seconds: time_t) -> tm {
        var time = seconds
        var fields = tm()
        localtime_r(&time, &fields)
        return fields
    }

    private func run(_ command: String, for notification: Center.Notification) throws {
        let pipe = try PipeEnds()
        let child: ChildProcess
        do {
            defer { close(pipe.reading) }
            child = try ChildProcess.start(
                "/bin/sh", ["-c", command],
                environment: [
                    "TIDINGS_NAME": notification.name.rawValue,
                    "TIDINGS_SEQUENCE": String(notification.envelope.sequence),
                    "TIDINGS_SUBJECT": notification.envelope.subject ?? "",
                ], input: pipe.reading)
        } catch {
            close(pipe.writing)
            throw error
        }
        underWay.withLock { $0 = notification.envelope.sequence }
        defer { underWay.withLock { $0 = nil } }
        // A command that does not read its input is no failure.
        _ = Array((notification.payload.json + "\n").utf8).withUnsafeBytes { Terminal.writeAll($0, to: pipe.writing) }
        close(pipe.writing)
        let ending = child.waitUntilEnded()
        if ending != .exited(0) { Terminal.note("the command \(ending) for #\(notification.envelope.sequence)") }
    }
}

extension Center.RawPayload {
    /// Whether the payload's JSON shows its bytes, `{"bytes":"00ff"}`, because the payload has no other form there. No
    /// payload that is itself such an object has a JSON text of this length: it is shorter than twice its bytes.
    func isHexadecimal(_ json: String) -> Bool {
        json.utf8.count == 2 * count + 12 && json.hasPrefix(#"{"bytes":""#)
    }
}
