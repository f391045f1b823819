#if Service
    internal import Configuration
    internal import Tidings

    /// The values that a process has of a shared configuration, as a value: what the process sets and what arrives are
    /// its events. Docs/Design/Service.md, V11 to V13.
    struct ConfigState: Sendable {
        /// A value, or a removed key, with the position at which it was set.
        struct Entry: Equatable, Sendable {
            var value: ConfigValue?
            var position: UInt64
        }

        private(set) var entries: [String: Entry] = [:]
        /// The incarnation of the center whose positions these are.
        private let incarnation: UInt64
        /// The positions at which this process has set keys.
        private var own: [String: UInt64] = [:]
        /// The last position at which this process has posted.
        private var lastOwn: UInt64 = 0

        init(in incarnation: UInt64) { self.incarnation = incarnation }

        var values: [String: ConfigValue] { entries.compactMapValues(\.value) }

        /// What is posted to change these keys; `nil` in place of a value removes the key.
        func changing(_ changes: [String: ConfigValue?]) -> RetainedConfig { RetainedConfig(entries, changes) }

        /// What this process has posted is visible to it at once, though it may arrive later.
        mutating func posted(_ changes: [String: ConfigValue?], at position: UInt64) {
            lastOwn = max(lastOwn, position)
            for (key, value) in changes {
                own[key] = max(own[key] ?? 0, position)
                take(key, Entry(value: value, position: position))
            }
        }

        /// All values of a notification at that position, or of the retained value. Returns what this process must post
        /// then.
        mutating func arrived(
            _ config: RetainedConfig, at position: UInt64, in incarnation: UInt64, isOwn: Bool
        ) -> RetainedConfig? {
            if incarnation != self.incarnation { self = ConfigState(in: incarnation) }
            let arrived = config.entries(at: position, replacing: entries.keys)
            for (key, entry) in arrived { take(key, entry) }
            // Invariant V12.
            let isIncomplete = entries.contains { key, entry in
                guard isOwn || own[key] == entry.position else { return false }
                return arrived[key].map { $0 != entry } ?? (entry.value != nil)
            }
            // What this process has posted later has what arrived before, or is repaired when it arrives.
            guard isIncomplete, position >= lastOwn else { return nil }
            #if MUTANT_SERVICE_CONFIG_NOT_REPAIRED  // Found by: service aChangeInBetweenIsRetainedAgain
                if isMutant("SERVICE_CONFIG_NOT_REPAIRED") { return nil }
            #endif
            return changing([:])
        }

        /// Invariant V11.
        private mutating func take(_ key: String, _ entry: Entry) {
            #if MUTANT_SERVICE_CONFIG_OVERWRITES  // Found by: service aChangeInBetweenIsKept
                if isMutant("SERVICE_CONFIG_OVERWRITES") { entries[key] = entry }
            #endif
            if let present = entries[key], present.position >= entry.position { return }
            entries[key] = entry
        }
    }
#endif
