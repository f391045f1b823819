// The command `tidings centers`.
import ArgumentParser
import Foundation
import Tidings
import TidingsAdministration

struct Centers: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List your centers: their sizes, participants and age.",
        discussion: """
            One line for each center, sorted by name: the memory that it takes, the slots of its ring, its largest \
            payload, its participants (with those that have ended and whose entry was not reused yet) and their limit, \
            and its age. The command reads the centers and is no participant. Centers are files in $TIDINGS_DIRECTORY, \
            or else in /dev/shm.

              tidings centers
              tidings centers --names
              tidings centers --format json | jq 'select(.participants == 0) | .name'

            "-" stands for an age that the file system does not know. A center that does not open has its error in the \
            place of its numbers.
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case pretty, json
    }

    @Flag(help: "Print the names alone, without opening the centers.")
    var names = false

    @Option(
        help: """
            pretty, or json: one object per line with name, memory, maximumPayloadSize (bytes), slots, participants, \
            participantLimit and ageSeconds (or null); or with name and error.
            """)
    var format = Format.pretty

    @Flag(help: "Open also centers in a directory where another user may rename files, and so replace a center.")
    var sharedDirectory = false

    func validate() throws {
        guard !names || format == .pretty else { throw ValidationError("Give --names or --format, not both.") }
    }

    func run() throws {
        let found = try Center.centers()
        if names {
            for name in found { try Terminal.print(name.printable) }
            return
        }
        let rows = found.compactMap { Row($0, allowsSharedDirectory: sharedDirectory) }
        if format == .json {
            for row in rows { try Terminal.print(row.json) }
        } else if !rows.isEmpty {
            for line in Row.table(rows) { try Terminal.print(line) }
        }
    }
}

/// A center and its numbers, or why it does not open.
private struct Row {
    let name: String
    let numbers: Result<(statistics: Center.Statistics, age: Double?), SharedNotificationError>

    /// - Returns: `nil` if the center was removed after it was listed.
    init?(_ name: String, allowsSharedDirectory: Bool) {
        self.name = name
        do throws(SharedNotificationError) {
            let center = try Center(
                named: name, configuration: .init(isReadOnly: true, allowsSharedDirectory: allowsSharedDirectory))
            #if MUTANT_LISTING_JOINS  // Found by: command centersPrintsSizesParticipantsAndAge
                let own = try isMutant("LISTING_JOINS") ? Center(named: name) : nil
                defer { withExtendedLifetime(own) {} }
            #endif
            let created = birth(of: center.path)
            // Never below zero, also if the clock has gone back.
            numbers = .success((try center.statistics, created.map { max(0, -$0.timeIntervalSinceNow) }))
        } catch {
            if error.code == .notFound { return nil }
            numbers = .failure(error)
        }
    }

    var json: String {
        let begin = "{\"name\":\(name.jsonString),"
        switch numbers {
        case .failure(let error): return begin + "\"error\":\(error.line.jsonString)}"
        case .success(let (numbers, age)):
            return begin + """
                "memory":\(numbers.memory),"maximumPayloadSize":\(numbers.maximumPayloadSize),"slots":\(numbers.slots),\
                "participants":\(numbers.participants),"participantLimit":\(numbers.participantLimit),\
                "ageSeconds":\(age.map { String(format: "%.0f", $0) } ?? "null")}
                """
        }
    }

    static func table(_ rows: [Row]) -> [String] {
        let head = ["name", "memory", "slots", "payload", "participants", "age"]
        let cells = [head] + rows.map(\.cells)
        let widths = head.indices.map { column in cells.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        let lines = cells.map { cells in
            let columns = cells.enumerated().map { column, cell in
                column == 0 ? cell.padded(to: widths[0]) : cell.aligned(to: widths[column])
            }
            return columns.joined(separator: "  ")
        }
        return zip(lines, [nil] + rows).map { line, row in line + (row?.failure ?? "") }
    }

    private var cells: [String] {
        guard case .success(let (numbers, age)) = numbers else { return [name.printable] }
        return [
            name.printable, numbers.memory.asBytes, numbers.slots.grouped, numbers.maximumPayloadSize.asBytes,
            "\(numbers.participants.grouped) of \(numbers.participantLimit.grouped)", age.map(Self.text) ?? "-",
        ]
    }

    private var failure: String? {
        guard case .failure(let error) = numbers else { return nil }
        return "  DOES NOT OPEN: \(error.line.printable)"
    }

    /// The age in its largest unit, as the command reads lengths of time: 59s, 3h, 12d.
    private static func text(of seconds: Double) -> String {
        let unit = [("d", 86_400.0), ("h", 3600), ("m", 60)].first { seconds >= $0.1 } ?? ("s", 1)
        return "\(Int(seconds / unit.1))\(unit.0)"
    }
}
