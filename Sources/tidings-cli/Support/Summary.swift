import Foundation
import Tidings

/// Counts notifications, for a line in each second.
final class Summary: Sendable {
    private struct Counts {
        var notifications = 0
        var bytes = 0
        var missed = 0
        var names: [Center.Name: Int] = [:]
        /// Notifications of further names.
        var others = 0
    }

    private let counts = Locked(Counts())

    /// How many names are counted on their own, so that a million names do not fill the memory.
    private static let most = 1000
    /// How many of them a line for people shows.
    private static let shown = 3

    func count(_ notification: Center.Notification) {
        counts.withLock { counts in
            counts.notifications += 1
            counts.bytes += notification.payload.count
            #if MUTANT_SUMMARY_OF_EACH_NAME  // Found by: command summaryBoundsItsNames
                if isMutant("SUMMARY_OF_EACH_NAME") {
                    counts.names[notification.name, default: 0] += 1
                    return
                }
            #endif
            if counts.names.count < Self.most || counts.names[notification.name] != nil {
                counts.names[notification.name, default: 0] += 1
            } else {
                counts.others += 1
            }
        }
    }

    func countMissed(_ count: Int) {
        counts.withLock { $0.missed += min(count, .max - $0.missed) }
    }

    var isEmpty: Bool { counts.withLock { $0.notifications == 0 && $0.missed == 0 } }

    /// The line about the time since the last one.
    func line(after seconds: Double, json: Bool) -> String {
        let counts = counts.withLock { counts in
            defer { counts = Counts() }
            return counts
        }
        let names = counts.names.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
        func rate(_ count: Int) -> String { Int((Double(count) / max(seconds, 0.001)).rounded()).grouped }
        if json {
            let objects = names.map { "\($0.key.rawValue.jsonString):\($0.value)" }.joined(separator: ",")
            let others = counts.others > 0 ? ",\"otherNames\":\(counts.others)" : ""
            return """
                {"seconds":\(String(format: "%.3f", seconds)),"notifications":\(counts.notifications),\
                "bytes":\(counts.bytes),"missed":\(counts.missed),"names":{\(objects)}\(others)}
                """
        }
        let bytes = Int(Double(counts.bytes) / max(seconds, 0.001)).asBytes
        let missed = counts.missed > 0 ? ", \(counts.missed.grouped) missed" : ""
        let shown = names.prefix(Self.shown).map { "\($0.key.rawValue.printable) \(rate($0.value))/s" }
        let more = names.count > shown.count || counts.others > 0 ? ["…"] : []
        let list = shown.isEmpty ? "" : ": " + (shown + more).joined(separator: ", ")
        return "\(rate(counts.notifications)) notifications/s, \(bytes)/s\(missed)\(list)"
    }
}
