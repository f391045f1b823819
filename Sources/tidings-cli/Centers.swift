// The command `tidings centers`.
import ArgumentParser
import Tidings
import TidingsAdministration

struct Centers: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the names of your centers.",
        discussion: """
            One name per line, sorted. Centers are files in $TIDINGS_DIRECTORY, or else in /dev/shm.

              tidings centers
            """)

    func run() throws {
        for name in try Center.centers() { try Terminal.print(name.printable) }
    }
}
