public import Distributed
public import TidingsDistributed

/// The actor of these tests.
public distributed actor Counter {
    public typealias ActorSystem = SharedActorSystem

    /// The error that the tests allow.
    public struct Refusal: Error, Codable, Equatable {
        public var number: Int
        public init(number: Int) { self.number = number }
    }

    /// One that they do not.
    public struct OutOfPaper: Error, Codable, CustomStringConvertible {
        public var description: String { "out of\npaper" }
    }

    private var sum = 0
    private let say: @Sendable (String) -> Void

    public init(actorSystem: ActorSystem, say: @escaping @Sendable (String) -> Void = { _ in }) {
        self.actorSystem = actorSystem
        self.say = say
    }

    public distributed var total: Int { sum }

    public distributed func add(_ number: Int) -> Int {
        sum += number
        return sum
    }

    public distributed func reset() {
        sum = 0
    }

    public distributed func echo<Item: Codable & Sendable>(_ item: Item) -> Item { item }

    public distributed func refuse(_ number: Int) throws(Refusal) -> Int {
        throw Refusal(number: number)
    }

    public distributed func print() throws {
        throw OutOfPaper()
    }

    /// Waits until the task is cancelled. Other calls are taken meanwhile.
    public distributed func wait() async {
        say("waiting")
        let stream = AsyncStream<Void> { _ in }
        for await _ in stream {}
        say("cancelled")
    }

    /// Calls another actor, which may call this one.
    public distributed func tell(_ other: Counter, _ number: Int, back: Bool) async throws -> Counter {
        if back {
            _ = try await other.tell(self, number, back: false)
        } else {
            _ = try await other.add(number)
        }
        return other
    }

    /// Not allowed by `allowCalls`.
    public distributed func hidden() -> Int { sum }

    public static func allowCalls(in system: SharedActorSystem) async throws {
        try await system.allow(
            Counter.self,
            calls: { _ = try await $0.total }, { _ = try await $0.add(0) }, { try await $0.reset() },
            { _ = try await $0.echo("") }, { _ = try await $0.refuse(0) }, { try await $0.print() },
            { try await $0.wait() }, { _ = try await $0.tell($0, 0, back: true) })
        try await system.allow(Stranger.self, calls: { _ = try await $0.secret("") })
    }
}

/// An actor of another type, whose call has another kind of argument.
public distributed actor Stranger {
    public typealias ActorSystem = SharedActorSystem

    private let text: String

    public init(actorSystem: ActorSystem, text: String) {
        self.actorSystem = actorSystem
        self.text = text
    }

    public distributed func secret(_ question: String) -> String { text + question }
}
