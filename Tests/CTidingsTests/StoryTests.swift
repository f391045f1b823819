import Testing

#if arch(x86_64)
    private let canStep = true
#else
    private let canStep = false
#endif

// Three suites side by side, in each one story at a time: a story keeps two processors busy at most, and some of them wait most of the time.

/// What several processes do with one center, and what becomes of it when they stop or die.
@Suite(.serialized) struct StoryTests {
    @Test(.timeLimit(Story.limit), arguments: try Story.all(.plain))
    func comesTrue(story: Story) async throws {
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
    /// A story of the others, where a kernel, a file system or a processor is missing.
    @Test(
        .timeLimit(Story.limit),
        .enabled("a filter refuses system calls, some in mounts of their own; a sanitizer needs those calls") {
            try Story.may("filters") && Story.may("mounts")
        },
        arguments: try Story.all(.retold)
    )
    func comesTrueWithout(story: Story) async throws {
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
    @Test(.timeLimit(Story.limit), arguments: try Story.all(.stepped))
    func comesTrue(story: Story) async throws {
        try await story.tell()
    }
}
