import Dispatch
import Testing
import TidingsFoundation

@testable import Tidings

/// An observer of one subject decodes no payloads of other subjects. The tests run one after the other, because the
/// count of decodings is global.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct SubjectFilterTests {
    static let decoded = Locked(0)

    /// The declaration of TestPeer.
    struct Counted: Center.Message {
        static let name: Center.Name = "counted"
        var number: Int

        init(from decoder: any Decoder) throws {
            SubjectFilterTests.decoded.withLock { $0 += 1 }
            number = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .number)
        }
    }
    struct Room: Identifiable, Sendable {
        var id: String
    }
    struct Entered: Center.AsyncMessage {
        typealias Subject = Room
        static let name: Center.Name = "counted"
        var counted: Counted

        init(from decoder: any Decoder) throws { counted = try Counted(from: decoder) }
        func encode(to encoder: any Encoder) throws { try counted.encode(to: encoder) }
    }
    final class Owner: Sendable {
        let heard: Events<Int>
        init(_ heard: Events<Int>) { self.heard = heard }
        func take(_ counted: Counted) { heard.add(counted.number) }
    }

    /// Posts a hundred of another subject, ten without a subject, three of this subject.
    private func post(_ test: TestCenter) async throws {
        Self.decoded.withLock { $0 = 0 }
        let peer = try Peer(
            test, "post-subject", "counted", "other", "100", "post", "counted", "10", "post-subject", "counted", "mine",
            "3")
        await peer.waitForEnd()
    }

    enum Way: CaseIterable {
        case closure, envelope, queue, mainActor, globalActor, task, owner, subject
    }

    @Test(arguments: Way.allCases)
    func observersDecodeTheirOwnOnly(way: Way) async throws {
        let test = try TestCenter()
        let center = test.center
        let heard = Events<Int>()
        let owner = Owner(heard)
        var tokens: [Center.ObservationToken] = []
        switch way {
        case .closure:
            try center.addObserver(for: Counted.self, options: .init(subject: "mine")) { heard.add($0.number) }.store(
                in: &tokens)
        case .envelope:
            try center.addObserver(for: Counted.self, options: .init(subject: "mine")) { counted, _ in
                heard.add(counted.number)
            }
            .store(in: &tokens)
        case .queue:
            try center.addObserver(for: Counted.self, options: .init(subject: "mine", queue: .global())) {
                heard.add($0.number)
            }
            .store(in: &tokens)
        case .mainActor:
            try center.addObserver(for: Counted.self, options: .init(subject: "mine")) { @MainActor counted in
                heard.add(counted.number)
            }
            .store(in: &tokens)
        case .globalActor:
            try center.addObserver(for: Counted.self, options: .init(subject: "mine")) { @TestActor counted in
                heard.add(counted.number)
            }
            .store(in: &tokens)
        case .task:
            try center.addObserver(for: Counted.self, options: .init(subject: "mine")) { (counted: Counted) async in
                heard.add(counted.number)
            }.store(in: &tokens)
        case .owner:
            _ = try center.addObserver(for: Counted.self, options: .init(subject: "mine", owner: owner)) {
                [weak owner] in owner?.take($0)
            }
        case .subject:
            center.addObserver(of: Room(id: "mine"), for: Entered.self) { heard.add($0.counted.number) }
                .store(in: &tokens)
        }
        try await post(test)
        expectEqual(await heard.wait(for: 3), [0, 1, 2])
        #expect(Self.decoded.withLock { $0 } == 3)
        center.removeObservers(of: owner)
        tokens = []
    }

    @Test func sequencesDecodeTheirOwnOnly() async throws {
        let test = try TestCenter()
        var messages = test.center.messages(of: Counted.self, options: .init(subject: "mine")).makeAsyncIterator()
        var deliveries = test.center.deliveries(of: Counted.self, options: .init(subject: "mine")).makeAsyncIterator()
        var about = test.center.messages(of: Room(id: "mine"), for: Entered.self).makeAsyncIterator()
        try await post(test)
        for number in 0..<3 {
            expectEqual(await messages.next()?.number, number)
            guard case .message(let counted, _) = await deliveries.next() else {
                Issue.record("not a message")
                return
            }
            #expect(counted.number == number)
            expectEqual(try await about.next()?.counted.number, number)
        }
        #expect(Self.decoded.withLock { $0 } == 9)
    }

    /// The posted payloads are no arguments of a key, so each decoding is reported.
    @Test func keysDecodeTheirOwnOnly() async throws {
        let test = try TestCenter()
        let told = Events<String?>()
        let token = try test.center.addObserver(
            for: Center.Key<Int>("counted"),
            options: .init(
                subject: "mine", onUndecodable: { notification, _ in told.add(notification.envelope.subject) }),
            using: { _ in told.add("decoded") })
        try await post(test)
        expectEqual(await told.wait(for: 3), ["mine", "mine", "mine"])
        token.cancel()
    }
}
