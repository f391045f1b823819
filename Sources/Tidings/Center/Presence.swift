// Presence: announcing this participant, and observing the participants that are announced.
extension SharedNotificationCenter {
    /// Announces this participant: other processes learn that it joined, and how it leaves.
    ///
    /// ```swift
    /// struct RendererDied: SharedNotificationCenter.Message { var number: Int }
    /// let center = try SharedNotificationCenter(named: "com.example.player")
    /// let announcement = try center.announce(role: "renderer 3", will: .init(RendererDied(number: 3)))
    /// announcement.withdraw()
    /// ```
    ///
    /// Promise: when this call has returned, every ``presence()`` of the center has `joined`. One `left` follows:
    /// - `closed` after ``Announcement/withdraw()``, after the release of the announcement, after `exit`, and after a
    ///   return from `main`;
    /// - `died` if the process ends in another way: a signal kills it, or it calls `_exit` or `exec`. Then the last
    ///   will is posted, once.
    ///
    /// The kernel reports the death to another participant that is announced or observes presence, which posts the
    /// notice and the will at once. If there is none, the next one does. A stopped process is not dead. A forked child
    /// is not announced, and may announce itself.
    ///
    /// If the center ends and this object follows its name (``Configuration-swift.struct/followsName``), the
    /// participant is announced in the next center as soon as this object goes on there: at once if it observes,
    /// otherwise with its next post. A failure there is reported to ``onDiagnostic`` as
    /// ``Diagnostic/postFailed(_:_:)``. Otherwise the announcement ends with the center.
    ///
    /// Uses a thread, which sleeps. Waits up to 20 ms for a process that is reporting the death of an earlier
    /// participant, and up to `timeout`; a task calls ``waitingForRoom(timeout:isolation:_:)`` in place of a timeout.
    ///
    /// - Parameters:
    ///   - role: a text for people and programs, at most 64 bytes of UTF-8 without NUL.
    ///   - will: what is posted if this participant dies; `nil`: nothing. It takes a chunk until the announcement ends.
    ///   - timeout: how long a lossless observer may hold the notice back. `nil`: not at all.
    /// - Returns: the announcement, which ends when it is released.
    /// - Throws: ``SharedNotificationError``; then nothing was posted. `.exists` if this center object is announced,
    ///   `.invalidArgument` (the role, or a retained will with a subject), `.notPermitted` (the center was opened for
    ///   reading alone), `.full`, `.noSpace`, `.removed`; for the will also `.invalidName`, `.encodingFailed`,
    ///   `.payloadTooLarge`.
    public func announce(
        role: String, will: Will? = nil, timeout: Duration? = nil
    ) throws(SharedNotificationError) -> Announcement {
        let (number, participant) = try core.link.announce(role, try will?.encode(posting), timeout: timeout)
        return Announcement(core.link, number, participant)
    }

    /// What is posted when a participant dies, as ``announce(role:will:timeout:)`` shows: a notification with the dead
    /// participant as its poster. It comes after the notice of the death. If it is retained, observers that register
    /// later receive it first.
    public struct Will: Sendable {
        let encode: @Sendable (PostingCore) throws(SharedNotificationError) -> EncodedWill

        /// Leaves a message.
        ///
        /// ```swift
        /// struct RendererDied: SharedNotificationCenter.Message { var number: Int }
        /// let will = SharedNotificationCenter.Will(RendererDied(number: 3), options: .init(subject: "renderer"))
        /// ```
        ///
        /// - Parameters:
        ///   - message: encoded by the call that announces.
        ///   - options: as for a post. A timeout has no effect.
        public init<M: Message>(_ message: M, options: PostOptions = PostOptions()) {
            encode = { (posting) throws(SharedNotificationError) in
                EncodedWill(name: M.name, payload: try posting.payload(of: message), options: options)
            }
        }

        /// Leaves a name, without a payload or with bytes that are already encoded.
        ///
        /// ```swift
        /// let will = SharedNotificationCenter.Will(name: "com.example.renderer.died", payload: .json("3"))
        /// ```
        ///
        /// Parameters: as for a post. A timeout has no effect.
        public init(name: Name, payload: RawPayload = .empty, options: PostOptions = PostOptions()) {
            encode = { _ in EncodedWill(name: name, payload: payload, options: options) }
        }
    }

    /// Keeps a participant announced, as ``announce(role:will:timeout:)`` shows. The announcement ends with
    /// ``withdraw()``, or when this object is released. It keeps the center open.
    public final class Announcement: Sendable {
        private let link: CenterLink
        private let number: UInt64
        private let first: Participant

