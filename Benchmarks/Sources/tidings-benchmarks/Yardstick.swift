import CCrossing

/// Whether side A's core is ours alone. Other work on its other thread (of another virtual machine, too) takes up to
/// half of it, for seconds. It nearly doubles what is bound by instructions, as a post is, and leaves a `fetch_add` as
/// it is. So no ratio makes up for it.
struct Yardstick {
    private var best = Double.infinity

    /// Copies in the first-level cache, for a fifth of a millisecond; next to the quickest so far.
    mutating func isAlone() throws -> Bool {
        let count: Int32 = 100
        let now = try Round("yardstick", count: Int(count)) { crossing_limit_memcpy(4096, $0, count, 64) }.figure
        best = min(best, now)
        return now < 1.12 * best
    }
}
