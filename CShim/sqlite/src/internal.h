// What the files of the extension share. It is a client of tidings.h alone. Its design: Docs/Design/SQLite.md.
#ifndef TIDINGS_SQLITE_INTERNAL_H
#define TIDINGS_SQLITE_INTERNAL_H

#include <pthread.h>
#include <sqlite3ext.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidings.h"

extern const sqlite3_api_routines *sqlite3_api;

// The error line of an SQL function: what it tried on which schema, and why that failed (extension.c).
void sq__fail(sqlite3_context *context, const char *what, const char *schema, const char *why);

// MARK: The center (center.c)

#define SQ__DIED "sqlite.died"  // the name of the last will of each process that commits
#define SQ__NAME_MAX 64         // bytes of "sqlite.<device>.<inode>.<time of birth>", in hexadecimal, with its NUL
#define SQ__PAYLOAD_MAX 1024    // bytes of a notification's payload

// The centers of one user's databases. A process has one for each owner of a database that it writes or waits for.
typedef struct sq__home {
    struct sq__home *next;
    uid_t owner;
    _Atomic(tidings_center *) center;  // NULL: not open
    _Atomic(bool) announced;           // in this process, for this center
    _Atomic(int64_t) retry_at;         // CLOCK_MONOTONIC, ns: earlier, no second try after a failure
    _Atomic(int) failed;               // the error number of that failure
} sq__home;

// What identifies a database, and how this process posts its commits. Part of a file; used under the pager's mutex.
typedef struct sq__database {
    bool known;  // false: the file could not be identified, and its commits are not posted
    dev_t device;
    ino_t inode;
    char name[SQ__NAME_MAX];
    const char *path;  // as SQLite passed it to xOpen: lives as long as the file
    sq__home *home;
    bool path_told;
    tidings_center *center;  // of `publisher`
    tidings_publisher *publisher;
    _Alignas(8) unsigned char memory[TIDINGS_PUBLISHER_SIZE_MAX];
} sq__database;

// A commit, as it is posted.
typedef struct sq__commit {
    uint32_t counter;  // SQLite's change counter
    uint32_t pages;
    bool wal;
} sq__commit;

// Identifies the open database at `path`. `moved`: the path leads to another file by now.
void sq__database_open(sq__database *database, const char *path, bool moved);
// True if `path` still leads to the database's file.
bool sq__database_is_there(const sq__database *database);
// The center of the database. NULL: there is none, and tidings_last_error() says why. With `now` false, a failure of
// the last second is not tried again.
tidings_center *sq__center(sq__home *home, bool now);
// After -ESTALE or -EBADF: the next `sq__center` opens the center of that name again.
void sq__center_ended(sq__home *home, tidings_center *center);
// Before a commit can become visible: from here on, the death of this process is posted. Ends with `sq__flight_end`.
void sq__flight_begin(sq__database *database);
void sq__flight_end(void);
// Posts a commit. `tables` is CBOR, or NULL.
void sq__post(sq__database *database, const sq__commit *commit, const void *tables, size_t tables_size);
int64_t sq__now_ns(void);  // CLOCK_MONOTONIC
// Prints one line on standard error and to SQLite's log, once for each `error` in a process.
void sq__complain(int error, const char *line);
// Prepares the process: exit and fork handlers. Once.
void sq__process_prepare(void);
// Around calls that may start a thread of the library: `sq__threads_after` counts it, and returns 1 if there is one
// more.
uint32_t sq__threads_before(void);
uint32_t sq__threads_after(uint32_t before);
void sq__threads_ended(uint32_t count);
// True if a thread that is neither the caller nor the library's may be there.
bool sq__threads_of_program(void);

// MARK: The payload (payload.c)

typedef struct sq__bytes {
    unsigned char *bytes;
    size_t size, capacity;  // `size` grows beyond `capacity` if the bytes do not fit
} sq__bytes;

