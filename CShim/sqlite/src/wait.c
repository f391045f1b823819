// Waiting for commits of other connections. Notifications only wake: whether there was a commit, the database says.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define INTERRUPT_NS 50000000  // how soon sqlite3_interrupt of another thread is noticed
// Posters notice within 250 ms that their center was removed. Until then they post to the old one.
#define REMOVED_NS 500000000
#define REMOVED_STEP_NS 20000000
#define DRAIN_MAX 8192  // notifications taken before the database is looked at: more than a center's ring has

// What one connection needs to wait for commits to one database.
struct sq__waiter {
    sq__waiter *next;
    const void *connection;
    tidings_center *center;
    tidings_observer *observer;  // NULL: there is no center
    int descriptor;              // -1: not asked for
    uint32_t threads;            // of the library, for the descriptor
    uint64_t told;               // the version that the last call returned, or that the first one found
    int64_t data_version;        // for a shared cache: as the last call read it
    int64_t doubt_until;         // posts may still go to a center that was removed
};

static void disconnect(sq__waiter *waiter) {
    if (waiter->observer) tidings_observer_close(waiter->observer);
    sq__threads_ended(waiter->threads);
    waiter->observer = NULL;
    waiter->center = NULL;
    waiter->descriptor = -1;
    waiter->threads = 0;
}

void sq__waiters_close(sq__file *file, const void *connection) {
    pthread_mutex_lock(&file->lock);
    for (sq__waiter **link = &file->waiters; *link;) {
        sq__waiter *waiter = *link;
        if (connection && waiter->connection != connection) {
            link = &waiter->next;
            continue;
        }
        *link = waiter->next;
        disconnect(waiter);
        free(waiter);
    }
    pthread_mutex_unlock(&file->lock);
}

static sq__waiter *waiter_of(sq__file *file, const void *connection) {
    pthread_mutex_lock(&file->lock);
    sq__waiter *waiter = file->waiters;
    while (waiter && waiter->connection != connection) waiter = waiter->next;
    if (!waiter && (waiter = calloc(1, sizeof *waiter))) {
        waiter->connection = connection;
        waiter->descriptor = -1;
        waiter->told = SQ__VERSION_NONE;
        waiter->next = file->waiters;
        file->waiters = waiter;
    }
    pthread_mutex_unlock(&file->lock);
    return waiter;
}

// MARK: The database's version

// Runs a statement that returns one number, inside the function that SQLite is calling.
static int number(sqlite3 *db, const char *sql, int64_t *value) {
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (result == SQLITE_OK && (result = sqlite3_step(statement)) == SQLITE_ROW)
        *value = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return result == SQLITE_ROW ? SQLITE_OK : result == SQLITE_DONE ? SQLITE_ERROR : result;
}

static int read_data_version(sqlite3 *db, const char *schema, int64_t *value) {
    char *sql = sqlite3_mprintf("PRAGMA \"%w\".data_version", schema);
    const int result = sql ? number(db, sql, value) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return result;
}

int sq__version_now(sqlite3 *db, const char *schema, sq__file *file, uint64_t *version) {
    if (sq__file_peek(file, version, NULL)) return SQLITE_OK;
    // Reads the database, with SQLite's locks and recovery: the shim sees the version.
    int64_t value;
    const int result = read_data_version(db, schema, &value);
    if (result != SQLITE_OK) return result;
    if (!sq__file_peek(file, version, NULL)) *version = atomic_load(&file->seen);
    // SQLite reads no header of an empty file.
    if (*version == SQ__VERSION_NONE) *version = sq__version(false, 0);
    return SQLITE_OK;
}

// Invariant S5. True if another connection has committed since this one last read, committed or was told. `*version`:
// what it is now. A database that is busy has a writer, which will post.
static bool look(sqlite3 *db, const char *schema, sq__file *file, sq__waiter *waiter, bool own, uint64_t *version) {
    const uint64_t seen = atomic_load(&file->seen);
    const bool shared = atomic_load(&file->shared), first = waiter->told == SQ__VERSION_NONE;
    bool other = false;
    if (shared) {
        // The connections that share this file have seen what they have seen; SQLite tells them apart.
        int64_t data_version;
        if (read_data_version(db, schema, &data_version) != SQLITE_OK) return false;
        other = data_version != waiter->data_version && !first;
        waiter->data_version = data_version;
    }
    if (sq__version_now(db, schema, file, version) != SQLITE_OK) {
        atomic_store(&file->seen, seen);
        return false;
    }
    if (!shared) other = *version != seen && seen != SQ__VERSION_NONE;
    if (own) other = *version != waiter->told && (!first || other);
    atomic_store(&file->seen, *version);
    if (first || other) waiter->told = *version;
    return other;
}

