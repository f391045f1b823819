/// Posts that wait, as a value: what comes in, and what is due at a time. In order, those for `asap` before those for `whenIdle`.
struct DeferredPosts {
    struct Pending {
        var name: SharedNotificationCenter.Name
        var subject: String?
        fileprivate var subjectBytes: ByteText? { subject.map { ByteText($0) } }
        var payload: SharedNotificationCenter.RawPayload
        /// What that was before it was encoded; `nil` where a name isn't meant for one type.
        var type: Any.Type? = nil
        /// When it, or the first that it took the place of, is due in any case.
        var latest: UInt64 = 0

        /// Whether a post that coalesces so takes the place of `other`.
        func replaces(_ other: Pending, _ coalescing: SharedNotificationCenter.Coalescing) -> Bool {
            !coalescing.isEmpty
                && (!coalescing.contains(.name) || other.name == name)
                && (!coalescing.contains(.subject) || other.subjectBytes == subjectBytes)
        }
    }

    /// Nothing else came for so long: idle. 10 ms: longer than a burst's gaps, shorter than anybody notices.
    static let idle: UInt64 = 10_000_000
    /// Nothing waits for longer, however busy it is: 100 ms, what still counts as at once to people.
    static let patience: UInt64 = 100_000_000

    private var soon: [Pending] = []
    private var whenIdle: [Pending] = []
    private var lastCame: UInt64 = 0

    var isEmpty: Bool { soon.isEmpty && whenIdle.isEmpty }

    /// Takes one in, in place of those waiting that it matches. With style `now` it only does the latter.
    mutating func enqueue(
        _ pending: Pending, style: SharedNotificationCenter.PostingStyle,
        coalescing: SharedNotificationCenter.Coalescing, now: UInt64
    ) {
        var pending = pending
        pending.latest = now + Self.patience
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

    /// What is due; with `all`, everything.
    mutating func take(now: UInt64, all: Bool) -> [Pending] {
        defer { soon = [] }
        guard all || now >= due else { return soon }
        defer { whenIdle = [] }
        return soon + whenIdle
    }

    /// When those for `whenIdle` are due.
    var due: UInt64 {
        min(lastCame + Self.idle, whenIdle.lazy.map(\.latest).min() ?? .max)
    }
}
