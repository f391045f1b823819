import ArgumentParser
import Glibc

/// A length of time on the command line: a number with a unit (`250ms`, `3s`, `2m`, `1h`, `1d`), or a number of
/// seconds.
struct Seconds: ExpressibleByArgument {
    /// At least 0, at most 10⁹: about 30 years.
    let value: Double

    init?(argument: String) {
        let units: [(name: String, seconds: Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]
        let unit = units.first { argument.hasSuffix($0.name) } ?? ("", 1)
        guard let number = Double(argument.dropLast(unit.name.count)), number >= 0 else { return nil }
        value = min(number * unit.seconds, 1e9)
    }
}

/// The monotonic time in seconds.
func monotonicSeconds() -> Double { Double(monotonicNow()) / 1e9 }

/// The monotonic time in nanoseconds, which all processes of a machine share.
func monotonicNow() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