// MARK: Connecting

static int connect(sq__file *file, sq__waiter *waiter) {
    sq__home *home = file->database.home;
    tidings_center *center = sq__center(home, true);
    if (!center) return atomic_load(&home->failed);
    if (waiter->observer && waiter->center == center) return 0;
    disconnect(waiter);
    // Deaths are reported by participants that watch. A process that commits watches anyway.
    uint32_t before = sq__threads_before();
    int error = atomic_load(&home->announced) ? 0 : tidings_presence_watch(center);
    if (error && error != -ESTALE && error != -EBADF) {
        // For example, a kernel that marks no deaths. Commits still wake.
        sq__complain(error, tidings_last_error());
        error = 0;
    }
    (void)sq__threads_after(before);
    before = sq__threads_before();
    tidings_observer *observer = NULL;
    uint32_t subscription;
    static const char died[] = SQ__DIED;
    if (!error) error = tidings_observer_open(center, TIDINGS_OBSERVE_BARE, &observer);
    if (!error)
        error = tidings_observer_add(observer, file->database.name, strlen(file->database.name), NULL, 0, 0,
                                     &subscription);
#ifndef MUTANT_DEATHS_NOT_OBSERVED  // Found by: sqlite a_writer_killed_anywhere_leaves_no_commit_unseen
    if (!error) error = tidings_observer_add(observer, died, sizeof died - 1, NULL, 0, 0, &subscription);
#else
    (void)died;
#endif
    (void)sq__threads_after(before);
    if (error) {
        if (observer) tidings_observer_close(observer);
        if (error == -ESTALE || error == -EBADF) sq__center_ended(home, center);
        return error;
    }
    waiter->observer = observer;
    waiter->center = center;
    return 0;
}

// As `connect`, again if the center ends meanwhile.
static int connect_again(sq__file *file, sq__waiter *waiter, int error) {
    for (int tries = 0; tries < 4; tries++) {
        if (error == -ESTALE || error == -EBADF) {
            sq__center_ended(file->database.home, waiter->center);
            waiter->doubt_until = sq__now_ns() + REMOVED_NS;
        }
        if (error == -ECHILD || error == -ESTALE || error == -EBADF) disconnect(waiter);
        error = connect(file, waiter);
        if (error == 0) return 0;
    }
    return error;
}

// Takes all notifications that are there, so that a descriptor becomes unreadable.
static int drain(sq__waiter *waiter) {
    tidings_delivery delivery;
    int error = 0;
    for (int i = 0; i < DRAIN_MAX && error == 0; i++) error = tidings_next(waiter->observer, 0, &delivery);
    return error == -EAGAIN || error == -EINTR ? 0 : error;
}

// MARK: Interrupts

// sqlite3_interrupt sets a flag and wakes no thread. Another thread can call it: so a wait of a program with several
// threads looks at the flag at times. A signal handler of the waiting thread can call it, too: during the wait the
// handlers below run after the program's own, and end the sleep.
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2};
#define SIGNALS (sizeof signals / sizeof signals[0])

static struct sigaction replaced[SIGNALS];
static tidings_observer *_Atomic interrupted_observer;

static void on_signal(int signal, siginfo_t *info, void *context) {
    for (size_t i = 0; i < SIGNALS; i++) {
        if (signals[i] != signal) continue;
        if (replaced[i].sa_flags & SA_SIGINFO)
            replaced[i].sa_sigaction(signal, info, context);
        else
            replaced[i].sa_handler(signal);
    }
    tidings_observer *observer = atomic_load(&interrupted_observer);
    if (observer) tidings_observer_interrupt(observer);
}

