import CTidingsBench
import Foundation

/// The processors of a measurement, one or two, and the peers on the second.
final class BenchMachine {
    let rounds: Int
    private let shorter: Int
    private let directory: String
    /// This process's processor, and the peer's. Both are the same if there is only one.
    private let here, there: Int32
    private var names = 0

    init(stage: BenchStage, rounds: Int, shorter: Int) throws {
        var processors = [Int32](repeating: 0, count: 1024)
        let count = Int(bench_cores(&processors, 1024))
        guard count >= 1 else { throw Failure("can't read the processors of this process", errno: Int32(-count)) }
        self.rounds = rounds
        self.shorter = shorter
        directory = stage.directory
        // The first processor handles interrupts. If there are more than two, it is left to them.
        here = processors[count > 2 ? 1 : 0]
        there = processors[count > 2 ? 2 : count - 1]
        try check(bench_introduce(), "can't open a center in \(directory)")
        bench_pin(here)
        bench_calibrate()
    }

    var isPair: Bool { here != there }

    /// The number of samples, reduced for a shorter run; at least 10.
    func count(_ full: Int) -> Int { max(full / shorter, 10) }

    /// A name that is unique in this run.
    func name(_ stem: String) -> String {
        names += 1
        return "\(stem)-\(names)"
    }

    /// Returns the samples that `body` writes, in picoseconds. `body` returns their number, or a negative errno.
    func samples(_ full: Int, _ body: (UnsafeMutablePointer<UInt64>, Int32) throws -> Int32) throws -> [UInt64] {
        // Initialized, so that the pages are present before the clock runs.
        var samples = [UInt64](repeating: 0, count: count(full))
        let filled = try samples.withUnsafeMutableBufferPointer { try body($0.baseAddress!, Int32($0.count)) }
        try check(filled, "can't measure")
        return Array(samples[..<Int(filled)])
    }

    /// Runs `body` while a peer in that role is ready on the other processor, then waits for the peer's end.
    func withPeer<Result>(
        _ role: BenchPeer.Role, center: String = "", _ body: (OpaquePointer) throws -> Result
    ) throws -> Result {
        let path = "\(directory)/\(name("arena"))"
        var arena: OpaquePointer?
        try check(bench_arena_open(path, true, &arena), "can't make \(path)")
        defer {
            bench_arena_close(arena)
            unlink(path)
        }
        let arguments = ["tidings", "bench-peer", role.rawValue, String(getpid()), path, String(there), center]
        var pid: Int32 = 0
        try check(withCStrings(arguments) { bench_spawn($0, &pid) }, "can't start another process")
        var isRunning = true
        defer {
            if isRunning {
                bench_kill(pid)
                _ = bench_wait(pid, 10)
            }
        }
        while bench_arena_peers(arena) == 0 {
            // The peer has reported the reason.
            if bench_ended(pid) { throw Failure("the benchmark's other process ended before it began") }
            usleep(200)
        }
        let result = try body(arena!)
        isRunning = false
        let status = bench_wait(pid, 10)
        guard status == 0 else { throw Failure("the benchmark's other process ended with status \(status)") }
        return result
    }

    /// Holds a center and another process until interrupted. For tests.
    func hold() throws {
        try withPeer(.sleep, center: name("held")) { _ in
            try Terminal.print("holding")
            while true { pause() }
        }
    }
}

/// Throws the error that a function of the C side has returned as a negative errno.
func check(_ code: Int32, _ what: String) throws {
    guard code < 0 else { return }
    let sentence = String(cString: bench_last_error())
    throw sentence.isEmpty ? Failure(what, errno: -code) : Failure("\(what): \(sentence)")
}

func withCStrings<Result>(_ strings: [String], _ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies.map { UnsafePointer($0) } + [nil])
}
