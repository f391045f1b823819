import ArgumentParser
import Tidings

struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Delete a center.",
        discussion: """
            Nobody can open it any more. Those who have it open are told by their next post, and hear nothing from those who \
            create a center of that name anew: restart them. Deletes nothing that isn't a center.

              tidings remove com.example.player
            """)

    @Argument(help: "The center's name.", completion: .custom(Completions.centers))
    var center: String

    func run() throws {
        try Center.remove(named: center)
    }
}
