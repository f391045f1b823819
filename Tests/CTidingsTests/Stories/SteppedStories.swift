import Testing

#if arch(x86_64)
    private let canStep = true
#else
    private let canStep = false
#endif

extension SteppedStories {
    /// Single steps put the moment of death, or of a stop, at any instruction.
    @Suite(.enabled(if: canStep, "single steps into a sleep are told from the registers, known for x86-64 only"))
    struct Everywhere {
        @Test(
            .timeLimit(.minutes(3)),
            arguments: [
                "killed anywhere in a small post",
                "killed anywhere in a chunk post",
                "killed anywhere in a retained post",
                "killed anywhere while evicting",
                "killed anywhere while revoking",
                "killed anywhere while ringing",
                "killed anywhere while observing",
                "killed anywhere while tidying",
            ] as [Story]
        )
        func aProcess(story: Story) async throws {
            try await story.tell()
        }

        @Test(
            .timeLimit(.minutes(3)),
            arguments: [
                "stopped anywhere in a small post",
                "stopped anywhere in a chunk post",
                "stopped anywhere in a retained post",
                "stopped anywhere while evicting",
                "stopped anywhere before sleeping",
                "a name joined while its chain is rebuilt stays one name",
                "a value set while its name is being cleared away is kept",
            ] as [Story]
        )
        func aProcessThatGoesOnLater(story: Story) async throws {
            try await story.tell()
        }
    }
}
