#if GRDB
    import ChildProcesses
    import Foundation
    import GRDB
    import Testing
    import Tidings

    @testable import TidingsGRDB

    typealias Center = SharedNotificationCenter
    typealias Failure = SharedNotificationError

    /// A database with the tables `track` and `album`, and a directory of centers, both of one test.
    final class Stage: Sendable {
        let folder: String
        let centers: Center.Configuration
        var path: String { folder + "/library.db" }

        init() throws {
            let stages = ProcessInfo.processInfo.environment["TIDINGS_GRDB_STAGES"] ?? "/dev/shm"
            folder = stages + "/tidings-tests-\(getpid())-\(UInt32.random(in: 0 ... .max))"
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            centers = .init(directory: folder)
            _ = try Self.database(at: path)
        }

        /// Creates the tables.
        static func database(at path: String) throws -> DatabasePool {
            let pool = try DatabasePool(path: path)
            try pool.execute(
                """
                CREATE TABLE track (id INTEGER PRIMARY KEY, title TEXT);
                CREATE TABLE album (id INTEGER PRIMARY KEY, title TEXT);
                CREATE TABLE word (text TEXT PRIMARY KEY) WITHOUT ROWID
                """)
            return pool
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func pool(_ path: String? = nil, _ change: (inout GRDB.Configuration) -> Void = { _ in }) throws -> DatabasePool
        {
            try DatabasePool(path: path ?? self.path, configuration: Self.configuration(change))
        }

        func queue(_ change: (inout GRDB.Configuration) -> Void = { _ in }) throws -> DatabaseQueue {
            try DatabaseQueue(path: path, configuration: Self.configuration(change))
        }

        private static func configuration(_ change: (inout GRDB.Configuration) -> Void) -> GRDB.Configuration {
            var configuration = GRDB.Configuration()
            configuration.busyMode = .timeout(60)
            change(&configuration)
            return configuration
        }

        /// Fails the test if the sharing reports an error. Keeps this object, and so the files, as long as it exists.
        func share(_ writer: any DatabaseWriter, name: Center.Name? = nil) throws -> DatabaseSharing {
            try DatabaseSharing(writer, name: name, configuration: centers) { [self] failure in
                Issue.record("\(failure.message) in \(folder)")
            }
        }

        func center() throws -> Center { try Center(named: "sqlite", configuration: centers) }

        /// What is posted for this database from here on.
        func commits(_ sharing: DatabaseSharing) throws -> Commits {
            Commits(iterator: try center().deliveries(ofNames: .init([sharing.name]), bufferSize: 100_000).register())
        }
    }

    struct Commits {
        var iterator: Center.ObservedSequence<Center.RawDelivery>.Iterator

        mutating func next() async throws -> Center.Notification {
            guard case .notification(let notification)? = await iterator.next() else { throw Unexpected() }
            return notification
        }

        /// Reads commits up to one that inserts into `word` alone, which the caller has made.
        mutating func throughMarker() async throws -> [[String: [String]]?] {
            var all: [[String: [String]]?] = []
            while true {
                let tables = try await next().payload.decode(CommitPayload.self).tables
                if tables == ["word": ["insert"]] { return all }
                all.append(tables)
            }
        }
    }

    struct Unexpected: Error {}

    /// `#expect` with an `await` in it prints no values.
    func expectEqual<Value: Equatable>(
        _ received: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(received == expected, sourceLocation: sourceLocation)
    }

    extension DatabaseWriter {
        // Not asynchronous: a test continues when the commit has been posted.
        func execute(_ sql: String) throws { try write { db in try db.execute(sql: sql) } }

        func insert(into table: String = "track") throws {
            try execute("INSERT INTO \(table) (title) VALUES ('So What')")
        }

        func transaction(_ kind: Database.TransactionKind, _ body: (Database) throws -> Database.TransactionCompletion)
            throws
        {
            try writeWithoutTransaction { db in try db.inTransaction(kind) { try body(db) } }
        }

        /// Executes statements outside of a transaction.
        func executeAlone(_ sql: String) throws { try writeWithoutTransaction { db in try db.execute(sql: sql) } }

        /// A commit that ``Commits/throughMarker()`` recognizes.
        func mark() throws {
            try write { db in
                try db.execute(sql: "INSERT INTO word VALUES (?)", arguments: [UUID().uuidString])
            }
        }

        /// The values of an observation of how many rows a table has. The first one is there, and the observation has
        /// begun: a commit of another connection is seen only if the sharing refreshes.
        func counts(_ table: String = "track") async throws -> Counts {
            var counts = Counts(
                iterator: ValueObservation.tracking { db in
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? -1
                }.values(in: self, scheduling: BeginsAtOnce()).makeAsyncIterator())
            counts.last = try await counts.iterator.next() ?? -1
            drain()
            return counts
        }

        /// Waits until what was scheduled on the writer before has run.
        func drain() { unsafeReentrantWrite { _ in } }
    }

    /// Fetches the first value where the observation is started, so that its beginning is scheduled on the writer then.
    /// A pool's observation would otherwise begin after its first value, and look for changes in between.
    struct BeginsAtOnce: ValueObservationScheduler {
        let queue = DispatchQueue(label: "values")
        func immediateInitialValue() -> Bool { true }
        func schedule(_ action: @escaping @Sendable () -> Void) { queue.async(execute: action) }
    }

    struct Counts {
        var iterator: AsyncValueObservation<Int>.Iterator
        var last = -1
        /// Values since the first one.
        var values = 0

        /// Waits until the observation has this value.
        mutating func reach(_ count: Int) async throws {
            while last != count {
                guard let next = try await iterator.next() else { throw Unexpected() }
                last = next
                values += 1
            }
        }
    }

    /// Another process, with commands on its standard input and answers on its standard output.
    final class Peer: @unchecked Sendable {
        // Sendable: the test uses a peer from one task at a time.
        let process: ChildProcess
        private let output: UnsafeMutablePointer<FILE>
        private let input: Int32

        /// - Parameter executable: `nil`: the peer of these tests.
        init(_ arguments: [String], executable: String? = nil, environment: [String: String] = [:]) throws {
            // A peer that has died can't be written to. Children have the default.
            signal(SIGPIPE, SIG_IGN)
            let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let peer = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("GRDBPeer")
                .path
            let (input, output) = (try PipeEnds(), try PipeEnds())
            process = try ChildProcess.start(
                executable ?? peer, arguments, environment: environment, input: input.reading, output: output.writing,
                keepsOthers: false)
            close(input.reading)
            close(output.writing)
            self.input = input.writing
            self.output = fdopen(output.reading, "r")
        }

        deinit {
            close(input)
            process.send(SIGKILL)
            _ = process.waitUntilEnded()
            fclose(output)
        }

        func send(_ line: String) {
            let line = Array((line + "\n").utf8)
            _ = write(input, line, line.count)
        }

        /// The next line; `nil`: the process has ended.
        func line() async -> String? {
            await withCheckedContinuation { continuation in
                Thread { [self] in
                    var line: UnsafeMutablePointer<CChar>?
                    var capacity = 0
                    let count = getline(&line, &capacity, output)
                    let text = count > 0 ? String(cString: line!).trimmingCharacters(in: .newlines) : nil
                    free(line)
                    continuation.resume(returning: text)
                }.start()
            }
        }
    }
#endif
