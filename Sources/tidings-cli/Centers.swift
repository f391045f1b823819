// The command `tidings centers`.
import ArgumentParser
import Tidings
import TidingsAdministration

struct Centers: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the names of your centers.",
        discussion: """
            One a line, sorted; nothing if there is none. They live in $TIDINGS_DIRECTORY, or else in /dev/shm.

              tidings centers
            """)

    func run() throws {
        for name in try Center.centers() { try Terminal.print(name.printable) }
    }
}
