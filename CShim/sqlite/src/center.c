// The center of a database, the announcement of a process that commits, and posts.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define CENTER "sqlite"
#define RETRY_NS 1000000000  // a center that cannot be opened is tried again by the first commit after this time
#define PATHS_MAX 256        // retained paths of one center; each takes a chunk of 1 KiB, of which there are 512

static _Atomic(sq__home *) homes;
// Write transactions in progress in this process: from before a commit can become visible until it is posted.
static _Atomic(uint32_t) flights;
static _Atomic(bool) exiting;
static pthread_mutex_t exit_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(uint64_t) complained;
static _Atomic(uint32_t) library_threads;

int64_t sq__now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void sq__complain(int error, const char *line) {
    const uint64_t bit = UINT64_C(1) << ((unsigned)(error < 0 ? -error : error) % 64);
    if (atomic_fetch_or(&complained, bit) & bit) return;
    fprintf(stderr, "tidings_sqlite: %s\n", line);
    sqlite3_log(SQLITE_WARNING, "tidings_sqlite: %s", line);
}

// MARK: Threads

static uint32_t threads(void) {
    struct stat status;
    if (stat("/proc/self/task", &status) != 0 || status.st_nlink < 3) return 0;
    return (uint32_t)status.st_nlink - 2;
}

uint32_t sq__threads_before(void) { return threads(); }

// At most one: if the program starts a thread meanwhile, it has other threads of its own anyway.
uint32_t sq__threads_after(uint32_t before) {
    const uint32_t more = before != 0 && threads() > before;
    atomic_fetch_add(&library_threads, more);
    return more;
}

void sq__threads_ended(uint32_t count) { atomic_fetch_sub(&library_threads, count); }

bool sq__threads_of_program(void) {
    const uint32_t all = threads();
    return all == 0 || all != 1 + atomic_load(&library_threads);
}

// MARK: Centers

static sq__home *home_of(uid_t owner) {
    sq__home *first = atomic_load(&homes), *home = NULL;
    for (;;) {
        for (sq__home *one = first; one; one = one->next) {
            if (one->owner == owner) {
                free(home);
                return one;
            }
        }
        if (!home && !(home = calloc(1, sizeof *home))) return NULL;
        home->owner = owner;
        home->next = first;
        if (atomic_compare_exchange_strong(&homes, &first, home)) return home;
    }
}

// No lock is held while a center is opened: a fork would wait for it.
tidings_center *sq__center(sq__home *home, bool now) {
    tidings_center *center = atomic_load(&home->center);
    if (center) return center;
    if (!now && atomic_load(&home->failed) != 0 && sq__now_ns() < atomic_load(&home->retry_at)) return NULL;
    tidings_configuration configuration = {0};
    if (home->owner != geteuid()) {
        configuration.flags = TIDINGS_OPEN_OWNER;
        configuration.owner = home->owner;
    }
    const int error = tidings_open(CENTER, &configuration, &center);
    atomic_store(&home->failed, error);
    if (error) {
        // Another user's center may be created at any time, and costs little to look for.
        atomic_store(&home->retry_at, error == -ENOENT ? 0 : sq__now_ns() + RETRY_NS);
        sq__complain(error, tidings_last_error());
        return NULL;
    }
    tidings_center *other = NULL;
    if (atomic_compare_exchange_strong(&home->center, &other, center)) return center;
    tidings_close(center);  // another thread was faster
    return other;
}

// The old handle stays open: other threads may be posting through it.
void sq__center_ended(sq__home *home, tidings_center *center) {
    if (atomic_compare_exchange_strong(&home->center, &center, NULL)) atomic_store(&home->announced, false);
}

static void announce(sq__home *home, tidings_center *center) {
    static const char role[] = "sqlite", name[] = SQ__DIED;
    const tidings_will will = {.name = name, .name_length = sizeof name - 1};
    const bool late = atomic_load(&exiting);
    const uint32_t before = sq__threads_before();
    if (late) {
        // The core's exit handler has ended the announcement, and the handle still has it.
        pthread_mutex_lock(&exit_lock);
        if (!atomic_load(&home->announced)) (void)tidings_withdraw(center);
    }
    int error = 0;
    if (!late || !atomic_load(&home->announced)) error = tidings_announce(center, role, sizeof role - 1, &will, 0);
    if (late) pthread_mutex_unlock(&exit_lock);
    (void)sq__threads_after(before);
    // -EALREADY: by another thread, which has finished.
    if (error == 0 || error == -EALREADY)
        atomic_store(&home->announced, true);
    else if (error == -ESTALE || error == -EBADF)
        sq__center_ended(home, center);
    else
        sq__complain(error, tidings_last_error());
}

// MARK: Exit and fork

// Invariant S8. Runs after the core's own handler, which is registered later. That handler reports this process as
// closed. If another thread is about to commit, the end of the process must be a death, which waiters are told of.
static void at_exit(void) {
    atomic_store(&exiting, true);
    for (sq__home *home = atomic_load(&homes); home; home = home->next) {
        // Stored before `flights` is read. A thread that begins a transaction adds to `flights`, then reads
        // `announced`.
        if (!atomic_exchange(&home->announced, false)) continue;
#ifndef MUTANT_EXIT_IS_NO_DEATH  // Found by: sqlite an_exit_in_a_commit_leaves_no_commit_unseen
        tidings_center *center = atomic_load(&home->center);
        if (center && atomic_load(&flights) > 0) announce(home, center);
#endif
    }
}