static uint32_t signals_chain(tidings_observer *observer) {
    uint32_t chained = 0;
    atomic_store(&interrupted_observer, observer);
    for (size_t i = 0; i < SIGNALS; i++) {
        if (sigaction(signals[i], NULL, &replaced[i]) != 0) continue;
        const bool handled = replaced[i].sa_flags & SA_SIGINFO ||
                             (replaced[i].sa_handler != SIG_DFL && replaced[i].sa_handler != SIG_IGN);
        struct sigaction action = replaced[i];
        action.sa_sigaction = on_signal;
        action.sa_flags |= SA_SIGINFO;
        if (handled && !(action.sa_flags & SA_RESETHAND) && sigaction(signals[i], &action, NULL) == 0)
            chained |= 1u << i;
    }
    return chained;
}

static void signals_restore(uint32_t chained) {
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        // The program's handler may have installed another one.
        if (chained & 1u << i && sigaction(signals[i], NULL, &now) == 0 && now.sa_flags & SA_SIGINFO &&
            now.sa_sigaction == on_signal)
            (void)sigaction(signals[i], &replaced[i], NULL);
    }
    atomic_store(&interrupted_observer, NULL);
}

static bool is_interrupted(sqlite3 *db) {
    int64_t value;
    return number(db, "SELECT 1", &value) == SQLITE_INTERRUPT;
}

// MARK: tidings_wait

// The file of the schema, if the connection can wait for commits to it now.
static sq__file *file_to_wait_for(sqlite3_context *context, const char *what, const char *schema) {
    sqlite3 *db = sqlite3_context_db_handle(context);
    const char *why;
    sq__file *file = sq__file_of(db, schema, &why);
    if (!file) {
        sq__fail(context, what, schema, why);
        return NULL;
    }
    uint64_t version;
    const bool wal = sq__file_peek(file, &version, NULL) && !atomic_load(&file->shared);
    const int state = sqlite3_txn_state(db, schema);
    if (!sq__database_is_there(&file->database))
        why = "its file was deleted, renamed or replaced since it was opened; open it again";
    else if (state == SQLITE_TXN_WRITE)
        why = "this connection has a write transaction, beside which no other can commit; end it first";
    else if (!wal && (state == SQLITE_TXN_READ || !sqlite3_get_autocommit(db)))
        why =
            "this connection has a transaction, or a statement that still reads, which without a WAL keeps others from "
            "committing; end it first";
    else
        return file;
    sq__fail(context, what, schema, why);
    return NULL;
}

typedef struct wait_options {
    int64_t timeout_ms;  // negative: without end
    int64_t check_ms;    // 0: none
    bool own;
} wait_options;

// The wait itself. SQLITE_ROW: `*version` is new. SQLITE_DONE: the timeout. SQLITE_INTERRUPT. SQLITE_ERROR: `*error` is
// a negative error number of the center.
static int wait_for(sqlite3 *db, const char *schema, sq__file *file, sq__waiter *waiter, const wait_options *options,
                    uint64_t *version, int *error) {
    const int64_t began = sq__now_ns();
    const bool endless = options->timeout_ms < 0 || options->timeout_ms > INT64_MAX / 2000000;
    const int64_t deadline = endless ? INT64_MAX : began + options->timeout_ms * 1000000;
    const int64_t check_ns = options->check_ms > 0 && options->check_ms < 86400000 ? options->check_ms * 1000000 : 0;
    *error = connect_again(file, waiter, 0);
    // Without a center the opt-in check still works.
    if (*error && !check_ns) return SQLITE_ERROR;
    bool several = false, decided = false;
    for (;;) {
        if (waiter->observer && (*error = drain(waiter)) != 0 && (*error = connect_again(file, waiter, *error)) != 0 &&
            !check_ns)
            return SQLITE_ERROR;
        // Invariant S6. After the observer was registered and its notifications were taken.
        bool looks = true;
#ifdef MUTANT_NO_LOOK_BEFORE_SLEEP  // Found by: sqlite a_commit_before_the_first_wait_is_seen
        looks = decided;
#endif
        if (looks && look(db, schema, file, waiter, options->own, version)) return SQLITE_ROW;
        const int64_t now = sq__now_ns();
        if (now >= deadline) return SQLITE_DONE;
        if (!decided) several = sq__threads_of_program();
        decided = true;
        int64_t sleep_ns = endless ? -1 : deadline - now;
        const int64_t steps[] = {check_ns, several ? INTERRUPT_NS : 0, now < waiter->doubt_until ? REMOVED_STEP_NS : 0};
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
            if (steps[i] != 0 && (sleep_ns < 0 || steps[i] < sleep_ns)) sleep_ns = steps[i];
        int result = -ETIMEDOUT;
        if (waiter->observer) {
            tidings_delivery delivery;
            const uint32_t chained = several ? 0 : signals_chain(waiter->observer);
            // A handler that ran before it was chained has set SQLite's flag.
            if (several || !is_interrupted(db)) result = tidings_next(waiter->observer, sleep_ns, &delivery);
            if (!several) signals_restore(chained);
        } else {
            const struct timespec time = {sleep_ns / 1000000000, sleep_ns % 1000000000};
            (void)nanosleep(&time, NULL);
            if (sq__center(file->database.home, false)) (void)connect(file, waiter);
        }
        if (result == 0) continue;
        if (is_interrupted(db)) return SQLITE_INTERRUPT;
        if (result == -ETIMEDOUT || result == -EINTR) continue;
        if ((*error = connect_again(file, waiter, result)) != 0 && !check_ns) return SQLITE_ERROR;
    }
}

