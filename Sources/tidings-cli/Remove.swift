// The command `tidings remove`.
import ArgumentParser
import Glibc
import Tidings
import TidingsAdministration

struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete a center.",
        discussion: """
            Afterwards no process can open the center. Processes that have it open are told: an observer at once, a \
            poster at its next post. Without --force, the command refuses while processes have the center open, and \
            names them. It also refuses if it can't find out which processes have it open. It can't see readers of \
            another user, because the kernel shows them to root only. The command deletes only centers, no other file.

              tidings remove com.example.player
            """)

    @Argument(help: "The center's name.", completion: .custom(Completions.centers))
    var center: String

    @Flag(help: "Delete the center also while processes have it open.")
    var force = false

    func run() throws {
        if !force { try refuseIfOpen() }
        try Center.remove(named: center)
    }

    private func refuseIfOpen() throws {
        let open: Center
        do {
            guard let opened = try openToLook() else { return }
            open = opened
        } catch {
            throw Failure(
                """
                can't remove center "\(center)": can't find out which processes have it open (\(error.line)); \
                correct that, or use --force
                """)
        }
        // A reader is no participant, so it is found by its mapping alone. A participant in another pid namespace, or
        // of another user, is found by its entry alone.
        var users = try open.participants.filter { $0.isAlive && !$0.isOwn }
            .map { MappingProcesses.Process(pid: $0.pid, executable: $0.executable) }
        users += MappingProcesses(of: open.path).all
        var named: Set<Int32> = [getpid()]
        users = users.filter { named.insert($0.pid).inserted }
        guard !users.isEmpty else { return }
        let names = users.prefix(8).map { "\($0.executable.isEmpty ? "process" : $0.executable.printable) (\($0.pid))" }
        let more = users.count > names.count ? " and \(users.count - names.count) more" : ""
        throw Failure(
            """
            can't remove center "\(center)": \(names.joined(separator: ", "))\(more) \
            \(users.count == 1 ? "has" : "have") it open; end \(users.count == 1 ? "it" : "them"), or use --force
            """)
    }

    /// - Returns: `nil` if the center does not exist, or if the file is not a center. The removal then reports this.
    private func openToLook() throws(SharedNotificationError) -> Center? {
        // A removal works in every directory, so the check opens the center in every directory.
        var existing = Center.Configuration(allowsSharedDirectory: true, creation: .never)
        do {
            do {
                return try Center(named: center, configuration: existing)
            } catch let error where error.code == .tooManyParticipants {
                // Live participants hold all entries. Opening for reading only takes none.
                existing.isReadOnly = true
                return try Center(named: center, configuration: existing)
            }
        } catch let error where [.notFound, .notACenter, .invalidName].contains(error.code) {
            return nil
        }
    }
}