// A child is not announced, and has none of the library's threads.
static void in_child(void) {
    for (sq__home *home = atomic_load(&homes); home; home = home->next) atomic_store(&home->announced, false);
    atomic_store(&flights, 0);
    atomic_store(&library_threads, 0);
}

static void prepare(void) {
    (void)atexit(at_exit);
    (void)pthread_atfork(NULL, NULL, in_child);
}

void sq__process_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}

// MARK: Databases

void sq__database_open(sq__database *database, const char *path, bool moved) {
    struct statx status;
    database->path = path;
    if (moved || statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, &status) != 0 || !S_ISREG(status.stx_mode))
        return;
    database->device = makedev(status.stx_dev_major, status.stx_dev_minor);
    database->inode = status.stx_ino;
    database->home = home_of(status.stx_uid);
    database->known = database->home != NULL;
    // A file system gives the inode number of a deleted file to a new one. The time of birth tells the two apart, where
    // the file system has it.
    unsigned long long born = 0;
    if (status.stx_mask & STATX_BTIME)
        born = (unsigned long long)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
    snprintf(database->name, sizeof database->name, "sqlite.%llx.%llx.%llx", (unsigned long long)database->device,
             (unsigned long long)database->inode, born);
}

bool sq__database_is_there(const sq__database *database) {
    struct stat status;
    return stat(database->path, &status) == 0 && status.st_dev == database->device && status.st_ino == database->inode;
}

// Opens and announces what `database` needs for a post. False: commits are not posted now.
static bool ready(sq__database *database) {
    sq__home *home = database->home;
    tidings_center *center = sq__center(home, false);
    if (!center) return false;
    if (database->center != center) {
        database->path_told = false;
        const int error = tidings_publisher_place(center, database->name, strlen(database->name), NULL, 0,
                                                  database->memory, sizeof database->memory, &database->publisher);
        if (error) return sq__complain(error, tidings_last_error()), false;
        database->center = center;
    }
#ifndef MUTANT_NOT_ANNOUNCED  // Found by: sqlite a_writer_killed_anywhere_leaves_no_commit_unseen
    if (!atomic_load(&home->announced)) announce(home, center);
#endif
    return true;
}

// Invariant S7.
void sq__flight_begin(sq__database *database) {
    atomic_fetch_add(&flights, 1);
    if (!database->known) return;
    const sq__home *home = database->home;
    if (__builtin_expect(
            atomic_load(&home->announced) && database->center && database->center == atomic_load(&home->center), 1))
        return;
    (void)ready(database);
}

void sq__flight_end(void) {
    // A child that was forked in a transaction has forgotten it.
    uint32_t count = atomic_load(&flights);
    while (count > 0 && !atomic_compare_exchange_weak(&flights, &count, count - 1)) {}
}

// Retains the path under "<name>.path", for tools: unless it is there, or the center has many.
static void tell_path(sq__database *database) {
    database->path_told = true;
    char name[SQ__NAME_MAX + 8], path[SQ__PAYLOAD_MAX];
    _Alignas(8) unsigned char memory[TIDINGS_PUBLISHER_SIZE_MAX];
    tidings_publisher *publisher;
    const int length = snprintf(name, sizeof name, "%s.path", database->name);
    const size_t bytes = strlen(database->path);
    if (bytes > sizeof path || tidings_publisher_place(database->center, name, (size_t)length, NULL, 0, memory,
                                                       sizeof memory, &publisher) != 0)
        return;
    size_t size = sizeof path;
    const int error = tidings_state_get(publisher, path, &size, NULL, NULL);
    if (error == 0 && size == bytes && memcmp(path, database->path, bytes) == 0) return;
    uint32_t values, most;
    if (error == -ENOENT && (tidings_values(database->center, &values, &most) != 0 || values >= PATHS_MAX)) return;
    const tidings_post_options options = {.format = TIDINGS_FORMAT_TEXT};
    (void)tidings_state_set(publisher, database->path, bytes, &options, NULL);
}

void sq__post(sq__database *database, const sq__commit *commit, const void *tables, size_t tables_size) {
    if (!database->known) return;
    unsigned char payload[SQ__PAYLOAD_MAX];
    const tidings_post_options options = {.format = TIDINGS_FORMAT_CBOR};
    int error = -ESTALE;
    for (int tries = 0; tries < 3; tries++) {
        if (!database->center || database->center != atomic_load(&database->home->center)) {
            if (!ready(database)) return;
        }
        sq__bytes out = {payload, 0, sizeof payload};
        sq__payload_write(&out, commit, tables, tables_size);
        error = tidings_post(database->publisher, payload, out.size, &options, NULL);
        if (error == 0) break;
        if (error == -ESTALE || error == -EBADF)
            sq__center_ended(database->home, database->center);
        else if (tables)
            tables = NULL;  // no memory for a payload that does not fit a slot
        else
            break;
    }
    if (error)
        sq__complain(error, tidings_last_error());
    else if (!database->path_told)
        tell_path(database);
}
