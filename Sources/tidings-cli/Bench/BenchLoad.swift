import ArgumentParser
import CTidingsBench
import Foundation
import Tidings

/// A run of several real processes on a center of their own.
struct BenchLoad {
    /// The role of each process.
    var roles: [BenchWorker.Role]
    /// Bytes of each payload.
    var size: Int
    var seconds: Double
    var isLossless = false
    /// For how many nanoseconds receivers spin before they sleep; -1: as observers do by themselves.
    var spin: Int64 = -1
    /// From one post or call to the next, in nanoseconds; 0: as fast as possible.
    var gap: UInt64 = 0
    /// One of so many posts carries its time.
    var sampled: UInt32 = 1

    /// A payload begins with its time and its number.
    static let leastSize = 16

    /// What the processes did.
    struct Outcome {
        var processes: [Process]
        var latency: BenchHistogram
        /// From the begin of the load to its stop.
        var seconds: Double

        func sum(_ role: BenchWorker.Role, _ value: (Process) -> Double) -> Double {
            processes.filter { $0.role == role }.reduce(0) { $0 + value($1) }
        }
    }

    struct Process: Encodable {
        var role: BenchWorker.Role
        var pid: Int32
        var notifications: UInt64
        var perSecond: Double
        var missed: UInt64
        /// Posts that lossless observers held back for 100 ms, and that were tried again.
        var refused: UInt64
        /// The processor time of all its threads for each notification, in nanoseconds; missing if there were none.
        var processorNanoseconds: Double?
    }

    /// Runs the load in a new center of the stage.
    ///
    /// - Parameter progress: called some times per second with the part of the time that is over, and with what was
    ///   posted or called up to now.
    func run(on stage: BenchStage, progress: (Double, UInt64) throws -> Void) throws -> Outcome {
        let center = "load-\(UInt32.random(in: 0 ... .max))"
        // All processes find it with these sizes.
        let opened = try Center(
            named: center, configuration: .init(directory: stage.directory, maximumPayloadSize: max(size, 16 << 20)))
        let path = "\(stage.directory)/\(center).board"
        var made: OpaquePointer?
        try check(bench_board_open(path, true, UInt32(roles.count), &made), "can't make \(path)")
        let board = made!
        defer {
            bench_board_close(board)
            unlink(path)
            try? Center.remove(named: center, configuration: .init(directory: stage.directory))
            withExtendedLifetime(opened) {}
        }
        var (pids, ended) = ([Int32](), Set<Int>())
        defer {
            for (place, pid) in pids.enumerated() where !ended.contains(place) {
                bench_kill(pid)
                _ = bench_wait(pid, 10)
            }
        }
        for place in roles.indices { pids.append(try start(place, path, center)) }
        try waitUntilReady(board, pids)

        bench_board_begin(board)
        let began = monotonicSeconds()
        var elapsed = 0.0
        while elapsed < seconds {
            usleep(UInt32(min(0.1, seconds - elapsed) * 1e6))
            elapsed = monotonicSeconds() - began
            if let place = pids.indices.first(where: { bench_ended(pids[$0]) }) {
                throw Failure("the benchmark's \(roles[place].rawValue) \(pids[place]) ended before its time")
            }
            try progress(min(1, elapsed / seconds), sent(board))
        }
        bench_board_stop(board)
        // Those that send end by themselves. Then the others receive the end, after all else.
        try end(pids, &ended) { $0 == .poster || $0 == .caller }
        if roles.contains(.observer) { try check(bench_load_end(center), "can't end the observers") }
        try end(pids, &ended) { _ in true }
        return try outcome(board, pids, elapsed)
    }

    private func start(_ place: Int, _ path: String, _ center: String) throws -> Int32 {
        var arguments = [
            "tidings", "bench-worker", roles[place].rawValue, String(getpid()), path, String(roles.count),
            String(place), center, String(size), String(gap), String(sampled),
            // After an equals sign, because it may be negative.
            "--spin=\(spin)",
        ]
        if isLossless { arguments.append("--lossless") }
        var pid: Int32 = 0
        try check(withCStrings(arguments) { bench_spawn($0, &pid) }, "can't start another process")
        return pid
    }

