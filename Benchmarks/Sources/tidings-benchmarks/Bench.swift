import CTidingsBench
import Foundation

struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// For a negative errno from the C side.
    init(code: Int, during what: String) {
        let sentence = String(cString: bench_last_error())
        description = "\(what): \(String(cString: strerror(Int32(-code))))\(sentence.isEmpty ? "" : " (\(sentence))")"
    }
}

/// What rows measure with: two cores, a directory, and peers on the second core.
final class Bench {
    let quick: Bool
    /// Side A's core and side B's. The first core of the machine is left to interrupts where there are enough.
    let here: Int32
    let there: Int32
    /// The others; the same two where there are no more.
    let elsewhere: [Int32]
    /// All but side A's, for many sleepers. Side A's core too where there is no other.
    let away: [Int32]
    /// All that this process may run on.
    let all: [Int32]
    let directory: String
    /// What 100 idle observers did, measured once for all rows about it: for C and (`true`) for Swift.
    var idle: [Bool: (limit: Activity, ours: Activity)] = [:]
    private var names = 0
    private var peers: [Int32] = []

    init(quick: Bool) throws {
        var cores = [Int32](repeating: 0, count: 1024)
        let count = Int(bench_cores(&cores, 1024))
        guard count > 0 else { throw BenchError(code: count, during: "can't find out which processors there are") }
        guard let directory = RunDirectory.current else { throw BenchError("has no directory") }
        self.quick = quick
        self.directory = directory
        let all = Array(cores[..<count])
        let here = count > 2 ? all[1] : all[0]
        let there = count > 2 ? all[2] : all[count - 1]
        let others = all.filter { $0 != here && $0 != there }
        self.all = all
        self.here = here
        self.there = there
        elsewhere = others.isEmpty ? count > 1 ? [here, there] : [here] : others
        away = count > 1 ? all.filter { $0 != here } : all
        let code = bench_introduce()
        guard code == 0 else { throw BenchError(code: Int(code), during: "can't open a center in \(directory)") }
        bench_pin(here)
        bench_calibrate()
    }

    var processors: Int { all.count }

    /// How many rounds; an odd number, so that the median is one of them.
    var rounds: Int { quick ? 5 : 15 }

    /// Scales a number of samples.
    func count(_ full: Int) -> Int { quick ? max(full / 2, 20) : full }

    /// A name that nothing else in this run has.
    func name(_ stem: String) -> String {
        names += 1
        return "\(stem)-\(names)"
    }

    /// Runs `body` while a peer in that role is ready on the other core, and waits for the peer's end.
    func withPeer<Result>(
        _ role: Peer.Role, center: String = "", detail: Int = 0, _ body: (OpaquePointer) throws -> Result
    ) throws -> Result {
        try withPeer(role, center: center, detail: detail) { arena, _ in try body(arena) }
    }

    /// The same, with the arena's path, for another peer.
    func withPeer<Result>(
        _ role: Peer.Role, center: String = "", detail: Int = 0, _ body: (OpaquePointer, String) throws -> Result
    ) throws -> Result {
        try withArena { arena, path in
            let peer = try start(role, arena: path, center: center, detail: detail, cores: [there])
            defer { stop(peer) }
            try waitReady(arena, [peer])
            let result = try body(arena, path)
            let status = bench_wait(peer, 10)
            guard status == 0 else { throw BenchError("peer \"\(role)\" ended with status \(status)") }
            return result
        }
    }

    /// Runs `body` while so many peers are ready, each on a core of its own.
    func withPeers<Result>(
        _ role: Peer.Role, center: String, count: Int, _ body: (OpaquePointer) throws -> Result
    ) throws -> Result {
        try withArena { arena, path in
            var started: [Int32] = []
            defer { started.forEach(stop) }
            for core in ([there] + away.filter { $0 != there }).prefix(count) {
                started.append(try start(role, arena: path, center: center, detail: 0, cores: [core]))
            }
            try waitReady(arena, started)
            let result = try body(arena)
            for peer in started {
                let status = bench_wait(peer, 10)
                guard status == 0 else { throw BenchError("peer \"\(role)\" ended with status \(status)") }
            }
            return result
        }
    }

    /// Runs a peer on this side's core, which the runner leaves meanwhile.
    func runPeer(_ role: Peer.Role, arena: String, center: String, detail: Int) throws {
        bench_pin_any(elsewhere, Int32(elsewhere.count))
        defer { bench_pin(here) }
        let peer = try start(role, arena: arena, center: center, detail: detail, cores: [here])
        defer { stop(peer) }
        let status = bench_wait(peer, 30)
        guard status == 0 else { throw BenchError("peer \"\(role)\" ended with status \(status)") }
    }

    func withArena<Result>(_ body: (OpaquePointer, String) throws -> Result) throws -> Result {
        let path = "\(directory)/\(name("arena"))"
        var arena: OpaquePointer?
        let code = bench_arena_open(path, true, &arena)
        guard let arena, code == 0 else { throw BenchError(code: Int(code), during: "can't create \(path)") }
        defer {
            bench_arena_close(arena)
            unlink(path)
        }
        return try body(arena, path)
    }

    /// Starts a peer on some of `cores`.
    func start(_ role: Peer.Role, arena: String, center: String, detail: Int, cores: [Int32]) throws -> Int32 {
        try launch([
            "peer", role.rawValue, String(getpid()), arena, cores.map(String.init).joined(separator: ","), center,
            String(detail),
        ])
    }

    /// Runs this program again, as a child that `stop` ends.
    func launch(_ arguments: [String]) throws -> Int32 {
        var pid: Int32 = 0
        let code = withCStrings([CommandLine.arguments[0]] + arguments) { bench_spawn($0, &pid) }
        guard code == 0 else {
            throw BenchError(code: Int(code), during: "can't start \(arguments.joined(separator: " "))")
        }
        peers.append(pid)
        return pid
    }

    /// Ends a peer that may have ended already.
    func stop(_ peer: Int32) {
        guard let index = peers.firstIndex(of: peer) else { return }
        peers.remove(at: index)
        bench_kill(peer)
        _ = bench_wait(peer, 10)
    }

    func waitReady(_ arena: OpaquePointer, _ waitedFor: [Int32]) throws {
        let start = ContinuousClock.now
        while bench_arena_peers(arena) < waitedFor.count {
            if waitedFor.contains(where: bench_ended) { throw BenchError("a peer failed (see standard error)") }
            if ContinuousClock.now - start > .seconds(20) { throw BenchError("peers don't get ready") }
            usleep(200)
        }
    }
}
