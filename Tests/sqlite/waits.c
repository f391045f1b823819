// How a wait ends.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "sqlite.h"

static sqlite3 *open_here(const char *path) {
    sqlite3 *db;
    char *line = NULL;
    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK, "open");
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    CHECK(sqlite3_load_extension(db, extension, NULL, &line) == SQLITE_OK, "%s", line);
    CHECK(sqlite3_close(db) == SQLITE_OK && sqlite3_open(path, &db) == SQLITE_OK, "open");
    return db;
}

// The result code of one statement; `*value` is its number, -1 for NULL.
static int run(sqlite3 *db, const char *sql, sqlite3_int64 *value) {
    sqlite3_stmt *statement;
    int result = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    CHECK(result == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
    if (sqlite3_step(statement) == SQLITE_ROW)
        *value = sqlite3_column_type(statement, 0) == SQLITE_NULL ? -1 : sqlite3_column_int64(statement, 0);
    return sqlite3_finalize(statement);
}

void own_commits_wake_on_request_only(void) {
    for (int mode = 0; modes[mode]; mode++) {
        const peer writer = start(0, in_directory(modes[mode]));
        prepare(&writer, modes[mode]);
        expect(&writer, "SELECT tidings_wait('main', 0)", "");
        expect(&writer, "INSERT INTO t VALUES(1)", "");
        expect(&writer, "SELECT tidings_wait('main', 0, 0, 0)", "");
        CHECK(*ask(&writer, "SELECT tidings_wait('main', -1, 0, 1)"), "the own commit was not reported");
        expect(&writer, "SELECT tidings_wait('main', 0, 0, 1)", "");
    }
}

void a_timeout_is_null(void) {
    const char *path = in_directory("database");
    const peer waiter = start(0, path);
    prepare(&waiter, "wal");
    expect(&waiter, "SELECT tidings_wait('main', 1) IS NULL", "1");
    expect(&waiter, "SELECT tidings_wait('main', 20) IS NULL", "1");
    expect(&waiter, "SELECT tidings_wait('main', 20, 5) IS NULL", "1");
    // 9,223,372,036,854,775,807 ms do not overflow: this is a wait without end.
    const peer writer = start(0, path);
    tell(&waiter, "SELECT tidings_wait('main', 9223372036854775807, 9223372036854775807)");
    until_asleep(&waiter);
    expect(&writer, "INSERT INTO t VALUES(1)", "");
    CHECK(*answer(&waiter), "no news");
}

static _Atomic(bool) done;
static void *interrupts(void *db) {
    // SQLite forgets an interrupt that comes before the statement begins.
    while (!done) {
        sqlite3_interrupt(db);
        sched_yield();
    }
    return NULL;
}

void an_interrupt_ends_a_wait(void) {
    sqlite3 *db = open_here(in_directory("database"));
    sqlite3_int64 value = 0;
    CHECK(run(db, "CREATE TABLE t(x)", &value) == SQLITE_OK && run(db, "SELECT tidings_wait('main', 0)", &value) == 0,
          "%s", sqlite3_errmsg(db));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, interrupts, db) == 0, "thread");
    const int result = run(db, "SELECT tidings_wait('main', -1)", &value);
    CHECK(result == SQLITE_INTERRUPT, "%d: %s", result, sqlite3_errmsg(db));
    done = true;
    pthread_join(thread, NULL);
    CHECK(run(db, "SELECT tidings_wait('main', 0)", &value) == SQLITE_OK && value == -1, "%s", sqlite3_errmsg(db));
}

static sqlite3 *handled;
static volatile sig_atomic_t handler_ran;
static void handler(int signal) {
    (void)signal;
    handler_ran++;
    sqlite3_interrupt(handled);
}