void sq__wait_function(sqlite3_context *context, int count, sqlite3_value **values) {
    sqlite3 *db = sqlite3_context_db_handle(context);
    // A statement below may move SQLite's copy of the argument.
    char *schema = sqlite3_mprintf("%s", (const char *)sqlite3_value_text(values[0]));
    if (!schema) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (sqlite3_value_type(values[0]) == SQLITE_NULL || sqlite3_value_type(values[1]) != SQLITE_INTEGER ||
        (count > 2 && sqlite3_value_type(values[2]) != SQLITE_INTEGER) ||
        (count > 3 && sqlite3_value_type(values[3]) != SQLITE_INTEGER)) {
        sq__fail(
            context, "wait for commits to", schema,
            "the arguments are a schema and whole numbers: a timeout in ms (-1: none), a check in ms, and 1 for own "
            "commits; pass these");
        sqlite3_free(schema);
        return;
    }
    const wait_options options = {sqlite3_value_int64(values[1]), count > 2 ? sqlite3_value_int64(values[2]) : 0,
                                  count > 3 && sqlite3_value_int64(values[3]) != 0};
    sq__file *file = file_to_wait_for(context, "wait for commits to", schema);
    sq__waiter *waiter = file ? waiter_of(file, sqlite3_user_data(context)) : NULL;
    uint64_t version = 0;
    int error = 0;
    if (file && !waiter) sqlite3_result_error_nomem(context);
    if (waiter) {
        switch (wait_for(db, schema, file, waiter, &options, &version, &error)) {
            case SQLITE_ROW: sqlite3_result_int64(context, (uint32_t)version); break;
            case SQLITE_DONE: sqlite3_result_null(context); break;
            case SQLITE_INTERRUPT: sqlite3_result_error_code(context, SQLITE_INTERRUPT); break;
            default: sq__fail(context, "wait for commits to", schema, tidings_last_error());
        }
    }
    sqlite3_free(schema);
}

void sq__descriptor_function(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    static const char what[] = "get a descriptor for commits to";
    sqlite3 *db = sqlite3_context_db_handle(context);
    char *schema = sqlite3_mprintf("%s", (const char *)sqlite3_value_text(values[0]));
    sq__file *file = schema ? file_to_wait_for(context, what, schema) : NULL;
    sq__waiter *waiter = file ? waiter_of(file, sqlite3_user_data(context)) : NULL;
    if (!schema || (file && !waiter)) sqlite3_result_error_nomem(context);
    if (waiter) {
        uint64_t version;
        int error = connect_again(file, waiter, 0), descriptor = -1;
        const uint32_t before = sq__threads_before();
        if (!error) error = tidings_observer_descriptor(waiter->observer, &descriptor);
        if (!error && waiter->descriptor < 0) waiter->threads += sq__threads_after(before);
        waiter->descriptor = descriptor;
        // What is there already makes the descriptor readable, if another connection has committed.
        if (!error && waiter->told == SQ__VERSION_NONE) (void)look(db, schema, file, waiter, false, &version);
        if (error)
            sq__fail(context, what, schema, tidings_last_error());
        else
            sqlite3_result_int(context, descriptor);
    }
    sqlite3_free(schema);
}
