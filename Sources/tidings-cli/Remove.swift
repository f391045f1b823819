import ArgumentParser
import Tidings

struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete a center.",
        discussion: """
            No process can open it any more. Processes that have it open are told: an observer at once, a poster by its next post. As that \
            ends what they do, the command names them and refuses, unless --force is given. It deletes nothing that isn't a center.

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

    /// What can't be opened is nobody's to keep: removing it says itself what is wrong with it.
    private func refuseIfOpen() throws {
        // Removing works in every directory. So it asks in every directory who has the center open.
        let existing = Center.Configuration(allowsSharedDirectory: true, creation: .never)
        guard let open = try? Center(named: center, configuration: existing) else { return }
        let users = try open.participants.filter { $0.isAlive && !$0.isOwn }
        guard !users.isEmpty else { return }
        let names = users.prefix(8).map { "\($0.executable.isEmpty ? "process" : $0.executable.printable) (\($0.pid))" }
        let more = users.count > names.count ? " and \(users.count - names.count) more" : ""
        throw Failure(
            """
            can't remove center "\(center)": \(names.joined(separator: ", "))\(more) \(users.count == 1 ? "has" : "have") it open; end \
            \(users.count == 1 ? "it" : "them"), or use --force
            """)
    }
}
