import Glibc

/// The lossless observation whose closure runs here, in this thread or task: a post from there that is held back may be held back by
/// that very observation, which goes on only when the closure has returned.
enum LosslessRun {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// Who asks runs in it, so it is alive.
    static var current: Observation? {
        if let raw = pthread_getspecific(key) { return Unmanaged<Observation>.fromOpaque(raw).takeUnretainedValue() }
        guard let observation = Observation.current?.observation, observation.subscription.isLossless else {
            return nil
        }
        return observation
    }

    /// From here to `end` this thread runs its closure.
    static func begin(_ observation: Observation) -> UnsafeMutableRawPointer? {
        let before = pthread_getspecific(key)
        pthread_setspecific(key, Unmanaged.passUnretained(observation).toOpaque())
        return before
    }

    static func end(_ before: UnsafeMutableRawPointer?) {
        pthread_setspecific(key, before)
    }
}

extension Observation {
    /// Runs something of a drain on this thread.
    func draining<Result>(_ body: () -> Result) -> Result {
        guard subscription.isLossless else { return body() }
        let before = LosslessRun.begin(self)
        defer { LosslessRun.end(before) }
        return body()
    }

    /// Whether it may be what holds posters back, and can't go on before its closure has returned. From inside that closure.
    var standsInItsOwnWay: Bool {
        dispatcher.lock.withLock {
            // Its leader is in the closure, or waits for room in the buffer that the closure is to empty. Stopped it holds back nobody.
            guard !dispatcher.roles.isStopped else { return false }
            let position = dispatcher.thread == .current ? dispatcher.observer.position : dispatcher.waitsAt
            guard let position else { return false }
            return dispatcher.observer.mayHoldBack(at: position)
        }
    }
}
