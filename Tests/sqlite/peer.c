// Peers: see sqlite.h.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "sqlite.h"

const char *const modes[] = {"wal", "delete", "truncate", "persist", "memory", NULL};

// MARK: The peer's side

static void out(char **text, size_t *size, const char *more) {
    const size_t length = strlen(more);
    *text = realloc(*text, *size + length + 1);
    memcpy(*text + *size, more, length + 1);
    *size += length;
}

static char *execute(sqlite3 *db, const char *sql) {
    char *text = NULL;
    size_t size = 0;
    out(&text, &size, "");
    while (*sql) {
        sqlite3_stmt *statement = NULL;
        int result = sqlite3_prepare_v2(db, sql, -1, &statement, &sql);
        while (result == SQLITE_OK && statement && (result = sqlite3_step(statement)) == SQLITE_ROW) {
            if (size > 0) out(&text, &size, ";");
            for (int i = 0; i < sqlite3_column_count(statement); i++) {
                const char *value = (const char *)sqlite3_column_text(statement, i);
                if (i > 0) out(&text, &size, "|");
                out(&text, &size, value ? value : "");
            }
            result = SQLITE_OK;
        }
        if (result != SQLITE_OK && result != SQLITE_DONE) {
            size = 0;
            out(&text, &size, "error: ");
            out(&text, &size, sqlite3_errmsg(db));
            sqlite3_finalize(statement);
            break;
        }
        sqlite3_finalize(statement);
    }
    return text;
}

static int load(sqlite3 *db, char **line) {
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    return sqlite3_load_extension(db, extension, NULL, line);
}

// MARK: What peers do without a pause

static sqlite3 *again(const char *path) {
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK) _exit(3);
    (void)sqlite3_busy_timeout(db, 60000);
    (void)sqlite3_exec(db, "PRAGMA synchronous=OFF", NULL, NULL, NULL);
    return db;
}

static void *commit_for_ever(void *path) {
    sqlite3 *db = again(path);
    while (sqlite3_exec(db, "INSERT INTO t VALUES(1)", NULL, NULL, NULL) == SQLITE_OK) {}
    _exit(4);
}

static int64_t number(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW) {
        printf("%s: %s\n", sql, sqlite3_errmsg(db));
        fflush(stdout);
        _exit(5);
    }
    const int64_t value = sqlite3_column_type(statement, 0) == SQLITE_NULL ? -1 : sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return value;
}

// Until there is a table "stop": waits, and now and then counts the commits since the last time. "COUNTER WAKES". The
// table is visible before its commit is posted, so the counter can be that of the commit before.
static char *follow(sqlite3 *db) {
    // From here on each commit is told, also if the table is there before the first wait below.
    (void)number(db, "SELECT tidings_wait('main', 0, 0, 1)");
    int64_t counter = number(db, "SELECT max(counter) FROM tidings_changes('main')"), wakes = 0, counted = counter;
    while (number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'stop'") == 0) {
        // Own commits, too, so that what it reads by itself does not count: it makes none.
        counter = number(db, "SELECT tidings_wait('main', -1, 0, 1)");
        if (wakes++ % 64 != 0) continue;
        char sql[200];
        // The last row may be newer than `counter`. A row without a number of missed ones: counters began anew.
        snprintf(sql, sizeof sql,
                 "SELECT CASE WHEN count(*) > count(missed) OR count(*) = 0 THEN -1 "
                 "ELSE max(counter) - %lld - sum(missed) - count(*) END FROM tidings_changes('main', %lld)",
                 (long long)counted, (long long)counted);
        const int64_t difference = number(db, sql);
        if (difference > 0) {
            printf("%lld commits are not accounted for since %lld\n", (long long)difference, (long long)counted);
            fflush(stdout);
            _exit(6);
        }
        counted = counter;
    }
    char *text = NULL;
    if (asprintf(&text, "%lld %lld", (long long)counter, (long long)wakes) < 0) abort();
    return text;
}

static _Atomic(int) racing, ready, go;

// Registered before the extension's exit handler, so it runs after it: just before the process ends.
static void last(void) {
    if (!racing) return;
    go = 1;
    for (volatile int i = 0; i < racing; i++) {}
}

// Has written in a transaction when `exit` begins, and commits when it ends.
static void *commit_at_the_end(void *path) {
    sqlite3 *db = again(path);
    if (sqlite3_exec(db, "BEGIN IMMEDIATE; INSERT INTO t VALUES(1)", NULL, NULL, NULL) != SQLITE_OK) _exit(4);
    ready = 1;
    while (!go) {}
    (void)sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return NULL;
}

