// Reads the change counter of a database through the file of an open connection. Opening the file again would be
// wrong: closing any descriptor of a file ends the process's POSIX locks on it, and so SQLite's.
#ifdef TIDINGS_GRDB
#include <sqlite3.h>
#include <string.h>

#include "tidings_grdb.h"

#define COUNTER_AT 24            // in the database file: the change counter, then the number of pages, both big-endian
enum { CHANGE = 2, PAGES = 5 };  // 32-bit words of the WAL's index, in the byte order of the machine
#define INDEX_REGION 32768       // bytes that SQLite maps of the WAL's index at a time

static sqlite3_file *file_of(sqlite3 *db, int operation) {
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db, "main", operation, &file) != SQLITE_OK || !file || !file->pMethods) return NULL;
    return file;
}

const char *tidings_grdb_path(sqlite3 *db) { return sqlite3_db_filename(db, "main"); }

bool tidings_grdb_moved(sqlite3 *db) {
    int moved = 0;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

bool tidings_grdb_extension_posts(sqlite3 *db) {
    char *name = NULL;
    const char ours[] = "tidings/";
    const bool found = sqlite3_file_control(db, "main", SQLITE_FCNTL_VFSNAME, &name) == SQLITE_OK && name &&
                       strncmp(name, ours, sizeof ours - 1) == 0;
    sqlite3_free(name);
    // Without the function, or without SQLite's pre-update hook, the extension posts without tables.
    if (found) (void)sqlite3_exec(db, "SELECT tidings_tables('main')", NULL, NULL, NULL);
    return found;
}

bool tidings_grdb_writes(sqlite3 *db) { return sqlite3_txn_state(db, "main") == SQLITE_TXN_WRITE; }

int32_t tidings_grdb_written(sqlite3 *db) {
    int pages = 0, most = 0;
    (void)sqlite3_db_status(db, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &most, 0);
    return pages;
}

static bool pragma_is(sqlite3 *db, const char *sql, const char *value) {
    sqlite3_stmt *statement = NULL;
    bool equal = false;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        equal = text && strcmp(text, value) == 0;
    }
    (void)sqlite3_finalize(statement);
    return equal;
}

void tidings_grdb_learn(sqlite3 *db, tidings_grdb_journal *journal) {
    // A connection opens its WAL when it first reads.
    (void)sqlite3_exec(db, "SELECT 1 FROM main.sqlite_master LIMIT 1", NULL, NULL, NULL);
    const bool wal = pragma_is(db, "PRAGMA main.journal_mode", "wal");
    // With exclusive locking the index may be in the heap. Asking for it would create a file.
    journal->known = !(wal && pragma_is(db, "PRAGMA main.locking_mode", "exclusive"));
    journal->wal = wal;
    journal->file = NULL;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal->file) != SQLITE_OK)
        journal->known = false;
}

bool tidings_grdb_read(sqlite3 *db, const tidings_grdb_journal *journal, tidings_grdb_version *version) {
    const void *now = NULL;
    // SQLite has one file object for all rollback journals of a connection, and another one for its WAL. If the object
    // is the same, so is the mode.
    if (!journal->known || sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &now) != SQLITE_OK ||
        now != journal->file)
        return false;
    sqlite3_file *file = file_of(db, SQLITE_FCNTL_FILE_POINTER);
    if (!file) return false;
    version->wal = journal->wal;
    if (journal->wal) {
        void volatile *bytes = NULL;
        if (file->pMethods->iVersion < 2 || !file->pMethods->xShmMap) return false;
        (void)file->pMethods->xShmMap(file, 0, INDEX_REGION, 0, &bytes);
        const volatile uint32_t *index = bytes;
        if (!index) return false;
        version->counter = index[CHANGE];
        version->pages = index[PAGES];
        return true;
    }
    unsigned char bytes[8];
    if (file->pMethods->xRead(file, bytes, sizeof bytes, COUNTER_AT) != SQLITE_OK) return false;
    uint32_t words[2];
    memcpy(words, bytes, sizeof words);
    version->counter = __builtin_bswap32(words[0]);
    version->pages = __builtin_bswap32(words[1]);
    return true;
}
#endif
