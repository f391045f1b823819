// The VFS that sees commits. It passes each call on to the VFS below, unchanged.
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define WAL_WRITE_LOCK 0  // slots of xShmLock, as SQLite's file format documents them
#define WAL_RECOVER_LOCK 2
#define WAL_READ_LOCK 3
// 32-bit words of the header of a WAL's index. The second copy of the header begins at word 12.
#define CHANGE 2
#define FLAGS 3  // its first byte: the header is initialised
#define FRAMES 4
#define PAGES 5
#define SECOND 12
// Bytes of page 1.
#define COUNTER_AT 24
#define PAGES_AT 28
#define FRAME_HEADER 24  // bytes before each page of a WAL

typedef struct shim {
    sqlite3_vfs base;
    sqlite3_vfs *real;
} shim;

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static sq__file *files;

#define REAL(file) (((sq__file *)(file))->real)
#define BELOW(vfs) (((shim *)(vfs))->real)

static uint32_t big_endian(const void *bytes) {
    const unsigned char *b = bytes;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

// MARK: Transactions

static void flight(sq__file *file) {
    if (file->flying) return;
    file->flying = true;
    sq__flight_begin(&file->database);
}

static void land(sq__file *file) {
    if (!file->flying) return;
    file->flying = false;
    sq__flight_end();
}

static void post(sq__file *file, const sq__commit *commit) {
    unsigned char tables[SQ__TABLES_MAX];
    size_t size = 0;
    if (file->tables.wanted) size = sq__tables_write(&file->tables, tables, sizeof tables);
    sq__post(&file->database, commit, size ? tables : NULL, size);
    sq__tables_clear(&file->tables);
}

static bool wal_is_ready(const sq__file *file) {
    return file->index && *(const volatile unsigned char *)&file->index[FLAGS] != 0;
}

bool sq__file_peek(sq__file *file, uint64_t *version, uint32_t *pages) {
    bool good = false;
    pthread_mutex_lock(&file->lock);
    if (wal_is_ready(file)) {
        // A commit is visible when both copies of the header have it. The writer writes the second one first.
        const uint32_t first = file->index[CHANGE];
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        const uint32_t second = file->index[SECOND + CHANGE];
        *version = sq__version(true, first);
        if (pages) *pages = file->index[PAGES];
        good = first == second;
    }
    pthread_mutex_unlock(&file->lock);
    return good;
}

// MARK: Methods of files

// The lock of the database is given up, or the file is closed: what was committed under it is visible now.
static void end_exclusive(sq__file *file) {
    sq__commit commit = {file->new_counter, file->new_pages, file->wal_committed};
    bool committed = file->wal_committed;
#ifndef MUTANT_ROLLBACK_IS_POSTED  // Found by: sqlite rollbacks_post_nothing
    // Invariant S2. A rollback restores page 1 with the counter that it had.
    if (file->written && file->new_counter != file->before) committed = true;
#else
    if (file->written) committed = true;
#endif
    if (file->written) atomic_store(&file->seen, sq__version(false, file->new_counter));
    file->written = file->wal_committed = false;
    if (committed) post(file, &commit);
    land(file);
}

static void files_remove(const sq__file *file) {
    pthread_mutex_lock(&files_lock);
    for (sq__file **link = &files; *link; link = &(*link)->next) {
        if (*link == file) {
            *link = file->next;
            break;
        }
    }
    pthread_mutex_unlock(&files_lock);
}

static int close_file(sqlite3_file *base) {
    sq__file *file = (sq__file *)base;
    sq__waiters_close(file, NULL);
    files_remove(file);
    const int result = file->real->pMethods->xClose(file->real);
    end_exclusive(file);
    pthread_mutex_destroy(&file->lock);
    return result;
}

static int close_wal(sqlite3_file *base) {
    sq__file *file = (sq__file *)base;
    if (file->main) file->main->wal_open = false;
    return file->real->pMethods->xClose(file->real);
}

static void note_header(sq__file *file, const void *bytes, int amount, sqlite3_int64 offset) {
    if (offset > COUNTER_AT || offset + amount < COUNTER_AT + 4 || file->level == SQLITE_LOCK_NONE) return;
    file->disk_counter = big_endian((const unsigned char *)bytes + (COUNTER_AT - offset));
    file->disk_known = true;
    if (!file->index) atomic_store(&file->seen, sq__version(false, file->disk_counter));
}

static int read_file(sqlite3_file *base, void *bytes, int amount, sqlite3_int64 offset) {
    const int result = REAL(base)->pMethods->xRead(REAL(base), bytes, amount, offset);
    // A file that ends earlier reads as zeros.
    if (offset <= COUNTER_AT && (result == SQLITE_OK || result == SQLITE_IOERR_SHORT_READ))
        note_header((sq__file *)base, bytes, amount, offset);
    return result;
}

static int fetch(sqlite3_file *base, sqlite3_int64 offset, int amount, void **bytes) {
    const int result = REAL(base)->pMethods->xFetch(REAL(base), offset, amount, bytes);
    if (offset <= COUNTER_AT && result == SQLITE_OK && *bytes) note_header((sq__file *)base, *bytes, amount, offset);
    return result;
}

static int write_file(sqlite3_file *base, const void *bytes, int amount, sqlite3_int64 offset) {
    sq__file *file = (sq__file *)base;
    const int result = file->real->pMethods->xWrite(file->real, bytes, amount, offset);
    // Invariant S3.
#ifndef MUTANT_CHECKPOINT_IS_POSTED  // Found by: sqlite checkpoints_post_nothing
    if (file->wal_open) return result;
#endif
    if (result == SQLITE_OK && offset == 0 && amount >= PAGES_AT + 4) {
        file->new_counter = big_endian((const unsigned char *)bytes + COUNTER_AT);
        file->new_pages = big_endian((const unsigned char *)bytes + PAGES_AT);
        file->written = true;
    }
    return result;
}

static int write_wal(sqlite3_file *base, const void *bytes, int amount, sqlite3_int64 offset) {
    sq__file *file = (sq__file *)base, *main = file->main;
    if (main && !main->flying && main->level != SQLITE_LOCK_NONE) flight(main);
    const int result = file->real->pMethods->xWrite(file->real, bytes, amount, offset);
    // The header of a frame that ends a transaction has the size of the database. With an exclusive lock of the
    // database, SQLite may neither map nor lock an index.
    if (result == SQLITE_OK && amount == FRAME_HEADER && offset > 0 && main && main->level == SQLITE_LOCK_EXCLUSIVE &&
        big_endian((const unsigned char *)bytes + 4) != 0) {
        main->wal_committed = true;
        main->new_pages = big_endian((const unsigned char *)bytes + 4);
    }
    return result;
}

static int lock(sqlite3_file *base, int level) {
    sq__file *file = (sq__file *)base;
    const bool writes = level >= SQLITE_LOCK_RESERVED && file->level < SQLITE_LOCK_RESERVED;
    // Not at EXCLUSIVE without RESERVED: a hot journal is rolled back, or a WAL is opened or closed.
    if (level == SQLITE_LOCK_RESERVED && writes) flight(file);
    const int result = file->real->pMethods->xLock(file->real, level);
    if (result != SQLITE_OK) {
        if (writes) land(file);
        return result;
    }
    if (file->level == SQLITE_LOCK_NONE) file->disk_known = false;
    if (file->level < level) file->level = level;
    if (writes) {
        unsigned char counter[4] = {0};
        if (!file->disk_known) (void)file->real->pMethods->xRead(file->real, counter, sizeof counter, COUNTER_AT);
        file->before = file->disk_known ? file->disk_counter : big_endian(counter);
        file->written = file->wal_committed = false;
        sq__tables_clear(&file->tables);
    }
    return result;
}

static int unlock(sqlite3_file *base, int level) {
    sq__file *file = (sq__file *)base;
    const bool ends = file->level >= SQLITE_LOCK_RESERVED && level < SQLITE_LOCK_RESERVED;
    const int result = file->real->pMethods->xUnlock(file->real, level);
    // SQLite takes the lock for given up, also after an error. Invariant S1.
    if (file->level > level) file->level = level;
    if (ends) end_exclusive(file);
    return result;
}

static int control(sqlite3_file *base, int operation, void *argument) {
    if (operation == SQ__FILE_OPCODE) {
        *(sq__file **)argument = (sq__file *)base;
        return SQLITE_OK;
    }
    const int result = REAL(base)->pMethods->xFileControl(REAL(base), operation, argument);
    if (operation == SQLITE_FCNTL_VFSNAME && result == SQLITE_OK)
        *(char **)argument = sqlite3_mprintf("tidings/%z", *(char **)argument);
    return result;
}

static int shm_map(sqlite3_file *base, int page, int size, int extend, void volatile **bytes) {
    sq__file *file = (sq__file *)base;
    const int result = file->real->pMethods->xShmMap(file->real, page, size, extend, bytes);
    if (page == 0 && (result == SQLITE_OK || result == SQLITE_READONLY)) {
        pthread_mutex_lock(&file->lock);
        file->index = *bytes;
        pthread_mutex_unlock(&file->lock);
    }
    return result;
}

static int shm_unmap(sqlite3_file *base, int delete) {
    sq__file *file = (sq__file *)base;
    pthread_mutex_lock(&file->lock);
    file->index = NULL;
    pthread_mutex_unlock(&file->lock);
    return file->real->pMethods->xShmUnmap(file->real, delete);
}

static int begin_wal_write(sq__file *file, int flags) {
    // Without a header the index is new, and this may be a connection that only reads: `write_wal` follows if it isn't.
    if (wal_is_ready(file)) flight(file);
    const int result = file->real->pMethods->xShmLock(file->real, WAL_WRITE_LOCK, 1, flags);
    if (result != SQLITE_OK) {
        land(file);
        return result;
    }
    file->wal_base = file->index ? file->index[CHANGE] : 0;
    file->recovered = false;
    sq__tables_clear(&file->tables);
    return result;
}

static int end_wal_write(sq__file *file, int flags) {
    sq__commit commit = {0, 0, true};
    bool committed = false;
    if (file->index) {
        commit.counter = file->index[CHANGE];
        commit.pages = file->index[PAGES];
        // Invariant S4. Recovery numbers commits anew. It may have found one whose writer died before it was visible.
        committed = file->recovered ? file->index[FRAMES] != 0 : commit.counter != file->wal_base;
#ifndef MUTANT_OWN_COMMIT_IS_NEWS  // Found by: sqlite own_commits_wake_on_request_only
        atomic_store(&file->seen, sq__version(true, commit.counter));
#endif
    }
#ifdef MUTANT_POST_UNDER_THE_LOCK  // Found by: sqlite a_commit_is_posted_when_its_lock_is_free
    if (committed) post(file, &commit);
    committed = false;
#endif
    const int result = file->real->pMethods->xShmLock(file->real, WAL_WRITE_LOCK, 1, flags);
    // Invariant S1.
    if (committed) post(file, &commit);
    land(file);
    return result;
}

static int shm_lock(sqlite3_file *base, int offset, int count, int flags) {
    sq__file *file = (sq__file *)base;
    if (offset == WAL_WRITE_LOCK && count == 1 && flags & SQLITE_SHM_EXCLUSIVE)
        return flags & SQLITE_SHM_LOCK ? begin_wal_write(file, flags) : end_wal_write(file, flags);
    const int result = file->real->pMethods->xShmLock(file->real, offset, count, flags);
    if (result != SQLITE_OK || !(flags & SQLITE_SHM_LOCK)) return result;
    if (flags & SQLITE_SHM_EXCLUSIVE) {
        if (offset <= WAL_RECOVER_LOCK && offset + count > WAL_RECOVER_LOCK) file->recovered = true;
    } else if (offset >= WAL_READ_LOCK && file->index) {
        // SQLite compares the header with its snapshot after this lock. If they differ, it takes the lock again.
        atomic_store(&file->seen, sq__version(true, file->index[CHANGE]));
    }
    return result;
}

static int truncate_file(sqlite3_file *f, sqlite3_int64 size) { return REAL(f)->pMethods->xTruncate(REAL(f), size); }
static int sync_file(sqlite3_file *f, int flags) { return REAL(f)->pMethods->xSync(REAL(f), flags); }
static int file_size(sqlite3_file *f, sqlite3_int64 *size) { return REAL(f)->pMethods->xFileSize(REAL(f), size); }
static int check_lock(sqlite3_file *f, int *result) { return REAL(f)->pMethods->xCheckReservedLock(REAL(f), result); }
static int sector_size(sqlite3_file *f) { return REAL(f)->pMethods->xSectorSize(REAL(f)); }
static int characteristics(sqlite3_file *f) { return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f)); }
static void shm_barrier(sqlite3_file *f) { REAL(f)->pMethods->xShmBarrier(REAL(f)); }
static int unfetch(sqlite3_file *f, sqlite3_int64 at, void *p) { return REAL(f)->pMethods->xUnfetch(REAL(f), at, p); }
static int read_wal(sqlite3_file *f, void *b, int n, sqlite3_int64 at) {
    return REAL(f)->pMethods->xRead(REAL(f), b, n, at);
}
static int control_wal(sqlite3_file *f, int operation, void *argument) {
    return REAL(f)->pMethods->xFileControl(REAL(f), operation, argument);
}
static int fetch_wal(sqlite3_file *f, sqlite3_int64 at, int n, void **p) {
    return REAL(f)->pMethods->xFetch(REAL(f), at, n, p);
}

