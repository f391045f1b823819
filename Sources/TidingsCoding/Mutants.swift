#if MUTANTS
    // One build of a module has all its mutants (.ci/swift-mutants-build). The environment chooses the one that acts,
    // also in the processes that a program starts.
    private let chosenMutant = environment("TIDINGS_MUTANT").map { String(cString: $0) }

    // Without an import: this file is compiled as a part of each module, and a module imports Glibc either always with
    // an access level or never.
    @_silgen_name("getenv") private func environment(_ name: UnsafePointer<CChar>) -> UnsafePointer<CChar>?

    /// True in a process that runs as this mutant. `name` is the macro's, without `MUTANT_`.
    package func isMutant(_ name: String) -> Bool { chosenMutant == name }
#endif
