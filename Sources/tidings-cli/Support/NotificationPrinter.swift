import ChildProcesses
import Foundation
import Tidings

/// Prints notifications, runs a command for each, and ends the observation at the limit.
final class NotificationPrinter: Sendable {
    private let isJSON: Bool
    private let command: String?
    private let lines: LineOutput
    private let text: Locked<NotificationText>
    private let underWay = Locked<UInt64?>(nil)

    init(_ style: NotificationText.Style, command: String?, lines: LineOutput) {
        if case .json = style { isJSON = true } else { isJSON = false }
        self.command = command
        self.lines = lines
        text = Locked(NotificationText(style))
    }

    /// The sequence number of the notification whose command is running.
    var commandUnderWay: UInt64? { underWay.withLock { $0 } }

    /// Handles a notification. Called by an observer's closure: on one thread at a time, in order.
    func handle(_ notification: Center.Notification) {
        text.withLock { text in
            text.set(notification)
            lines.print(text.line) { if let command { try run(command, for: notification) } }
        }
    }

    /// Prints an object among the notifications, which the limit does not count; without JSON, nothing.
    func note(_ object: @autoclosure () -> [UInt8]) {
        if isJSON { lines.print(object(), counts: false) }
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
