// The sizes and times of a relay, and the numbers that a peer may send.

package struct LinkLimits: Hashable, Sendable {
    /// Items that are sent and not handled by the peer. A frame counts until all of it is handled.
    package var window = 8192
    /// Bytes of the frames with these, unless a single frame is larger.
    package var windowBytes = 16 << 20
    /// Items of one frame.
    package var batch = 512
    /// Bytes of one frame of items, unless a single item is larger.
    package var batchBytes = 32_768
    /// Received items that wait to be posted.
    package var inbox = 16_384
    /// Bytes of the frames of these.
    package var inboxBytes = 32 << 20
    /// Bytes of the latest notifications that the relay keeps in its own memory, a power of two. Frames of older ones
    /// read the ring.
    package var log = 8 << 20
    /// Slots for the accounts of one direction: at most this many are known to the peer by a number alone. The same on
    /// both sides.
    package var table = 65_536
    /// Posts after which items and values have a turn.
    package var turn = 16
    /// Places of a link that are kept: those in the latest centers at its other end.
    package var places = 16
    /// Accounts of one frame, and names of one question for values.
    package var chunk = 1024
    /// Origins that a relay knows.
    package var origins = 1024
    /// Names that a relay knows.
    package var names = 131_072
    /// Accounts that a relay has: names of origins.
    package var accounts = 1 << 20
    /// Bytes of a payload.
    package var payload = 16 << 20
    /// Calls of each side of a link that are in flight.
    package var calls = 256
    /// Request names that a link serves.
    package var servedNames = 1024
    /// Participants of a center that a link tells of.
    package var participants = 1024
    /// Bytes of messages that wait for a link, and of those that the driver has not taken.
    package var dialogBytes = 32 << 20
    /// Bytes of messages on their way, unless one is larger.
    package var dialogWindow = 1 << 20
    /// Milliseconds between two beats of an idle link.
    package var beat: UInt64 = 1000
    /// Milliseconds after which an unanswered question, or a gap, is asked about again.
    package var repeatAfter: UInt64 = 300
    /// Milliseconds after which an acknowledgement goes out that is not urgent.
    package var acknowledge: UInt64 = 10
    /// Milliseconds between two beats that tell of a new generation, and between two comparisons.
    package var compare: UInt64 = 100
    /// Milliseconds after which values are asked for again that the peer does not send.
    package var giveUp: UInt64 = 10_000
    /// Milliseconds after which a trouble that a stranger's greeting showed is forgotten.
    package var trouble: UInt64 = 10_000
    /// Milliseconds without any frame after which the peer counts as gone.
    package var silence: UInt64 = 5000

    package init() {}

    /// Milliseconds until a question is repeated: longer each time, so that a large answer has time to arrive.
    func wait(afterTry number: Int) -> UInt64 { repeatAfter * [1, 1, 3, 10][min(max(number, 0), 3)] }

    /// Sequences, counts and dates from a peer are below this number: sums of two do not overflow.
    static let number = UInt64(1) << 62
    /// Bytes of a name, a subject, a host, a center's name.
    static let text = 255
}

extension UInt64 {
    /// The sum, or the largest number.
    func adding(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    /// The difference, or 0.
    func reduced(by other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
