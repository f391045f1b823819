import ArgumentParser

/// A length of time on the command line: a number of seconds, or a number with a unit (`3`, `3s`, `250ms`, `2m`).
struct Seconds: ExpressibleByArgument {
    /// At least 0, at most 10⁹: about 30 years.
    let value: Double

    init?(argument: String) {
        let units: [(name: String, seconds: Double)] = [("ms", 0.001), ("s", 1), ("m", 60)]
        let unit = units.first { argument.hasSuffix($0.name) } ?? ("", 1)
        guard let number = Double(argument.dropLast(unit.name.count)), number >= 0 else { return nil }
        value = min(number * unit.seconds, 1e9)
    }
}
