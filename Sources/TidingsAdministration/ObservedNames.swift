// The names of a center that are observed or have a retained value.
internal import CTidings
import Glibc
public import Tidings

extension SharedNotificationCenter {
    /// A name that is observed or has a retained value; or a prefix of names that is observed.
    ///
    /// ```swift
    /// import TidingsAdministration
    ///
    /// for one in try SharedNotificationCenter.default.observedNames { print(one.name, one.observers, one.isRetained) }
    /// ```
    public struct ObservedName: Hashable, Sendable {
        /// The name; `com.example.*` for all names that begin with `com.example.` (``isPrefix``).
        public var name: Name
        /// The subject that is observed; `nil`: notifications of all subjects, and without a subject.
        public var subject: String?
        /// How many observer entries observe it (one process usually has one).
        public var observers: Int
        /// Whether it has a retained value.
        public var isRetained: Bool
        /// Whether it is a prefix: observers receive all names that begin with the text before the final `*`.
        public var isPrefix: Bool
    }

    /// All names that are observed or have a retained value now.
    ///
    /// - Throws: ``SharedNotificationError``: in a forked child `.forked` or `.tooManyParticipants`, because the child
    ///   takes a participant entry of its own.
    public var observedNames: [ObservedName] {
        get throws(SharedNotificationError) {
            try withCenter { center throws(SharedNotificationError) in
                var found: [ObservedName] = []
                for index in 0..<(try tidings_statistics(of: center).names_max) {
                    var info = tidings_name_info()
                    let result = tidings_name(center, index, &info)
                    if result == -ERANGE { break }
                    if result == 0 { found.append(ObservedName(&info)) }
                }
                return found
            }
        }
    }
}

extension SharedNotificationCenter.ObservedName {
    fileprivate init(_ info: inout tidings_name_info) {
        let (name, subject) = (String(untilNUL: &info.name), String(untilNUL: &info.subject))
        self.init(
            name: info.prefix ? .init(beginningWith: name) : .init(name), subject: subject.isEmpty ? nil : subject,
            observers: Int(info.observers), isRetained: info.retained, isPrefix: info.prefix)
    }
}
