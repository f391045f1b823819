// Presence between the center and links: tells the link core of the participants here, and shows those of other
// machines as a retained value.

#if Relay
    internal import NIOConcurrencyHelpers
    internal import Tidings
    internal import TidingsLink

    /// Used with the driver's lock, except for `task` and `hasEnded`. Ended after the driver has forgotten it.
    final class RelayPresence {
        /// Nanoseconds between two values.
        private static let interval: UInt64 = 100_000_000
        /// Nanoseconds until a value that could not be set is encoded again.
        private static let retry: UInt64 = 1_000_000_000
        /// Nanoseconds after which a list that was too large for the center is tried as a whole again.
        private static let fitsTime: UInt64 = 10_000_000_000
        private static let goneLimit = 256

        private struct Key: Hashable {
            var incarnation: UInt64
            var id: UInt64
        }

        private let center: SharedNotificationCenter
        /// Observes the participants here; `nil`: no link announces them.
        private var task: Task<Void, Never>?
        private let hasEnded = NIOLockedValueBox(false)
        /// By participant: what is to be shown, and the links that show it. Two links may lead to one center. The value
        /// has the first ones (invariant P2).
        private var shown: [Key: (entry: RelayedPresence.Entry, number: Int, links: Set<Int>)] = [:]
        /// In the order in which they joined.
        private var joined = 0
        private var gone: [RelayedPresence.Gone] = []
        private var isChanged = false
        private var writtenAt: UInt64 = 0
        private var retryAt: UInt64 = 0
        /// How many participants the value has at most, until `fitsUntil`: more were too large for the center.
        private var fits = RelayedPresence.most
        private var fitsUntil: UInt64 = 0

        /// - Parameter onCore: runs a closure later, on the thread of `run` and with the driver's lock.
        init(
            _ center: SharedNotificationCenter, announces: Bool,
            onCore: @escaping @Sendable (@escaping (inout RelayCore) -> Void) -> Void
        ) throws(RelayError) {
            self.center = center
            guard announces else { return }
            let other: SharedNotificationCenter
            do throws(SharedNotificationError) {
                other = try center.another()
            } catch {
                throw RelayError(.center, error.message)
            }
            // Orders of before a reload may wait: they are not for the next core.
            let tell: @Sendable (@escaping (inout RelayCore) -> Void) -> Void = { [hasEnded] body in
                onCore { core in if !hasEnded.withLockedValue({ $0 }) { body(&core) } }
            }
            task = Task.detached {
                for await change in other.presence() {
                    switch change {
                    case .joined(let one):
                        let participant = RemoteParticipant(
                            id: one.id, pid: one.pid, uid: one.uid, role: one.role, executable: one.executable)
                        tell { $0.joined(participant) }
                    case .left(let one, let departure):
                        let how: RemoteDeparture =
                            switch departure {
                            case .closed: .closed
                            case .died: .died
                            case .unknown: .unknown
                            }
                        tell { $0.left(one.id, how) }
                    }
                }
            }
        }

        func take(_ event: DialogEvent) {
            switch event {
            case .joined(let link, let origin, let one):
                let key = Key(incarnation: origin.incarnation, id: one.id)
                guard shown[key]?.links.insert(link) == nil else { return }
                let entry = RelayedPresence.Entry(
                    incarnation: origin.incarnation, host: origin.host, center: origin.center, id: one.id, pid: one.pid,
                    uid: one.uid, role: one.role, executable: one.executable)
                joined += 1
                shown[key] = (entry, joined, [link])
                isChanged = true
            case .left(let link, let origin, let one, let how):
                let key = Key(incarnation: origin.incarnation, id: one.id)
                guard shown[key]?.links.remove(link) != nil, shown[key]?.links.isEmpty == true else { return }
                shown[key] = nil
                #if MUTANT_RELAY_FORGETS_DEPARTURES  // Found by: relay presence
                    if isMutant("RELAY_FORGETS_DEPARTURES") {
                        isChanged = true
                        return
                    }
                #endif
                gone.append(.init(incarnation: key.incarnation, id: key.id, how: how.rawValue))
                if gone.count > Self.goneLimit { gone.removeFirst() }
                isChanged = true
            default: break
            }
        }

        /// When `write` is due, in nanoseconds; `nil`: nothing is to be written.
        var due: UInt64? { isChanged ? max(writtenAt + Self.interval, retryAt) : nil }

        /// Sets the value, unless it was set just now. Why it failed, or has not all participants, or `nil`.
        func write(now: UInt64) -> String? {
            guard let due, now >= due else { return nil }
            isChanged = false
            writtenAt = now
            if now >= fitsUntil { fits = RelayedPresence.most }
            let entries = shown.values.sorted { $0.number < $1.number }.map(\.entry)
            var why: String?
            while true {
                let value = RelayedPresence(
                    participants: Array(entries.prefix(fits)), gone: gone.suffix(fits))
                do throws(SharedNotificationError) {
                    try center.setState(value, for: .init(RelayedPresence.name))
                    return why.map { "\($0); the first \(value.participants.count) of \(entries.count) are shown" }
                } catch {
                    why = error.message
                    guard error.code == .payloadTooLarge, fits > 0 else {
                        isChanged = error.code != .payloadTooLarge
                        retryAt = now + Self.retry
                        return why
                    }
                    // The first ones that fit. After a while, a change tries all again.
                    fits = min(fits, max(value.participants.count, value.gone.count)) / 2
                    fitsUntil = now + Self.fitsTime
                }
            }
        }

        /// Nothing is shown any more.
        func end() {
            hasEnded.withLockedValue { $0 = true }
            task?.cancel()
            try? center.setState(nil as RelayedPresence?, for: .init(RelayedPresence.name))
        }

        /// What the center shows if this process dies.
        static func will(_ center: SharedNotificationCenter) -> SharedNotificationCenter.Will {
            #if MUTANT_RELAY_LEAVES_NO_WILL  // Found by: relay presence hangs
                if isMutant("RELAY_LEAVES_NO_WILL") { return .init(name: "com.example.nothing") }
            #endif
            return .init(name: .init(RelayedPresence.name), options: .init(retain: true))
        }
    }
#endif
