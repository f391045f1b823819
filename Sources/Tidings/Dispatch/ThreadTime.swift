import Glibc

/// What a thread of this process has spent its time on, by the kernel's account (`/proc/self/task/…`).
///
/// A thread that waits for a processor on a busy machine looks to a clock like a thread that is blocked. The kernel tells the two apart.
struct ThreadTime {
    /// `CLOCK_MONOTONIC` nanoseconds when this look began and ended: who looks can lose its processor meanwhile.
    var began: UInt64
    var ended: UInt64
    /// Nanoseconds it ran, and nanoseconds it was ready to run and had no processor, since it began. The wait it is in now is not counted yet.
    var ran: UInt64
    var waited: UInt64
    /// It runs, or waits for a processor, at this moment.
    var isReady: Bool

    /// How many nanoseconds since an earlier look the thread ran or was blocked. Time in which it only waited for a processor does not count.
    ///
    /// While the thread is ready, the kernel has not yet said how long: then only what it ran counts.
    func spent(since earlier: ThreadTime) -> UInt64 {
        let ran = self.ran &- earlier.ran
        guard !isReady else { return ran }
        let (elapsed, waited) = (began &- earlier.ended, self.waited &- earlier.waited)
        return elapsed > waited ? elapsed - waited : 0
    }

    /// `nil`: there is no `/proc`, or no such thread.
    static func look(at thread: Int32) -> ThreadTime? {
        let began = Lock.now
        // "1234 (name) S …": the name may contain anything, also ")".
        guard let stat = read("/proc/self/task/\(thread)/stat"), let paren = stat.lastIndex(of: UInt8(ascii: ")")),
            paren + 2 < stat.count
        else { return nil }
        // "ran waited slices".
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
