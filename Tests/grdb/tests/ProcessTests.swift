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
                peer.send("die")
                expectEqual(await peer.line(), nil)
                try await counts.reach(count)
            }
            withExtendedLifetime(sharing) {}
        }

        /// The notification of the commit to `track` has left the ring when the stopped process goes on. All that are
        /// still in the ring name another table.
        @Test func missedNotificationsRefreshEverything() async throws {
            let stage = try Stage()
            var small = stage.centers
            small.slots = 256
            let center = try Center(named: "sqlite", configuration: small)
            let pool = try stage.pool()
            let sharing = try stage.share(pool)
            let peer = try Peer([stage.path, stage.folder])
            peer.send("reach 0")
            expectEqual(await peer.line(), "reached 0")
            // After the first refresh, which is of everything.
            peer.send("refreshes")
            expectEqual(await peer.line(), "1")
            peer.process.send(SIGSTOP)
            while try !String(contentsOfFile: "/proc/\(peer.process.pid)/stat", encoding: .utf8).contains(") T ") {
                usleep(100)
            }
            try pool.insert()
            for _ in 0..<600 { try pool.insert(into: "album") }
            peer.process.send(SIGCONT)
            peer.send("reach 1")
            expectEqual(await peer.line(), "reached 1")
            withExtendedLifetime((center, sharing)) {}
        }

        /// The extension posts the commits of the peer's connection, so the peer's sharing must not.
        @Test(.enabled(if: loadedExtension != nil, "TIDINGS_SQLITE_EXTENSION names no extension"))
        func aCommitThatTheExtensionPostsIsPostedOnce() async throws {
            let stage = try Stage()
            let pool = try stage.pool()
            let sharing = try stage.share(pool)
            var commits = try stage.commits(sharing)
            var counts = try await pool.counts()
            let peer = try Peer([stage.path, stage.folder], environment: try stage.environment())
            peer.send("reach 0")
            expectEqual(await peer.line(), "reached 0")
            peer.send("refreshes")
            let before = await peer.line()
            peer.send("insert 20\nreach 20")
            expectEqual(await peer.line(), "reached 20")
            try await counts.reach(20)
            // Its own commits don't refresh it.
            peer.send("refreshes")
            expectEqual(await peer.line(), before)
            try pool.insert()
            peer.send("reach 21")
            expectEqual(await peer.line(), "reached 21")
            try pool.mark()
            let posted = try await commits.throughMarker()
            #expect(posted.count == 21)
            #expect(Set(posted) == [["track": ["insert"]]])
        }

        @Test(.enabled(if: loadedExtension != nil, "TIDINGS_SQLITE_EXTENSION names no extension"))
        func pythonAndGRDBLearnOfEachOthersCommits() async throws {
            let stage = try Stage()
            let pool = try stage.pool()
            let sharing = try stage.share(pool)
            pool.drain()
            var commits = try stage.commits(sharing)
            var counts = try await pool.counts()
            let (changes, changed) = AsyncStream<Int>.makeStream()
            let token = DatabaseRegionObservation(tracking: Table("track")).start(
                in: pool, onError: { Issue.record($0) },
                onChange: { db in changed.yield((try? Int.fetchOne(db, sql: "SELECT count(*) FROM track")) ?? -1) })
            var regionCounts = changes.makeAsyncIterator()
            let program = """
                import os, sqlite3, sys
                loader = sqlite3.connect(":memory:")
                loader.enable_load_extension(True)
                loader.load_extension(os.environ["LOADED_EXTENSION"])
                db = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
                count = lambda: db.execute("SELECT count(*) FROM track").fetchone()[0]
                count()
                print("ready", flush=True)
                for expected in range(1, 40, 2):
                    while count() < expected:
                        assert db.execute("SELECT tidings_wait('main', -1)").fetchone()[0] is not None
                    db.execute("INSERT INTO track (title) VALUES ('Giant Steps')")
                tables = db.execute("SELECT tables, missed FROM tidings_changes('main', NULL)").fetchall()
                print(len(tables), sum(missed for _, missed in tables[1:]), flush=True)
                """
            let python = try Peer(
                ["-c", program, stage.path], executable: "/usr/bin/python3", environment: try stage.environment())
            expectEqual(await python.line(), "ready")
            for count in stride(from: 0, to: 40, by: 2) {
                try await counts.reach(count)
                // Also told of its own commits.
                while count > 0, let region = await regionCounts.next(), region < count {}
                try pool.insert()
            }
            try await counts.reach(40)
            // Each commit once, in one order, with consecutive change counters.
            expectEqual(await python.line(), "40 0")
            // Both sides post with the name that the sharing derives. Python did not ask for tables.
            try pool.mark()
            let posted = try await commits.throughMarker()
            #expect(posted == (0..<40).map { $0 % 2 == 0 ? ["track": ["insert"]] : nil })
            withExtendedLifetime((sharing, token)) {}
        }
    }

    private let loadedExtension = ProcessInfo.processInfo.environment["TIDINGS_SQLITE_EXTENSION"]

    extension Stage {
        fileprivate func environment() throws -> [String: String] {
            ["LOADED_EXTENSION": try #require(loadedExtension), "TIDINGS_DIRECTORY": folder]
        }
    }
#endif
