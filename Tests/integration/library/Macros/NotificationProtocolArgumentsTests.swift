#if Macros
    import Testing

    @testable import Tidings

    /// The declaration of TestPeer.
    @NotificationProtocol(prefix: "com.example")
    protocol ImportObserver: AnyObject {
        func progressed(percent: Int, stage: String)
    }

    /// For programs that come from `BlockNotificationCenter` (ATKit). Here arguments have names, also in posts.
    @Suite(.serialized, .timeLimit(.minutes(10)))
    struct NotificationProtocolArgumentsTests {
        final class Listener: ImportObserver, Sendable {
            let heard = Events<String>()
            func progressed(percent: Int, stage: String) { heard.add("\(percent) \(stage)") }
        }

        @Test func argumentsHaveNamesOnBothSides() async throws {
            let test = try TestCenter()
            let center = test.center
            let listener = Listener()
            let token = try center.addObserver(listener, as: ImportObserverMessages.self)
            let peer = try Peer(test, "observe-import", "1", "post-import")
            expectEqual(await peer.line(), "observing")
            try ImportObserverPoster(center).progressed(percent: 42, stage: "decoding")
            expectEqual(await peer.line(2), "42 decoding")
            expectEqual(await listener.heard.wait(for: 2), ["42 decoding", "7 copying"])
            await peer.waitForEnd()
            token.cancel()
        }

        /// Arguments are sent by their names: an observer also decodes another order, and one argument more.
        @Test func argumentsTravelByName() async throws {
            let test = try TestCenter()
            let listener = Listener()
            let token = try test.center.addObserver(listener, as: ImportObserverMessages.self)
            let peer = try Peer(
                test, "post-json", "com.example.ImportObserver.progressed(percent:stage:)",
                #"{"stage":"done","file":"a","percent":100}"#)
            expectEqual(await listener.heard.wait(for: 1), ["100 done"])
            await peer.waitForEnd()
            token.cancel()
        }
    }
#endif
