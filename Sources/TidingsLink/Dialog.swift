// What two relays tell each other about requests and participants: messages, in order, each once. Section 9.

/// What became of a request, or a part of it.
package enum Answer: Hashable, Sendable {
    /// Another answer follows when the caller wants it.
    case part(code: UInt16, format: UInt8, payload: [UInt8])
    case reply(code: UInt16, format: UInt8, payload: [UInt8])
    /// A server may have received the request, and there is no reply.
    case serverEnded
    /// No server has received the request.
    case noServer

    package var isLast: Bool {
        if case .part = self { return false }
        return true
    }

    var size: Int {
        switch self {
        case .part(_, _, let payload), .reply(_, _, let payload): payload.count
        case .serverEnded, .noServer: 0
        }
    }
}

/// A request for servers of another center.
package struct Request: Hashable, Sendable {
    package var name: LinkName
    /// Another server may receive it if the first one ends.
    package var isIdempotent: Bool
    package var format: UInt8
    package var payload: [UInt8]

    package init(name: LinkName, isIdempotent: Bool, format: UInt8, payload: [UInt8]) {
        self.name = name
        self.isIdempotent = isIdempotent
        self.format = format
        self.payload = payload
    }
}

package enum Message: Hashable, Sendable {
    /// The names that servers of the sender's center serve and that it serves for the receiver: all of them.
    case served([LinkName])
    case request(call: UInt64, Request)
    case cancel(call: UInt64)
    /// The caller wants the next part.
    case goOn(call: UInt64)
    case answer(call: UInt64, Answer)
    /// The participants of the sender's center: all of them.
    case participants([RemoteParticipant])
    case joined(RemoteParticipant)
    case left(id: UInt64, RemoteDeparture)

    /// Bytes, about.
    var size: Int {
        switch self {
        case .served(let names): names.reduce(16) { $0 + $1.text.utf8.count + 2 }
        case .request(_, let request): request.name.text.utf8.count + request.payload.count + 32
        case .cancel, .goOn: 16
        case .answer(_, let answer): answer.size + 32
        case .participants(let all): all.reduce(16) { $0 + $1.size }
        case .joined(let participant): participant.size
        case .left: 16
        }
    }
}

package struct DialogFrame: Hashable, Sendable {
    /// The number of the sender's dialog, and of the receiver's, as the sender knows it; 0: not known. There is no
    /// message as long as the receiver does not know the sender's.
    package var dialog: UInt64
    package var to: UInt64
    /// The sender does not know yet that the receiver knows its dialog. It is answered at once.
    package var isFirst: Bool
    /// The number of the first message; the first one of a dialog has 1.
    package var first: UInt64
    /// How many messages of the peer were taken.
    package var taken: UInt64
    package var messages: [Message]
}

/// The dialog of a link. Each message is sent again until the peer has taken it. A side that has not heard its peer for
/// too long begins another dialog, and so does its peer then, although its session goes on.
struct Dialog: Sendable {
    let number: UInt64
    /// 0: not known.
    var peerNumber: UInt64 = 0
    /// The peer knows this dialog.
    var isHeard = false
    /// When the first frame is sent, again and again until the peer answers; .max: it has, or no dialog is needed.
    var helloAt = UInt64.max
    private var helloTries = 0
    /// Perhaps the peer does not know dialogs: it is asked more rarely.
    var isUnanswered: Bool { !isHeard && helloTries > 6 }

    /// Messages that the peer has not taken, from the one numbered `first` on.
    private var outbox: [Message] = []
    private var first: UInt64 = 1
    private(set) var outboxBytes = 0
    /// A list of names, or of participants, has changed and was not told: too much waits.
    var isBehind = false
    /// How many of these are on their way, and their bytes.
    private var sent = 0
    private var sentBytes = 0
    private var sentAt: UInt64 = 0
    private var tries = 0
    /// The number of the last message that was ever sent.
    private(set) var lastSent: UInt64 = 0

    /// How many messages were taken, and when the peer is told; .max: it knows.
    private(set) var taken: UInt64 = 0
    private var acknowledgeAt = UInt64.max
    private var unacknowledgedBytes = 0

    init(number: UInt64) { self.number = number }

    /// Returns its number.
    @discardableResult
    mutating func append(_ message: Message) -> UInt64 {
        outbox.append(message)
        outboxBytes += message.size
        return first + UInt64(outbox.count) - 1
    }

    // MARK: - Sending

