import Foundation
import GRDB
import Tidings
import TidingsGRDB

/// A job that a worker has claimed.
struct Job: Decodable, FetchableRecord {
    var id: Int64
    var task: String
    var worker: Int64
}

/// How many jobs are in each state.
struct Counts: Decodable, FetchableRecord {
    var queued: Int
    var running: Int
    var done: Int
}

/// The table `job` of a SQLite file that other processes use, too.
struct JobQueue: Sendable {
    let database: DatabasePool
    /// While it exists, the observations of `database` see the commits of other processes.
    let sharing: DatabaseSharing
    /// Where the workers of this file announce themselves.
    let workers: SharedNotificationCenter

    init(path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)  // seconds that a transaction may wait for those of other processes
        // SQLite does not wait if several processes switch a new file to WAL at once.
        let lock = open("\(path).lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o644)
        defer { close(lock) }
        guard lock >= 0, flock(lock, LOCK_EX) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }

        database = try DatabasePool(path: path, configuration: configuration)
        try database.write { db in try db.execute(sql: String(decoding: PackageResources.schema_sql, as: UTF8.self)) }
        sharing = try DatabaseSharing(database)
        workers = try SharedNotificationCenter(named: "jobs.\(sharing.name)", configuration: .init(followsName: true))
    }

    /// Claims the oldest queued job. One transaction finds and takes it, so no two workers claim the same job.
    func claim(for worker: UInt64) async throws -> Job? {
        try await database.write { db in
            try Job.fetchAll(
                db,
                sql: """
                    UPDATE job SET state = 'running', worker = ?
                    WHERE id = (SELECT id FROM job WHERE state = 'queued' ORDER BY id LIMIT 1)
                    RETURNING id, task, worker
                    """,
                arguments: [Int64(bitPattern: worker)]
            ).first
        }
    }

    /// Stores a result. False: the job was released meanwhile, because its worker seemed dead. Then the result of the
    /// worker that claims it next is the one that counts.
    func finish(_ job: Job, _ result: String) async throws -> Bool {
        try await database.write { db in
            try db.execute(
                sql: "UPDATE job SET state = 'done', result = ? WHERE id = ? AND worker = ? AND state = 'running'",
                arguments: [result, job.id, job.worker])
            return db.changesCount == 1
        }
    }

    /// Queues the jobs again that a worker had claimed and not finished.
    func release(jobsOf worker: UInt64) async throws {
        try await database.write { db in
            try db.execute(
                sql: "UPDATE job SET state = 'queued', worker = NULL WHERE worker = ? AND state = 'running'",
                arguments: [Int64(bitPattern: worker)])
        }
    }

    /// The workers that have claimed a job and not finished it. Some of them may be dead.
    func busyWorkers() async throws -> Set<UInt64> {
        try await database.read { db in
            let busy = try Int64.fetchAll(db, sql: "SELECT worker FROM job WHERE state = 'running'")
            return Set(busy.map(UInt64.init(bitPattern:)))
        }
    }

    /// The counts, now and after each commit of any process that changes them.
    func counts() -> AsyncValueObservation<Counts> {
        // No job is ever deleted, so the last ID is the number of jobs. Counting a million rows would take longer.
        let sql = """
            SELECT queued, running, jobs - queued - running AS done FROM (
                SELECT (SELECT count(*) FROM job WHERE state = 'queued') AS queued,
                       (SELECT count(*) FROM job WHERE state = 'running') AS running,
                       (SELECT ifnull(max(id), 0) FROM job) AS jobs)
            """
        return ValueObservation.tracking { db in try Counts.fetchOne(db, sql: sql)! }
            .values(in: database, bufferingPolicy: .bufferingNewest(1))
    }
}