#define METHODS(VERSION)                                                                                               \
    {                                                                                                                  \
        VERSION, close_file, read_file, write_file, truncate_file, sync_file, file_size, lock, unlock, check_lock,     \
            control, sector_size, characteristics, shm_map, shm_lock, shm_barrier, shm_unmap, fetch, unfetch           \
    }
#define METHODS_OF_WAL(VERSION)                                                                                        \
    {                                                                                                                  \
        VERSION, close_wal, read_wal, write_wal, truncate_file, sync_file, file_size, NULL, NULL, NULL, control_wal,   \
            sector_size, characteristics, NULL, NULL, NULL, NULL, fetch_wal, unfetch                                   \
    }
// SQLite calls functions of a version only if the file below has that version.
static const sqlite3_io_methods methods[] = {METHODS(1), METHODS(2), METHODS(3)};
static const sqlite3_io_methods methods_of_wal[] = {METHODS_OF_WAL(1), METHODS_OF_WAL(2), METHODS_OF_WAL(3)};

// MARK: Opening

// The database of a WAL. SQLite keeps both names in one block of memory, that of the WAL behind that of the database.
// So of several connections with the same path, the pager's own file has the nearest name before the WAL's.
static sq__file *main_of(const char *wal) {
    const size_t length = strlen(wal);
    sq__file *found = NULL;
    pthread_mutex_lock(&files_lock);
    for (sq__file *file = files; file; file = file->next) {
        const char *path = file->database.path;
        const size_t path_length = strlen(path);
        if (path_length >= length || memcmp(path, wal, path_length) != 0 || (uintptr_t)path > (uintptr_t)wal) continue;
        if (!found || (uintptr_t)path > (uintptr_t)found->database.path) found = file;
    }
    pthread_mutex_unlock(&files_lock);
    return found;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out) {
    sqlite3_vfs *real = BELOW(vfs);
    const bool database = flags & SQLITE_OPEN_MAIN_DB;
    // Journals and temporary files are not looked at.
    if (!name || !(database || flags & SQLITE_OPEN_WAL)) return real->xOpen(real, name, base, flags, out);
    sq__file *file = (sq__file *)base;
    memset(file, 0, sizeof *file);
    file->real = (sqlite3_file *)(file + 1);
    const int result = real->xOpen(real, name, file->real, flags, out);
    if (!file->real->pMethods) return result;
    if (result != SQLITE_OK) {
        (void)file->real->pMethods->xClose(file->real);
        return result;
    }
    const int version = file->real->pMethods->iVersion;
    const size_t index = version < 1 ? 0 : version > 3 ? 2 : (size_t)version - 1;
    if (!database) {
        file->main = main_of(name);
        if (file->main) file->main->wal_open = true;
        file->base.pMethods = &methods_of_wal[index];
        return result;
    }
    file->main = file;
    atomic_store(&file->seen, SQ__VERSION_NONE);
    pthread_mutex_init(&file->lock, NULL);
    int moved = 0;
    (void)file->real->pMethods->xFileControl(file->real, SQLITE_FCNTL_HAS_MOVED, &moved);
    sq__database_open(&file->database, name, moved != 0);
    if (file->database.known) (void)file->real->pMethods->xFileControl(file->real, SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved) file->database.known = false;
    pthread_mutex_lock(&files_lock);
    file->next = files;
    files = file;
    pthread_mutex_unlock(&files_lock);
    file->base.pMethods = &methods[index];
    return result;
}

