import Tidings

/// Which names a command observes: names as they are, those that begin with something, or all.
struct NameSelection: Sendable {
    /// What the center is asked for; `nil`: all names.
    let names: [Center.Name]?
    private let exact: Set<String>
    private let prefixes: [String]
    private let isEverything: Bool

    /// - Parameter patterns: `com.example.changed`, or `com.example.*` for all that begin with `com.example.`; `nil`: all.
    init(_ patterns: [String]?) {
        guard let patterns, !patterns.contains("*") else {
            (names, exact, prefixes, isEverything) = (nil, [], [], true)
            return
        }
        var seen = Set<String>()
        let unique = patterns.filter { seen.insert($0).inserted }
        prefixes = unique.filter { $0.hasSuffix("*") }.map { String($0.dropLast()) }
        let plain = unique.filter { !$0.hasSuffix("*") }
        exact = Set(plain)
        // A center knows names, not beginnings of names: here is the one place to change when it does.
        names = prefixes.isEmpty ? plain.map { Center.Name($0) } : nil
        isEverything = false
    }

    /// Whether what the center delivers was asked for.
    func includes(_ name: Center.Name) -> Bool {
        guard !isEverything, names == nil else { return true }
        let name = name.rawValue
        return exact.contains(name) || prefixes.contains { name.utf8.starts(with: $0.utf8) }
    }

    /// Whether the center delivers more than was asked for.
    var isFiltered: Bool { names == nil && !isEverything }
}
