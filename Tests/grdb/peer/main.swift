// The other process of the tests of TidingsGRDB: opens a database, shares it, and does what its input says.
#if GRDB
    import Foundation
    import GRDB
    import GRDBSQLite
    import Synchronization
    import Tidings
    import TidingsGRDB

    /// Ends the process during a commit, before the sharing learns of it.
    final class Killer: TransactionObserver {
        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
        func databaseDidChange(with event: DatabaseEvent) {}
        var isArmed = false
        func databaseDidCommit(_ db: Database) { if isArmed { kill(getpid(), SIGKILL) } }
        func databaseDidRollback(_ db: Database) {}
    }

    /// Fetches the first value at once, so that the observation's beginning is scheduled on the writer then.
    struct BeginsAtOnce: ValueObservationScheduler {
        let queue = DispatchQueue(label: "values")
        func immediateInitialValue() -> Bool { true }
        func schedule(_ action: @escaping @Sendable () -> Void) { queue.async(execute: action) }
    }

    func say(_ line: String) {
        let line = Array((line + "\n").utf8)
        _ = write(STDOUT_FILENO, line, line.count)
    }

    /// Loads the extension TidingsSQLite, which posts the commits of connections that are opened afterwards.
    func load(_ path: String) throws {
        let queue = try DatabaseQueue()
        let why = queue.unsafeReentrantWrite { db -> String? in
            var error: UnsafeMutablePointer<CChar>?
            sqlite3_enable_load_extension(db.sqliteConnection, 1)
            let result = sqlite3_load_extension(db.sqliteConnection, path, nil, &error)
            return result == SQLITE_OK ? nil : error.map { String(cString: $0) } ?? "error \(result)"
        }
        if let why { say("error: can't load \(path): \(why)") }
    }

    if let path = ProcessInfo.processInfo.environment["LOADED_EXTENSION"] { try load(path) }
    let (path, directory) = (CommandLine.arguments[1], CommandLine.arguments[2])
    var configuration = GRDB.Configuration()
    configuration.busyMode = .timeout(60)
    let pool = try DatabasePool(path: path, configuration: configuration)
    let killer = Killer()
    // Before the sharing, so that it is told first.
    pool.add(transactionObserver: killer)
    let sharing = try DatabaseSharing(pool, configuration: .init(directory: directory)) { say("error \($0.message)") }
    let count = Mutex(-1)
    let changed = DispatchSemaphore(value: 0)
    // Reacts to each change with a write that changes nothing, as idempotent handlers do.
    let observation = ValueObservation.tracking { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM track") ?? -1 }
    let observer = observation.start(
        in: pool, scheduling: BeginsAtOnce(), onError: { say("error \($0)") },
        onChange: { value in
            try? pool.write { db in try db.execute(sql: "UPDATE track SET title = title WHERE title = 'none'") }
            count.withLock { $0 = value }
            changed.signal()
        })

    // From here on the observation sees a commit of another process only if the sharing refreshes.
    pool.unsafeReentrantWrite { _ in }

    while let line = readLine() {
        let words = line.split(separator: " ")
        switch words[0] {
        case "die":
            // In one access: a refresh is a transaction, too.
            try pool.unsafeReentrantWrite { db in
                killer.isArmed = true
                try db.execute(sql: "INSERT INTO track (title) VALUES ('the last one')")
            }
        case "insert":
            for number in 0..<Int(words[1])! {
                try pool.write { db in
                    try db.execute(sql: "INSERT INTO track (title) VALUES (?)", arguments: ["\(getpid()) \(number)"])
                }
            }
        case "reach":
            while count.withLock({ $0 }) != Int(words[1])! { changed.wait() }
            say("reached \(words[1])")
        case "refreshes":
            pool.unsafeReentrantWrite { _ in }
            say("\(sharing.sharing.refreshes)")
        default: say("unknown command: \(line)")
        }
    }
    withExtendedLifetime((observer, killer)) { sharing.cancel() }
#endif
