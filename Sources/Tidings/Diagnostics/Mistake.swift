extension SharedNotificationCenter {
    /// A probable mistake of a program, detected where the check costs nothing.
    ///
    /// ``onDiagnostic`` receives it once for each kind and name:
    /// - Two types, or two keys that can't be read as each other, have the same name. A ``Message`` beside a
    ///   `MainActorMessage` or `AsyncMessage` of the module `TidingsFoundation` is not a mistake, nor is a key that has
    ///   more arguments than another one, if the further ones are optional or have defaults.
    /// - An observer ended as soon as it had begun, because the program did not store its token.
    /// - An observer posts one of its names at each call, so it is called without end.
    /// - Payloads of 64 KiB or more are posted under a name more than 1,000 times a second.
    ///
    /// ```swift
    /// let center = try SharedNotificationCenter.default
    /// center.onDiagnostic = { diagnostic in
    ///     if case .mistake(let mistake) = diagnostic { assertionFailure("\(mistake)") }
    /// }
    /// ```
    public struct Mistake: Hashable, Sendable, CustomStringConvertible {
        /// `nil` in place of names: all names.
        package enum Kind: Hashable, Sendable {
            case nameOfTwoTypes(Name, String, String)
            case nameOfTwoKeys(Name, String, String)
            case tokenNotKept([Name]?)
            case postsToItself([Name]?)
            case hugePayloads(Name, size: Int)
        }

        package let kind: Kind

        package init(_ kind: Kind) { self.kind = kind }

        /// One line: the mistake, and what to do about it.
        public var description: String {
            switch kind {
            case .nameOfTwoTypes(let name, let first, let second):
                """
                "\(name)" is the name of both \(first) and \(second): observers of one type receive posts of the \
                other; give one type another `static let name`
                """
            case .nameOfTwoKeys(let name, let first, let second):
                """
                "\(name)" is the name of both \(first) and \(second): an observer of one key can't decode posts of the \
                other; give one key another name, or give both the same arguments (new ones at the end, optional or \
                with `defaults`)
                """
            case .tokenNotKept(let names):
                """
                the observer of \(Self.list(names)) ended at once, because its token was not stored; store the token \
                that `addObserver` returns, as long as the observation must last
                """
            case .postsToItself(let names):
                """
                an observer of \(Self.list(names)) posts a name that it observes at each call, so it is called without \
                end; post only changes, post under another name, or observe with `excludingOwnPosts: true`
                """
            case .hugePayloads(let name, let size):
                """
                "\(name)" is posted with \(size) bytes or more, over 1,000 times a second, and each payload is copied \
                for every observer; post only changes, post less often (`enqueue` of TidingsFoundation), or post a \
                reference to the data
                """
            }
        }

        private static func list(_ names: [Name]?) -> String {
            names.map { $0.map { "\"\($0)\"" }.joined(separator: ", ") } ?? "all names"
        }
    }
}

/// Counts payloads that cost far more than the post itself, by name.
final class LargePosts: Sendable {
    private struct Run: Sendable {
        var count = 0
        var since: UInt64
    }

    /// 64 KiB: copying it takes microseconds, for the poster and again for each observer. Counting takes less than a
    /// hundredth of that.
    static let size = 65_536
    // Above this rate, the payloads can't be frames, samples or pages for a person.
    private static let many = 1000
    private static let second: UInt64 = 1_000_000_000
    // Bounds the memory, because the number of names is unbounded.
    private static let names = 64

    private let runs = Locked<[SharedNotificationCenter.Name: Run]>([:])
    private let diagnostics: Diagnostics
    private let generation = Forking.generation

    init(_ diagnostics: Diagnostics) { self.diagnostics = diagnostics }

    @inline(never)
    func note(_ name: SharedNotificationCenter.Name, now: UInt64 = Lock.now) {
        guard generation == Forking.generation else { return }
        let isMany = runs.withLock { runs in
            if runs.count >= Self.names { runs = [:] }
            var run = runs[name] ?? Run(since: now)
            // Another thread may have read the clock later and counted earlier: `now` may be before `since`.
            if now >= run.since + Self.second { run = Run(since: now) }
            run.count += 1
            runs[name] = run
            return run.count > Self.many
        }
        if isMany { diagnostics.tell(.hugePayloads(name, size: Self.size)) }
    }
}