// As the sqlite3 shell does on Control-C.
void a_signal_handler_ends_a_wait(void) {
    handled = open_here(in_directory("database"));
    sqlite3_int64 value = 0;
    CHECK(run(handled, "CREATE TABLE t(x)", &value) == SQLITE_OK, "%s", sqlite3_errmsg(handled));
    CHECK(run(handled, "SELECT tidings_wait('main', 0)", &value) == SQLITE_OK, "%s", sqlite3_errmsg(handled));
    signal(SIGINT, handler);
    const peer self = {.pid = getpid()};
    const pid_t other = fork();
    if (other == 0) {
        // Again and again: SQLite forgets an interrupt that comes before the statement begins.
        for (;;) {
            until_asleep(&self);
            kill(self.pid, SIGINT);
        }
    }
    const int result = run(handled, "SELECT tidings_wait('main', -1)", &value);
    CHECK(result == SQLITE_INTERRUPT && handler_ran > 0, "%d, %d: %s", result, (int)handler_ran,
          sqlite3_errmsg(handled));
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    struct sigaction now;
    sigaction(SIGINT, NULL, &now);
    CHECK(now.sa_handler == handler && !(now.sa_flags & SA_SIGINFO), "the program's handler was not restored");
}

void a_descriptor_is_readable_after_a_commit(void) {
    for (int mode = 0; mode < 2; mode++) {
        const char *path = in_directory(modes[mode]);
        const peer writer = start(0, path);
        prepare(&writer, modes[mode]);
        sqlite3 *db = open_here(path);
        sqlite3_int64 descriptor = -1, value = 0;
        CHECK(run(db, "SELECT tidings_descriptor('main')", &descriptor) == SQLITE_OK, "%s", sqlite3_errmsg(db));
        CHECK(run(db, "SELECT tidings_descriptor('main')", &value) == SQLITE_OK && value == descriptor, "another one");
        CHECK(run(db, "SELECT tidings_wait('main', 0)", &value) == SQLITE_OK, "%s", sqlite3_errmsg(db));
        for (int i = 0; i < 10; i++) {
            struct pollfd poll_for = {(int)descriptor, POLLIN, 0};
            CHECK(poll(&poll_for, 1, 0) == 0, "readable before a commit");
            expect(&writer, "INSERT INTO t VALUES(1)", "");
            CHECK(poll(&poll_for, 1, -1) == 1, "%s", strerror(errno));
            CHECK(run(db, "SELECT tidings_wait('main', 0)", &value) == SQLITE_OK && value > 0, "no news: %s",
                  sqlite3_errmsg(db));
            CHECK(run(db, "SELECT tidings_wait('main', 0)", &value) == SQLITE_OK && value == -1, "news again");
        }
        CHECK(sqlite3_close(db) == SQLITE_OK, "close");
    }
}

void missed_commits_are_counted(void) {
    for (int mode = 0; mode < 2; mode++) {
        const char *path = in_directory(modes[mode]);
        const peer writer = start(0, path), plain = start(PLAIN, path);
        prepare(&writer, modes[mode]);
        const peer waiter = start(0, path);
        expect(&writer, "INSERT INTO t VALUES(1)", "");
        const long since = atol(ask(&waiter, "SELECT max(counter) FROM tidings_changes('main')"));
        for (int i = 0; i < 3; i++) expect(&plain, "INSERT INTO t VALUES(2)", "");
        expect(&writer, "INSERT INTO t VALUES(3)", "");
        for (int i = 0; i < 2; i++) expect(&plain, "INSERT INTO t VALUES(4)", "");
        char list[256], expected[256];
        snprintf(list, sizeof list, "SELECT counter - %ld, pid, missed FROM tidings_changes('main', %ld)", since,
                 since);
        snprintf(expected, sizeof expected, "4|%d|3;6||1", writer.pid);
        expect(&waiter, list, expected);
        // All commits are accounted for: rows with a pid, and missed ones.
        snprintf(list, sizeof list, "SELECT sum(missed) + count(*) FROM tidings_changes('main', %ld)", since);
        expect(&waiter, list, "6");
        snprintf(list, sizeof list, "SELECT count(*) FROM tidings_changes('main', %ld)", since + 6);
        expect(&waiter, list, "0");
    }
    // Far more commits than the ring has slots.
    const char *path = in_directory("many");
    const peer writer = start(0, path), waiter = start(0, path);
    prepare(&writer, "wal");
    expect(&writer, "PRAGMA synchronous=OFF", "");
    const long since = atol(ask(&waiter, "SELECT max(counter) FROM tidings_changes('main')"));
    for (int i = 0; i < 5000; i++) expect(&writer, "INSERT INTO t VALUES(1)", "");
    char list[256];
    snprintf(list, sizeof list,
             "SELECT sum(missed) + count(*), count(*) < 4097, min(missed) FROM tidings_changes('main', %ld)", since);
    expect(&waiter, list, "5000|1|0");
}