void sq__cbor_head(sq__bytes *out, unsigned major, uint64_t value);
void sq__cbor_text(sq__bytes *out, const char *text, size_t length);
void sq__payload_write(sq__bytes *out, const sq__commit *commit, const void *tables, size_t tables_size);
// Reads a payload that any peer may have written. `*tables`: JSON, to be passed to sqlite3_free, or NULL.
bool sq__payload_read(const void *payload, size_t size, sq__commit *commit, char **tables);

// MARK: The changed tables of a transaction (tables.c)

#define SQ__TABLES_MAX 700  // bytes of CBOR; a transaction that changes more tables has a payload without them

typedef struct sq__tables {
    bool wanted, too_many;
    uint32_t count;
    size_t size;
    unsigned char entries[SQ__TABLES_MAX];  // each: kinds, length, name
} sq__tables;

void sq__tables_clear(sq__tables *tables);
void sq__tables_add(sq__tables *tables, int operation, const char *name);
size_t sq__tables_write(const sq__tables *tables, unsigned char *bytes, size_t capacity);
void sq__tables_function(sqlite3_context *context, int count, sqlite3_value **values);

// MARK: Files (vfs.c)

typedef struct sq__waiter sq__waiter;

#define SQ__FILE_OPCODE 0x54694451  // xFileControl: returns the file that this extension wraps

// A database file of one connection, or its WAL. SQLite calls its functions under the pager's mutex.
typedef struct sq__file {
    sqlite3_file base;
    sqlite3_file *real;
    struct sq__file *main;  // of a WAL: its database. Of a database: itself
    // The rest is used by databases only.
    struct sq__file *next;  // in the list of open databases
    sq__database database;
    sq__tables tables;
    pthread_mutex_t lock;      // of `index` and `waiters`: connections of a shared cache do not hold the pager's mutex
    volatile uint32_t *index;  // the mapped header of the WAL's index; NULL: not mapped
    sq__waiter *waiters;
    _Atomic(sqlite3 *) owner;  // the first connection that has this file as "main"
    _Atomic(bool) shared;      // another connection has it too: they share a cache
    int level;                 // SQLITE_LOCK_…
    bool flying;               // between `sq__flight_begin` and `sq__flight_end`
    bool wal_open;             // writes to the database are a checkpoint's
    bool wal_committed;        // a commit was written to the WAL under an exclusive lock of the database
    bool recovered;            // the WAL's index was recovered under this write lock
    bool disk_known, written;
    uint32_t disk_counter;            // as last read from the file under the present lock
    uint32_t before;                  // at the time of the lock
    uint32_t wal_base;                // likewise, of the WAL's index
    uint32_t new_counter, new_pages;  // as last written
    // What this connection has seen: the version that it last read or committed. `SQ__VERSION_NONE`: nothing yet.
    _Atomic(uint64_t) seen;
} sq__file;

#define SQ__VERSION_NONE UINT64_MAX
// A version of the database: its change counter, in one of two spaces of numbers.
static inline uint64_t sq__version(bool wal, uint32_t counter) { return (uint64_t)wal << 32 | counter; }

int sq__vfs_register(void);
// The file of a schema of this connection; NULL: `*why` says why there is none.
sq__file *sq__file_of(sqlite3 *db, const char *schema, const char **why);
// Reads the version from the WAL's index. False: there is no index, or a writer died while it wrote the header.
bool sq__file_peek(sq__file *file, uint64_t *version, uint32_t *pages);
// Calls `each` for each open database file. `each` must not open or close files.
void sq__files_each(void (*each)(sq__file *file, void *context), void *context);

// MARK: Waiting (wait.c) and listing changes (changes.c)

void sq__wait_function(sqlite3_context *context, int count, sqlite3_value **values);
void sq__descriptor_function(sqlite3_context *context, int count, sqlite3_value **values);
void sq__waiters_close(sq__file *file, const void *connection);
// The version that the connection sees now. An SQLite result code; on failure `*version` is unchanged.
int sq__version_now(sqlite3 *db, const char *schema, sq__file *file, uint64_t *version);
extern const sqlite3_module sq__changes_module;

#endif
