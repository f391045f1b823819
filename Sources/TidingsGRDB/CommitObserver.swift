#if GRDB
    import CTidingsGRDB
    import GRDB

    /// Observes the transactions of the writer, and passes each commit on.
    ///
    /// GRDB calls every method on the writer's queue, or in its commit hook, so no two calls overlap.
    ///
    /// It does not ask for single changes. GRDB asks before each statement which changes of which tables it observes,
    /// and the answer is always no. So a row costs nothing, SQLite can truncate a table, and tables without rowid are
    /// reported too. A statement that changes no row is reported as well; whether there was a commit is decided by the
    /// change counter, and by what SQLite wrote, because another process may have committed just after.
    final class CommitObserver: TransactionObserver {
        /// A transaction whose commit began.
        private struct Commit {
            var before: tidings_grdb_version?
            var tables: [String: ChangeKinds]
            /// What SQLite had written before the commit.
            var written: Int32
        }

        // Weak: the last reference to the sharing may end during a commit.
        private weak let sharing: Sharing?
        private let connection: OpaquePointer?
        private var journal = tidings_grdb_journal()
        private var tables: [String: ChangeKinds] = [:]
        private var commits: [Commit] = []
        /// Whether the extension TidingsSQLite posts the commits of this connection.
        let extensionPosts: Bool

        init(_ sharing: Sharing, _ db: Database) {
            self.sharing = sharing
            connection = db.sqliteConnection
            #if MUTANT_GRDB_POSTED_TWICE  // Found by: grdb aCommitThatTheExtensionPostsIsPostedOnce
                extensionPosts =
                    !isMutant("GRDB_POSTED_TWICE") && tidings_grdb_extension_posts(db.sqliteConnection)
            #else
                extensionPosts = tidings_grdb_extension_posts(db.sqliteConnection)
            #endif
            tidings_grdb_learn(connection, &journal)
        }

        func observes(eventsOfKind kind: DatabaseEventKind) -> Bool {
            switch kind {
            case .insert(let table): tables[table, default: []].insert(.insert)
            case .update(let table, _): tables[table, default: []].insert(.update)
            case .delete(let table): tables[table, default: []].insert(.delete)
            }
            return false
        }

        func databaseDidChange(with event: DatabaseEvent) {}

        func databaseWillCommit() throws {
            guard tidings_grdb_writes(connection) else {
                // A refresh, or nothing was written, or only to attached and temporary databases.
                #if MUTANT_GRDB_REFRESH_IS_POSTED  // Found by: grdb tenProcessesThatRefreshEachOtherComeToRest
                    if isMutant("GRDB_REFRESH_IS_POSTED"), !tables.isEmpty {
                        sharing?.post(version() ?? tidings_grdb_version(), tables, connection)
                    }
                #endif
                if !tables.isEmpty { tables = [:] }
                return
            }
            // The transaction has the write lock: its commit makes the counter greater by one.
            let before = version()
            #if MUTANT_GRDB_POSTED_UNDER_LOCK  // Found by: grdb aCommitIsPostedAfterItsLock
                if isMutant("GRDB_POSTED_UNDER_LOCK"), let before { sharing?.post(before, tables, connection) }
            #endif
            if extensionPosts, let before { sharing?.willCommit(before.next) }
            commits.append(Commit(before: before, tables: tables, written: tidings_grdb_written(connection)))
            tables = [:]
        }

        func databaseDidCommit(_ db: Database) {
            settle(isCommit: true)
            sharing?.transactionEnded()
        }

        // Another observer can write in its `databaseDidCommit`, and roll back, before this observer is told of the
        // first commit. So the counter decides which transactions were committed.
        func databaseDidRollback(_ db: Database) {
            #if MUTANT_GRDB_ROLLBACK_IS_POSTED  // Found by: grdb onlyCommitsArePosted
                if isMutant("GRDB_ROLLBACK_IS_POSTED") {
                    sharing?.post(version() ?? tidings_grdb_version(), tables, connection)
                }
            #endif
            tables = [:]
            settle(isCommit: false)
            sharing?.transactionEnded()
        }

        private func settle(isCommit: Bool) {
            if commits.isEmpty { return }
            let done = commits
            commits = []
            var now = version()
            if now == nil {
                tidings_grdb_learn(connection, &journal)
                now = version()
            }
            let written = tidings_grdb_written(connection)
            var settled: [(version: CommitVersion, began: Bool, isCommit: Bool)] = []
            for (index, commit) in done.enumerated() {
                let next = index + 1 < done.count ? done[index + 1] : nil
                let after = next.map(\.before) ?? now
                var posted = after ?? tidings_grdb_version()
                var isCommit = isCommit
                if let before = commit.before, let after, before.wal == after.wal {
                    #if MUTANT_GRDB_COUNTER_IGNORED  // Found by: grdb aTransactionWithoutEffectIsNotPosted
                        if !isMutant("GRDB_COUNTER_IGNORED") { isCommit = before.counter != after.counter }
                    #else
                        isCommit = before.counter != after.counter
                    #endif
                    posted.counter = before.counter &+ 1
                }
                var wroteNothing = (next?.written ?? written) == commit.written
                #if MUTANT_GRDB_WRITTEN_IGNORED  // Found by: grdb aTransactionWithoutEffectIsNotPosted
                    if isMutant("GRDB_WRITTEN_IGNORED") { wroteNothing = false }
                #endif
                if wroteNothing { isCommit = false }
                if extensionPosts {
                    settled.append((posted.version, commit.before != nil, isCommit))
                } else if isCommit {
                    sharing?.post(posted, commit.tables, connection)
                }
            }
            if extensionPosts { sharing?.settled(settled) }
        }

        private func version() -> tidings_grdb_version? {
            var version = tidings_grdb_version()
            return tidings_grdb_read(connection, &journal, &version) ? version : nil
        }
    }

    extension tidings_grdb_version {
        var version: CommitVersion { CommitVersion(wal: wal, counter: counter) }
        /// After the next commit in this journal mode.
        var next: CommitVersion { CommitVersion(wal: wal, counter: counter &+ 1) }
    }
#endif
