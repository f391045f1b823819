/// TidingsSQLite: commits to SQLite databases as notifications. Docs/SQLite.md has the promises and limits.
///
/// A program in C loads the extension like any other (`sqlite3_load_extension`), or is linked with it and calls
/// `tidings_sqlite_load` before it opens its databases. Waiting is SQL, in C as in any language. The functions below
/// only prepare the statements.
#ifndef TIDINGS_SQLITE_H
#define TIDINGS_SQLITE_H

#include <sqlite3.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3_api_routines;

/// The entry point that SQLite calls, also by way of `sqlite3_auto_extension`. The extension stays loaded until the
/// process ends. SQLITE_ERROR: SQLite is older than 3.34; `error` receives a line for `sqlite3_free`.
/// Bound: constant. Never waits.
int sqlite3_tidingssqlite_init(sqlite3 *db, char **error, const struct sqlite3_api_routines *api);

/// Loads the extension into a program that is linked with it. Each connection that is opened afterwards posts its
/// commits. Returns an SQLite result code.
/// Bound: as opening a database in memory. Never waits.
static inline int tidings_sqlite_load(void) {
    sqlite3 *db = NULL;
    int result = sqlite3_auto_extension((void (*)(void))sqlite3_tidingssqlite_init);
    if (result == SQLITE_OK) result = sqlite3_open(":memory:", &db);
    (void)sqlite3_close(db);
    return result;
}

/// Waits for a commit of another connection to `schema` ("main"), as the SQL function `tidings_wait` does.
/// SQLITE_ROW: `*counter` is the new change counter. SQLITE_DONE: the timeout passed. SQLITE_INTERRUPT:
/// `sqlite3_interrupt` was called. Any other code: an error, with `sqlite3_errmsg(db)`.
///
/// `timeout_ms`: -1 without end. `check_ms`: 0, or how often to look for commits that no process posts.
/// Bound: a copy of the notifications that are there. Waits up to `timeout_ms`, and holds the mutex of `db` meanwhile.
static inline int tidings_sqlite_wait(sqlite3 *db, const char *schema, sqlite3_int64 timeout_ms, sqlite3_int64 check_ms,
                                      sqlite3_int64 *counter) {
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db, "SELECT tidings_wait(?, ?, ?)", -1, &statement, NULL);
    if (result != SQLITE_OK) return result;
    (void)sqlite3_bind_text(statement, 1, schema, -1, SQLITE_STATIC);
    (void)sqlite3_bind_int64(statement, 2, timeout_ms);
    (void)sqlite3_bind_int64(statement, 3, check_ms);
    if (sqlite3_step(statement) == SQLITE_ROW) {
        result = sqlite3_column_type(statement, 0) == SQLITE_NULL ? SQLITE_DONE : SQLITE_ROW;
        *counter = sqlite3_column_int64(statement, 0);
        (void)sqlite3_finalize(statement);
        return result;
    }
    return sqlite3_finalize(statement);
}

/// A descriptor that is readable while `tidings_sqlite_wait` with timeout 0 may have news, for poll and epoll. It
/// belongs to the connection: don't read or close it. SQLITE_OK, or an error with `sqlite3_errmsg(db)`.
/// Bound: constant. Never waits.
static inline int tidings_sqlite_descriptor(sqlite3 *db, const char *schema, int *descriptor) {
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db, "SELECT tidings_descriptor(?)", -1, &statement, NULL);
    if (result != SQLITE_OK) return result;
    (void)sqlite3_bind_text(statement, 1, schema, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW) *descriptor = sqlite3_column_int(statement, 0);
    return sqlite3_finalize(statement);
}

#ifdef __cplusplus
}
#endif

#endif
