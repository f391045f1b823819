#if GRDB
    import CTidingsGRDB
    import Dispatch
    import Foundation
    import GRDB
    import Synchronization
    import Tidings

    typealias Center = SharedNotificationCenter

    /// One database in one center.
    ///
    /// The transaction observer is used on the writer's queue only. Everything else that changes is behind `state`.
    package final class Sharing: @unchecked Sendable {
        // Sendable: `observer` and the variables below them change on the writer's queue only, as GRDB
        // calls transaction observers there, and `refresh` runs there.
        private var observer: CommitObserver?
        private var schemaVersion: Int32?
        private var virtualTables: Set<String> = []
        private var isPostponed = false
        private var lostPost = false
        private var examinedAt = ContinuousClock.now
        // Set once, by the initializer.
        private var suspensionObservers: [any NSObjectProtocol] = []

        let writer: any DatabaseWriter
        let name: Center.Name
        private let centerName: String
        private let configuration: Center.Configuration
        private let onError: @Sendable (SharedNotificationError) -> Void
        private let state = Mutex(State())

        /// Posted by the last will of each process that may commit. Also the extension's.
        static let died: Center.Name = "sqlite.died"
        private static let retryInterval = Duration.seconds(1)
        private static let examinationInterval = Duration.seconds(1)
        /// Milliseconds until a refresh that failed is tried again. Doubled up to the second one, so that a lock or a
        /// suspension that lasts costs two tries a second at most.
        private static let (firstRetryDelay, longestRetryDelay) = (20, 640)

        struct Link {
            var center: Center
            var token: Center.ObservationToken
            var announcement: Center.Announcement?
        }

        struct State {
            var link: Link?
            var retryAt: ContinuousClock.Instant?
            var pending: ChangedTables?
            var isScheduled = false
            var isSuspended = false
            var isCancelled = false
            var retryDelay = Sharing.firstRetryDelay
            var reported: Set<SharedNotificationError.Code> = []
            /// The writer's commits that the extension posts, until the notification arrives: the last ones, and those
            /// that are in progress.
            var own: [CommitVersion] = []
            var beginning: Set<CommitVersion> = []
            /// Arrived with the version of a commit in progress. If it was none, another connection has committed.
            var undecided: ChangedTables?
            var refreshes = 0
            var received = 0
        }

        /// How often observations were triggered; for tests.
        package var refreshes: Int { state.withLock { $0.refreshes } }
        /// How many notifications of other processes have arrived; for tests.
        package var received: Int { state.withLock { $0.received } }
        /// Whether the center is open; for tests.
        package var isConnected: Bool { state.withLock { $0.link != nil } }

        init(
            _ writer: any DatabaseWriter, center: String?, name: Center.Name?, _ configuration: Center.Configuration,
            _ onError: (@Sendable (SharedNotificationError) -> Void)?
        ) throws(SharedNotificationError) {
            let path = writer.path
            let failed = "can't share the database \"\(path)\": "
            if writer.configuration.readonly {
                throw SharedNotificationError(
                    .invalidArgument,
                    message: failed + "it is read-only, and GRDB does not trigger the observations of a read-only "
                        + "connection; open it with readonly = false")
            }
            var identity = tidings_grdb_identity()
            let file = writer.unsafeReentrantWrite { db in
                db.sqliteConnection.map { (hasMoved: tidings_grdb_moved($0), path: databasePath(of: $0)) }
            }
            guard let file else {
                throw SharedNotificationError(
                    .invalidArgument, message: failed + "it was closed; open it, and share it before you close it")
            }
            if file.path.isEmpty {
                throw SharedNotificationError(
                    .invalidArgument,
                    message: failed + "it is in memory or temporary, so no other process can open it; use a file")
            }
            let error = tidings_grdb_identify(file.path, &identity)
            if error != 0 && error != -EINVAL && error != -ENOENT {
                throw SharedNotificationError(
                    .system(-error),
                    message: failed + "its file can't be examined: " + String(cString: strerror(-error)))
            }
            if file.hasMoved || error != 0 {
                throw SharedNotificationError(
                    .removed, message: failed + "its file was deleted or replaced since it was opened; open it again")
            }
            self.writer = writer
            self.centerName = center ?? "sqlite"
            self.name =
                name
                ?? Center.Name(
                    "sqlite.\(String(identity.device, radix: 16)).\(String(identity.inode, radix: 16))"
                        + ".\(String(identity.born, radix: 16))")
            if self.name.rawValue.isEmpty || self.name.rawValue.utf8.count > 255 || self.name.rawValue.utf8.contains(0)
            {
                throw SharedNotificationError(
                    .invalidName,
                    message: failed + "the name has \(self.name.rawValue.utf8.count) bytes; use 1 to 255, without NUL")
            }
            var configuration = configuration
            configuration.followsName = true
            configuration.isReadOnly = false
            if configuration.owner == nil && identity.owner != geteuid() { configuration.owner = identity.owner }
            self.configuration = configuration
            self.onError =
                onError ?? {
                    let line = Array("tidings: \($0.message)\n".utf8)
                    _ = write(STDERR_FILENO, line, line.count)
                }

            connect()
            writer.unsafeReentrantWrite { db in
                let observer = CommitObserver(self, db)
                self.observer = observer
                db.add(transactionObserver: observer)
            }
            observeSuspension()
            #if MUTANT_GRDB_NO_FIRST_REFRESH  // Found by: grdb aCommitBeforeTheSharingIsSeen hangs
                if isMutant("GRDB_NO_FIRST_REFRESH") { return }
            #endif
            // A commit before the center was observed may be unknown to an observation that is older.
            refresh(.all)
        }

        func cancel() {
            let link = state.withLock { state in
                defer { state.link = nil }
                state.isCancelled = true
                return state.link
            }
            link?.token.cancel()
            link?.announcement?.withdraw()
            for observer in suspensionObservers { NotificationCenter.default.removeObserver(observer) }
        }

        private func report(_ error: SharedNotificationError) {
            let isFirst = state.withLock { !$0.isCancelled && $0.reported.insert(error.code).inserted }
            #if MUTANT_GRDB_ERROR_NOT_REPORTED  // Found by: grdb aCenterThatCanNotBeOpenedAffectsNoCommit
                if isMutant("GRDB_ERROR_NOT_REPORTED") { return }
            #endif
            if isFirst { onError(error) }
        }
    }

    // MARK: The center

    extension Sharing {
        /// Opens the center if it is not open. After a failure not again before a second has passed.
        private func connect() {
            let isDue = state.withLock { state in
                if state.isCancelled || state.link != nil { return false }
                let now = ContinuousClock.now
                if let retryAt = state.retryAt, now < retryAt { return false }
                state.retryAt = now + Self.retryInterval
                return true
            }
            if !isDue { return }
            do throws(SharedNotificationError) {
                let center = try Center(named: centerName, configuration: configuration)
                center.onDiagnostic = { [weak self] in self?.receive($0) }
                #if MUTANT_GRDB_OWN_POSTS_REFRESH  // Found by: grdb aRefreshIsNotPosted
                    let excludesOwn = !isMutant("GRDB_OWN_POSTS_REFRESH")
                #else
                    let excludesOwn = true
                #endif
                let options = Center.ObserverOptions(
                    excludingOwnPosts: excludesOwn,
                    onMissed: { [weak self] _, _ in
                        #if MUTANT_GRDB_MISSED_IGNORED  // Found by: grdb missedNotificationsRefreshEverything hangs
                            if isMutant("GRDB_MISSED_IGNORED") { return }
                        #endif
                        self?.refresh(.all)
                    })
                let token = try center.addObserver(forNames: .init([name, Self.died]), options: options) {
                    [weak self] in self?.receive($0)
                }
                var link = Link(center: center, token: token)
                do throws(SharedNotificationError) {
                    link.announcement = try center.announce(role: "sqlite", will: .init(name: Self.died))
                } catch {
                    report(error)
                }
                let isWanted = state.withLock { state in
                    if state.isCancelled { return false }
                    state.link = link
                    return true
                }
                if !isWanted { token.cancel() }
            } catch {
                report(
                    SharedNotificationError(
                        error.code,
                        message: "can't share the database \"\(writer.path)\", which works on: \(error.message)",
                        underlyingError: error))
            }
        }

        private func receive(_ diagnostic: Center.Diagnostic) {
            switch diagnostic {
            case .reopened: refresh(.all)
            case .postFailed(_, let error):
                // The next center was removed, too, before this process was announced there. It is announced in the
                // center after that.
                if error.code != .removed { report(error) }
            case .dispatchFailed(let error):
                let link = state.withLock { state in
                    defer { state.link = nil }
                    return state.link
                }
                report(error)
                // Not on this thread: it would wait for itself.
                DispatchQueue.global().async { [weak self] in
                    link?.token.cancel()
                    self?.connect()
                    self?.refresh(.all)
                }
            default: break
            }
        }

        private func receive(_ notification: Center.Notification) {
            if notification.name == Self.died {
                #if MUTANT_GRDB_DEATH_IGNORED  // Found by: grdb aCommitOfAProcessThatDiesBeforeItsPostIsSeen hangs
                    if isMutant("GRDB_DEATH_IGNORED") { return }
                #endif
                refresh(.all)
                return
            }
            if isOwn(notification) { return }
            defer { state.withLock { $0.received += 1 } }
            refresh(ChangedTables(notification.payload))
        }

        /// Whether the extension has posted the notification for a commit of this writer.
        private func isOwn(_ notification: Center.Notification) -> Bool {
            guard notification.envelope.poster.pid == getpid(),
                state.withLock({ !$0.own.isEmpty || !$0.beginning.isEmpty }),
                let version = (try? notification.payload.decode(CommitPayload.self))?.version
            else { return false }
            return state.withLock { state in
                // Each commit is posted once. Another notification with its version is that of another connection.
                if let index = state.own.firstIndex(of: version) {
                    state.own.remove(at: index)
                    return true
                }
                if state.beginning.remove(version) == nil { return false }
                let tables = ChangedTables(notification.payload)
                if state.undecided?.formUnion(tables) == nil { state.undecided = tables }
                return true
            }
        }
    }

    // MARK: On the writer's queue

    extension Sharing {
        func willCommit(_ version: CommitVersion) {
            state.withLock { _ = $0.beginning.insert(version) }
        }

        /// - Parameter commits: those that began, and whether each was one. `began`: ``willCommit(_:)`` was called.
        func settled(_ commits: [(version: CommitVersion, began: Bool, isCommit: Bool)]) {
            let others = state.withLock { state -> ChangedTables? in
                defer {
                    state.beginning = []
                    state.undecided = nil
                }
                // Not those whose notification has arrived already.
                let own = commits.filter { $0.isCommit && (!$0.began || state.beginning.contains($0.version)) }
                state.own = (state.own + own.map(\.version)).suffix(64)
                return commits.allSatisfy(\.isCommit) ? nil : state.undecided
            }
            if let others { refresh(others) }
        }

        func post(_ version: tidings_grdb_version, _ tables: [String: ChangeKinds], _ db: OpaquePointer?) {
            examine(db)
            connect()
            guard let center = state.withLock({ $0.link?.center }) else { return }
            var payload = CommitPayload(
                counter: version.counter, journal: version.wal ? "wal" : "rollback", pages: version.pages)
            // After a lost post the next one stands for both.
            if !lostPost && !tables.isEmpty
                && tables.keys.reduce(0, { $0 + $1.utf8.count + 24 }) <= CommitPayload.maximumNames
            {
                payload.tables = tables.mapValues(\.names)
            }
            do {
                try center.post(name: name, payload: .init(encoding: payload))
                lostPost = false
            } catch {
                lostPost = true
                #if MUTANT_GRDB_LOST_POST_FORGOTTEN  // Found by: grdb aRefusedPostIsReportedOnce
                    if isMutant("GRDB_LOST_POST_FORGOTTEN") { lostPost = false }
                #endif
                report(
                    error as? SharedNotificationError
                        ?? SharedNotificationError(.encodingFailed, message: "can't post a commit: \(error)"))
            }
        }

        /// Reports a file that has gone, at most a second after it was noticed by a commit or a refresh.
        private func examine(_ db: OpaquePointer?) {
            let now = ContinuousClock.now
            if now - examinedAt < Self.examinationInterval { return }
            examinedAt = now
            if let db, tidings_grdb_moved(db) {
                report(
                    SharedNotificationError(
                        .removed,
                        message:
                            "the database \"\(writer.path)\" was deleted, renamed or replaced, and this process still "
                            + "uses the old file; open it again"))
            }
        }

        /// After a transaction: a refresh that found it open can begin.
        func transactionEnded() {
            if isPostponed {
                isPostponed = false
                schedule()
            }
        }

        /// Triggers the observations of `tables`, together with what waits already.
        func refresh(_ tables: ChangedTables) {
            state.withLock { state in
                if state.pending?.formUnion(tables) == nil { state.pending = tables }
            }
            schedule()
        }

        private func schedule() {
            let isDue = state.withLock { state in
                if state.isCancelled || state.isSuspended || state.pending == nil { return false }
                #if MUTANT_GRDB_BURST_NOT_MERGED  // Found by: grdb commitsThatArriveWhileTheWriterIsBusyAreOneRefresh
                    if isMutant("GRDB_BURST_NOT_MERGED") { state.isScheduled = false }
                #endif
                if state.isScheduled { return false }
                state.isScheduled = true
                return true
            }
            if isDue { writer.asyncWriteWithoutTransaction { [weak self] db in self?.refresh(db) } }
        }

        private func refresh(_ db: Database) {
            let tables = state.withLock { state -> ChangedTables? in
                state.isScheduled = false
                if state.isCancelled || state.isSuspended { return nil }
                #if MUTANT_GRDB_BURST_NOT_MERGED
                    if isMutant("GRDB_BURST_NOT_MERGED") { return state.pending }
                #endif
                defer { state.pending = nil }
                return state.pending
            }
            guard let tables, db.sqliteConnection != nil else { return }
            examine(db.sqliteConnection)
            if db.isInsideTransaction {
                // The program keeps a transaction open between two accesses.
                isPostponed = true
                #if MUTANT_GRDB_OPEN_FORGOTTEN  // Found by: grdb aRefreshWaitsForTheEndOfAnOpenTransaction hangs
                    if isMutant("GRDB_OPEN_FORGOTTEN") { isPostponed = false }
                #endif
                return state.withLock { $0.pending = tables }
            }
            do {
                let regions = try regions(of: tables, db)
                // Deferred and empty: does not take the write lock. GRDB triggers observations at its end.
                #if MUTANT_GRDB_REFRESH_LOCKS  // Found by: grdb aRefreshNeedsNoWriteLock hangs
                    let locks = isMutant("GRDB_REFRESH_LOCKS")
                    let kind: Database.TransactionKind = locks ? .immediate : .deferred
                #else
                    let kind = Database.TransactionKind.deferred
                #endif
                try db.inTransaction(kind) {
                    for region in regions { try db.notifyChanges(in: region) }
                    return .commit
                }
                state.withLock { state in
                    state.refreshes += 1
                    state.retryDelay = Self.firstRetryDelay
                }
            } catch {
                retry(tables, after: error)
            }
        }

        private func regions(of tables: ChangedTables, _ db: Database) throws -> [DatabaseRegion] {
            let version = try db.schemaVersion()
            if version != schemaVersion {
                // GRDB does not notice that another process has changed the schema.
                #if MUTANT_GRDB_SCHEMA_KEPT  // Found by: grdb anObservationFollowsASchemaThatAnotherConnectionChanges
                    if !isMutant("GRDB_SCHEMA_KEPT") { db.clearSchemaCache() }
                #else
                    db.clearSchemaCache()
                #endif
                virtualTables = try String.fetchSet(
                    db, sql: "SELECT lower(name) FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%'")
                schemaVersion = version
                // GRDB's full database does not contain the table of the schema.
                return [.fullDatabase, try Table("sqlite_master").databaseRegion(db)]
            }
            guard case .some(let names) = tables else { return [.fullDatabase] }
            var region = DatabaseRegion()
            for name in names {
                try region.formUnion(Table(name).databaseRegion(db))
                // SQLite reports the tables in which a virtual table stores its content: "document_content".
                for virtual in virtualTables where name.lowercased().hasPrefix(virtual + "_") {
                    try region.formUnion(Table(virtual).databaseRegion(db))
                }
            }
            return [region]
        }

        private func retry(_ tables: ChangedTables, after error: any Error) {
            state.withLock { state in
                if state.pending?.formUnion(tables) == nil { state.pending = tables }
            }
            switch (error as? DatabaseError)?.resultCode {
            case .SQLITE_ABORT?, .SQLITE_INTERRUPT?, .SQLITE_BUSY?, .SQLITE_LOCKED?:
                // Suspended meanwhile or before the sharing was made, interrupted by the program, or locked.
                let delay = state.withLock { state -> Int? in
                    if state.isSuspended { return nil }
                    defer { state.retryDelay = min(2 * state.retryDelay, Self.longestRetryDelay) }
                    return state.retryDelay
                }
                if let delay { schedule(after: .milliseconds(delay)) }
            case .SQLITE_MISUSE?: break  // The database was closed.
            default:
                report(
                    SharedNotificationError(
                        .system(EIO),
                        message:
                            "can't refresh the observations of \"\(writer.path)\", next commit tries again: \(error)",
                        underlyingError: error))
            }
        }

        private func schedule(after delay: DispatchTimeInterval) {
            DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in self?.schedule() }
        }

        private func observeSuspension() {
            guard writer.configuration.observesSuspensionNotifications else { return }
            let names = [(Database.suspendNotification, true), (Database.resumeNotification, false)]
            suspensionObservers = names.map { name, isSuspended in
                NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { [weak self] _ in
                    self?.state.withLock { state in
                        state.isSuspended = isSuspended
                        // GRDB's own observer may resume the database after this call: the next try follows soon.
                        state.retryDelay = Self.firstRetryDelay
                    }
                    self?.schedule()
                }
            }
        }
    }

    /// The path of the main database as SQLite knows it; empty: it has no file. A suspended database has it, too.
    private func databasePath(of connection: OpaquePointer) -> String {
        tidings_grdb_path(connection).map { String(cString: $0) } ?? ""
    }
#endif
