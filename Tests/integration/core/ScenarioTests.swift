import Glibc
import Testing

#if arch(x86_64)
    private let isX86 = true
#else
    private let isX86 = false
#endif

private let canStep: ConditionTrait = .enabled(
    if: isX86, "single steps into a sleep are told from the registers, known for x86-64 only")

/// CI passes a sanitizer's options.
private let isNotSanitized: ConditionTrait = .enabled(
    if: getenv("TSAN_OPTIONS") == nil && getenv("ASAN_OPTIONS") == nil,
    "most steps would be the sanitizer's own; scenarios that kill at random run under it")

/// A filter refuses system calls, for some scenarios in mounts of their own. A sanitizer needs those calls.
private let canFilter: ConditionTrait = .enabled("a filter refuses system calls, some in mounts of their own") {
    try Scenario.may("filters") && Scenario.may("mounts")
}

// Four suites run side by side. Each tells one scenario at a time: a scenario keeps at most two processors busy, and
// many scenarios mostly wait. In a suite, each test function tells one group of categories (`Scenario.Group`).

/// What several processes do with one center, and what becomes of it when they stop or die.
@Suite(.serialized) struct CoreScenarioTests {
    /// So that no scenario is written and then never told.
    @Test func everyCategoryIsInOneGroup() throws {
        let grouped = Scenario.Group.allCases.flatMap(\.categories)
        let listed = Set(try Scenario.all().filter { [.plain, .stepped, .retold].contains($0.kind) }.map(\.category))
        #expect(grouped.sorted() == listed.sorted())
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .creation))
    func creation(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .access))
    func access(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .sealed))
    func sealed(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .ends))
    func ends(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .payloads))
    func payloads(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .lossless))
    func lossless(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .retained))
    func retained(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .names))
    func names(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .loss))
    func loss(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .bounds))
    func bounds(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .waking))
    func waking(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .deaths))
    func deaths(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .presence))
    func presence(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .requests))
    func requests(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .prefixes))
    func prefixes(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .forks))
    func forks(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.plain, .many))
    func many(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(
        .timeLimit(Scenario.limit),
        .enabled("full and read-only file systems need the right to mount, as root or in a user namespace") {
            try Scenario.may("mounts")
        },
        arguments: try Scenario.all(.mounting)
    )
    func comesTrueOnAFileSystemOfItsOwn(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(
        .timeLimit(Scenario.limit),
        .enabled("files of other users need root") { try Scenario.may("users") },
        arguments: try Scenario.all(.others)
    )
    func comesTrueWithOtherUsers(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(
        .timeLimit(Scenario.limit),
        .enabled("a sanitizer's own memory is over any limit") { try Scenario.may("limits") },
        arguments: try Scenario.all(.limited)
    )
    func comesTrueAtItsLimits(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(
        .timeLimit(Scenario.limit),
        .enabled("the largest center is not tested: it needs 4 GiB of /dev/shm") { try Scenario.may("room") },
        arguments: try Scenario.all(.large)
    )
    func comesTrueInTheLargestCenter(scenario: Scenario) async throws {
        try await scenario.tell()
    }
}

/// The same where something is missing, or processes do not see each other.
@Suite(.serialized) struct ConditionScenarioTests {
    @Test(.timeLimit(Scenario.limit), canFilter, arguments: try Scenario.all(.retold, .withoutMembarrier))
    func withoutMembarrier(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), canFilter, arguments: try Scenario.all(.retold, .withoutRobustLists))
    func withoutRobustLists(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), canFilter, arguments: try Scenario.all(.retold, .withoutPartsOfFiles))
    func withoutPartsOfFiles(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), canFilter, arguments: try Scenario.all(.retold, .withoutProc))
    func withoutProc(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), canFilter, arguments: try Scenario.all(.retold, .onAnOldKernel))
    func onAnOldKernel(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), canFilter, arguments: try Scenario.all(.retold, .withoutInotify))
    func withoutInotify(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), canFilter, arguments: try Scenario.all(.retold, .onOneProcessor))
    func onOneProcessor(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), canFilter, arguments: try Scenario.all(.retold, .withoutTheWallClock))
    func withoutTheWallClock(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(
        .timeLimit(Scenario.limit),
        .enabled("namespaces need root, or user namespaces; a sanitizer's threads can't change theirs") {
            try Scenario.may("namespaces")
        },
        arguments: try Scenario.all(.apart)
    )
    func comesTrueAcrossNamespaces(scenario: Scenario) async throws {
        try await scenario.tell()
    }
}

/// The same with a debugger's single steps, which put the moment of a death, or of a stop, at any instruction.
@Suite(.serialized, canStep, isNotSanitized) struct SteppedScenarioTests {
    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.stepped, .chains))
    func chains(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.stepped, .steppedPosts))
    func steppedPosts(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.stepped, .steppedObservers))
    func steppedObservers(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.stepped, .faultedPosts))
    func faultedPosts(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.stepped, .faultedObservers))
    func faultedObservers(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.stepped, .faultedLives))
    func faultedLives(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.stepped, .faultedCenters))
    func faultedCenters(scenario: Scenario) async throws {
        try await scenario.tell()
    }
}

/// The same single steps in what presence and requests do.
@Suite(.serialized, canStep, isNotSanitized) struct SteppedPresenceScenarioTests {
    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.stepped, .steppedPresence))
    func steppedPresence(scenario: Scenario) async throws {
        try await scenario.tell()
    }

    @Test(.timeLimit(Scenario.limit), arguments: try Scenario.all(.stepped, .steppedRequests))
    func steppedRequests(scenario: Scenario) async throws {
        try await scenario.tell()
    }
}
