import CTidingsBench
import Foundation

/// One of the executables that `Benchmarks/Rivals` builds: a rival, or ours behind the same loops. It is two processes,
/// pinned like this one and its peer, and obeys orders; between them it sleeps.
final class RivalProcess {
    static let executables: URL = {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        return folder.appendingPathComponent(".build/rivals/bin")
    }()

    static func isThere(_ name: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: executables.appendingPathComponent(name).path)
    }

    private static let timeoutSeconds: UInt32 = 60
    private let name: String
    private let process = Process()
    private let orders = Pipe()
    private let answers = Pipe()
    private var unread = Data()
    private let streamTime: Double
    private var counts: [Int: Int] = [:]

    init(_ name: String, on bench: Bench) throws {
        self.name = name
        streamTime = bench.quick ? 30_000_000 : 100_000_000
        process.executableURL = Self.executables.appendingPathComponent(name)
        process.arguments = ["--cpus", "\(bench.here),\(bench.there)"]
        process.standardInput = orders
        process.standardOutput = answers
        // Between rounds, only this alarm ends a rival that hangs.
        alarm(Self.timeoutSeconds)
        defer { alarm(0) }
        try process.run()
        let ready = try line()
        guard ready.hasPrefix("ready \(name) ") else { throw BenchError("\(name) is not ready: \(ready)") }
    }

    /// Ends it and all that it has started.
    func end() {
        alarm(Self.timeoutSeconds)
        defer { alarm(0) }
        try? orders.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    enum Exchange: String {
        case message = "latency"
        case messageAwake = "latency-awake"
        case call
    }

    /// Half a round trip, or half a call.
    func latency(_ exchange: Exchange, count: Int, size: Int) throws -> Round {
        order("\(exchange.rawValue) \(count) \(size)")
        return try Round(name, count: count) { samples in
            for index in 0..<count { samples[index] = try number(line()) * 1000 }
            guard try line().isEmpty else { throw BenchError("\(name) says more than it was asked for") }
            return Int32(count)
        }
    }

    /// Time a message, of as many as take a tenth of a second.
    func stream(size: Int) throws -> Round {
        let count = try counts[size] ?? fitting(size)
        counts[size] = count
        let nanoseconds = try stream(count: count, size: size)
        return try Round(name, count: 1) { samples in
            samples[0] = UInt64(nanoseconds * 1000 / Double(count))
            return 1
        }
    }

    private func fitting(_ size: Int) throws -> Int {
        var count = 100
        while true {
            let nanoseconds = try stream(count: count, size: size)
            if nanoseconds > streamTime / 4 || count >= 5_000_000 {
                return max(Int(Double(count) * streamTime / nanoseconds), 10)
            }
            count *= 4
        }
    }

    private func stream(count: Int, size: Int) throws -> Double {
        order("throughput \(count) \(size)")
        let answer = try line().split(separator: " ")
        guard answer.count == 1 else { throw BenchError("\(name): of \(count) messages \(answer.last ?? "0") arrived") }
        return Double(try number(String(answer[0])))
    }

    private func order(_ text: String) {
        orders.fileHandleForWriting.write(Data("\(text)\n".utf8))
    }

    private func number(_ text: String) throws -> UInt64 {
        guard let number = UInt64(text) else { throw BenchError("\(name) says \"\(text)\" in place of a number") }
        return number
    }

    private func line() throws -> String {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread = unread[(end + 1)...] }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            let more = answers.fileHandleForReading.availableData
            guard !more.isEmpty else { throw BenchError("\(name) has ended (see standard error)") }
            unread = unread + more
        }
    }
}
