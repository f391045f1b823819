// Simulates relays: `simulation FIRST COUNT` plays the schedules of COUNT seeds from FIRST on. The first schedule that
// fails ends it, with the line "seed N: why" and status 1. With `--hostile`, frames are changed on their way, and the
// relays must only go on. With `--standbys`, each center has a relay that stands by.

import Glibc

let isHostile = CommandLine.arguments.contains("--hostile")
let hasStandbys = CommandLine.arguments.contains("--standbys")
let isOfCalls = CommandLine.arguments.contains("--calls")
let arguments = CommandLine.arguments.dropFirst().filter { !$0.hasPrefix("--") }.map { UInt64($0) }
guard arguments.count == 2, let first = arguments[0], let count = arguments[1], count < UInt64.max - first else {
    print("usage: simulation [--calls] [--hostile] [--standbys] FIRST COUNT")
    exit(64)
}
nonisolated(unsafe) var currentSeed = first
if isHostile {
    // A trap ends the process: the seed of the schedule is all that the handler adds.
    for number in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV, SIGBUS] {
        signal(number) { number in
            var line = Array("seed \(currentSeed): trapped\n".utf8)
            write(1, &line, line.count)
            signal(number, SIG_DFL)
            raise(number)
        }
    }
}
/// Names by their bytes: each has one number, whatever was asked for before.
func checkNames() -> String? {
    var relay = RelayCore(center: Origin(incarnation: 1), slots: 4, links: [], position: 0)
    var random = Random(seed: first)
    let names = (0..<3000).map { number in
        LinkName("\(number)." + String(repeating: "n", count: random.below(20)) + "\(random.below(10))")
    }
    for round in 0..<3 {
        for (number, name) in names.enumerated() {
            var text = name.text
            let found = text.withUTF8 { relay.number(of: UnsafeRawBufferPointer($0)) }
            guard found == number, relay.name(number) == name, relay.number(of: name) == number else {
                return "round \(round): \(name.text) has number \(found ?? -1), not \(number)"
            }
        }
    }
    for invalid in [[], [0x61, 0], [0xFF], [UInt8](repeating: 0x61, count: 256)] as [[UInt8]] {
        guard invalid.withUnsafeBytes({ relay.number(of: $0) }) == nil else { return "\(invalid) is a name" }
    }
    return nil
}
if let why = checkNames() {
    print("seed \(first): names: \(why)")
    exit(1)
}
if isOfCalls {
    var total = CallSchedule.Figures()
    for seed in first..<(first + count) {
        currentSeed = seed
        var schedule = CallSchedule(seed: seed, isHostile: isHostile)
        do {
            try schedule.play()
        } catch {
            print("seed \(seed): calls: \(error)")
            exit(1)
        }
        total.add(schedule.figures)
    }
    print("\(count) schedules of calls from seed \(first): \(total)")
    exit(0)
}
var figures: [Schedule.Topology: Int] = [:]
var posts = 0
var relayed = 0
var values = 0
/// Schedules in which a relay was away for longer than its ring, and no other one had read it.
var uncertain = 0
/// Of the schedules in which centers post without a pause: milliseconds until their values were equal.
var equalAfter: [Int] = []
for seed in first..<(first + count) {
    currentSeed = seed
    var schedule = Schedule(seed: seed, isHostile: isHostile, hasStandbys: hasStandbys)
    do {
        try schedule.play()
    } catch {
        print("seed \(seed): \(schedule.topology): \(error)")
        exit(1)
    }
    figures[schedule.topology, default: 0] += 1
    values += schedule.values
    uncertain += schedule.isUncertain ? 1 : 0
    if schedule.isBusy, !schedule.isMixed, !schedule.isSized, !schedule.isLossless, !isHostile {
        equalAfter.append(schedule.equalAfter)
    }
    for center in schedule.centers {
        posts += center.history.count
        relayed += center.history.count - Int(center.own.values.reduce(0, +))
    }
}
let topologies = figures.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.key) \($0.value)" }
print(
    "\(count) schedules from seed \(first): \(posts) posts, \(relayed) of them relayed, \(values) values compared, "
        + "\(uncertain) schedules with upper bounds; "
        + topologies.joined(separator: ", "))
if !equalAfter.isEmpty {
    equalAfter.sort()
    print(
        "\(equalAfter.count) of them under posts without a pause: values equal after at most \(equalAfter.last!) ms, "
            + "half of them after \(equalAfter[equalAfter.count / 2]) ms")
}
