#if GRDB
    import Foundation
    import GRDB
    import Synchronization
    import Testing
    import Tidings

    @testable import TidingsGRDB

    final class Failures: Sendable {
        private let failures = Mutex<[Failure]>([])
        var all: [Failure] { failures.withLock { $0 } }
        var codes: [Failure.Code] { all.map(\.code) }
        func add(_ failure: Failure) { failures.withLock { $0.append(failure) } }
    }

    @Suite(.timeLimit(.minutes(2)))
    struct BadInputTests {
        private func code(_ body: () throws -> DatabaseSharing) -> Failure.Code? {
            do {
                _ = try body()
                return nil
            } catch {
                let failure = error as? Failure
                #expect(failure?.message.contains("\n") == false)
                return failure?.code
            }
        }

        @Test func databasesThatCanNotBeSharedAreRefused() async throws {
            let stage = try Stage()
            let memory = try DatabaseQueue()
            #expect(code { try stage.share(memory) } == .invalidArgument)
            let temporary = try DatabaseQueue(path: "")
            #expect(code { try stage.share(temporary) } == .invalidArgument)
            let readOnly = try stage.pool { $0.readonly = true }
            #expect(code { try stage.share(readOnly) } == .invalidArgument)
            let closed = try stage.pool()
            try closed.close()
            #expect(code { try stage.share(closed) } == .invalidArgument)
            let pool = try stage.pool()
            #expect(code { try stage.share(pool, name: "") } == .invalidName)
            #expect(code { try stage.share(pool, name: .init(String(repeating: "a", count: 256))) } == .invalidName)
            try FileManager.default.moveItem(atPath: stage.path, toPath: stage.folder + "/moved.db")
            #expect(code { try stage.share(pool) } == .removed)
            // Another file at the path.
            _ = try DatabaseQueue(path: stage.path)
            #expect(code { try stage.share(pool) } == .removed)
            try FileManager.default.removeItem(atPath: stage.folder + "/moved.db")
            #expect(code { try stage.share(pool) } == .removed)
        }

        @Test(arguments: ["nothing", "process", "file", "garbage"])
        func aCenterThatCanNotBeOpenedAffectsNoCommit(case kind: String) async throws {
            let stage = try Stage()
            let pool = try stage.pool()
            let directory =
                switch kind {
                case "process": "/proc/self"
                case "file": stage.path
                default: stage.folder + "/centers"
                }
            if kind == "garbage" {
                // The file of the center, as it is named.
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
                _ = try Center(named: "sqlite", configuration: .init(directory: directory))
                for file in try FileManager.default.contentsOfDirectory(atPath: directory) {
                    try Data(repeating: 7, count: 4096).write(to: URL(fileURLWithPath: directory + "/" + file))
                }
            }
            let failures = Failures()
            let sharing = try DatabaseSharing(pool, configuration: .init(directory: directory)) { failures.add($0) }
            #expect(!sharing.sharing.isConnected)
            #expect(failures.all.count == 1)
            #expect(failures.all.first?.message.contains("\n") == false)
            var counts = try await pool.counts()
            for count in 1...10 {
                try pool.insert()
                try await counts.reach(count)
            }
            #expect(failures.all.count == 1)
            if kind == "nothing" {
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
                while !sharing.sharing.isConnected { try pool.insert() }
                let other = try stage.pool()
                let second = try DatabaseSharing(other, configuration: .init(directory: directory))
                let count = try await other.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM track") ?? 0 }
                try other.insert()
                try await counts.reach(count + 1)
                withExtendedLifetime(second) {}
            }
        }

        /// Only its owner can create the center of the databases of a user.
        @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
        func aDatabaseOfAnotherUserIsUsedAsBefore() async throws {
            let stage = try Stage()
            let pool = try stage.pool()
            #expect(chown(stage.path, 65534, 65534) == 0)
            let failures = Failures()
            let sharing = try DatabaseSharing(pool, configuration: stage.centers) { failures.add($0) }
            #expect(!sharing.sharing.isConnected)
            var counts = try await pool.counts()
            for count in 1...10 {
                try pool.insert()
                try await counts.reach(count)
            }
            #expect(failures.all.count == 1)
            #expect(failures.all.first?.message.contains(stage.path) == true)
        }

        @Test func garbageInTheCenterIsARefreshAndNothingElse() async throws {
            let stage = try Stage()
            let (pool, writer) = (try stage.pool(), try stage.pool())
            let sharing = try stage.share(pool)
            let center = try stage.center()
            var generator = Seeded(seed: 20_261_127)
            print("seed 20261127")
            let name = sharing.name
            var counts = try await pool.counts()
            for round in 1...200 {
                let bytes = (0..<Int.random(in: 0...300, using: &generator)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                }
                let format = [Center.PayloadFormat.cbor, .json, .bytes, .text].randomElement(using: &generator)!
                try center.post(name: name, payload: .init(format: format, bytes: bytes))
                // Correct CBOR with names that are none.
                let table = ["", "\"; DROP TABLE track; --", "sqlite_sequence", "träck", "\u{0}", "TRACK"]
                    .randomElement(using: &generator)!
                try center.post(
                    name: name,
                    payload: .init(
                        encoding: CommitPayload(
                            counter: .max, journal: "?", pages: 0, tables: [table: ["x"], "nothing": []])))
                if round % 20 == 0 {
                    // Of a connection without sharing: only what is posted by hand refreshes.
                    try writer.insert()
                    try center.post(name: name, payload: .init(format: .cbor, bytes: [0xff]))
                    try await counts.reach(round / 20)
                }
            }
            // More tables than a process of this library posts, and a map that does not end.
            let many = Dictionary(uniqueKeysWithValues: (0..<100_000).map { ("table \($0)", ["insert"]) })
            try center.post(
                name: name,
                payload: .init(encoding: CommitPayload(counter: 1, journal: "wal", pages: 1, tables: many)))
            try center.post(name: name, payload: .init(format: .cbor, bytes: Array(repeating: 0xa1, count: 4000)))
            try writer.insert()
            try center.post(name: name)
            try await counts.reach(11)
            #expect(
                try pool.unsafeReentrantWrite { db in try String.fetchOne(db, sql: "PRAGMA integrity_check") } == "ok")
        }

        @Test func aSharingGoesOnInTheNextCenter() async throws {
            let stage = try Stage()
            let (one, other) = (try stage.pool(), try stage.pool())
            let sharings = try [stage.share(one), stage.share(other)]
            var counts = try await other.counts()
            for count in 1...10 {
                try Center.remove(named: "sqlite", configuration: stage.centers)
                // Some processes are on their way to a center that is removed before they arrive.
                if count % 2 == 0 {
                    _ = try stage.center()
                    try Center.remove(named: "sqlite", configuration: stage.centers)
                }
                try one.insert()
                try await counts.reach(count)
            }
            withExtendedLifetime(sharings) {}
        }

        @Test func aRefusedPostIsReportedOnce() async throws {
            let stage = try Stage()
            let pool = try stage.pool()
            let failures = Failures()
            var small = stage.centers
            small.slots = 256
            let sharing = try DatabaseSharing(pool, configuration: small) { failures.add($0) }
            let center = try stage.center()
            let lossless = try center.pollableObserver(
                forNames: .init([sharing.name]), options: .init(lossless: true))
            var count = 0
            while failures.all.isEmpty {
                try pool.insert()
                count += 1
            }
            try pool.insert()
            #expect(failures.codes == [.full])
            // The commits were not affected.
            #expect(
                try pool.unsafeReentrantWrite { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM track") }
                    == count + 1)
            for _ in 1..<count { _ = try lossless.next() }
            try pool.insert()
            try pool.mark()
            var tables: [[String: [String]]?] = []
            while case .notification(let notification)? = try lossless.next() {
                tables.append(try notification.payload.decode(CommitPayload.self).tables)
            }
            #expect(tables == [nil, ["word": ["insert"]]])
        }

        @Test func aFileThatIsReplacedWhileItIsOpenIsReported() async throws {
            let stage = try Stage()
            let pool = try stage.pool()
            let failures = Failures()
            let sharing = try DatabaseSharing(pool, configuration: stage.centers) { failures.add($0) }
            var commits = try stage.commits(sharing)
            try FileManager.default.removeItem(atPath: stage.path)
            while failures.all.isEmpty { try pool.insert() }
            #expect(failures.codes == [.removed])
            // A process that has the same file open is still told.
            expectEqual(try await commits.next().payload.decode(CommitPayload.self).tables, ["track": ["insert"]])
            // The new file has another name.
            _ = try Stage.database(at: stage.path)
            let new = try stage.share(try stage.pool())
            #expect(new.name != sharing.name)
        }

        @Test func aRefreshWaitsForTheEndOfAnOpenTransaction() async throws {
            let stage = try Stage()
            let (one, other) = (try stage.pool(), try stage.pool { $0.allowsUnsafeTransactions = true })
            let sharings = try [stage.share(one), stage.share(other)]
            var counts = try await other.counts()
            for (count, end) in [(1, "COMMIT"), (2, "ROLLBACK")] {
                try other.unsafeReentrantWrite { db in try db.execute(sql: "BEGIN DEFERRED") }
                let received = sharings[1].sharing.received
                try one.insert()
                while sharings[1].sharing.received == received { usleep(100) }
                other.drain()
                #expect(other.unsafeReentrantWrite { db in db.isInsideTransaction })
                try other.unsafeReentrantWrite { db in try db.execute(sql: end) }
                try await counts.reach(count)
            }
        }

        /// The refresh fails because the database is locked. No commit follows that would be posted.
        @Test func aRefreshThatFindsTheDatabaseLockedIsRepeated() async throws {
            let stage = try Stage()
            let writer = try stage.queue()
            try writer.executeAlone("PRAGMA journal_mode = delete")
            let queue = try stage.queue { $0.busyMode = .immediateError }
            let sharing = try stage.share(queue)
            queue.drain()
            var counts = try await queue.counts()
            let center = try stage.center()
            try writer.unsafeReentrantWrite { db in
                try db.execute(sql: "BEGIN EXCLUSIVE; INSERT INTO track (title) VALUES ('a')")
                try center.post(name: sharing.name)
                while sharing.sharing.received == 0 { usleep(100) }
                queue.drain()
                try db.execute(sql: "COMMIT")
            }
            try await counts.reach(1)
        }

        @Test func aClosedDatabaseAndACancelledSharingAreQuiet() async throws {
            let stage = try Stage()
            let (one, other, third) = (try stage.pool(), try stage.pool(), try stage.pool())
            let sharings = try [stage.share(one), stage.share(other), stage.share(third)]
            other.drain()
            third.drain()
            let before = sharings[2].sharing.refreshes
            try other.close()
            sharings[2].cancel()
            sharings[2].cancel()
            var commits = try stage.commits(sharings[0])
            try third.insert()
            try one.mark()
            expectEqual(try await commits.throughMarker(), [])
            while sharings[1].sharing.received < 1 { usleep(100) }
            third.drain()
            #expect(sharings[2].sharing.refreshes == before)
        }

        /// In no mode does looking at the change counter create a file.
        @Test func theJournalModeCanChange() async throws {
            let stage = try Stage()
            let queue = try stage.queue()
            let sharing = try stage.share(queue)
            var commits = try stage.commits(sharing)
            for mode in ["delete", "wal", "truncate", "wal", "memory", "wal", "off", "delete"] {
                try queue.executeAlone("PRAGMA journal_mode = \(mode)")
                if mode != "wal" { #expect(!FileManager.default.fileExists(atPath: stage.path + "-shm")) }
                try queue.insert()
                try queue.insert()
                try queue.mark()
                let posted = try await commits.throughMarker()
                // A change of the mode may be a commit, of which no table is known.
                expectEqual(posted.filter { $0 != nil }, [["track": ["insert"]], ["track": ["insert"]]])
                #expect(FileManager.default.fileExists(atPath: stage.path + "-shm") == (mode == "wal"))
            }
        }

        @Test func withExclusiveLockingCommitsArePostedAndCreateNoFile() async throws {
            let stage = try Stage()
            let queue = try stage.queue { configuration in
                configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA locking_mode = exclusive") }
            }
            let sharing = try stage.share(queue)
            var commits = try stage.commits(sharing)
            try queue.insert()
            expectEqual(try await commits.next().payload.decode(CommitPayload.self).tables, ["track": ["insert"]])
            #expect(!FileManager.default.fileExists(atPath: stage.path + "-shm"))
        }
    }

    /// One at a time: the notifications suspend every database of the process that observes them.
    @Suite(.serialized, .timeLimit(.minutes(10)))
    struct SuspensionTests {
        @Test func aSuspendedDatabaseIsRefreshedWhenItResumes() async throws {
            let stage = try Stage()
            let (one, other) = (try stage.pool(), try stage.pool { $0.observesSuspensionNotifications = true })
            let sharings = try [stage.share(one), stage.share(other)]
            var counts = try await other.counts()
            other.drain()
            let before = sharings[1].sharing.refreshes
            NotificationCenter.default.post(name: Database.suspendNotification, object: nil)
            for _ in 1...5 { try one.insert() }
            while sharings[1].sharing.received < 5 { usleep(100) }
            other.drain()
            #expect(sharings[1].sharing.refreshes == before)
            NotificationCenter.default.post(name: Database.resumeNotification, object: nil)
            try await counts.reach(5)
            other.drain()
            #expect(sharings[1].sharing.refreshes == before + 1)
        }

        /// Without a WAL a suspended database executes nothing, so refreshes fail until it resumes.
        @Test func aDatabaseThatIsSuspendedBeforeItIsSharedIsRefreshedWhenItResumes() async throws {
            let stage = try Stage()
            let writer = try stage.queue()
            try writer.executeAlone("PRAGMA journal_mode = delete")
            let queue = try stage.queue { $0.observesSuspensionNotifications = true }
            var counts = try await queue.counts()
            NotificationCenter.default.post(name: Database.suspendNotification, object: nil)
            let sharings = try [stage.share(writer), stage.share(queue)]
            try writer.insert()
            while sharings[1].sharing.received == 0 { usleep(100) }
            queue.drain()
            #expect(sharings[1].sharing.refreshes == 0)
            NotificationCenter.default.post(name: Database.resumeNotification, object: nil)
            try await counts.reach(1)
        }
    }

    /// The same numbers for the same seed.
    struct Seeded: RandomNumberGenerator {
        private var state: UInt64
        init(seed: UInt64) { state = seed }
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }
#endif
