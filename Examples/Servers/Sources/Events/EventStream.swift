import Hummingbird
import ServiceLifecycle
import Tidings

/// Server-sent events: each message with an ID, and a count where messages were missed.
///
/// The ID is the incarnation of the center, and the message's position in its order. A browser that connects again, to
/// any server of the center, sends the last ID that it received. It first receives how many later messages have left
/// the ring, and then those that have not. A new client receives what is posted from then on.
///
/// Nothing else is posted in this center, so a gap between positions consists of messages. A position that a poster has
/// not used, because it was killed or stopped in its post, counts as one.
///
/// A client that continues takes an observer entry of the center, of 1,024, and a thread.
struct EventStream: Sendable {
    private let deliveries: SharedNotificationCenter.ObservedSequence<SharedNotificationCenter.Delivery<Said>>.Iterator
    private let beginning: Beginning

    private enum Beginning {
        case new
        /// The first position that the client has not received.
        case at(UInt64)
        /// The client was in another center, which has ended.
        case inAnotherCenter
    }

    init(after id: String?, in center: SharedNotificationCenter) throws {
        let parts = id?.split(separator: "-") ?? []
        var start = SharedNotificationCenter.Start.now
        if parts.count == 2, let incarnation = UInt64(parts[0], radix: 16), let sequence = UInt64(parts[1]) {
            let isSame = incarnation == center.incarnation
            beginning = isSame ? .at(sequence &+ 1) : .inAnotherCenter
            start = isSame ? .after(sequence, in: incarnation) : .oldest
        } else {
            beginning = .new
        }
        deliveries = try center.deliveries(of: Said.self, options: .init(from: start)).register()
    }

    /// Writes until the client leaves, or the server or the center ends.
    func write(to writer: inout any ResponseBodyWriter, until request: Request) async throws {
        var expected: UInt64?
        if case .at(let position) = beginning { expected = position }
        try await request.body.consumeWithCancellationOnInboundClose { _ in
            // After a line, the browser knows that it is connected. After a loss, it waits this long, in milliseconds.
            try await writer.write(ByteBuffer(string: "retry: 500\n\n"))
            if case .inAnotherCenter = beginning { try await writer.write(event("missed", "an unknown number")) }
            for await delivery in deliveries.cancelOnGracefulShutdown() {
                switch delivery {
                case .message(let said, let envelope):
                    if let position = expected, envelope.sequence > position {
                        try await writer.write(event("missed", "\(envelope.sequence - position)"))
                    }
                    expected = nil
                    let id = "\(String(envelope.incarnation, radix: 16))-\(envelope.sequence)"
                    try await writer.write(event("message", said.text, id: id))
                // Before the first message, the gap includes them.
                case .missed(let count) where expected == nil: try await writer.write(event("missed", "\(count)"))
                case .missed, .reopened, .centerEnded: break
                }
            }
        }
        try await writer.finish(nil)
    }

    private func event(_ kind: String, _ text: String, id: String? = nil) -> ByteBuffer {
        let data = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map { "data: \($0)\n" }
        return ByteBuffer(string: "event: \(kind)\n\(id.map { "id: \($0)\n" } ?? "")\(data.joined())\n")
    }
}
