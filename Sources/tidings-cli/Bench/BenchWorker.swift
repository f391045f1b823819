import ArgumentParser
import CTidingsBench

/// A process of a load.
struct BenchWorker: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-worker", abstract: "A process of the benchmark.", shouldDisplay: false)

    enum Role: String, ExpressibleByArgument, Encodable {
        case poster, observer, caller, server
    }

    @Argument var role: Role
    @Argument var parent: Int32
    /// The board's file, how many processes have a place there, and this one's place.
    @Argument var board: String
    @Argument var workers: UInt32
    @Argument var place: UInt32
    @Argument var center: String
    @Argument var size: Int
    @Argument var gap: UInt64
    @Argument var sampled: UInt32
    @Flag var lossless = false
    @Option var spin: Int64 = -1

    func run() throws {
        bench_die_with(parent)
        var opened: OpaquePointer?
        try check(bench_board_open(board, false, workers, &opened), "can't open \(board)")
        guard let opened, place < workers else { throw Failure("the benchmark has no place \(place)") }
        var load = bench_load(size: size, gap_ns: gap, sampled: max(1, sampled), lossless: lossless, spin_ns: spin)
        let result =
            switch role {
            case .poster: bench_load_post(opened, place, center, &load)
            case .observer: bench_load_observe(opened, place, center, &load)
            case .caller: bench_load_call(opened, place, center, &load)
            case .server: bench_load_serve(opened, place, center, &load)
            }
        try check(result, "the benchmark's \(role.rawValue)")
    }
}
