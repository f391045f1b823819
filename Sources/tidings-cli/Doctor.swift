// The command `tidings doctor`.
import ArgumentParser
import Glibc
import Tidings
import TidingsAdministration

struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check each of your centers.",
        discussion: """
            Prints for each center whether it opens, how many participants it has, and each orphan of a dead \
            participant with its cause. Orphans are harmless: posters and observers reclaim them when they need the \
            space. --repair reclaims them now, without disturbing other processes. The command also finds stale files \
            of killed creators and removers, and says why a link to another machine does not work. Status 1 if a \
            center can't be opened.

              tidings doctor
            """)

    @Flag(help: "Reclaim the orphans of dead participants, and delete stale files.")
    var repair = false

    @Flag(help: "Check also centers in a directory where another user may rename files, and so replace a center.")
    var sharedDirectory = false

    func run() throws {
        let directory = Center.defaultDirectory
        // Before any center is opened: opening a half-removed center completes its removal, and the command must report
        // it.
        let staleFiles = try repair ? Center.deleteStaleFiles() : Center.staleFiles()
        let halfRemoved = Set(staleFiles.filter { $0.kind == .halfRemovedCenter }.map(\.file))
        let names = try Center.centers(in: directory).filter { !halfRemoved.contains("tidings.\(geteuid()).\($0)") }
        try Terminal.print("\(directory.printable): \(space(in: directory)), \(counted(names.count, "center"))")
        for staleFile in staleFiles { try Terminal.print(line(staleFile)) }
        let width = names.map(\.printable.count).max() ?? 0
        var broken = 0
        for name in names {
            let findings: [String]
            switch Result(catching: { () throws(SharedNotificationError) in try examine(name) }) {
            case .success(let found):
                findings = found
            case .failure(let error):
                // The center was removed after it was listed. That is no defect.
                if error.code == .notFound { continue }
                broken += 1
                findings = ["DOES NOT OPEN: \(error.line.printable)"]
            }
            try Terminal.print("\(name.printable.padded(to: width))  \(findings[0])")
            for finding in findings.dropFirst() { try Terminal.print("  \(finding)") }
        }
        if broken > 0 { throw Failure("\(broken) of \(counted(names.count, "center")) can't be opened") }
    }

    /// Returns a line about the center, then a line for each stale item.
    private func examine(_ name: String) throws(SharedNotificationError) -> [String] {
        let center = try Center(
            named: name, configuration: .init(allowsSharedDirectory: sharedDirectory, creation: .never))
        let others = try center.participants.filter { !$0.isOwn }
        let dead = others.filter { !$0.isAlive }
        let orphans = try center.orphans
        let stale = DoctorFindings.lines(orphans, dead: dead)
        var finding = "opens: \(counted(others.count - dead.count, "participant")) alive, \(dead.count.grouped) dead"
        var lines: [String] = []
        if repair {
            finding += " (\(try center.reclaim().grouped) reclaimed)"
            let remaining = try center.orphans
            lines = stale.filter { !$0.isForItsHolder }.map { "reclaimed: \($0.text)" }
            lines += DoctorFindings.lines(remaining, dead: []).filter(\.isForItsHolder)
                .map { "not reclaimed: \($0.text)" }
        } else {
            if stale.contains(where: { !$0.isForItsHolder }) { finding += " (harmless; --repair reclaims the orphans)" }
            lines = stale.map { "stale: \($0.text)" }
        }
        lines += try RelayedLinks(of: center)?.findings ?? []
        let statistics = try center.statistics
        return [finding + ", \(counted(statistics.names, "name")), \(statistics.memory.asBytes)"] + lines
    }

    private func line(_ staleFile: Center.StaleFile) -> String {
        let why =
            switch staleFile.kind {
            case .unfinishedCenter: "its creator was killed before the center was finished"
            case .writersFile: "it belongs to a center that was removed, or was never finished"
            case .halfRemovedCenter:
                "its remover was killed before the end; processes that have it open know that it is removed"
            }
        let fate =
            staleFile.isDeleted
            ? "deleted" : repair ? "can't be deleted, check the directory's permissions" : "--repair deletes it"
        return """
            \(staleFile.isDeleted ? "reclaimed" : "stale"): file \(staleFile.file.printable), \
            \(staleFile.memory.asBytes): \(why); \(fate)
            """
    }

    private func space(in directory: String) -> String {
        var information = statvfs()
        guard statvfs(directory, &information) == 0 else { return String(cString: strerror(errno)) }
        return "\((UInt64(information.f_bavail) * UInt64(information.f_frsize)).asBytes) free"
    }
}
