import Testing

@testable import Tidings

/// Two builds of the same message, in two processes: fields that only one build has, and one field of another type.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct EvolutionTests {
    /// The message before the change, in the tests' own program.
    struct Seek: Center.Message {
        static let name: Center.Name = "test.seek"
        var title: String
    }

    @Test(arguments: [
        ("old", ["got old [1, 2]", "got new []", "undecodable", "got first []"]),
        ("new", ["got old 1.0 [:]", "got new 2.0 [\"a\": true]", "undecodable", "got first 1.0 [:]"]),
        ("other", ["undecodable", "undecodable", "got 7", "undecodable"]),
    ])
    func everyBuildReadsEveryOther(observer: String, expected: [String]) async throws {
        let test = try TestCenter()
        let peer = try Peer(test, "observe-build", observer, "4")
        expectEqual(await peer.line(), "observing")
        for build in ["old", "new", "other"] {
            let poster = try Peer(test, "post-build", build)
            await poster.waitForEnd()
        }
        try test.center.post(Seek(title: "first"))
        await peer.waitForEnd()
        expectEqual(await Array(peer.lines.wait(for: 5).dropFirst()), expected)
    }

    @Test func aFieldOfAnotherTypeIsReported() async throws {
        let test = try TestCenter()
        let (got, undecodable) = (Events<String>(), Events<(Center.Notification, any Error)>())
        let token = try test.center.addObserver(
            for: Seek.self, options: .init(onUndecodable: { undecodable.add(($0, $1)) }), using: { got.add($0.title) })
        let peer = try Peer(test, "post-build", "new", "post-build", "other", "post-build", "old")
        await peer.waitForEnd()
        expectEqual(await got.wait(for: 2), ["new", "old"])
        // The poster used three types under one name. Each pair was reported once.
        expectEqual(
            await peer.lines.wait(for: 6),
            [
                "posted", "two types: NewSeek, OtherSeek", "posted", "two types: NewSeek, OldSeek",
                "two types: OtherSeek, OldSeek", "posted",
            ])
        let reported = undecodable.all
        #expect(reported.count == 1 && reported.first?.0.payload.json == #"{"title":7}"#)
        guard case .typeMismatch(_, let context) = reported.first?.1 as? DecodingError else {
            Issue.record("\(reported)")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["title"])
        token.cancel()
    }
}
