#if Service
    import ChildProcesses
    import Foundation
    import Testing
    import TidingsTesting

    @testable import Tidings

    @Suite(.serialized, .timeLimit(.minutes(10)))
    struct TestingKitTests {
        @Test(arguments: [TestCenter.Storage.memory, .directory])
        func twoParticipantsShareACenter(storage: TestCenter.Storage) async throws {
            let test = try TestCenter(in: storage)
            let other = try test.other()
            let track = await other.expect(
                Track.self, where: { $0.number == 2 },
                after: { for number in 1...3 { try test.center.post(Track(number)) } })
            #expect(track == Track(2))
        }

        @Test func theDirectoryIsRemoved() throws {
            var test: TestCenter? = try TestCenter(in: .directory)
            let directory = try #require(test?.directory)
            #expect(FileManager.default.fileExists(atPath: directory))
            test = nil
            #expect(!FileManager.default.fileExists(atPath: directory))
        }

        @Test func anExpectationThatIsNotMetIsAnIssue() async throws {
            let test = try TestCenter()
            await withKnownIssue {
                let track = await test.center.expect(Track.self, within: .milliseconds(50)) {}
                #expect(track == nil)
            } matching: {
                $0.comments.contains { $0.rawValue.contains("test.track") }
            }
            await withKnownIssue {
                await test.center.expect(Track.self) { throw Unexpected() }
            } matching: {
                $0.comments.contains { $0.rawValue.contains("Unexpected") }
            }
        }

        @Test func aMessageThatMustNotComeIsAnIssue() async throws {
            let test = try TestCenter()
            await test.center.expectNone(of: Track.self) { try test.center.post(name: "test.other") }
            await test.center.expectNone(
                of: Track.self, where: { $0.number > 1 }, during: { try test.center.post(Track(1)) })
            await withKnownIssue {
                await test.center.expectNone(of: Track.self) { try test.center.post(Track(1)) }
            } matching: {
                $0.comments.contains { $0.rawValue.contains("test.track") }
            }
        }

        @Test func fixturesFitEachOther() throws {
            var fixtures = NotificationFixtures(incarnation: 7)
            let one = fixtures.envelope()
            let lost: Center.Delivery<Track> = fixtures.missed(3)
            guard case .missed(3) = lost,
                case .message(let track, let two) = fixtures.delivery(Track(1), subject: "a")
            else { throw Unexpected() }
            #expect(track == Track(1))
            #expect(two.sequence == one.sequence + 4)
            #expect(two.postedAtNanoseconds > one.postedAtNanoseconds)
            #expect(two.incarnation == 7 && two.subject == "a")
            let notification = try fixtures.notification(Track(2))
            #expect(try notification.payload.decode(Track.self) == Track(2))
            #expect(notification.name == Track.name)
        }

        @Test func aPeerIsKilledAtItsThirdPost() async throws {
            let test = try TestCenter(in: .directory)
            let tracks = try test.center.messages(of: Track.self).register()
            let peer = try Peer(test, environment: Fault.killAtPost(3, of: Track.name).environment)
            peer.send("post 10")
            expectEqual(await peer.line(), nil)
            tracks.finish()
            var received: [Int] = []
            for await track in tracks { received.append(track.number) }
            #expect(received == [1, 2])
        }
    }
#endif
