internal import CTidingsExtensions
internal import Glibc
internal import Tidings

/// Forwards what one process of an extension posts, and refuses what it has no grant for.
struct Relay {
    /// The host posts this name into the private center after the process has ended: the relay ends there.
    static let mark: SharedNotificationCenter.Name = "tidings.extension.end"
    /// An extension posts this name, with a name as the subject that its library has refused for want of a grant.
    static let ungranted: SharedNotificationCenter.Name = .init(TIDINGS_EXTENSION_UNGRANTED)
    /// The role of an extension that leaves a last will: the relay waits for the will of such a one.
    static let roleWithWill = TIDINGS_HANDSHAKE_ROLE_WITH_WILL
    /// The library posts these names: a notice of presence, and the announcement of a request.
    private static let presence: SharedNotificationCenter.Name = "tidings.presence"
    private static let requests = "tidings.requests."
    static func announcement(of request: SharedNotificationCenter.Name) -> SharedNotificationCenter.Name {
        SharedNotificationCenter.Name(requests + request.rawValue)
    }
    /// What an extension needs to post a name.
    private static func grant(for name: SharedNotificationCenter.Name) -> Grant {
        guard name.rawValue.hasPrefix(requests) else { return Grant(.posts, named: name) }
        return Grant(.requests, named: .init(String(name.rawValue.dropFirst(requests.count))))
    }
    /// After so many notifications the relay pauses for a millisecond. So a flood takes little of the host's processor
    /// time, and leaves other tasks running: the relay's observer is lossless, and holds the extension back meanwhile.
    /// Without pauses, a flood with a grant lengthened requests to a sibling up to 2.6-fold, and their 99th percentile
    /// 12-fold, on two processors.
    private static let pauseAfter = 64

    private let one: Extension
    private let center: SharedNotificationCenter
    private let broadcast: SharedNotificationCenter
    private let fail: @Sendable (SharedNotificationError) -> Void
    private let grants: Set<Grant>
    private var refusals = Tally<Grant>()
    private var failures = Tally<SharedNotificationCenter.Name>()
    /// What the host sees of the relay after the process has ended.
    struct Progress: Sendable, Equatable {
        /// How many notifications it has taken.
        var taken = 0
        /// A last will is still to come.
        var awaitsWill = false
    }
    private let progress: Locked<Progress>

    /// The participant whose last will is still to come.
    private var willOf: UInt64? {
        didSet { progress.withLock { $0.awaitsWill = willOf != nil } }
    }
    private var willPid: Int32?
    /// That participant has died: its will is the next notification.
    private var isWillNext = false

    /// What a notice of presence says, as far as the relay needs it.
    private struct Notice: Decodable {
        var event: String
        var id: UInt64
        var pid: Int32
        var role: String
    }

    /// - Parameters:
    ///   - progress: what the relay keeps up to date.
    ///   - fail: ends the process for a reason.
    init(
        _ one: Extension, _ center: SharedNotificationCenter, _ progress: Locked<Progress>,
        _ fail: @escaping @Sendable (SharedNotificationError) -> Void
    ) {
        self.progress = progress
        self.fail = fail
        self.one = one
        self.center = center
        broadcast = one.core.broadcast
        grants = Set(one.specification.grants)
    }

    consuming func run(
        _ deliveries: SharedNotificationCenter.ObservedSequence<SharedNotificationCenter.RawDelivery>.Iterator
    ) async {
        var hasEnded = false
        for await delivery in deliveries {
            switch delivery {
            case .notification(let notification):
                if notification.envelope.isOwn, notification.name == Self.mark { hasEnded = true }
                let number = progress.withLock {
                    $0.taken += 1
                    return $0.taken
                }
                if number.isMultiple(of: Self.pauseAfter) { try? await Task.sleep(for: .milliseconds(1)) }
                await take(notification)
                // The thread that posts the will may run later than the one that reports the end of the process.
                if hasEnded, willOf == nil { return }
            case .missed(let count, _):
                // Only a damaged center loses what a lossless observer should receive.
                fail(
                    SharedNotificationError(
                        .notACenter,
                        message: """
                            center "\(center.name)" is damaged: its lossless observer has lost \(count) notifications
                            """))
            case .reopened: break
            case .centerEnded(let error): fail(error)
            }
        }
    }

    private mutating func take(_ notification: SharedNotificationCenter.Notification) async {
        let (name, envelope) = (notification.name, notification.envelope)
        let needed = Self.grant(for: name)
        if name == Self.ungranted {
            let missing = envelope.subject.map { Self.grant(for: .init($0)) } ?? needed
            // A hostile extension may name a grant that it has.
            refuse(grants.contains(missing) ? needed : missing)
        } else if grants.contains(Grant(.posts, named: name)) {
            // A cleared retained value is no notification that observers of the broadcast center expect.
            if !envelope.isOwn, !envelope.isCleared { await forward(notification) }
        } else if needed.kind == .requests {
            // The host's requests are posted by another participant of this process. A process of the extension that
            // claims this process ID is not counted here, and gets no reply either. A server that leaves announces its
            // requests again.
            if !grants.contains(needed), !grants.contains(Grant(.serves, named: needed.name)),
                envelope.poster.pid != getpid()
            {
                refuse(needed)
            }
        } else if name == Self.presence {
            // The task that observes presence takes each notice, also an invented one.
            follow(notification.payload)
        } else if !envelope.isOwn {
            refuse(needed)
        }
        if isWillNext, name != Self.presence, needed.kind == .posts, envelope.poster.pid == willPid {
            (willOf, isWillNext) = (nil, false)
        }
    }

    /// Follows whether a last will is still to come.
    private mutating func follow(_ payload: SharedNotificationCenter.RawPayload) {
        guard let notice = try? payload.decode(Notice.self) else { return }
        switch notice.event {
        case "joined" where notice.role == Self.roleWithWill && willOf == nil:
            (willOf, willPid) = (notice.id, notice.pid)
        case "died" where notice.id == willOf: isWillNext = true
        case "closed" where notice.id == willOf: (willOf, isWillNext) = (nil, false)
        default: break
        }
    }

    private mutating func forward(_ notification: SharedNotificationCenter.Notification) async {
        do {
            try await broadcast.waitingForRoom(timeout: .seconds(1)) { center in
                _ = try center.post(
                    name: notification.name, payload: notification.payload,
                    options: .init(subject: notification.envelope.subject))
            }
        } catch let error as SharedNotificationError {
            guard let count = failures.count(notification.name) else { return }
            one.lifecycle.feed.emit(.notForwarded(notification.name, error, count: count))
        } catch {}
    }

    private mutating func refuse(_ grant: Grant) {
        one.countRefusal()
        guard let count = refusals.count(grant) else { return }
        one.lifecycle.feed.emit(.refused(grant, count: count))
        // If the extension holds its own center full, it has no need to know.
        try? center.post(HostConnection.Refusal(grant, count: count))
    }
}
