import ArgumentParser
import Tidings

/// Which center a command means.
struct CenterOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The center's name.", valueName: "name"))
    var center = "default"

    /// Opens it, creating it first if there is none.
    func open() throws -> Center {
        try Center(named: center)
    }

    /// Opens it if there is one: what only looks at a center must not create it.
    func openExisting() throws -> Center {
        try Center(named: center, configuration: .init(creation: .never))
    }
}