    private func waitUntilReady(_ board: OpaquePointer, _ pids: [Int32]) throws {
        while bench_board_ready(board) < UInt32(roles.count) {
            // The process has reported the reason.
            if let place = pids.indices.first(where: { bench_ended(pids[$0]) }) {
                throw Failure("the benchmark's \(roles[place].rawValue) \(pids[place]) ended before it began")
            }
            usleep(200)
        }
    }

    private func sent(_ board: OpaquePointer) -> UInt64 {
        roles.indices.filter { roles[$0] == .poster || roles[$0] == .caller }.reduce(0) { sum, place in
            var result = bench_result()
            bench_board_result(board, UInt32(place), &result)
            return sum + result.notifications
        }
    }

    /// Waits for the end of the processes with such a role.
    private func end(_ pids: [Int32], _ ended: inout Set<Int>, _ isMeant: (BenchWorker.Role) -> Bool) throws {
        for place in roles.indices where isMeant(roles[place]) && !ended.contains(place) {
            ended.insert(place)
            let status = bench_wait(pids[place], 10)
            guard status == 0 else {
                throw Failure("the benchmark's \(roles[place].rawValue) \(pids[place]) ended with status \(status)")
            }
        }
    }

    private func outcome(_ board: OpaquePointer, _ pids: [Int32], _ seconds: Double) throws -> Outcome {
        let latency = try BenchHistogram()
        let processes = roles.indices.map { place in
            var result = bench_result()
            bench_board_result(board, UInt32(place), &result)
            #if MUTANT_BENCH_RESULT_OF_ANOTHER  // Found by: command eachNotificationIsDeliveredOrMissed
                if isMutant("BENCH_RESULT_OF_ANOTHER") { bench_board_result(board, UInt32(roles.count - 1), &result) }
            #endif
            bench_board_latency(board, UInt32(place), latency.histogram)
            let count = Double(result.notifications)
            return Process(
                role: roles[place], pid: pids[place], notifications: result.notifications,
                perSecond: count / max(Double(result.elapsed_ns) / 1e9, 1e-6), missed: result.missed,
                refused: result.refused,
                processorNanoseconds: count > 0 ? Double(result.processor_ns) / count : nil)
        }
        return Outcome(processes: processes, latency: latency, seconds: seconds)
    }
}

/// A line about the progress on a terminal, in place of the one before; nothing elsewhere.
struct BenchProgress {
    private let isShown = isatty(STDERR_FILENO) == 1
    let title: String

    init(_ title: String) {
        self.title = title
    }

    func show(_ part: Double, _ count: UInt64) {
        guard isShown else { return }
        let bar = String(repeating: "█", count: Int(part * 20)).padded(to: 20)
        write("\r\(title)  \(bar) \(String(format: "%3.0f", part * 100)) %  \(count.grouped)\u{1B}[K")
    }

    func clear() {
        if isShown { write("\r\u{1B}[K") }
    }

    private func write(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { Terminal.writeAll($0, to: STDERR_FILENO) }
    }
}

/// Sizes of payloads on the command line: `64,4KiB,1MiB`.
struct BenchSizes: ExpressibleByArgument {
    let values: [Int]

    init?(argument: String) {
        let sizes = argument.split(separator: ",", omittingEmptySubsequences: false).map {
            ByteCount(argument: String($0))?.value
        }
        guard !sizes.isEmpty, sizes.count <= 32, !sizes.contains(nil) else { return nil }
        values = sizes.compactMap { $0 }
    }

    init(_ values: [Int]) {
        self.values = values
    }

    func check() throws {
        guard values.allSatisfy({ (BenchLoad.leastSize...(1 << 30)).contains($0) }) else {
            throw ValidationError("--payload must be from \(BenchLoad.leastSize) to 1GiB.")
        }
    }
}
