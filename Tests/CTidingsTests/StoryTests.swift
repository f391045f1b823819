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
