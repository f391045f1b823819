#if GRDB
    import Tidings

    /// The payload of a commit's notification. The extension TidingsSQLite (`CShim/sqlite/src/payload.c`) writes and
    /// reads the same map.
    struct CommitPayload: Codable {
        var counter: UInt32
        /// `wal` or `rollback`.
        var journal: String
        var pages: UInt32
        /// The kinds of change for each changed table. `nil`: any table may have changed.
        var tables: [String: [String]]?

        var version: CommitVersion { CommitVersion(wal: journal == "wal", counter: counter) }

        /// A larger payload is not decoded, and then any table may have changed: no process of this library writes one.
        static let maximumSize = 4096
        /// Bytes of the names of tables. A transaction that changes more tables has a payload without them.
        static let maximumNames = 700
        /// Posted in place of a row of `sqlite_master`, by GRDB and SQLite: the schema changed.
        static func isInternal(_ table: String) -> Bool { table.lowercased().hasPrefix("sqlite_") }
    }

    /// A change counter. The WAL's index and the file's header count on their own.
    struct CommitVersion: Hashable {
        var wal: Bool
        var counter: UInt32
    }

    /// How a transaction changed a table.
    struct ChangeKinds: OptionSet {
        var rawValue: UInt8
        static let insert = ChangeKinds(rawValue: 1)
        static let update = ChangeKinds(rawValue: 2)
        static let delete = ChangeKinds(rawValue: 4)

        var names: [String] {
            let all: [(ChangeKinds, String)] = [(.insert, "insert"), (.update, "update"), (.delete, "delete")]
            return all.compactMap { contains($0.0) ? $0.1 : nil }
        }
    }

    /// What a refresh reports to GRDB as changed.
    enum ChangedTables: Equatable {
        case some(Set<String>)
        case all

        /// Of a notification that any process may have posted.
        init(_ payload: SharedNotificationCenter.RawPayload) {
            self = .all
            #if MUTANT_GRDB_TABLES_IGNORED  // Found by: grdb aTransactionWithManyTablesIsPostedWithoutThem hangs
                if isMutant("GRDB_TABLES_IGNORED") { self = .some([]) }
            #endif
            guard payload.format == .cbor, payload.count <= CommitPayload.maximumSize,
                let tables = try? payload.decode(CommitPayload.self).tables, !tables.isEmpty,
                !tables.keys.contains(where: CommitPayload.isInternal)
            else { return }
            self = .some(Set(tables.keys))
        }

        mutating func formUnion(_ other: ChangedTables) {
            guard case .some(let one) = self, case .some(let two) = other else {
                self = .all
                return
            }
            self = .some(one.union(two))
        }
    }
#endif
