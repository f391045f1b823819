#if MUTANTS
    import Glibc

    // Tests/fuzz/run.sh builds all mutants of the Swift modules at once. The environment chooses the one that acts.
    private let chosenMutant = getenv("TIDINGS_MUTANT").map { String(cString: $0) }

    /// True in a process that runs as this mutant. `name` is the macro's, without `MUTANT_`.
    package func isMutant(_ name: String) -> Bool { chosenMutant == name }
#endif
