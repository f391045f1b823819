/// The posts that wait, as a value type: takes new posts in, and returns those that are due. Posts for `asap` come
/// before posts for `whenIdle`, each in order.
package struct DeferredPosts {
    /// When a post is posted.
    package enum Style: Sendable {
        /// Before the call returns.
        case now
        /// By another thread, as soon as possible.
        case asap
        /// When no post has been deferred for `idle`, and after `longestDelay` at the latest.
        case whenIdle
    }

    /// The properties in which a post must be equal to the waiting posts that it replaces. None: it replaces no post.
    package struct Coalescing: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        static let name = Coalescing(rawValue: 1)
        static let subject = Coalescing(rawValue: 2)
    }

    struct Pending {
        var name: SharedNotificationCenter.Name
        var subject: String?
        fileprivate var subjectBytes: ByteText? { subject.map { ByteText($0) } }
        var payload: SharedNotificationCenter.RawPayload
        /// The payload's type before it was encoded; `nil`: the name is not meant for one type.
        var type: Any.Type? = nil
        var flags = SharedNotificationCenter.PostFlags()
        /// Of the call that has deferred the post.
        var trace: TraceFields?
        /// When this post is due at the latest. If it replaced other posts, this is the earliest of their times.
        var latest: UInt64 = 0

        /// Whether this post replaces `other` under that coalescing.
        func replaces(_ other: Pending, _ coalescing: Coalescing) -> Bool {
            !coalescing.isEmpty && other.flags.bits == flags.bits
                && (!coalescing.contains(.name) || other.name == name)
                && (!coalescing.contains(.subject) || other.subjectBytes == subjectBytes)
        }
    }

    /// After this time in nanoseconds without a new post, the center object counts as idle. 10 ms is longer than the
    /// gaps of a burst, and too short for a person to notice.
    static let idle: UInt64 = 10_000_000
    /// The longest time in nanoseconds that a post waits, even if posts keep coming. 100 ms still seems immediate to a
    /// person.
    static let longestDelay: UInt64 = 100_000_000

    private var soon: [Pending] = []
    private var whenIdle: [Pending] = []
    private var lastCame: UInt64 = 0

    var isEmpty: Bool { soon.isEmpty && whenIdle.isEmpty }

    /// Takes a post in, and removes the waiting posts that it replaces. With the style `now` it only removes those.
    mutating func enqueue(_ pending: Pending, style: Style, coalescing: Coalescing, now: UInt64) {
        var pending = pending
        pending.latest = now + Self.longestDelay
        if !coalescing.isEmpty {
            let new = pending
            let earliest = whenIdle.lazy.filter { new.replaces($0, coalescing) }.map(\.latest).min()
            soon.removeAll { new.replaces($0, coalescing) }
            whenIdle.removeAll { new.replaces($0, coalescing) }
            if let earliest { pending.latest = min(pending.latest, earliest) }
        }
        lastCame = now
        switch style {
        case .now: break
        case .asap: soon.append(pending)
        case .whenIdle: whenIdle.append(pending)
        }
    }

    /// Takes out the posts that are due; with `all`, all posts.
    mutating func take(now: UInt64, all: Bool) -> [Pending] {
        defer { soon = [] }
        guard all || now >= due else { return soon }
        defer { whenIdle = [] }
        return soon + whenIdle
    }

    /// When the `whenIdle` posts are due.
    var due: UInt64 { min(lastCame + Self.idle, whenIdle.lazy.map(\.latest).min() ?? .max) }
}
