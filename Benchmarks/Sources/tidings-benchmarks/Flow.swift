import CCrossing

/// Posters and observers at their fastest, or callers and servers: how many of each, and with what.
struct Flow {
    var posters = 1
    var observers = 1
    var lossless = true
    var size = 64
    /// Each observer receives from one poster alone.
    var paired = false
    /// Posters are callers, and observers are servers. Of all callers together; 0: there are no calls.
    var callsInFlight = 0
    /// Of all posters together.
    var messages: Int
    /// Leaves it to the kernel where each of the processes runs.
    var unconfined = false
    /// Posters write every word of a payload, and observers add up all words.
    var whole = false
    /// Payloads are built in place and read in place.
    var inPlace = false

    /// The processors that posters and observers run on: one each where there are enough; otherwise each kind has its
    /// share.
    func cores(of bench: Bench, poster: Bool, _ index: Int) -> [Int32] {
        let all = bench.all
        if unconfined { return all }
        if posters + observers <= all.count { return [all[all.count - 1 - (poster ? index : posters + index)]] }
        if all.count == 1 { return all }
        let share = Double(all.count) * Double(posters) / Double(posters + observers)
        let forPosters = min(max(Int(share.rounded()), 1), all.count - 1)
        return poster ? Array(all[..<forPosters]) : Array(all[forPosters...])
    }

    private func role(poster: Bool) -> Member.Role {
        if callsInFlight > 0 { return poster ? .flowCaller : .flowServer }
        return poster ? .flowPoster : .flowObserver
    }

    /// One run, in processes of its own.
    func run(_ bench: Bench, center: String) throws -> crossing_flow_result {
        let each = max(messages / posters, 1)
        let inFlight = callsInFlight / posters
        var flow = crossing_flow(
            posters: UInt32(posters), observers: UInt32(observers), lossless: lossless ? 1 : 0,
            spins: posters + observers <= bench.processors ? 1 : 0, size: UInt64(size), messages: UInt64(each),
            warm: UInt64(max(each / 10, inFlight, 40)),  // several times round the largest payloads' places
            paired: paired ? 1 : 0, in_flight: UInt32(inFlight),
            whole: whole ? 1 : 0, in_place: inPlace ? 1 : 0)
        return try bench.withArea { area in
            let code = crossing_set_flow(area.pointer, &flow)
            guard code == 0 else { throw BenchError(code: Int(code), during: "flow") }
            var members: [Int32] = []
            defer { members.forEach(bench.stop) }
            for place in 0..<posters + observers {
                let isPoster = place < posters
                members.append(
                    try bench.enlist(
                        role(poster: isPoster), area, center: center, detail: place,
                        cores: cores(of: bench, poster: isPoster, isPoster ? place : place - posters)))
            }
            try bench.muster(area, members, count: members.count)
            var result = crossing_flow_result()
            let ran =
                inFlight > 0
                ? crossing_calls_run(area.pointer, center, &result) : crossing_flow_run(area.pointer, &result)
            guard ran == 0 else {
                let kinds = inFlight > 0 ? ("callers", "servers") : ("posters", "observers")
                throw BenchError(code: Int(ran), during: "\(posters) \(kinds.0), \(observers) \(kinds.1), \(size) B")
            }
            try members.forEach(bench.finish)
            return result
        }
    }

    /// The whole of it as a round: time a message, of all posters together.
    func round(_ bench: Bench, center: String) throws -> Round {
        Round(picoseconds: try run(bench, center: center).whole)
    }
}