int peer_main(int count, char **arguments) {
    if (count < 4) return 64;
    (void)atexit(last);
    extension = arguments[2];
    const int flags = atoi(arguments[3]);
    sqlite3 *db = NULL;
    char *line = NULL;
    if (!(flags & PLAIN)) {
        // As a program does that knows nothing of the extension but this call.
        if (sqlite3_open(":memory:", &db) != SQLITE_OK || load(db, &line) != SQLITE_OK) {
            printf("error: can't load: %s\n", line ? line : "?");
            return 1;
        }
        (void)sqlite3_close(db);
        db = NULL;
    }
    char *sql = NULL;
    size_t capacity = 0;
    ssize_t length;
    while ((length = getline(&sql, &capacity, stdin)) > 0) {
        if (sql[length - 1] == '\n') sql[length - 1] = 0;
        char *text = NULL;
        int status;
        char path[4096];
        if (sscanf(sql, ".open %4095s %d", path, &status) == 2) {
            if (db) (void)sqlite3_close_v2(db);
            db = NULL;
            if (!status) status = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
            const int result = sqlite3_open_v2(path, &db, status, NULL);
            if (result == SQLITE_OK) (void)sqlite3_busy_timeout(db, 60000);
            text = strdup(result == SQLITE_OK ? "" : sqlite3_errmsg(db));
        } else if (strcmp(sql, ".close") == 0) {
            const int result = sqlite3_close(db);
            if (result == SQLITE_OK) db = NULL;
            text = strdup(result == SQLITE_OK ? "" : sqlite3_errmsg(db));
        } else if (sscanf(sql, ".race %d", &status) == 1) {
            pthread_t thread;
            racing = status;
            (void)pthread_create(&thread, NULL, commit_at_the_end, (void *)sqlite3_db_filename(db, "main"));
            while (!ready) sched_yield();
            exit(0);
        } else if (strcmp(sql, ".write") == 0) {
            (void)commit_for_ever((void *)sqlite3_db_filename(db, "main"));
        } else if (strcmp(sql, ".follow") == 0) {
            text = follow(db);
        } else if (strcmp(sql, ".load") == 0) {
            text = strdup(load(db, &line) == SQLITE_OK ? "" : line);
        } else if (strcmp(sql, ".stop") == 0) {
            raise(SIGSTOP);
            text = strdup("");
        } else if (sscanf(sql, ".exit %d", &status) == 1) {
            exit(status);
        } else {
            text = execute(db, sql);
        }
        printf("%s\n", text);
        fflush(stdout);
        free(text);
    }
    return 0;
}

// MARK: The test's side

peer start(int flags, const char *path) {
    int in[2], from[2], errors[2] = {-1, -1};
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0, "%s", strerror(errno));
    if (flags & ERRORS) CHECK(pipe2(errors, O_CLOEXEC) == 0, "%s", strerror(errno));
    peer peer = {.in = in[1], .out = from[0], .errors = errors[0]};
    peer.pid = fork();
    CHECK(peer.pid >= 0, "%s", strerror(errno));
    if (peer.pid == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", flags);
        dup2(in[0], 0);
        dup2(from[1], 1);
        if (flags & ERRORS) dup2(errors[1], 2);
        execl("/proc/self/exe", "SQLiteTests", "--peer", extension, number, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(from[1]);
    if (flags & ERRORS) close(errors[1]);
    if (path) {
        const char *result = ask(&peer, ".open %s 0", path);
        CHECK(result && !*result, "opening %s: %s", path, result ? result : "the peer ended");
    }
    return peer;
}

void tell(const peer *peer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *line;
    const int length = vasprintf(&line, format, arguments);
    va_end(arguments);
    CHECK(length >= 0, "no memory");
    line[length] = '\n';
    (void)!write(peer->in, line, (size_t)length + 1);
    free(line);
}

const char *answer(const peer *peer) {
    static char *line;
    static size_t capacity;
    size_t length = 0;
    for (;;) {
        if (length + 1 >= capacity) line = realloc(line, capacity = 2 * capacity + 4096);
        const ssize_t got = read(peer->out, line + length, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return NULL;
        if (line[length] == '\n') break;
        length++;
    }
    line[length] = 0;
    return line;
}

const char *ask(const peer *peer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *line;
    CHECK(vasprintf(&line, format, arguments) >= 0, "no memory");
    va_end(arguments);
    tell(peer, "%s", line);
    free(line);
    return answer(peer);
}

void expect(const peer *peer, const char *sql, const char *expected) {
    const char *got = ask(peer, "%s", sql);
    CHECK(got && strcmp(got, expected) == 0, "%s: '%s', expected '%s'", sql, got ? got : "(it ended)", expected);
}

void until_asleep(const peer *peer) {
    char path[64], call[64];
    snprintf(path, sizeof path, "/proc/%d/syscall", peer->pid);
    for (;;) {
        FILE *file = fopen(path, "r");
        CHECK(file, "the peer has ended");
        const bool read = fgets(call, sizeof call, file) != NULL;
        fclose(file);
        // futex and futex_waitv of x86-64, futex of aarch64
        if (read && (strncmp(call, "202 ", 4) == 0 || strncmp(call, "449 ", 4) == 0 || strncmp(call, "98 ", 3) == 0))
            return;
        sched_yield();
    }
}

int until_ended(peer *peer) {
    int status = 0;
    while (waitpid(peer->pid, &status, 0) < 0 && errno == EINTR) {}
    close(peer->in);
    close(peer->out);
    return status;
}

int end(peer *peer) {
    tell(peer, ".exit 0");
    return until_ended(peer);
}

const char *errors_of(const peer *peer) {
    static char text[8192];
    size_t size = 0;
    ssize_t got;
    while (size + 1 < sizeof text && (got = read(peer->errors, text + size, sizeof text - 1 - size)) > 0)
        size += (size_t)got;
    text[size] = 0;
    return text;
}

int posts(const peer *checker) {
    return atoi(ask(checker, "SELECT count(*) FROM tidings_changes('main') WHERE pid IS NOT NULL"));
}

void prepare(const peer *peer, const char *mode) {
    const char *got = ask(peer, "PRAGMA journal_mode=%s", mode);
    CHECK(got && strcmp(got, mode) == 0, "journal_mode=%s: %s", mode, got ? got : "(it ended)");
    expect(peer, "CREATE TABLE t(x)", "");
}
