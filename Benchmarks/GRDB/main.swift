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

    /// Returns the time that the row has.
    @discardableResult func insert(_ pool: DatabasePool) throws -> Int64 {
        let at = Int64(now())
        try pool.write { db in try db.execute(sql: "INSERT INTO entry (at) VALUES (?)", arguments: [at]) }
        return at
    }

    typealias Center = SharedNotificationCenter

    /// How another process learns of a commit.
    enum Way: String, CaseIterable {
        case sharing, polling, redis
        var title: String {
            switch self {
            case .sharing: "DatabaseSharing"
            case .polling: "a thread that polls data_version every 1 ms, and notifyChanges(in: .fullDatabase)"
            case .redis: "a Redis publish after the commit, and notifyChanges(in: .fullDatabase)"
            }
        }
    }

    /// Prints for each new value its row's time and how long ago that was, and answers each line with its context
    /// switches.
    func observe(_ folder: String, _ way: Way) throws {
        let (pool, centers) = try open(folder)
        let sharing = way == .sharing ? try DatabaseSharing(pool, configuration: centers) : nil
        let redis = way == .redis ? try Redis(folder) : nil
        redis?.ask("SUBSCRIBE commits")
        let looker = try DatabaseQueue(path: folder + "/figures.db")
        let look: @Sendable () -> Int? = {
            try? looker.read { db in try Int.fetchOne(db, sql: "PRAGMA data_version") }
        }
        let first = look()
        let observation = ValueObservation.tracking { db in
            try Int64.fetchOne(db, sql: "SELECT at FROM entry ORDER BY id DESC LIMIT 1") ?? 0
        }
        let observer = observation.start(
            in: pool, scheduling: .async(onQueue: DispatchQueue(label: "values")), onError: { say("error \($0)") },
            onChange: { at in say("\(at) \(now() - UInt64(at))") })
        let refresh: @Sendable () -> Void = { try? pool.write { db in try db.notifyChanges(in: .fullDatabase) } }
        if way == .polling {
            Thread {
                var last = first
                while true {
                    let version = look()
                    if last != version { refresh() }
                    last = version
                    usleep(1000)
                }
            }.start()
        } else if let redis {
            Thread { while redis.receive() { refresh() } }.start()
        }
        var last: [String: Int] = [:]
        while readLine() != nil {
            // Since the last command, by threads that are still there.
            let current = switches()
            say("switches \(current.reduce(0) { $0 + $1.value - (last[$1.key] ?? 0) })")
            last = current
        }
        withExtendedLifetime((sharing, observer)) {}
    }

    /// A connection to the server that the figures start.
    final class Redis: @unchecked Sendable {
        // Sendable: one thread at a time uses the connection.
        private let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)

        init(_ folder: String) throws {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: (folder + "/redis").utf8) }
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            if result != 0 { throw CocoaError(.fileNoSuchFile) }
        }

        deinit { close(descriptor) }

        /// False: the server has ended.
        func receive() -> Bool {
            var bytes = [UInt8](repeating: 0, count: 512)
            return read(descriptor, &bytes, bytes.count) > 0
        }

        /// Waits for the reply, so that the next one is another's.
        func ask(_ line: String) {
            let line = Array((line + "\r\n").utf8)
            _ = write(descriptor, line, line.count)
            _ = receive()
        }
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

        // 1. From the commit here to a value there, by turns. The row has the time before its transaction.
        let server = Process()
        server.executableURL = URL(fileURLWithPath: "/usr/bin/redis-server")
        server.arguments = ["--port", "0", "--unixsocket", folder + "/redis", "--save", "", "--appendonly", "no"]
        server.standardOutput = FileHandle.nullDevice
        let hasRedis = (try? server.run()) != nil
        defer { if hasRedis { server.terminate() } }
        while hasRedis && server.isRunning && (try? Redis(folder)) == nil { usleep(1000) }
        if !hasRedis { say("redis-server is not installed: its row is left out") }
        var times: [Way: [UInt64]] = [:]
        for _ in 0..<5 {
            for way in Way.allCases where way != .redis || hasRedis {
                let other = try Other(["observe", folder, way.rawValue])
                let sharing = way == .sharing ? try DatabaseSharing(pool, configuration: centers) : nil
                let redis = way == .redis ? try Redis(folder) : nil
                _ = other.line()
                for number in 0..<420 {
                    let at = try insert(pool)
                    redis?.ask("PUBLISH commits x")
                    var words: [Substring] = []
                    while words.first != "\(at)" {
                        words = other.line().split(separator: " ")
                        if words.isEmpty { throw CocoaError(.fileReadUnknown) }
                    }
                    if number >= 20, let time = UInt64(words[1]) { times[way, default: []].append(time) }
                    // Not in step with the poll.
                    usleep(UInt32.random(in: 300...1300))
                }
                other.end()
                withExtendedLifetime(sharing) {}
            }
        }
        say("from before a commit to a value in another process, with")
        for way in Way.allCases { if let times = times[way] { say("  \(way.title): \(quantiles(times))") } }
        var sharing: DatabaseSharing?

        // 2. What a commit costs more, without another process; by turns.
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
        let idle = try (0..<10).map { _ in try Other(["observe", folder, Way.sharing.rawValue]) }
        for other in idle { _ = other.line() }
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

    let arguments = CommandLine.arguments
    if arguments.count == 4, arguments[1] == "observe", let way = Way(rawValue: arguments[3]) {
        try observe(arguments[2], way)
    } else {
        try figures()
    }
#endif
