import Foundation
import Glibc
import Tidings
import TidingsAdministration

/// Reads a center for `tidings top`: counts posts all the time, on a thread of its own, and reads tables when asked.
final class TopSampler: Sendable {
    private struct Tools: Sendable {
        let center: Center
        let counter: Center.TrafficCounter
    }

    /// `nil` after the end: then the center is closed, and this process is no participant any more.
    private let tools: Locked<Tools?>
    private let slots: Int
    private let last: Locked<TopSnapshot>
    private let failure = Locked<SharedNotificationError?>(nil)
    private let hasEnded = DispatchSemaphore(value: 0)

    init(_ center: Center) throws(SharedNotificationError) {
        let tools = Tools(center: center, counter: try Center.TrafficCounter(of: center))
        let first = try Self.snapshot(of: tools)
        self.tools = Locked(tools)
        slots = first.statistics.slots
        last = Locked(first)
        Thread.detachNewThread { self.count() }
    }

    /// Ends the thread, within 20 ms, and closes the center. The process may exit at once afterwards: a participant
    /// that did not close would count as one that died.
    func end() {
        #if MUTANT_TOP_LEFT_OPEN  // Found by: command printsRatesAsJSON
            if isMutant("TOP_LEFT_OPEN") { return }
        #endif
        guard tools.withLock({ $0.take() }) != nil else { return }
        hasEnded.wait()
    }

    /// The time since the report before, or since this object was made.
    func report() throws -> TopReport {
        if let failure = failure.withLock({ $0 }) { throw failure }
        guard let tools = tools.withLock({ $0 }) else { throw Failure("the view of the center has ended") }
        let now = try Self.snapshot(of: tools)
        return last.withLock { last in
            defer { last = now }
            return TopReport(from: last, to: now)
        }
    }

    /// Counts until the center has ended. The pauses take a quarter of the time in which posters fill the ring at their
    /// latest rate, and at most 20 ms: a stream that begins suddenly may then lap the counter once.
    private func count() {
        defer { hasEnded.signal() }
        var since = monotonicSeconds()
        while let counted = countOnce() {
            let now = monotonicSeconds()
            let rate = Double(counted) / max(now - since, 1e-6)
            since = now
            let quarter = rate > 0 ? Double(slots) / 4 / rate : 1
            usleep(UInt32(max(0.0001, min(0.02, quarter)) * 1e6))
        }
    }

    /// - Returns: how many notifications were counted; `nil`: this object or the center has ended.
    private func countOnce() -> Int? {
        guard let counter = tools.withLock({ $0?.counter }) else { return nil }
        do throws(SharedNotificationError) {
            return try counter.count()
        } catch {
            failure.withLock { $0 = error }
            return nil
        }
    }

    private static func snapshot(of tools: Tools) throws(SharedNotificationError) -> TopSnapshot {
        let center = tools.center
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
            names: names, traffic: tools.counter.take(), activities: activities)
    }
}
