import Testing

#if arch(x86_64)
    private let canStep = true
#else
    private let canStep = false
#endif

/// A filter refuses system calls, for some stories in mounts of their own. A sanitizer needs those calls.
private let canFilter: ConditionTrait = .enabled("a filter refuses system calls, some in mounts of their own") {
    try Story.may("filters") && Story.may("mounts")
}

// Three suites run side by side. Each tells one story at a time: a story keeps at most two processors busy, and many stories mostly
// wait. In a suite, each test function tells one group of topics (`Story.Group`).

/// What several processes do with one center, and what becomes of it when they stop or die.
@Suite(.serialized) struct StoryTests {
    /// So that no story is written and then never told.
    @Test func everyPublisherIsInOneGroup() throws {
        let grouped = Story.Group.allCases.flatMap(\.publishers)
        let listed = Set(try Story.all().filter { [.plain, .stepped, .retold].contains($0.kind) }.map(\.publisher))
        #expect(grouped.sorted() == listed.sorted())
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .creation))
    func creation(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .access))
    func access(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .sealed))
    func sealed(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .ends))
    func ends(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .payloads))
    func payloads(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .lossless))
    func lossless(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .retained))
    func retained(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .names))
    func names(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .loss))
    func loss(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .bounds))
    func bounds(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .waking))
    func waking(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .deaths))
    func deaths(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .prefixes))
    func prefixes(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .forks))
    func forks(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain, .wakeGroups))
    func wakeGroups(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(Story.limit),
        .enabled("full and read-only file systems need the right to mount, as root or in a user namespace") {
            try Story.may("mounts")
        },
        arguments: try Story.all(.mounting)
    )
    func comesTrueOnAFileSystemOfItsOwn(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(Story.limit),
        .enabled("files of other users need root") { try Story.may("users") },
        arguments: try Story.all(.others)
    )
    func comesTrueWithOtherUsers(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(Story.limit),
        .enabled("a sanitizer's own memory is over any limit") { try Story.may("limits") },
        arguments: try Story.all(.limited)
    )
    func comesTrueAtItsLimits(story: Story) async throws {
        try await story.tell()
    }
}

/// The same where something is missing, or processes do not see each other.
@Suite(.serialized) struct RetoldStoryTests {
    @Test(.timeLimit(Story.limit), canFilter, arguments: try Story.all(.retold, .withoutMembarrier))
    func withoutMembarrier(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), canFilter, arguments: try Story.all(.retold, .withoutRobustLists))
    func withoutRobustLists(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), canFilter, arguments: try Story.all(.retold, .withoutPartsOfFiles))
    func withoutPartsOfFiles(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), canFilter, arguments: try Story.all(.retold, .withoutProc))
    func withoutProc(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), canFilter, arguments: try Story.all(.retold, .onAnOldKernel))
    func onAnOldKernel(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), canFilter, arguments: try Story.all(.retold, .withoutInotify))
    func withoutInotify(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), canFilter, arguments: try Story.all(.retold, .onOneProcessor))
    func onOneProcessor(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), canFilter, arguments: try Story.all(.retold, .withoutTheWallClock))
    func withoutTheWallClock(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(Story.limit),
        .enabled("namespaces need root, or user namespaces; a sanitizer's threads can't change theirs") {
            try Story.may("namespaces")
        },
        arguments: try Story.all(.apart)
    )
    func comesTrueAcrossNamespaces(story: Story) async throws {
        try await story.tell()
    }
}

/// The same with a debugger's single steps, which put the moment of a death, or of a stop, at any instruction.
@Suite(
    .serialized, .enabled(if: canStep, "single steps into a sleep are told from the registers, known for x86-64 only"))
struct SteppedStoryTests {
    @Test(.timeLimit(Story.limit), arguments: try Story.all(.stepped, .chains))
    func chains(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.stepped, .steppedPosts))
    func steppedPosts(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.stepped, .steppedObservers))
    func steppedObservers(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.stepped, .harmedPosts))
    func harmedPosts(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.stepped, .harmedObservers))
    func harmedObservers(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.stepped, .harmedLives))
    func harmedLives(story: Story) async throws {
        try await story.tell()
    }

    @Test(.timeLimit(Story.limit), arguments: try Story.all(.stepped, .harmedCenters))
    func harmedCenters(story: Story) async throws {
        try await story.tell()
    }
}
