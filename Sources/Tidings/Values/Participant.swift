// The public types of presence: a participant, and how the set of those that are present changes.

extension SharedNotificationCenter {
    /// A participant that has announced itself (``SharedNotificationCenter/announce(role:will:timeout:)``), as it
    /// describes itself.
    ///
    /// The description is not verified: a process with write access to the center can write any values.
    ///
    /// ```swift
    /// func line(_ one: SharedNotificationCenter.Participant) -> String {
    ///     "\(one.role): \(one.executable), process \(one.pid) of user \(one.uid)"
    /// }
    /// ```
    public struct Participant: Hashable, Sendable, Identifiable {
        /// The process ID, in the participant's own pid namespace.
        public var pid: Int32
        /// The user ID.
        public var uid: UInt32
        /// A random number below 2^52 that belongs to one announcement: another announcement has another one.
        public var id: UInt64
        /// The text that the participant announced, at most 64 bytes.
        public var role: String
        /// The name of the executable, at most 79 bytes. A notice of presence may shorten it, to 55 bytes at least.
        public var executable: String

        /// Creates a participant, for tests of code that receives one.
        ///
        /// ```swift
        /// let renderer = SharedNotificationCenter.Participant(pid: 4711, role: "renderer 3")
        /// ```
        public init(pid: Int32 = 0, uid: UInt32 = 0, id: UInt64 = 1, role: String = "", executable: String = "") {
            self.pid = pid
            self.uid = uid
            self.id = id
            self.role = role
            self.executable = executable
        }
    }

    /// How a participant left.
    ///
    /// ```swift
    /// func restarts(after departure: SharedNotificationCenter.Departure) -> Bool { departure != .closed }
    /// ```
    public enum Departure: Hashable, Sendable {
        /// It withdrew, closed the center, or its process exited: by `exit`, or by a return from `main`.
        case closed
        /// Its process ended in another way: a signal killed it, or it called `_exit` or `exec`.
        case died
        /// Not known: the notice that says it did not reach this observer. The observer has lost notices, or the center
        /// has ended and the center object follows its name (``Configuration-swift.struct/followsName``).
        case unknown
    }

    /// An element of ``SharedNotificationCenter/presence()``.
    ///
    /// ```swift
    /// func tell(_ change: SharedNotificationCenter.PresenceChange) {
    ///     switch change {
    ///     case .joined(let participant): print("\(participant.role) is here")
    ///     case .left(let participant, .died): print("\(participant.role) has died")
    ///     case .left(let participant, _): print("\(participant.role) is gone")
    ///     }
    /// }
    /// tell(.left(.init(role: "renderer 3"), .died))
    /// ```
    public enum PresenceChange: Hashable, Sendable {
        /// The participant is present from here on.
        case joined(Participant)
        /// The participant is not present any more. It is equal to that of `joined`.
        case left(Participant, Departure)
    }
}
