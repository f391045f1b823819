import CNotifyBenchmarks

/// notify(3): the operations that Apple's own benchmark of it measures.
enum NotifyRows {
    static let all: [Row] = [
        row("notify-check", "notify_check, nothing new", batch: 256, .nanoseconds(5), notify_bench_check),
        row("notify-post", "notify_post, not registered", batch: 256, .nanoseconds(50), notify_bench_post),
        row("notify-news", "notify_post, and the check that finds it", batch: 64, .none, notify_bench_news),
        row("notify-register", "register and cancel, a name lately used", batch: 32, .none, notify_bench_register),
        row("notify-register-first", "the same, a new name each", batch: 8, .none, notify_bench_register_first),
        row("notify-get-state", "notify_get_state", batch: 256, .none, notify_bench_get_state),
        row("notify-set-state", "notify_set_state", batch: 16, .none, notify_bench_set_state),
    ]

    private static func row(
        _ id: String, _ title: String, batch: Int32, _ requirement: Requirement,
        _ operation: @escaping @Sendable (UnsafeMutablePointer<UInt64>?, Int32, Int32) -> Int32
    ) -> Row {
        Row(id: id, title: title, limitTitle: "fetch_add", requirement: requirement) { bench, alternate in
            let count = bench.count(500)
            let ours = { try Round(id, count: count) { operation($0, Int32(count), batch) } }
            try alternate({ try Limit.fetchAdd(bench) }, ours)
        }
    }
}
