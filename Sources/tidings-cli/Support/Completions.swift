import Tidings
import TidingsAdministration

/// The shell completions for names of centers and of notifications.
///
/// They never fail and never create a center. A name that cannot be read is not offered.
enum Completions {
    @Sendable
    static func centers(arguments: [String], index: Int, prefix: String) -> [String] {
        ((try? Center.centers()) ?? []).filter(isPlain)
    }

    @Sendable
    static func observedNames(arguments: [String], index: Int, prefix: String) -> [String] {
        names(arguments) { $1.observers > 0 || isRetained($1.name, in: $0) }
    }

    @Sendable
    static func retainedNames(arguments: [String], index: Int, prefix: String) -> [String] {
        names(arguments) { isRetained($1.name, in: $0) }
    }

    private static func names(_ arguments: [String], where fits: (Center, Center.ObservedName) -> Bool) -> [String] {
        let center = value(of: "--center", in: arguments) ?? "default"
        // Opened for reading, so that a key press does not make this process a participant.
        let allowsShared = arguments.contains("--shared-directory")
        let reading = Center.Configuration(isReadOnly: true, allowsSharedDirectory: allowsShared)
        guard let center = try? Center(named: center, configuration: reading),
            let names = try? center.observedNames
        else { return [] }
        return Set(names.filter { !$0.isPrefix && fits(center, $0) }.map(\.name.rawValue)).filter(isPlain).sorted()
    }

    private static func isRetained(_ name: Center.Name, in center: Center) -> Bool {
        (try? center.rawState(for: name)) != nil
    }

    private static func value(of option: String, in arguments: [String]) -> String? {
        for (index, argument) in arguments.enumerated() {
            if argument == option { return arguments.dropFirst(index + 1).first }
            if argument.hasPrefix(option + "=") { return String(argument.dropFirst(option.count + 1)) }
        }
        return nil
    }

    /// Whether a shell takes the name as a single word without special meaning. Names come from other processes.
    private static func isPlain(_ name: String) -> Bool {
        name.unicodeScalars.allSatisfy { scalar in
            scalar.isASCII
                ? scalar.properties.isAlphabetic || "0123456789.-_+/".unicodeScalars.contains(scalar)
                : scalar.properties.isAlphabetic
        }
    }
}
