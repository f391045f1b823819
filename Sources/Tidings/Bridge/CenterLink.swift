import Synchronization

/// The center that a center object uses. If the object follows its name, this changes to the successor when the center
/// has ended.
final class CenterLink: Sendable {
    let name: String
    /// The configuration that opens a successor; `nil`: the object does not follow the name.
    private let configuration: SharedNotificationCenter.Configuration?
    let follows: Bool
    /// Goes on in each successor.
    let presence = CenterPresence()
    /// Of the center object's servers and callers.
    let requests = RequestParticipant()
    private let diagnostics: Diagnostics
    private let current: Atomic<Unmanaged<CenterHandle>>
    // Fork-local, because a forked child may find its parent's locks held.
    private let reading = ForkLocal { Lock() }
    private let opening = ForkLocal { Lock() }

    /// The limit for successors that end before they are used. A process that removes each new center would otherwise
    /// keep the loop running.
    static let attempts = 100

    init(
        name: String, handle: CenterHandle, configuration: SharedNotificationCenter.Configuration?,
        diagnostics: Diagnostics
    ) {
        self.name = name
        self.diagnostics = diagnostics
        var configuration = configuration.flatMap { $0.followsName ? $0 : nil }
        if configuration?.creation == .exclusive { configuration?.creation = .ifNeeded }
        self.configuration = configuration
        follows = configuration != nil
        current = Atomic(.passRetained(handle))
    }

    deinit { current.load(ordering: .acquiring).release() }

    /// The center. It may have ended.
    var handle: CenterHandle {
        guard follows else { return current.load(ordering: .acquiring).takeUnretainedValue() }
        return reading.object.withLock { current.load(ordering: .acquiring).takeUnretainedValue() }
    }

    /// The center, or its successor if it has ended and there is one. Asks the kernel if this object follows the name.
    var latestHandle: CenterHandle {
        let handle = handle
        guard follows, handle.hasEnded else { return handle }
        return (try? successor(of: handle)) ?? handle
    }

    /// Moves to the successor if the center has ended. Call before reading what stays readable in a center that has
    /// ended.
    func lookAgain() { if follows { _ = latestHandle } }

    /// Opens the name again with the object's configuration, or returns the successor that another thread has opened.
    func successor(of ended: CenterHandle) throws(SharedNotificationError) -> CenterHandle {
        try opening.object.withLock { () throws(SharedNotificationError) in
            let known = handle
            guard known === ended, let configuration else { return known }
            let next = try CenterHandle(name: name, configuration: configuration)
            let old = reading.object.withLock {
                current.exchange(.passRetained(next), ordering: .acquiringAndReleasing)
            }
            // Observers and publishers of the old center keep it open until they have moved.
            old.release()
            presence.move(to: next) { [diagnostics] in diagnostics.report(.postFailed(.presence, $0)) }
            return next
        }
    }

    /// The center to try again in, after an operation in `ended` failed with `error`. Throws `error` if there is none.
    func successor(
        of ended: CenterHandle, after error: SharedNotificationError
    ) throws(SharedNotificationError) -> CenterHandle {
        guard follows, error.code == .removed else { throw error }
        do throws(SharedNotificationError) {
            return try successor(of: ended)
        } catch let failure {
            // There is no successor yet.
            throw failure.code == .notFound ? error : failure
        }
    }

    /// Runs `body` in the center. If that has ended, runs it in the successor.
    func inLatest<Result>(
        _ body: (CenterHandle) throws(SharedNotificationError) -> Result
    ) throws(SharedNotificationError) -> Result {
        var handle = handle
        for _ in 1..<Self.attempts {
            do {
                return try body(handle)
            } catch {
                handle = try successor(of: handle, after: error)
            }
        }
        return try body(handle)
    }
}
