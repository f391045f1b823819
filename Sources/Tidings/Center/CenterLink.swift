import Synchronization

/// Which center a center object uses: the one it opened; or, if it follows the name, that center's successor once it has ended.
final class CenterLink: Sendable {
    private let name: String
    /// How a successor is opened; `nil`: it doesn't follow.
    private let configuration: SharedNotificationCenter.Configuration?
    let follows: Bool
    private let current: Atomic<Unmanaged<CenterHandle>>
    // A forked child may find its parent's locks held.
    private let reading = ForkLocal { Lock() }
    private let opening = ForkLocal { Lock() }

    /// After so many successors that had ended before they were used, somebody is removing them all.
    static let attempts = 100

    init(name: String, handle: CenterHandle, configuration: SharedNotificationCenter.Configuration?) {
        self.name = name
        var configuration = configuration.flatMap { $0.followsName ? $0 : nil }
        if configuration?.creation == .exclusive { configuration?.creation = .ifNeeded }
        self.configuration = configuration
        follows = configuration != nil
        current = Atomic(.passRetained(handle))
    }

    deinit {
        current.load(ordering: .acquiring).release()
    }

    /// The center, which may have ended.
    var handle: CenterHandle {
        guard follows else { return current.load(ordering: .acquiring).takeUnretainedValue() }
        return reading.object.withLock { current.load(ordering: .acquiring).takeUnretainedValue() }
    }

    /// The center; where it has ended, its successor, if there is one. Asks the kernel if this object follows.
    var latestHandle: CenterHandle {
        let handle = handle
        guard follows, handle.hasEnded else { return handle }
        return (try? successor(of: handle)) ?? handle
    }

    /// Before something is read that stays readable in a center that has ended.
    func lookAgain() {
        if follows { _ = latestHandle }
    }

    /// Opens the name again, as the object was opened; or finds that another thread has.
    func successor(of ended: CenterHandle) throws(SharedNotificationError) -> CenterHandle {
        try opening.object.withLock { () throws(SharedNotificationError) in
            let known = handle
            guard known === ended, let configuration else { return known }
            let next = try CenterHandle(name: name, configuration: configuration)
            let old = reading.object.withLock {
                current.exchange(.passRetained(next), ordering: .acquiringAndReleasing)
            }
            // Observers and topics of the old one keep it open until they have moved.
            old.release()
            return next
        }
    }

    /// What was tried in `ended` failed with `error`, which is thrown unless there is a successor to try it in.
    func successor(
        of ended: CenterHandle, after error: SharedNotificationError
    ) throws(SharedNotificationError) -> CenterHandle {
        guard follows, error.code == .removed else { throw error }
        do throws(SharedNotificationError) {
            return try successor(of: ended)
        } catch let failure {
            // There is none yet.
            throw failure.code == .notFound ? error : failure
        }
    }

    /// Does something in the center, and where that has ended, in its successor.
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
