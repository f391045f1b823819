extension SharedNotificationCenter {
    /// Something that a program hardly means to do, found where it costs nothing to look for it. ``onDiagnostic`` is told once for each kind
    /// and name; ``description`` says what to do.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// center.onDiagnostic = { diagnostic in
    ///     if case .mistake(let mistake) = diagnostic { assertionFailure("\(mistake)") }
    /// }
    /// ```
    public enum Mistake: Hashable, Sendable, CustomStringConvertible {
        /// Two types of messages, or a type and a key, have that name: observers of one get what is posted as the other. But for a ``Message``
        /// beside a ``MainActorMessage`` or ``AsyncMessage``, which are two spellings of one notification: where their fields differ, whoever
        /// can't decode one as the other is told that (``Diagnostic/undecodable(_:)``).
        case nameOfTwoTypes(Name, String, String)
        /// Two keys have that name, and what is posted as one can't be read as the other: they have other arguments where both have some, or
        /// what is observed needs arguments, neither optional nor with a default, that what is posted ends before. Keys of which one only ends
        /// earlier are otherwise the same one, before and after it got arguments.
        case nameOfTwoKeys(Name, String, String)
        /// An observer of these names (`nil`: all) ended as soon as it had begun, since nobody kept its token.
        case tokenNotKept([Name]?)
        /// An observer of these names (`nil`: all) posts one of them whenever it is called for one, so it is called for ever.
        case postsToItself([Name]?)
        /// Payloads of so many bytes (64 KiB) and more are posted under that name more than 1,000 times a second.
        case hugePayloads(Name, size: Int)

        /// What it is, and what to do about it: one line.
        public var description: String {
            switch self {
            case .nameOfTwoTypes(let name, let first, let second):
                """
                "\(name)" is the name of both \(first) and \(second): observers of one get what is posted as the other; give one of them \
                another `static let name`
                """
            case .nameOfTwoKeys(let name, let first, let second):
                """
                "\(name)" is the name of both \(first) and \(second): what is posted as one can't be read as the other; give one of them \
                another name, or the same arguments, with new ones at the end that are optional or have `defaults`
                """
            case .tokenNotKept(let names):
                """
                the observer of \(Self.list(names)) ended as soon as it had begun, since nobody kept its token; store what `addObserver` \
                returns for as long as it shall go on
                """
            case .postsToItself(let names):
                """
                an observer of \(Self.list(names)) posts the same whenever it is called, and so is called for ever; post only what has \
                changed, under another name, or observe with `excludingOwnPosts: true`
                """
            case .hugePayloads(let name, let size):
                """
                "\(name)" is posted with \(size) bytes and more, over 1,000 times a second, each of which is copied for every observer; post \
                what has changed, less often (`postingStyle: .whenIdle`), or where the data is
                """
            }
        }

        private static func list(_ names: [Name]?) -> String {
            names.map { $0.map { "\"\($0)\"" }.joined(separator: ", ") } ?? "all names"
        }
    }
}

/// Payloads that cost far more than the post, by name.
final class LargePosts: Sendable {
    private struct Run: Sendable {
        var count = 0
        var since: UInt64
    }

    /// 64 KiB: what takes microseconds to copy, for the poster and again for each observer. Counting it takes less than a hundredth of that.
    static let size = 65_536
    // So many a second are no frames, samples or pages that anybody looks at.
    private static let many = 1000
    private static let second: UInt64 = 1_000_000_000
    // Names are without end.
    private static let names = 64

    private let runs = Locked<[SharedNotificationCenter.Name: Run]>([:])
    private let diagnostics: Diagnostics
    private let generation = Forking.generation

    init(_ diagnostics: Diagnostics) {
        self.diagnostics = diagnostics
    }

    @inline(never)
    func note(_ name: SharedNotificationCenter.Name, now: UInt64 = Lock.now) {
        guard generation == Forking.generation else { return }
        let isMany = runs.withLock { runs in
            if runs.count >= Self.names { runs = [:] }
            var run = runs[name] ?? Run(since: now)
            if now - run.since >= Self.second { run = Run(since: now) }
            run.count += 1
            runs[name] = run
            return run.count > Self.many
        }
        if isMany { diagnostics.tell(.hugePayloads(name, size: Self.size)) }
    }
}
