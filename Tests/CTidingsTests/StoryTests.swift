import Testing

#if arch(x86_64)
    private let canStep = true
#else
    private let canStep = false
#endif

// Two halves side by side, in each one story at a time: a story keeps two processors busy at most.

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
