#if GRDB
    public import GRDB
    public import Tidings

    /// Connects a GRDB database with the other processes that have the same file open.
    ///
    /// ```swift
    /// let pool = try DatabasePool(path: "/var/lib/player/library.db")
    /// let sharing = try DatabaseSharing(pool)
    /// let observation = ValueObservation.tracking { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM track") }
    /// for try await count in observation.values(in: pool) { print(count ?? 0) }
    /// ```
    ///
    /// Promise, while this object exists:
    /// - Each commit of the writer to its main database is posted, after SQLite has given up the write lock, with the
    ///   changed tables. A rollback is not posted, nor is a transaction that wrote nothing.
    /// - Each commit that another process posts triggers the observations that track a changed table:
    ///   `ValueObservation`, `DatabaseRegionObservation` and other transaction observers. If the tables are not known,
    ///   or notifications were missed, every observation is triggered. Commits that arrive while the writer is busy are
    ///   merged: observations are then triggered once.
    /// - Being triggered is not a commit, and is not posted. So processes that refresh each other come to rest.
    /// - No failure of the center affects the database. Commits succeed, and `onError` receives one line.
    ///
    /// Other processes take part with this class, or with the extension TidingsSQLite, in any language. Commits of a
    /// process without either are not seen. An idle process uses no processor time.
    ///
    /// The object keeps the writer open. Its last reference ends it, and so does ``cancel()``.
    public final class DatabaseSharing: Sendable {
        package let sharing: Sharing

        /// Starts to post the commits of a database, and to receive those of other processes.
        ///
        /// Waits until the writer is free, and up to 20 ms for another process. May be called on the writer's queue,
        /// outside of a transaction. An observation that was started earlier is triggered once, because it may have
        /// missed a commit.
        ///
        /// - Parameters:
        ///   - writer: a `DatabasePool` or `DatabaseQueue` of a file. It must not be read-only, because GRDB does not
        ///     trigger the observations of a read-only connection.
        ///   - center: the name of the center, 1 to 200 bytes of UTF-8. `nil`: `sqlite`, in which the databases of one
        ///     user are, and which the extension uses.
        ///   - name: the name of the notifications. `nil`: derived from the file's device, inode and time of birth, as
        ///     the extension does. So all paths to one file have one name.
        ///   - configuration: sizes and access of the center. Its owner is that of the file unless it is set, and the
        ///     sharing always goes on in the next center of the name.
        ///   - onError: receives what does not work, once for each kind, on any thread; it must not use the database.
        ///     `nil`: one line on standard error. A center that cannot be opened is tried again by the first commit
        ///     after a second.
        /// - Throws: ``SharedNotificationError``: `.invalidArgument` (a database in memory, a closed one, or a
        ///   read-only writer),
        ///   `.invalidName` (the name), `.removed` (the file was replaced since it was opened), `.system` (the file can
        ///   not be identified). A center that cannot be opened is not among them.
        public init(
            _ writer: any DatabaseWriter, center: String? = nil, name: SharedNotificationCenter.Name? = nil,
            configuration: SharedNotificationCenter.Configuration = .init(),
            onError: (@Sendable (SharedNotificationError) -> Void)? = nil
        ) throws(SharedNotificationError) {
            sharing = try Sharing(writer, center: center, name: name, configuration, onError)
        }

        /// The name of the notifications of this database.
        public var name: SharedNotificationCenter.Name { sharing.name }

        /// Ends posting and receiving, as the release of the object does (``DatabaseSharing``).
        ///
        /// A refresh that is running ends on its own; no other one follows. Idempotent, from any thread. Waits up to 50
        /// ms, not for the writer.
        public func cancel() {
            sharing.cancel()
        }

        deinit {
            sharing.cancel()
        }
    }
#endif
