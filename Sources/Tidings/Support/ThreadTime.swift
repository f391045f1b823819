// The time that a thread ran, waited for a processor or was blocked.
import Glibc

/// How a thread of this process has spent its time, from the kernel's accounting (`/proc/self/task/…`).
///
/// By the elapsed time alone, a thread that waits for a processor looks like a thread that is blocked. The kernel's
/// numbers distinguish the two.
struct ThreadTime {
    /// `CLOCK_MONOTONIC` in nanoseconds before and after the reading: the reading thread can lose its processor in
    /// between.
    var began: UInt64
    var ended: UInt64
    /// Nanoseconds that the thread ran, and nanoseconds that it was ready without a processor, since it began. A wait
    /// that is not over yet is not counted.
    var ran: UInt64
    var waited: UInt64
    /// Whether the thread runs or waits for a processor at this moment.
    var isReady: Bool

    /// Nanoseconds since an earlier reading that the thread ran or was blocked, without waits for a processor.
    ///
    /// While the thread is ready, the kernel has not yet counted its present wait. Then only the time that it ran
    /// counts.
    func spent(since earlier: ThreadTime) -> UInt64 {
        let ran = self.ran &- earlier.ran
        guard !isReady else { return ran }
        let (elapsed, waited) = (began &- earlier.ended, self.waited &- earlier.waited)
        return elapsed > waited ? elapsed - waited : 0
    }

    /// `nil`: there is no `/proc`, or no such thread.
    static func look(at thread: Int32) -> ThreadTime? {
        let began = Lock.now
        // Format: "1234 (name) S …". The name may contain any character, also ")".
        guard let stat = read("/proc/self/task/\(thread)/stat"), let paren = stat.lastIndex(of: UInt8(ascii: ")")),
            paren + 2 < stat.count
        else { return nil }
        // Format: "ran waited slices".
        guard let schedstat = read("/proc/self/task/\(thread)/schedstat") else { return nil }
        let numbers = schedstat.split(separator: UInt8(ascii: " ")).compactMap {
            UInt64(String(decoding: $0, as: UTF8.self))
        }
        guard numbers.count >= 2 else { return nil }
        return ThreadTime(
            began: began, ended: Lock.now, ran: numbers[0], waited: numbers[1],
            isReady: stat[paren + 2] == UInt8(ascii: "R"))
    }

    private static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = Glibc.read(file, &bytes, bytes.count)
        return count > 0 ? Array(bytes[..<count]) : nil
    }
}
