import ArgumentParser
import Glibc
import Tidings

struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check each of your centers.",
        discussion: """
            Says for each whether it opens, and who has it open. What the dead left behind harms nobody and is tidied up when \
            its place is needed; --repair does it now. Status 1 if a center can't be opened.

              tidings doctor
            """)

    @Flag(help: "Tidy up what dead participants left.")
    var repair = false

    func run() throws {
        let directory = Center.defaultDirectory
        let names = try Center.centers(in: directory)
        try Terminal.print("\(directory.printable): \(space(in: directory)), \(counted(names.count, "center"))")
        let width = names.map(\.printable.count).max() ?? 0
        var broken = 0
        for name in names {
            let finding: String
            switch Result(catching: { () throws(SharedNotificationError) in try examine(name) }) {
            case .success(let findings):
                finding = findings
            case .failure(let error):
                // Gone since it was listed, which is no disease.
                if error.code == .notFound { continue }
                broken += 1
                finding = "DOES NOT OPEN: \(error.message.printable)"
            }
            try Terminal.print("\(name.printable.padded(to: width))  \(finding)")
        }
        if broken > 0 { throw Failure("\(broken) of \(counted(names.count, "center")) can't be opened") }
    }

    private func examine(_ name: String) throws(SharedNotificationError) -> String {
        let center = try Center(named: name, configuration: .init(creation: .never))
        let others = try center.participants.filter { !$0.isOwn }
        let dead = others.filter { !$0.isAlive }
        let statistics = try center.statistics
        var finding = "opens: \(counted(others.count - dead.count, "participant")) alive, \(dead.count.grouped) dead"
        if repair {
            finding += " (\(try center.tidy().grouped) tidied up)"
        } else if !dead.isEmpty {
            finding += " (harmless; --repair tidies up)"
        }
        return finding + ", \(counted(statistics.names, "name")), \(statistics.memory.asBytes)"
    }

    private func space(in directory: String) -> String {
        var information = statvfs()
        guard statvfs(directory, &information) == 0 else { return String(cString: strerror(errno)) }
        return "\((UInt64(information.f_bavail) * UInt64(information.f_frsize)).asBytes) free"
    }
}
