/// Whether an extension that has ended is started again, after which pause, and how often.
///
/// ```swift
/// let policy = RestartPolicy.onFailure(backoff: .exponential(upTo: .seconds(30)), limit: 5)
/// ```
///
/// A restart creates a new process with a new private center; the ``Extension`` object is the same. The number of
/// restarts in a row counts towards the limit, and decides about the pause. The count begins at 0 again when the
/// extension has been ready for as long as the longest pause (``Backoff/longest``).
///
/// The first start is never repeated: ``ExtensionHost/launch(_:)`` throws its failure.
public struct RestartPolicy: Hashable, Sendable {
    enum Occasion: Hashable, Sendable {
        case never, failure, always
    }

    let occasion: Occasion
    let backoff: Backoff
    let limit: Int

    /// The extension is started once.
    public static let never = RestartPolicy(occasion: .never, backoff: .constant(.zero), limit: 0)

    /// The extension is started again unless it exits with status 0, as ``RestartPolicy`` shows.
    ///
    /// - Parameters:
    ///   - backoff: the pause before each restart.
    ///   - limit: how many restarts in a row there are before ``Extension/Event/gaveUp``. Zero or less: none.
    public static func onFailure(backoff: Backoff = .exponential(), limit: Int = 5) -> RestartPolicy {
        RestartPolicy(occasion: .failure, backoff: backoff, limit: limit)
    }

    /// The extension is started again however it ends, unless it was stopped, as ``RestartPolicy`` shows. Parameters as
    /// of ``onFailure(backoff:limit:)``.
    public static func always(backoff: Backoff = .exponential(), limit: Int = 5) -> RestartPolicy {
        RestartPolicy(occasion: .always, backoff: backoff, limit: limit)
    }

    /// The pauses before restarts, as ``RestartPolicy`` shows.
    public struct Backoff: Hashable, Sendable {
        let first: Duration
        /// The longest pause. An extension that has been ready for so long has recovered: restarts count from 0 again.
        public let longest: Duration

        /// The first pause is `first`. Each further pause is twice the previous one, up to `longest`.
        ///
        /// A negative duration counts as zero, and more than a hundred years as a hundred years. After a first pause of
        /// zero, each further one is `longest`. If `longest` is zero or short, an extension that ends soon after it is
        /// ready is started without end: no restart counts towards the limit. For an example see ``RestartPolicy``.
        public static func exponential(
            from first: Duration = .milliseconds(100), upTo longest: Duration = .seconds(30)
        ) -> Backoff {
            Backoff(first: min(first, longest).bounded, longest: longest.bounded)
        }

        /// All pauses have the same length, as with ``exponential(from:upTo:)`` from and up to that length. For an
        /// example of a policy see ``RestartPolicy``.
        public static func constant(_ pause: Duration) -> Backoff { exponential(from: pause, upTo: pause) }

        /// The pause before a restart, which is counted from 1.
        func pause(before restart: Int) -> Duration {
            var pause = first
            for _ in 1..<max(1, restart) where pause < longest { pause = pause == .zero ? longest : pause * 2 }
            return min(pause, longest)
        }
    }
}
