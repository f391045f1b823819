import Hummingbird
import ServiceLifecycle
import Tidings
import TidingsAdministration

/// Server-sent events: each message with an ID, and a count where messages were missed.
///
/// The ID is the incarnation of the center, and the message's position in its order. A browser that connects again, to
/// any server of the center, sends the last ID that it received. It first receives how many later messages have left
/// the ring, and then those that have not. A new client receives the ID of the last message, and then what is posted.
///
/// Nothing else is posted in this center, so a gap between positions consists of messages. A position that a poster has
/// not used, because it was killed or stopped in its post, counts as one.
///
/// A client that continues takes an observer entry of the center, of 1,024, and a thread.
struct EventStream: Sendable {
    private let deliveries: SharedNotificationCenter.ObservedSequence<SharedNotificationCenter.Delivery<Said>>.Iterator
    /// The first position that a client that continues has not received.
    private let position: UInt64?
    private let beginning: String

    init(after id: String?, in center: SharedNotificationCenter) throws {
        // After a lost connection, the browser waits for 500 ms.
        let retry = "retry: 500\n"
        let parts = id?.split(separator: "-") ?? []
        let start: SharedNotificationCenter.Start
        if parts.count == 2, let incarnation = UInt64(parts[0], radix: 16), let sequence = UInt64(parts[1]) {
            let isSame = incarnation == center.incarnation
            start = isSame ? .after(sequence, in: incarnation) : .oldest
            position = isSame ? sequence &+ 1 : nil
            beginning = retry + (isSame ? "\n" : Self.event("missed", "an unknown number"))
        } else {
            start = .now
            position = nil
            let end = try center.statistics.posted
            beginning = retry + (end > 0 ? "id: \(Self.id(center.incarnation, end - 1))\n\n" : "\n")
        }
        deliveries = try center.deliveries(of: Said.self, options: .init(from: start)).register()
    }

    /// Writes until the client leaves, or the server or the center ends.
    func write(to writer: inout any ResponseBodyWriter, until request: Request) async throws {
        var (position, missed) = (position, 0 as UInt64)
        try await request.body.consumeWithCancellationOnInboundClose { _ in
            try await writer.write(ByteBuffer(string: beginning))
            for await delivery in deliveries.cancelOnGracefulShutdown() {
                switch delivery {
                case .message(let said, let envelope):
                    // The first gap includes what this observer has missed.
                    if let position { missed = envelope.sequence > position ? envelope.sequence - position : 0 }
                    var text = ""
                    if missed > 0 {
                        // With an ID: a client whose connection is lost before the message is not told again.
                        let id = Self.id(envelope.incarnation, envelope.sequence &- 1)
                        text = Self.event("missed", "\(missed)", id: id)
                    }
                    text += Self.event("message", said.text, id: Self.id(envelope.incarnation, envelope.sequence))
                    try await writer.write(ByteBuffer(string: text))
                    (position, missed) = (nil, 0)
                case .missed(let count): missed += UInt64(count)
                case .reopened, .centerEnded: break
                }
            }
        }
        try await writer.finish(nil)
    }

    private static func id(_ incarnation: UInt64, _ sequence: UInt64) -> String {
        "\(String(incarnation, radix: 16))-\(sequence)"
    }

    private static func event(_ kind: String, _ text: String, id: String? = nil) -> String {
        let data = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map { "data: \($0)\n" }
        return "event: \(kind)\n\(id.map { "id: \($0)\n" } ?? "")\(data.joined())\n"
    }
}
