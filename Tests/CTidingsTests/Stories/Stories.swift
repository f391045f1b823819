import Testing

extension Stories {
    @Test(
        .timeLimit(.minutes(3)),
        arguments: [
            "all observers see one order of all posters",
            "several names of one bucket are counted apart",
            "interests of one observer are counted apart",
            "a rare name beside a chatty one loses nothing unsaid",
            "a name added while receiving is counted exactly",
        ] as [Story]
    )
    static func orderAndLoss(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(.minutes(3)),
        arguments: [
            "posters killed at random leave no gap and no trace",
            "observers killed at random hold up nobody",
            "a poster killed at random wakes for whatever it committed",
        ] as [Story]
    )
    static func death(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(.minutes(3)),
        arguments: [
            "skips a tombstone at once",
            "revokes a claim whose owner never comes back",
            "passes over a slot that is busy from an earlier lap",
            "finishes a verdict that a dead revoker left open",
            "finishes an eviction that was left half way",
            "rings again where a ringer died",
            "rings a dead sleeper once",
            "frees the chunks of the dead and keeps those they posted",
            "tidies up half tidied remains",
            "half made names of the dead are freed",
        ] as [Story]
    )
    static func whoComesNext(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(.minutes(3)),
        arguments: [
            "a post with nobody asleep on its name makes no system call",
            "a sleeper is left alone by posts on other names",
            "an interrupt ends one wait and no more",
            "a signal does not end a wait",
            "a descriptor tells of everything also beside blocking waits",
        ] as [Story]
    )
    static func wakeUps(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(.minutes(3)),
        arguments: [
            "nothing is lost at full speed",
            "held back posts are told so and post nothing",
            "the death of a lossless observer releases posters",
            "a dead lossless observer holds back none of several threads",
            "a sleeping lossless observer can be given no name and holds nobody back",
            "a lossless observer loses nothing of the history it asked for",
            "a stopped lossless observer holds until the deadline",
        ] as [Story]
    )
    static func lossless(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(.minutes(3)),
        arguments: [
            "the newest value wins across posters",
            "a killed poster never brings back an older value",
            "a value survives everybody and the ring",
            "a late comer is told that it is retained",
        ] as [Story]
    )
    static func values(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(.minutes(3)),
        arguments: [
            "names that are observed no longer make room",
            "names whose value was cleared make room",
            "retained posts that failed leave no name",
        ] as [Story]
    )
    static func names(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(.minutes(3)),
        arguments: [
            "a forked child posts through what it inherited",
            "a child forked beside posting threads can post",
            "a forked child does not keep its dead parent alive",
            "a program that was executed does not keep its dead parent alive",
            "no descriptor survives an exec",
        ] as [Story]
    )
    static func forkAndExec(story: Story) async throws {
        try await story.tell()
    }

    @Test(
        .timeLimit(.minutes(3)),
        arguments: [
            "three hundred processes share one center",
            "a place of the dead is taken by the next",
            "a hundred thousand names are posted",
            "ten thousand names are observed",
            "a thousand and twenty four observers and no more",
        ] as [Story]
    )
    static func crowds(story: Story) async throws {
        try await story.tell()
    }
}