    private func hasRoom(_ limits: LinkLimits) -> Bool {
        isHeard && sent < outbox.count && (sent == 0 || sentBytes + outbox[sent].size <= limits.dialogWindow)
    }

    func isDue(_ now: UInt64, _ limits: LinkLimits, isWritable: Bool) -> Bool {
        if helloAt <= now || acknowledgeAt <= now { return true }
        return isWritable && (hasRoom(limits) || sent > 0 && now >= sentAt + limits.wait(afterTry: tries))
    }

    func deadline(_ limits: LinkLimits, isWritable: Bool) -> UInt64 {
        var earliest = min(helloAt, acknowledgeAt)
        guard isWritable else { return earliest }
        if hasRoom(limits) { return 0 }
        if sent > 0 { earliest = min(earliest, sentAt + limits.wait(afterTry: tries)) }
        return earliest
    }

    mutating func frame(_ now: UInt64, _ limits: LinkLimits, isWritable: Bool) -> DialogFrame {
        if helloAt <= now {
            helloTries += 1
            helloAt = now + (isUnanswered ? 3 * limits.giveUp : limits.wait(afterTry: helloTries))
        }
        acknowledgeAt = .max
        unacknowledgedBytes = 0
        guard isWritable, isHeard else {
            return DialogFrame(
                dialog: number, to: peerNumber, isFirst: !isHeard, first: first, taken: taken, messages: [])
        }
        if sent > 0, now >= sentAt + limits.wait(afterTry: tries) {
            tries += 1
            sent = 0
            sentBytes = 0
            sentAt = now
        }
        var frame = DialogFrame(
            dialog: number, to: peerNumber, isFirst: false, first: first + UInt64(sent), taken: taken, messages: [])
        var bytes = 0
        while hasRoom(limits), bytes == 0 || bytes + outbox[sent].size <= limits.batchBytes {
            if sent == 0 { sentAt = now }
            let message = outbox[sent]
            frame.messages.append(message)
            bytes += message.size
            sentBytes += message.size
            sent += 1
            lastSent = max(lastSent, first + UInt64(sent) - 1)
        }
        return frame
    }

    // MARK: - Receiving

    /// The messages of a frame of the peer's dialog that were not taken before.
    ///
    /// - Parameter hasRoom: false: none are taken now, and the peer sends them again.
    mutating func take(
        _ frame: DialogFrame, _ now: UInt64, _ limits: LinkLimits, hasRoom: Bool
    ) -> ArraySlice<Message> {
        // Until both know both dialogs, frames are answered at once.
        #if MUTANT_FIRST_FRAME_NOT_ANSWERED  // Found by: link --calls 8932
            if !isHeard || frame.to != number { acknowledgeAt = now }
        #else
            if frame.isFirst || frame.to != number { acknowledgeAt = now }
        #endif
        guard frame.to == number else { return [] }
        isHeard = true
        helloAt = .max
        // A peer can't have taken what was not sent.
        #if MUTANT_TAKEN_TRUSTED  // Found by: fuzz link
            let done = isMutant("TAKEN_TRUSTED") ? frame.taken : min(frame.taken, lastSent)
        #else
            let done = min(frame.taken, lastSent)
        #endif
        if done >= first {
            let count = Int(done - first) + 1
            let bytes = outbox[..<count].reduce(0) { $0 + $1.size }
            sentBytes -= outbox[..<min(count, sent)].reduce(0) { $0 + $1.size }
            outbox.removeFirst(count)
            outboxBytes -= bytes
            sent = max(0, sent - count)
            first = done + 1
            tries = 0
            sentAt = now
        }
        guard !frame.messages.isEmpty, hasRoom else { return [] }
        acknowledgeAt = min(acknowledgeAt, now + limits.acknowledge)
        #if !MUTANT_DIALOG_GAP_PASSED_OVER  // Found by: link --calls 22
            guard frame.first <= taken + 1 else { return [] }
        #endif
        #if MUTANT_DIALOG_REPEATED  // Found by: link --calls 1
            let known = 0
        #else
            let known = Int(min(taken + 1 - min(frame.first, taken + 1), UInt64(frame.messages.count)))
        #endif
        let new = frame.messages[known...]
        taken += UInt64(new.count)
        unacknowledgedBytes += new.reduce(0) { $0 + $1.size }
        if unacknowledgedBytes >= limits.dialogWindow / 4 { acknowledgeAt = now }
        return new
    }
}
