// Detection of a post that a lossless observer's closure makes and that waits for this observer itself.
import Glibc

/// The lossless observation whose closure runs in this thread or task.
///
/// A post from that closure may be held back by the same observation, which goes on only when the closure has returned.
enum LosslessRun {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// The caller runs in the observation's closure, so the observation is alive.
    static var current: Observation? {
        if let raw = pthread_getspecific(key) { return Unmanaged<Observation>.fromOpaque(raw).takeUnretainedValue() }
        guard let observation = Observation.current?.observation, observation.subscription.isLossless else {
            return nil
        }
        return observation
    }

    /// From this call until `end`, this thread runs the observation's closure.
    static func begin(_ observation: Observation) -> UnsafeMutableRawPointer? {
        let before = pthread_getspecific(key)
        pthread_setspecific(key, Unmanaged.passUnretained(observation).toOpaque())
        return before
    }

    static func end(_ before: UnsafeMutableRawPointer?) { pthread_setspecific(key, before) }
}

extension Observation {
    /// Runs a part of a drain on this thread.
    func draining<Result>(_ body: () -> Result) -> Result {
        guard subscription.isLossless else { return body() }
        let before = LosslessRun.begin(self)
        defer { LosslessRun.end(before) }
        return body()
    }

    /// Whether this observation may hold posters back and can't go on before its closure has returned. Call from inside
    /// that closure.
    var standsInItsOwnWay: Bool {
        dispatcher.lock.withLock {
            // The leader is in the closure, or waits for room in the buffer that the closure empties. A stopped
            // observation holds no poster back.
            guard !dispatcher.roles.isStopped else { return false }
            let position = dispatcher.thread == .current ? dispatcher.observer.position : dispatcher.waitsAt
            guard let position else { return false }
            return dispatcher.observer.mayHoldBack(at: position)
        }
    }
}