void sq__files_each(void (*each)(sq__file *file, void *context), void *context) {
    pthread_mutex_lock(&files_lock);
    for (sq__file *file = files; file; file = file->next) each(file, context);
    pthread_mutex_unlock(&files_lock);
}

sq__file *sq__file_of(sqlite3 *db, const char *schema, const char **why) {
    sq__file *file = NULL;
    sqlite3_vfs *vfs = NULL;
    if (sqlite3_file_control(db, schema, SQ__FILE_OPCODE, &file) == SQLITE_OK && file) {
        if (file->database.known) return file;
        *why = "its file was replaced while it was opened; open it again";
        return NULL;
    }
    const char *path = sqlite3_db_filename(db, schema);
    if (sqlite3_file_control(db, schema, SQLITE_FCNTL_VFS_POINTER, &vfs) != SQLITE_OK)
        *why = "there is no such database; attach it first";
    else if (!path || !path[0])
        *why = "it is in memory or temporary, so no other process can commit to it; use a file";
    else
        *why = "it was opened before the extension was loaded, or by another VFS; open it again, without \"vfs=\"";
    return NULL;
}

// MARK: The VFS

static int delete_file(sqlite3_vfs *v, const char *n, int sync) { return BELOW(v)->xDelete(BELOW(v), n, sync); }
static int access_file(sqlite3_vfs *v, const char *n, int f, int *r) { return BELOW(v)->xAccess(BELOW(v), n, f, r); }
static int full_path(sqlite3_vfs *v, const char *n, int c, char *p) {
    return BELOW(v)->xFullPathname(BELOW(v), n, c, p);
}
static void *dl_open(sqlite3_vfs *v, const char *n) { return BELOW(v)->xDlOpen(BELOW(v), n); }
static void dl_error(sqlite3_vfs *v, int n, char *text) { BELOW(v)->xDlError(BELOW(v), n, text); }
static void (*dl_sym(sqlite3_vfs *v, void *h, const char *n))(void) { return BELOW(v)->xDlSym(BELOW(v), h, n); }
static void dl_close(sqlite3_vfs *v, void *h) { BELOW(v)->xDlClose(BELOW(v), h); }
static int randomness(sqlite3_vfs *v, int n, char *b) { return BELOW(v)->xRandomness(BELOW(v), n, b); }
static int sleep_for(sqlite3_vfs *v, int us) { return BELOW(v)->xSleep(BELOW(v), us); }
static int current_time(sqlite3_vfs *v, double *t) { return BELOW(v)->xCurrentTime(BELOW(v), t); }
static int last_error(sqlite3_vfs *v, int n, char *b) { return BELOW(v)->xGetLastError(BELOW(v), n, b); }
static int time_64(sqlite3_vfs *v, sqlite3_int64 *t) { return BELOW(v)->xCurrentTimeInt64(BELOW(v), t); }
static int set_call(sqlite3_vfs *v, const char *n, sqlite3_syscall_ptr p) {
    return BELOW(v)->xSetSystemCall(BELOW(v), n, p);
}
static sqlite3_syscall_ptr get_call(sqlite3_vfs *v, const char *n) { return BELOW(v)->xGetSystemCall(BELOW(v), n); }
static const char *next_call(sqlite3_vfs *v, const char *n) { return BELOW(v)->xNextSystemCall(BELOW(v), n); }

