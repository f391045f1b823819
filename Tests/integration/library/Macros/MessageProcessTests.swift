#if Macros
    import Testing
    import TidingsFoundation

    @testable import Tidings

    /// Builds with and without generated coders, old and new, in two processes.
    @Suite(.serialized, .timeLimit(.minutes(10)))
    struct MessageProcessTests {
        @Test(arguments: [
            ("old", ["got old [1, 2]", "got new []", "undecodable", "got generated old [3]", "got generated new []"]),
            (
                "new",
                [
                    "got old 1.0 [:]", "got new 2.0 [\"a\": true]", "undecodable", "got generated old 1.0 [:]",
                    "got generated new 3.0 [:]",
                ]
            ),
            (
                "generated-old",
                ["got old [1, 2]", "got new []", "undecodable", "got generated old [3]", "got generated new []"]
            ),
            (
                "generated-new",
                [
                    "got old 1.0 [:]", "got new 2.0 [\"a\": true]", "undecodable", "got generated old 1.0 [:]",
                    "got generated new 3.0 [:]",
                ]
            ),
        ])
        func everyBuildReadsEveryOther(observer: String, expected: [String]) async throws {
            let test = try TestCenter()
            let peer = try Peer(test, "observe-build", observer, "5")
            expectEqual(await peer.line(), "observing")
            for build in ["old", "new", "other", "generated-old", "generated-new"] {
                let poster = try Peer(test, "post-build", build)
                await poster.waitForEnd()
            }
            await peer.waitForEnd()
            expectEqual(await Array(peer.lines.wait(for: 6).dropFirst()), expected)
        }

        @Test func largeMessagesGoThroughSharedMemory() async throws {
            let test = try TestCenter()
            let got = Events<Labels>()
            let token = try test.center.addObserver(for: Labels.self) { got.add($0) }
            let large = Labels(labels: (0..<20_000).map { Label(x: $0, city: "number \($0)") })
            try test.center.post(large)
            expectEqual(await got.wait(for: 1)[0].labels, large.labels)
            token.cancel()
        }

        @Test func stateAndDeferredPosts() async throws {
            let test = try TestCenter()
            try test.center.setState(Label(x: 1, city: "Rome"))
            #expect(try test.center.state(for: Label.self) == Label(x: 1, city: "Rome"))
            let got = Events<Label>()
            let token = try test.center.addObserver(for: Label.self, options: .init(from: .now)) { got.add($0) }
            try test.center.enqueue(Label(x: 2, city: nil), postingStyle: .asap)
            expectEqual(await got.wait(for: 2), [Label(x: 1, city: "Rome"), Label(x: 2, city: nil)])
            token.cancel()
        }
    }
#endif
