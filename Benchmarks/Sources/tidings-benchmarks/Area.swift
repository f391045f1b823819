import CCrossing
import CTidingsBench
import Foundation

/// Memory that the runner shares with the members of one measurement.
final class Area {
    let pointer: OpaquePointer
    let path: String

    init(path: String, create: Bool, bytes: Int = 0) throws {
        var opened: OpaquePointer?
        let code = crossing_area_open(path, create, bytes, &opened)
        guard let opened, code == 0 else { throw BenchError(code: Int(code), during: "can't open \(path)") }
        pointer = opened
        self.path = path
    }

    deinit {
        crossing_area_close(pointer)
    }

    func value(_ index: Int, of place: Int = 0) -> UInt64 {
        crossing_value(pointer, UInt32(place), UInt32(index))
    }
}

extension Bench {
    /// Runs `body` with an area, and ends the members that it enlists.
    func withArea<Result>(bytes: Int = 0, _ body: (Area) throws -> Result) throws -> Result {
        let path = "\(directory)/\(name("area"))"
        defer { unlink(path) }
        return try body(try Area(path: path, create: true, bytes: bytes))
    }

    /// Starts a member on some of `cores`.
    func enlist(_ role: Member.Role, _ area: Area, center: String = "-", detail: Int = 0, cores: [Int32]) throws
        -> Int32
    {
        try launch([
            "member", role.rawValue, String(getpid()), area.path, cores.map(String.init).joined(separator: ","), center,
            String(detail),
        ])
    }

    /// Runs `body` while that member is at work on the other core, and ends it. `count`: the number of processes that
    /// say that they are ready.
    func withMember<Result>(
        _ role: Member.Role, _ area: Area, center: String = "-", detail: Int = 0, count: Int = 1, cores: [Int32]? = nil,
        _ body: () throws -> Result
    ) throws -> Result {
        let member = try enlist(role, area, center: center, detail: detail, cores: cores ?? [there])
        defer { stop(member) }
        try muster(area, [member], count: count)
        return try body()
    }

    /// Waits until that many are ready.
    func muster(_ area: Area, _ members: [Int32], count: Int) throws {
        let start = ContinuousClock.now
        while crossing_members(area.pointer) < count {
            if members.contains(where: bench_ended) { throw BenchError("a member failed (see standard error)") }
            if ContinuousClock.now - start > .seconds(50) { throw BenchError("members don't get ready") }
            usleep(200)
        }
    }

    /// Waits for a member's own end.
    func finish(_ member: Int32) throws {
        let status = bench_wait(member, 20)
        stop(member)
        guard status == 0 else { throw BenchError("a member ended with status \(status)") }
    }
}