static void files_lock_take(void) { pthread_mutex_lock(&files_lock); }
static void files_lock_release(void) { pthread_mutex_unlock(&files_lock); }

static shim ours;
static int registered = SQLITE_ERROR;

static void make_vfs(void) {
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    if (!real) return;
    (void)pthread_atfork(files_lock_take, files_lock_release, files_lock_release);
    ours.real = real;
    ours.base = *real;
    ours.base.pNext = NULL;
    ours.base.szOsFile = (int)sizeof(sq__file) + real->szOsFile;
    ours.base.zName = "tidings";
    ours.base.xOpen = open_file;
    ours.base.xDelete = delete_file;
    ours.base.xAccess = access_file;
    ours.base.xFullPathname = full_path;
    ours.base.xDlOpen = dl_open;
    ours.base.xDlError = dl_error;
    ours.base.xDlSym = dl_sym;
    ours.base.xDlClose = dl_close;
    ours.base.xRandomness = randomness;
    ours.base.xSleep = sleep_for;
    ours.base.xCurrentTime = current_time;
    ours.base.xGetLastError = last_error;
    if (real->iVersion >= 2) ours.base.xCurrentTimeInt64 = time_64;
    if (real->iVersion >= 3) {
        ours.base.xSetSystemCall = set_call;
        ours.base.xGetSystemCall = get_call;
        ours.base.xNextSystemCall = next_call;
    }
    registered = sqlite3_vfs_register(&ours.base, 1);
}

int sq__vfs_register(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_vfs);
    return registered;
}
