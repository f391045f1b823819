// The figures of TidingsGRDB: `TIDINGS_GRDB_ALONE=1 swift run -c release --traits GRDB --scratch-path .build-grdb
// GRDBFigures`. Starts itself as the other processes.
#if GRDB
    import Foundation
    import GRDB
    import Synchronization
    import Tidings
    import TidingsGRDB

    func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    func say(_ line: String) {
        let line = Array((line + "\n").utf8)
        _ = write(STDOUT_FILENO, line, line.count)
    }

    func microseconds(_ nanoseconds: UInt64) -> String { String(format: "%.1f µs", Double(nanoseconds) / 1000) }

    func quantiles(_ times: [UInt64]) -> String {
        let sorted = times.sorted()
        return "median \(microseconds(sorted[sorted.count / 2])), p99 \(microseconds(sorted[sorted.count * 99 / 100]))"
    }

    func open(_ folder: String) throws -> (DatabasePool, Center.Configuration) {
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(60)
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = NORMAL") }
        return (try DatabasePool(path: folder + "/figures.db", configuration: configuration), .init(directory: folder))
    }

    func insert(_ pool: DatabasePool) throws {
        try pool.write { db in try db.execute(sql: "INSERT INTO entry (at) VALUES (?)", arguments: [Int64(now())]) }
    }

    typealias Center = SharedNotificationCenter

    /// Prints for each new value how long ago its row was inserted, and answers each line with its context switches.
    func observe(_ folder: String) throws {
        let (pool, centers) = try open(folder)
        let sharing = try DatabaseSharing(pool, configuration: centers)
        let observation = ValueObservation.tracking { db in
            try Int64.fetchOne(db, sql: "SELECT at FROM entry ORDER BY id DESC LIMIT 1") ?? 0
        }
        let observer = observation.start(
            in: pool, scheduling: .async(onQueue: DispatchQueue(label: "values")), onError: { say("error \($0)") },
            onChange: { at in say(at == 0 ? "ready" : "\(now() - UInt64(at))") })
        var last: [String: Int] = [:]
        while readLine() != nil {
            // Since the last command, by threads that are still there.
            let current = switches()
            say("switches \(current.reduce(0) { $0 + $1.value - (last[$1.key] ?? 0) })")
            last = current
        }
        withExtendedLifetime((sharing, observer)) {}
    }

    /// The context switches of each thread but the caller, which reads commands.
    func switches() -> [String: Int] {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return Dictionary(
            uniqueKeysWithValues: threads.filter { $0 != "\(getpid())" }.map { thread in
                let status = (try? String(contentsOfFile: "/proc/self/task/\(thread)/status", encoding: .utf8)) ?? ""
                let counts = status.split(separator: "\n").filter { $0.contains("ctxt_switches") }
                return (thread, counts.compactMap { Int($0.split(separator: "\t").last ?? "") }.reduce(0, +))
            })
    }

    final class Other {
        let process = Process()
        private let input = Pipe(), output = Pipe()
        private var rest = Data()

        init(_ arguments: [String]) throws {
            process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            process.arguments = arguments
            process.standardInput = input
            process.standardOutput = output
            try process.run()
        }

        func send(_ line: String) { input.fileHandleForWriting.write(Data((line + "\n").utf8)) }

        func line() -> String {
            while true {
                if let end = rest.firstIndex(of: 10) {
                    defer { rest = Data(rest[(end + 1)...]) }
                    return String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
                }
                let data = output.fileHandleForReading.availableData
                if data.isEmpty { return "" }
                rest += data
            }
        }

        func end() {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
        }
    }

    func figures() throws {
        let folder = "/dev/shm/tidings-figures-\(getpid())"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (pool, centers) = try open(folder)
        try pool.write { db in try db.execute(sql: "CREATE TABLE entry (id INTEGER PRIMARY KEY, at INTEGER)") }

        // 1. From the commit here to a value there. The row has the time before its transaction.
        let other = try Other(["observe", folder])
        var line = other.line()
        while line != "ready" { line = other.line() }
        var sharing: DatabaseSharing? = try DatabaseSharing(pool, configuration: centers)
        var times: [UInt64] = []
        for _ in 0..<2000 {
            try insert(pool)
            var time: UInt64?
            while time == nil {
                let line = other.line()
                if line.isEmpty { throw CocoaError(.fileReadUnknown) }
                time = UInt64(line)
            }
            times.append(time!)
            usleep(500)
        }
        say("from before a commit to a value in another process: \(quantiles(times))")

        // 2. What a commit costs more, without another process; by turns.
        other.end()
        var (without, with): ([UInt64], [UInt64]) = ([], [])
        for round in 0..<40 {
            sharing = round % 2 == 0 ? nil : try DatabaseSharing(pool, configuration: centers)
            pool.unsafeReentrantWrite { _ in }
            for _ in 0..<500 {
                let start = now()
                try insert(pool)
                if sharing == nil { without.append(now() - start) } else { with.append(now() - start) }
            }
        }
        let medians = [without, with].map { $0.sorted()[$0.count / 2] }
        say("a commit without sharing: \(quantiles(without)); with: \(quantiles(with))")
        say("a commit costs \(microseconds(medians[1] &- min(medians[0], medians[1]))) more")
        sharing = nil

        // 3. Idle: ten processes, each with an observation, for ten seconds.
        let idle = try (0..<10).map { _ in try Other(["observe", folder]) }
        for other in idle { while UInt64(other.line()) == nil {} }
        // Dispatch ends its idle threads after five seconds.
        sleep(8)
        func switches() -> [Int] {
            idle.map { other in
                other.send("switches")
                var line = other.line()
                while !line.hasPrefix("switches") { line = other.line() }
                return Int(line.split(separator: " ")[1]) ?? -1
            }
        }
        _ = switches()
        sleep(10)
        say("ten idle processes in ten seconds: \(switches().reduce(0, +)) wake-ups")
        for other in idle { other.end() }
    }

    if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "observe" {
        try observe(CommandLine.arguments[2])
    } else {
        try figures()
    }
#endif
