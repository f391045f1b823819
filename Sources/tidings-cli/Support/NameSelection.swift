import Tidings

/// The names that a command observes: exact names, prefixes, or all.
struct NameSelection: Sendable {
    /// The exact names to observe; `nil`: all names.
    let names: [Center.Name]?
    let prefixes: [String]

    /// - Parameter patterns: `com.example.changed`, or `com.example.*` for all names with the prefix `com.example.`;
    ///   `nil`: all.
    init(_ patterns: [String]?) {
        guard let patterns, !patterns.contains("*") else {
            (names, prefixes) = (nil, [])
            return
        }
        names = patterns.filter { !$0.hasSuffix("*") }.map { Center.Name($0) }
        prefixes = patterns.filter { $0.hasSuffix("*") }.map { String($0.dropLast()) }
    }

    /// Whether the selection includes a notification's name. For an observer that can observe all names only.
    func includes(_ name: Center.Name) -> Bool {
        guard let names else { return true }
        let bytes = name.rawValue.utf8
        return names.contains { $0.rawValue.utf8.elementsEqual(bytes) }
            || prefixes.contains { bytes.starts(with: $0.utf8) }
    }
}
