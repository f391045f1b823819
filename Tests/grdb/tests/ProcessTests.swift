#if GRDB
    import ChildProcesses
    import Foundation
    import GRDB
    import Testing
    import Tidings

    @testable import TidingsGRDB

    @Suite(.serialized, .timeLimit(.minutes(2)))
    struct ProcessTests {
        /// Each process writes, refreshes at the commits of the nine others, and reacts to each value with a write that
        /// changes nothing. If a refresh or such a write were posted, the posts would have no end.
        @Test func tenProcessesThatRefreshEachOtherComeToRest() async throws {
            let (count, rows) = (10, 30)
            let stage = try Stage()
            let pool = try stage.pool()
            let sharing = try stage.share(pool)
            var commits = try stage.commits(sharing)
            let peers = try (0..<count).map { _ in try Peer([stage.path, stage.folder]) }
            for peer in peers { peer.send("reach 0") }
            for peer in peers { expectEqual(await peer.line(), "reached 0") }
            for peer in peers { peer.send("insert \(rows)\nreach \(count * rows)") }
            for peer in peers { expectEqual(await peer.line(), "reached \(count * rows)") }
            // Their last reactions have ended when they have answered twice.
            var counts: [Int] = []
            for peer in peers {
                peer.send("refreshes")
                counts.append(Int(await peer.line() ?? "") ?? -1)
            }
            for refreshes in counts { #expect((1...(count - 1) * rows + 1).contains(refreshes)) }
            var values = try await pool.counts()
            try await values.reach(count * rows)
            try pool.mark()
            let posted = try await commits.throughMarker()
            #expect(posted.count == count * rows)
            #expect(Set(posted) == [["track": ["insert"]]])
            // The marker is the last refresh. It is of another table, so no process reacts.
            for (peer, before) in zip(peers, counts) {
                peer.send("refreshes")
                let after = Int(await peer.line() ?? "") ?? -1
                #expect(after <= before + 1)
            }
        }

        /// The process is killed between its commit and the post.
        @Test func aCommitOfAProcessThatDiesBeforeItsPostIsSeen() async throws {
            let stage = try Stage()
            let pool = try stage.pool()
            let sharing = try stage.share(pool)
            var counts = try await pool.counts()
            for count in 1...5 {
                let peer = try Peer([stage.path, stage.folder])
                peer.send("reach \(count - 1)")
                expectEqual(await peer.line(), "reached \(count - 1)")
                peer.send("arm\ninsert 1")
                expectEqual(await peer.line(), nil)
                try await counts.reach(count)
            }
            withExtendedLifetime(sharing) {}
        }
    }
#endif