        fileprivate init(_ link: CenterLink, _ number: UInt64, _ participant: Participant) {
            self.link = link
            self.number = number
            first = participant
        }

        /// This participant, as other processes see it. In the next center of the name it has another
        /// ``Participant/id``.
        ///
        /// ```swift
        /// let center = try SharedNotificationCenter.default
        /// let announcement = try center.announce(role: "host")
        /// for await case .joined(let peer) in center.presence() where peer.id != announcement.participant.id {
        ///     print(peer.role)
        /// }
        /// ```
        public var participant: Participant { link.presence.participant(of: number) ?? first }

        /// Ends the announcement, as ``SharedNotificationCenter/announce(role:will:timeout:)`` shows: observers receive
        /// that the participant has closed, and the will is not posted. Idempotent, from any thread.
        ///
        /// Waits up to 50 ms for a thread of the library. If a lossless observer holds the notice back, another
        /// participant posts it later. In a forked child it has no effect on the parent's announcement.
        public func withdraw() { link.presence.withdraw(number) }

        deinit { withdraw() }
    }

    /// The participants that are announced, and how that changes, as a sequence.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter(named: "com.example.player")
    /// for await change in center.presence() {
    ///     switch change {
    ///     case .joined(let participant): print("\(participant.role) (\(participant.pid)) joined")
    ///     case .left(let participant, let departure): print("\(participant.role) left: \(departure)")
    ///     }
    /// }
    /// ```
    ///
    /// Promise: first comes `joined` for each participant that is present when the observer registers, and then each
    /// change once, in the center's order. This object's own announcement is among them. A death arrives within
    /// milliseconds, without polling; while the sequence is iterated, this process takes part in noticing deaths.
    ///
    /// If the observer loses notices, the sequence reads the center's participants again. It then yields the difference
    /// to what it has yielded, with ``Departure/unknown`` for each participant that is gone. It does the same in the
    /// next center if this object follows the name (``Configuration-swift.struct/followsName``). Otherwise the sequence
    /// ends with the center. Start, end and failure: as for `messages(of:options:bufferSize:keeping:)` of a type.
    ///
    /// In a center that was opened for reading alone, this process does not take part in noticing deaths. It learns of
    /// a death from a participant that is announced or observes presence; if there is none, from the next one.
    ///
    /// The changes are notifications under the name `tidings.presence`, with a map of CBOR as the payload. Observers of
    /// all names receive them, too. No program can post under this name.
    public func presence() -> ObservedSequence<PresenceChange> {
        // As many as a center has participants; a loss costs one reading of the center.
        ObservedSequence(
            core: core, subscription: ObserverOptions().subscription(to: .init([.presence])),
            bounds: .sequence(4096, .newest), element: { _ in nil }, settling: nil,
            reading: { [core] () throws(SharedNotificationError) in try PresenceReading(core) })
    }

    /// The participants of other machines that a relay shows here, and how that changes, as a sequence.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter(named: "com.example.player")
    /// for await change in center.remotePresence() {
    ///     switch change {
    ///     case .joined(let one): print("\(one.participant.role) is on \(one.host)")
    ///     case .left(let one, let departure): print("\(one.participant.role) left \(one.host): \(departure)")
    ///     }
    /// }
    /// ```
    ///
    /// Promise: first comes `joined` for each participant that the relay of this center shows, and then each change.
    /// One that comes and goes within a tenth of a second may be left out. If the relay of another machine is silent
    /// for 5 s, its participants have died. If this center's relay ends, what it showed has left, as
    /// ``Departure/unknown``. Without a relay nothing comes. ``presence()`` has the participants of this center alone.
    ///
    /// Starts the thread of ``presence()``, so that the death of this center's relay is noticed.
    ///
    /// Start, end and failure: as for `messages(of:options:bufferSize:keeping:)` of a type. The participants are the
    /// retained value `tidings.relay.presence`. A process with write access to this center can write any.
    public func remotePresence() -> ObservedSequence<RemotePresenceChange> {
        ObservedSequence(
            core: core, subscription: ObserverOptions().subscription(to: .init([.init(RelayedPresence.name)])),
            bounds: .sequence(64, .newest), element: { _ in nil }, settling: nil,
            reading: { [core] () throws(SharedNotificationError) in try RemotePresenceReading(core) })
    }
}
