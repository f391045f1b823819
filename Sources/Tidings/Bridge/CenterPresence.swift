// Whether a center object is announced or watches. Both go on in the center's successor.
internal import Dispatch
import Synchronization

/// The presence of a center object: an announcement, the sequences that need it to watch, or neither.
///
/// The C library knows one state for each handle: announced, watching, or neither. An announced participant watches
/// too.
final class CenterPresence: Sendable {
    private struct Announced {
        var number: UInt64
        var role: String
        var will: EncodedWill?
        var participant: SharedNotificationCenter.Participant
    }

    private struct State: Sendable {
        var announced: Announced?
        /// How many sequences need this object to watch.
        var watchers = 0
        /// The handle that is announced or watches. `nil`: none; a handle that may only read can't watch.
        var handle: CenterHandle?
    }

    // A forked child is neither announced nor does it watch, and it may find its parent's lock held.
    private let local = ForkLocal { Locked(State()) }

    /// Numbers of announcements. A forked child goes on counting, so none of its numbers is one of its parent's.
    private static let numbers = Atomic<UInt64>(1)

    /// - Returns: the announcement's number.
    func announce(
        _ role: String, _ will: EncodedWill?, nanoseconds: Int64, in handle: CenterHandle
    ) throws(SharedNotificationError) -> (number: UInt64, participant: SharedNotificationCenter.Participant) {
        try local.object.withLock { (state) throws(SharedNotificationError) in
            if let announced = state.announced {
                throw SharedNotificationError(
                    .exists,
                    message: """
                        can't announce "\(role)": this center object is announced as "\(announced.role)"; withdraw \
                        that, or open the center another time
                        """)
            }
            do throws(SharedNotificationError) {
                try handle.announce(role: role, will: will, nanoseconds: nanoseconds)
            } catch {
                // The attempt has ended watching.
                if state.handle != nil { state.handle = (try? handle.watchPresence()).map { handle } }
                throw error
            }
            state.handle = handle
            let participant = handle.ownPresence ?? SharedNotificationCenter.Participant(role: role)
            // Relaxed: only the number must be unique.
            let number = Self.numbers.wrappingAdd(1, ordering: .relaxed).oldValue
            state.announced = Announced(number: number, role: role, will: will, participant: participant)
            return (number, participant)
        }
    }

    /// The participant of that announcement; `nil`: it has ended.
    func participant(of number: UInt64) -> SharedNotificationCenter.Participant? {
        local.object.withLock { $0.announced?.number == number ? $0.announced?.participant : nil }
    }

    func withdraw(_ number: UInt64) {
        var released: CenterHandle?
        local.object.withLock { state in
            guard state.announced?.number == number else { return }
            state.announced = nil
            released = state.handle
            state.handle?.withdraw()
            if state.watchers == 0 || (try? state.handle?.watchPresence()) == nil { state.handle = nil }
        }
        // Without the lock: the last reference closes the center.
        withExtendedLifetime(released) {}
    }

    func beginWatching(in handle: CenterHandle) throws(SharedNotificationError) {
        try local.object.withLock { (state) throws(SharedNotificationError) in
            if state.handle == nil {
                do throws(SharedNotificationError) {
                    try handle.watchPresence()
                    state.handle = handle
                } catch {
                    // A reader can't watch. It learns of deaths from the participants that do.
                    guard error.code == .notPermitted else { throw error }
                }
            }
            state.watchers += 1
        }
    }

    func endWatching() {
        var released: CenterHandle?
        local.object.withLock { state in
            guard state.watchers > 0 else { return }
            state.watchers -= 1
            guard state.watchers == 0, state.announced == nil else { return }
            released = state.handle
            state.handle?.withdraw()
            state.handle = nil
        }
        withExtendedLifetime(released) {}
    }

    /// Goes on in the center's successor. A failure is passed to `report`, which is called later, without a lock.
    func move(to next: CenterHandle, report: @escaping @Sendable (SharedNotificationError) -> Void) {
        var released: CenterHandle?
        local.object.withLock { state in
            released = state.handle
            guard let old = state.handle, old !== next else { return }
            old.withdraw()
            do throws(SharedNotificationError) {
                if let announced = state.announced {
                    try next.announce(role: announced.role, will: announced.will, nanoseconds: Self.moving)
                    if let participant = next.ownPresence { state.announced?.participant = participant }
                } else {
                    try next.watchPresence()
                }
            } catch {
                DispatchQueue.global().async { report(error) }
            }
            // Also after a failure, so that the announcement is tried again in the center after that.
            state.handle = next
        }
        withExtendedLifetime(released) {}
    }

    /// How long a lossless observer of a successor may hold the notice back, in nanoseconds: few have registered there.
    private static let moving: Int64 = 10_000_000
}

extension CenterLink {
    /// Announces this participant. The C library waits in steps of 5 ms, so that other threads get the lock meanwhile.
    func announce(
        _ role: String, _ will: EncodedWill?, timeout: Duration?
    ) throws(SharedNotificationError) -> (number: UInt64, participant: SharedNotificationCenter.Participant) {
        let start = ContinuousClock.now
        var step: Int64 = 0
        while true {
            do throws(SharedNotificationError) {
                return try inLatest { (handle) throws(SharedNotificationError) in
                    try presence.announce(role, will, nanoseconds: step, in: handle)
                }
            } catch {
                guard error.code == .full, let timeout, start.duration(to: .now) < timeout else { throw error }
            }
            step = 5_000_000
        }
    }
}

/// Makes a center object watch while it is referenced.
final class PresenceWatch: Sendable {
    private let link: CenterLink

    init(_ link: CenterLink) throws(SharedNotificationError) {
        self.link = link
        try link.inLatest { (handle) throws(SharedNotificationError) in
            try link.presence.beginWatching(in: handle)
        }
    }

    deinit { link.presence.endWatching() }
}
