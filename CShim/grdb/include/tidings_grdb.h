// Internal to TidingsGRDB: what Swift cannot import from the C library and from SQLite. No promise to programs.
#ifndef TIDINGS_GRDB_H
#define TIDINGS_GRDB_H

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

// What identifies a database: the same for all paths to one file.
typedef struct tidings_grdb_identity {
    uint64_t device, inode;
    uint64_t born;   // ns since 1970; 0: the file system does not say. Tells a new file with an old inode apart
    uint32_t owner;  // user ID
} tidings_grdb_identity;

// The version of a database: its change counter, which each commit increments, and its size.
typedef struct tidings_grdb_version {
    uint32_t counter, pages;
    bool wal;  // the counter is that of the WAL's index, and otherwise that of the file's header
} tidings_grdb_version;

// What one connection uses as its journal. Zeroed: not known yet.
typedef struct tidings_grdb_journal {
    const void *file;
    bool known, wal;
} tidings_grdb_journal;

// 0, or a negative errno: -EINVAL if the path does not lead to a regular file.
int tidings_grdb_identify(const char *path, tidings_grdb_identity *identity);

// The functions below exist with the trait GRDB. The caller has the connection for itself.

// The path of "main", as long as the connection is open. NULL or empty: it is in memory or temporary.
const char *tidings_grdb_path(struct sqlite3 *db);
// True if the path of "main" leads to another file than the open one, or to none.
bool tidings_grdb_moved(struct sqlite3 *db);
// True if the extension TidingsSQLite posts the commits of this connection. Asks it for the changed tables.
bool tidings_grdb_extension_posts(struct sqlite3 *db);
// True if a transaction of this connection has the write lock of "main". Usable in a commit hook.
bool tidings_grdb_writes(struct sqlite3 *db);
// How many pages the connection has written since it was opened, modulo 2^32. A commit writes at least one, and a
// transaction without effect none. Usable in a commit hook.
int32_t tidings_grdb_written(struct sqlite3 *db);
// Executes two pragmas, so it must not be called in a commit hook.
void tidings_grdb_learn(struct sqlite3 *db, tidings_grdb_journal *journal);
// False: the journal is not known, or has changed. Executes no SQL. Usable in a commit hook.
bool tidings_grdb_read(struct sqlite3 *db, const tidings_grdb_journal *journal, tidings_grdb_version *version);

#endif
