import Foundation
import Glibc
import Tidings
import TidingsAdministration

/// Reads a center for `tidings top`: counts posts all the time, on a thread of its own, and reads tables when asked.
final class TopSampler: Sendable {
    private let center: Center
    private let counter: Center.TrafficCounter
    private let slots: Int
    private let last: Locked<TopSnapshot>
    private let failure = Locked<SharedNotificationError?>(nil)
    private let isOver = Locked(false)

    init(_ center: Center) throws(SharedNotificationError) {
        let counter = try Center.TrafficCounter(of: center)
        let first = try Self.snapshot(of: center, counter)
        self.center = center
        self.counter = counter
        slots = first.statistics.slots
        last = Locked(first)
        Thread.detachNewThread { self.count() }
    }

    /// Ends the thread, within 20 ms.
    func end() {
        isOver.withLock { $0 = true }
    }

    /// The time since the report before, or since this object was made.
    func report() throws -> TopReport {
        if let failure = failure.withLock({ $0 }) { throw failure }
        let now = try Self.snapshot(of: center, counter)
        return last.withLock { last in
            defer { last = now }
            return TopReport(from: last, to: now)
        }
    }

    /// Counts until the center has ended. The pauses take a quarter of the time in which posters fill the ring at their
    /// latest rate, and at most 20 ms: a stream that begins suddenly may then lap the counter once.
    private func count() {
        var since = monotonicSeconds()
        while !isOver.withLock({ $0 }) {
            do throws(SharedNotificationError) {
                let counted = try counter.count()
                let now = monotonicSeconds()
                let rate = Double(counted) / max(now - since, 1e-6)
                since = now
                let quarter = rate > 0 ? Double(slots) / 4 / rate : 1
                usleep(UInt32(max(0.0001, min(0.02, quarter)) * 1e6))
            } catch {
                return failure.withLock { $0 = error }
            }
        }
    }

    private static func snapshot(
        of center: Center, _ counter: Center.TrafficCounter
    ) throws(SharedNotificationError) -> TopSnapshot {
        let participants = try center.participants
        var activities: [Int32: ProcessActivity] = [:]
        for one in participants where one.isAlive && activities[one.pid] == nil {
            guard let activity = ProcessActivity(pid: one.pid),
                activity.fits(executable: one.executable)
                    || MappingProcesses.executable(of: one.pid) == one.executable
            else { continue }
            activities[one.pid] = activity
        }
        let (statistics, names) = (try center.statistics, try center.observedNames)
        return TopSnapshot(
            center: center.name, seconds: monotonicSeconds(), statistics: statistics, participants: participants,
            names: names, traffic: counter.take(), activities: activities)
    }
}

/// A clock that never goes back, in seconds.
func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
