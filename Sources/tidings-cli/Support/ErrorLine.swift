import Tidings

extension SharedNotificationError {
    /// The message in the words of the command: it names options where the library's line names a field of C or of
    /// Swift.
    var line: String {
        // The advice is last. What precedes it may hold names that other processes chose, and stays as it is.
        #if MUTANT_FIELD_IN_THE_ERROR  // Found by: command errorsNameOptions
            if isMutant("FIELD_IN_THE_ERROR") { return message }
        #endif
        guard let end = message.lastIndex(of: ";") else { return message }
        let (facts, advice) = (message[..<end], String(message[end...]))
        for (field, option) in Self.options where advice.contains(field) {
            let needsMore = field == Self.more
            guard !needsMore || advice.hasSuffix(field) else { continue }
            let with = needsMore ? field + (Self.entries.first { facts.contains($0.name) }?.option ?? "") : option
            return facts + advice.replacing(field, with: with)
        }
        return message
    }

    /// Ends the advice of three messages about tables that are full, which state the table before.
    private static let more = "create it with more"

    private static let entries = [
        (name: " participant entries are taken", option: " --participants"),
        (name: " observer entries are taken", option: " --observers"),
        (name: " name entries are taken", option: " --names"),
    ]

    private static let options = [
        (
            "(TIDINGS_OPEN_SHARED_DIRECTORY, in Swift allowsSharedDirectory, with the command --shared-directory)",
            "(--shared-directory)"
        ),
        ("larger maximum_payload", "larger --maximum-payload"),
        ("create it with mode", "create it with --mode"),
        ("create it with more names", "create it with more --names"),
        ("create it with more slots", "create it with more --slots"),
        ("start with .now or .oldest", "use --from now or --from oldest"),
        ("give a timeout", "give a --timeout"),
        (more, ""),
    ]
}
