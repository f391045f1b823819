#if GRDB
    import Foundation
    import GRDB
    import Testing
    import Tidings

    @testable import TidingsGRDB

    /// Two connections to one file in one process: each has a sharing, and so a center object of its own.
    @Suite(.timeLimit(.minutes(10)))
    struct SharingTests {
        @Test func aCommitReachesTheValueObservationOfAnotherPool() async throws {
            let stage = try Stage()
            let (one, other) = (try stage.pool(), try stage.pool())
            let sharings = try [stage.share(one), stage.share(other)]
            var counts = try await other.counts()
            for count in 1...20 {
                try one.insert()
                try await counts.reach(count)
            }
            withExtendedLifetime(sharings) {}
        }

        @Test func aCommitReachesTheRegionObservationOfAQueueOfAnotherPath() async throws {
            let stage = try Stage()
            try FileManager.default.createSymbolicLink(
                atPath: stage.folder + "/link.db", withDestinationPath: stage.path)
            let (one, other) = (try stage.pool(stage.folder + "/link.db"), try stage.queue())
            let sharings = try [stage.share(one), stage.share(other)]
            #expect(sharings[0].name == sharings[1].name)
            other.drain()
            let (changes, changed) = AsyncStream<Int>.makeStream()
            let token = DatabaseRegionObservation(tracking: Table("track")).start(
                in: other, onError: { Issue.record($0) },
                onChange: { db in changed.yield((try? Int.fetchOne(db, sql: "SELECT count(*) FROM track")) ?? -1) })
            var iterator = changes.makeAsyncIterator()
            try one.insert(into: "album")
            try one.insert()
            // The commit to the other table is not among them.
            expectEqual(await iterator.next(), 1)
            try one.insert()
            expectEqual(await iterator.next(), 2)
            withExtendedLifetime((sharings, token)) {}
        }

        @Test func onlyCommitsArePosted() async throws {
            let stage = try Stage()
            let pool = try stage.pool()
            let sharing = try stage.share(pool)
            var commits = try stage.commits(sharing)
            try pool.transaction(.immediate) { db in
                try db.execute(sql: "INSERT INTO track (title) VALUES ('a')")
                return .rollback
            }
            #expect(throws: DatabaseError.self) {
                try pool.execute("INSERT INTO track (title) VALUES ('a'); INSERT INTO nothing VALUES (1)")
            }
            // The constraint fails in a transaction that is the statement's own.
            #expect(throws: DatabaseError.self) {
                try pool.executeAlone("INSERT INTO track SELECT 1, 'a' UNION ALL SELECT 1, 'b'")
            }
            for kind in [Database.TransactionKind.deferred, .immediate, .exclusive] {
                try pool.transaction(kind) { _ in .commit }
            }
            try pool.execute("UPDATE track SET title = '' WHERE id = 7; DELETE FROM album WHERE id = 7")
            try pool.execute("CREATE TEMP TABLE t (a); INSERT INTO temp.t VALUES (1)")
            pool.unsafeReentrantWrite { db in _ = try? db.checkpoint(.truncate) }
            try pool.mark()
            expectEqual(try await commits.throughMarker(), [])
        }

        /// Another connection commits between a transaction without effect and the call that says it has ended. So the
        /// change counter has changed. And a transaction writes to an attached database only, so SQLite has written.
        @Test func aTransactionWithoutEffectIsNotPosted() async throws {
            final class Interposer: TransactionObserver {
                let other: DatabasePool
                var isArmed = false
                init(_ other: DatabasePool) { self.other = other }
                func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
                func databaseDidChange(with event: DatabaseEvent) {}
                func databaseDidRollback(_ db: Database) {}
                func databaseDidCommit(_ db: Database) {
                    if isArmed { try! other.insert(into: "album") }
                    isArmed = false
                }
            }
            let stage = try Stage()
            let pool = try stage.pool()
            let interposer = Interposer(try stage.pool())
            pool.add(transactionObserver: interposer)
            let sharing = try stage.share(pool)
            var commits = try stage.commits(sharing)
            try pool.unsafeReentrantWrite { db in
                interposer.isArmed = true
                try db.execute(sql: "UPDATE track SET title = '' WHERE id = 7")
            }
            try pool.executeAlone("ATTACH '\(stage.folder)/other.db' AS other; CREATE TABLE other.list (title TEXT)")
            try pool.execute("INSERT INTO list VALUES ('a'); UPDATE track SET title = '' WHERE id = 7")
            try pool.mark()
            expectEqual(try await commits.throughMarker(), [])
        }

        @Test(arguments: ["wal", "delete", "truncate", "persist", "memory"])
        func aPayloadIsThatOfTheExtension(mode: String) async throws {
            let stage = try Stage()
            let queue = try stage.queue()
            try queue.executeAlone("PRAGMA journal_mode = \(mode)")
            let sharing = try stage.share(queue)
            var commits = try stage.commits(sharing)
            let journal = mode == "wal" ? "wal" : "rollback"
            var last: UInt32?
            for _ in 0..<3 {
                try queue.insert()
                let notification = try await commits.next()
                let payload = try notification.payload.decode(CommitPayload.self)
                #expect(payload.journal == journal)
                #expect(payload.pages == 4)
                #expect(payload.tables == ["track": ["insert"]])
                if let last { #expect(payload.counter == last + 1) }
                last = payload.counter
                // A map of definite length with these keys: what the reader in C reads.
                var expected: [UInt8] = [0xa4]
                func text(_ text: String) { expected += [0x60 + UInt8(text.utf8.count)] + Array(text.utf8) }
                func number(_ number: UInt32) {
                    switch number {
                    case 0..<24: expected.append(UInt8(number))
                    case 24..<256: expected += [0x18, UInt8(number)]
                    default: Issue.record("counter \(number)")
                    }
                }
                text("counter")
                number(payload.counter)
                text("journal")
                text(journal)
                text("pages")
                number(4)
                text("tables")
                expected.append(0xa1)
                text("track")
                expected.append(0x81)
                text("insert")
                #expect(notification.payload.format == .cbor)
                #expect(notification.payload.bytes == expected)
            }
            // The counter is SQLite's.
            if mode != "wal" {
                let bytes = try #require(FileManager.default.contents(atPath: stage.path))
                #expect(bytes[24..<28].reduce(0) { $0 << 8 | UInt32($1) } == last)
            }
        }

        @Test func theTablesOfACommitAreThoseOfItsStatements() async throws {
            let stage = try Stage()
            let pool = try stage.pool()
            let sharing = try stage.share(pool)
            var commits = try stage.commits(sharing)
            func tables(_ sql: String) async throws -> [String: [String]]? {
                try pool.execute(sql)
                return try await commits.next().payload.decode(CommitPayload.self).tables
            }
            expectEqual(
                try await tables("INSERT INTO track VALUES (1, 'a'), (2, 'b'); INSERT INTO album VALUES (1, 'c')"),
                ["track": ["insert"], "album": ["insert"]])
            expectEqual(
                try await tables("UPDATE track SET title = 'd' WHERE id = 1; DELETE FROM track WHERE id = 2"),
                ["track": ["update", "delete"]])
            // SQLite truncates the table, and reports no row.
            expectEqual(try await tables("DELETE FROM album"), ["album": ["delete"]])
            expectEqual(try await tables("INSERT INTO word VALUES ('a')"), ["word": ["insert"]])
            expectEqual(
                try await tables(
                    "CREATE TRIGGER t AFTER INSERT ON word BEGIN INSERT INTO album (title) VALUES (new.text); END")?
                    .keys.contains("sqlite_master"), true)
            expectEqual(try await tables("INSERT INTO word VALUES ('b')"), ["word": ["insert"], "album": ["insert"]])
            // Without a table: observers take any table for changed.
            expectEqual(try await tables("PRAGMA user_version = 3"), nil)
            expectEqual(try await tables("DROP TRIGGER t"), nil)
            // Of an explicit savepoint that is released.
            expectEqual(
                try await tables("SAVEPOINT s; INSERT INTO track (title) VALUES ('e'); RELEASE s"),
                ["track": ["insert"]])
        }

        @Test func aTransactionWithManyTablesIsPostedWithoutThem() async throws {
            let stage = try Stage()
            let (one, other) = (try stage.pool(), try stage.pool())
            let sharings = try [stage.share(one), stage.share(other)]
            var commits = try stage.commits(sharings[0])
            try one.execute((0..<100).map { "CREATE TABLE table_\($0) (title TEXT);" }.joined())
            _ = try await commits.next()
            // The changed schema refreshes everything.
            while sharings[1].sharing.received == 0 { usleep(100) }
            other.drain()
            var counts = try await other.counts()
            try one.execute(
                (0..<100).map { "INSERT INTO table_\($0) VALUES ('a');" }.joined()
                    + "INSERT INTO track (title) VALUES ('a')")
            expectEqual(try await commits.next().payload.decode(CommitPayload.self).tables, nil)
            try await counts.reach(1)
        }

        /// What is posted in the commit, under the write lock, precedes the notification of the commit. When GRDB says
        /// that the commit has ended, another connection gets the lock at once.
        @Test func aCommitIsPostedAfterItsLock() async throws {
            final class Interposer: TransactionObserver {
                let other: DatabasePool
                let post: () throws -> Void
                var isArmed = false
                init(_ other: DatabasePool, _ post: @escaping () throws -> Void) {
                    (self.other, self.post) = (other, post)
                }
                func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
                func databaseDidChange(with event: DatabaseEvent) {}
                func databaseDidRollback(_ db: Database) {}
                func databaseWillCommit() throws { if isArmed { try post() } }
                func databaseDidCommit(_ db: Database) {
                    if isArmed { #expect(throws: Never.self) { try other.transaction(.immediate) { _ in .rollback } } }
                    isArmed = false
                }
            }
            let stage = try Stage()
            let pool = try stage.pool()
            let sharing = try stage.share(pool)
            let center = try stage.center()
            let marker = CommitPayload(counter: 0, journal: "in the commit", pages: 0)
            let interposer = Interposer(try stage.pool { $0.busyMode = .immediateError }) {
                try center.post(name: sharing.name, payload: .init(encoding: marker))
            }
            pool.add(transactionObserver: interposer)
            var commits = try stage.commits(sharing)
            try pool.unsafeReentrantWrite { db in
                interposer.isArmed = true
                try db.execute(sql: "INSERT INTO track (title) VALUES ('a')")
            }
            expectEqual(try await commits.next().payload.decode(CommitPayload.self).journal, "in the commit")
            expectEqual(try await commits.next().payload.decode(CommitPayload.self).tables, ["track": ["insert"]])
        }

        @Test func aRefreshNeedsNoWriteLock() async throws {
            let stage = try Stage()
            let (pool, writer) = (try stage.pool { $0.busyMode = .immediateError }, try stage.pool())
            let sharing = try stage.share(pool)
            let center = try stage.center()
            pool.drain()
            let before = sharing.sharing.refreshes
            try writer.transaction(.immediate) { _ in
                try center.post(name: sharing.name)
                while sharing.sharing.refreshes == before { usleep(100) }
                return .rollback
            }
        }

        @Test func aRefreshIsNotPosted() async throws {
            let stage = try Stage()
            let (one, other) = (try stage.pool(), try stage.pool())
            let sharings = try [stage.share(one), stage.share(other)]
            var commits = try stage.commits(sharings[0])
            var counts = [try await one.counts(), try await other.counts()]
            for count in 1...10 {
                try (count % 2 == 0 ? one : other).insert()
                for index in counts.indices { try await counts[index].reach(count) }
            }
            one.drain()
            other.drain()
            try one.mark()
            expectEqual(try await commits.throughMarker().count, 10)
            // Its own commits don't refresh a process: once at the start, and at most once for each other commit.
            for sharing in sharings { #expect(sharing.sharing.refreshes <= 1 + 5 + 1) }
        }

        @Test func aCommitBeforeTheSharingIsSeen() async throws {
            let stage = try Stage()
            let (one, other) = (try stage.pool(), try stage.pool())
            var counts = try await other.counts()
            try one.insert()
            let sharing = try stage.share(other)
            try await counts.reach(1)
            withExtendedLifetime(sharing) {}
        }

        @Test func commitsThatArriveWhileTheWriterIsBusyAreOneRefresh() async throws {
            let stage = try Stage()
            let (one, other) = (try stage.pool(), try stage.pool())
            let sharings = try [stage.share(one), stage.share(other)]
            var counts = try await other.counts()
            other.drain()
            let before = sharings[1].sharing.refreshes
            var commits = try stage.commits(sharings[0])
            // The observers of a center object are called in order, so the last commit has been received, too.
            other.unsafeReentrantWrite { _ in
                for _ in 1...50 { try! one.insert() }
                while sharings[1].sharing.received < 50 { usleep(100) }
            }
            try await counts.reach(50)
            other.drain()
            #expect(sharings[1].sharing.refreshes == before + 1)
            try one.mark()
            expectEqual(try await commits.throughMarker().count, 50)
        }

        @Test func changesThatTheProgramNotifiesItselfArePostedWithItsCommit() async throws {
            let stage = try Stage()
            let pool = try stage.pool()
            let sharing = try stage.share(pool)
            var commits = try stage.commits(sharing)
            try await pool.write { db in
                try db.execute(sql: "INSERT INTO album (title) VALUES ('a')")
                try db.notifyChanges(in: Table("track"))
            }
            let tables = try await commits.next().payload.decode(CommitPayload.self).tables
            #expect(tables.map { Set($0.keys) } == ["album", "track"])
        }

        /// GRDB lets an observer write when it is told of a commit.
        @Test func aCommitIsPostedIfAnotherObserverRollsBackBeforeTheSharingIsTold() async throws {
            final class Writer: TransactionObserver {
                var isWriting = true
                func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
                func databaseDidChange(with event: DatabaseEvent) {}
                func databaseDidRollback(_ db: Database) {}
                func databaseDidCommit(_ db: Database) {
                    if isWriting { return }
                    isWriting = true
                    defer { isWriting = false }
                    try! db.inTransaction {
                        try db.execute(sql: "INSERT INTO album (title) VALUES ('b')")
                        return .rollback
                    }
                    try! db.inTransaction {
                        try db.execute(sql: "DELETE FROM word")
                        return .commit
                    }
                }
            }
            let stage = try Stage()
            let pool = try stage.pool()
            try pool.mark()
            let writer = Writer()
            pool.add(transactionObserver: writer)
            let sharing = try stage.share(pool)
            // After the refresh at the start, which ends with a call, too.
            pool.unsafeReentrantWrite { _ in writer.isWriting = false }
            var commits = try stage.commits(sharing)
            try pool.insert()
            expectEqual(try await commits.next().payload.decode(CommitPayload.self).tables, ["track": ["insert"]])
            expectEqual(try await commits.next().payload.decode(CommitPayload.self).tables, ["word": ["delete"]])
            withExtendedLifetime(writer) {}
        }

        @Test func anObservationFollowsASchemaThatAnotherConnectionChanges() async throws {
            let stage = try Stage()
            let (one, other) = (try stage.pool(), try stage.pool())
            let sharings = try [stage.share(one), stage.share(other)]
            var counts = try await other.counts()
            try one.execute(
                """
                ALTER TABLE track RENAME TO old;
                CREATE TABLE track (id INTEGER, title TEXT, year INTEGER);
                INSERT INTO track (year) VALUES (1959)
                """)
            try await counts.reach(1)
            try one.insert()
            try await counts.reach(2)
            expectEqual(try await other.write { db in try db.columns(in: "track").count }, 3)
            // GRDB's value observations ignore the table of the schema. Other observers can ask for it.
            final class Schema: TransactionObserver {
                let (changes, changed) = AsyncStream<Void>.makeStream()
                func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { kind.tableName == "sqlite_master" }
                func databaseDidChange() { changed.yield() }
                func databaseDidChange(with event: DatabaseEvent) {}
                func databaseDidCommit(_ db: Database) {}
                func databaseDidRollback(_ db: Database) {}
            }
            let schema = Schema()
            other.add(transactionObserver: schema)
            try one.execute("CREATE TABLE new (title TEXT)")
            for await _ in schema.changes { break }
            withExtendedLifetime(sharings) {}
        }

        /// The extension reports the tables that SQLite's pre-update hook names.
        @Test func aTableOfAVirtualTableTriggersTheVirtualTable() async throws {
            let stage = try Stage()
            let pool = try stage.pool()
            try pool.execute("CREATE VIRTUAL TABLE text USING fts5(body)")
            let sharing = try stage.share(pool)
            pool.drain()
            var counts = try await pool.counts("text")
            let writer = try stage.pool()
            try writer.execute("INSERT INTO text VALUES ('so what')")
            try stage.center().post(
                name: sharing.name,
                payload: .init(
                    encoding: CommitPayload(
                        counter: 9, journal: "wal", pages: 4, tables: ["text_content": ["insert"], "nothing": []])))
            try await counts.reach(1)
        }
    }
#endif