void a_check_sees_writers_without_the_extension(void) {
    for (int mode = 0; mode < 2; mode++) {
        const char *path = in_directory(modes[mode]);
        const peer plain = start(PLAIN, path);
        prepare(&plain, modes[mode]);
        const peer waiter = start(0, path);
        expect(&waiter, "SELECT tidings_wait('main', 0)", "");
        for (int i = 0; i < 3; i++) {
            tell(&waiter, "SELECT tidings_wait('main', -1, 1)");
            if (i) until_asleep(&waiter);
            expect(&plain, "INSERT INTO t VALUES(1)", "");
            CHECK(*answer(&waiter), "no news");
        }
        // A call that waits not at all sees them, too.
        expect(&plain, "INSERT INTO t VALUES(1)", "");
        CHECK(*ask(&waiter, "SELECT tidings_wait('main', 0)"), "no news");
    }
}

void a_removed_center_is_replaced(void) {
    const char *path = in_directory("database");
    const peer writer = start(0, path);
    prepare(&writer, "wal");
    const peer waiter = start(0, path);
    expect(&waiter, "SELECT tidings_wait('main', 0)", "");
    for (int i = 0; i < 3; i++) {
        tell(&waiter, "SELECT tidings_wait('main', -1)");
        until_asleep(&waiter);
        CHECK(tidings_remove("sqlite", NULL) == 0, "%s", tidings_last_error());
        // At once: the writer does not know yet.
        expect(&writer, "INSERT INTO t VALUES(1)", "");
        CHECK(*answer(&waiter), "no news");
    }
}

void a_forked_child_posts(void) {
    const char *path = in_directory("database");
    const peer waiter = start(0, path);
    prepare(&waiter, "wal");
    sqlite3 *db = open_here(path);
    sqlite3_int64 value;
    CHECK(run(db, "INSERT INTO t VALUES(1)", &value) == SQLITE_OK, "%s", sqlite3_errmsg(db));
    CHECK(*ask(&waiter, "SELECT tidings_wait('main', -1)"), "no news");
    // SQLite's connections do not pass a fork.
    CHECK(sqlite3_close(db) == SQLITE_OK, "close");
    const pid_t child = fork();
    if (child == 0) {
        CHECK(sqlite3_open(path, &db) == SQLITE_OK, "open");
        CHECK(run(db, "INSERT INTO t VALUES(1)", &value) == SQLITE_OK, "%s", sqlite3_errmsg(db));
        CHECK(run(db, "SELECT tidings_wait('main', 0)", &value) == SQLITE_OK && value == -1, "%s", sqlite3_errmsg(db));
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", status);
    CHECK(*ask(&waiter, "SELECT tidings_wait('main', -1)"), "no news of the child");
    char list[128], expected[16];
    snprintf(list, sizeof list, "SELECT pid FROM tidings_changes('main') WHERE pid = %d", child);
    snprintf(expected, sizeof expected, "%d", child);
    expect(&waiter, list, expected);
}
