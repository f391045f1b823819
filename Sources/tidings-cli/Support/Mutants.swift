#if MUTANTS
    import Foundation

    // Tests/mutation/command.sh builds all mutants of the command at once. The environment chooses the one
    // that acts, also in the processes that the command starts.
    private let chosenMutant = ProcessInfo.processInfo.environment["TIDINGS_MUTANT"]

    /// True in a process that runs as this mutant. `name` is the macro's, without `MUTANT_`.
    func isMutant(_ name: String) -> Bool { chosenMutant == name }
#endif
