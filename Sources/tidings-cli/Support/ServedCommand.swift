import ChildProcesses
import Foundation
import Tidings

/// The run of a command that answers a request.
final class ServedCommand: Sendable {
    private struct State {
        var child: ChildProcess?
        var isCancelled = false
    }

    private let state = Locked(State())

    /// Runs the command, and returns its standard output as the reply, or writes each line of it as one and returns
    /// `nil`. Blocks its thread, except while a line waits for the caller. If the task is cancelled, SIGTERM ends the
    /// command.
    ///
    /// - Parameter limit: how many bytes a reply may have.
    static func run(
        _ command: String, for request: Center.RawPayload, of name: String, _ envelope: Center.RequestEnvelope,
        limit: Int, writingLinesTo writer: Center.ReplyWriter<Center.RawPayload>?
    ) async throws -> Center.RawPayload? {
        let run = ServedCommand()
        return try await withTaskCancellationHandler {
            do {
                return try await run.run(command, request, name, envelope, limit, writer)
            } catch let error where !(error is CancellationError) {
                if !Task.isCancelled { Terminal.note("\(error) for a request of \(envelope.caller.pid)") }
                throw error
            }
        } onCancel: {
            run.cancel()
        }
    }

    private func cancel() {
        state.withLock { state in
            state.isCancelled = true
            state.child?.sendToGroup(SIGTERM)
        }
    }

    private func run(
        _ command: String, _ request: Center.RawPayload, _ name: String, _ envelope: Center.RequestEnvelope,
        _ limit: Int, _ writer: Center.ReplyWriter<Center.RawPayload>?
    ) async throws -> Center.RawPayload? {
        let (child, input, output) = try start(
            command,
            [
                "TIDINGS_NAME": name, "TIDINGS_CALLER": String(envelope.caller.pid),
                "TIDINGS_REPEATED": envelope.isRepeated ? "1" : "0",
            ])
        state.withLock { state in
            state.child = child
            if state.isCancelled { child.sendToGroup(SIGTERM) }
        }
        // On a thread of its own: the command may print before it reads.
        Thread.detachNewThread {
            // A command that does not read its input is no failure.
            _ = Array((request.json + "\n").utf8).withUnsafeBytes { Terminal.writeAll($0, to: input) }
            close(input)
        }
        let bytes: Result<[UInt8], any Error>
        do {
            bytes = .success(try await readAll(output, upTo: limit, writer))
        } catch {
            child.sendToGroup(SIGTERM)
            bytes = .failure(error)
        }
        close(output)
        // The command may have closed its output long before its end.
        child.waitKeepingPid()
        // After the wait below, another process may have the pid.
        state.withLock { $0.child = nil }
        let ending = child.waitUntilEnded()
        let rest = try bytes.get()
        guard ending == .exited(0) else { throw Failure("the command \(ending)") }
        return writer != nil && rest.isEmpty ? nil : Self.reply(rest)
    }

    private func start(
        _ command: String, _ environment: [String: String]
    ) throws -> (child: ChildProcess, input: Int32, output: Int32) {
        let input = try PipeEnds()
        defer { close(input.reading) }
        do {
            let output = try PipeEnds()
            defer { close(output.writing) }
            do {
                let child = try ChildProcess.start(
                    "/bin/sh", ["-c", command], environment: environment, input: input.reading, output: output.writing,
                    inOwnGroup: true)
                return (child, input.writing, output.reading)
            } catch {
                close(output.reading)
                throw error
            }
        } catch {
            close(input.writing)
            throw error
        }
    }

    /// Reads to the end, and writes each line as a reply, if there is a writer. Returns what follows the last line.
    private func readAll(
        _ descriptor: Int32, upTo limit: Int, _ writer: Center.ReplyWriter<Center.RawPayload>?
    ) async throws -> [UInt8] {
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 || (count < 0 && errno != EINTR) { return result }
            guard count > 0 else { continue }
            var (begin, known) = (0, result.count)
            result += buffer[..<count]
            while let writer, let end = result[known...].firstIndex(of: UInt8(ascii: "\n")) {
                try await writer.write(Self.reply(Array(result[begin..<end])))
                (begin, known) = (end + 1, end + 1)
            }
            result.removeFirst(begin)
            guard result.count <= limit else {
                throw Failure("the command prints more than \(limit) bytes, the largest payload of the center")
            }
        }
    }

    private static func reply(_ bytes: [UInt8]) -> Center.RawPayload {
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
        return isJSON(text) ? .json(text) : .text(text)
    }
}
