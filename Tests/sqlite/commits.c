// What is a commit, and what is none.
#include "sqlite.h"

// A peer that waits without end, and sleeps.
static peer waiter_on(const char *path) {
    const peer peer = start(0, path);
    expect(&peer, "SELECT tidings_wait('main', 0)", "");
    return peer;
}

void waits_see_commits(void) {
    for (int mode = 0; modes[mode]; mode++) {
        const char *path = in_directory(modes[mode]);
        const peer writer = start(0, path);
        prepare(&writer, modes[mode]);
        const peer waiter = waiter_on(path);
        long counter = 0;
        for (int i = 0; i < 20; i++) {
            tell(&waiter, "SELECT tidings_wait('main', -1)");
            if (i % 2 == 0) until_asleep(&waiter);
            expect(&writer, "INSERT INTO t VALUES(1)", "");
            const char *got = answer(&waiter);
            CHECK(got && atol(got) > 0 && (i == 0 || atol(got) == counter + 1), "%s: commit %d: '%s' after %ld",
                  modes[mode], i, got ? got : "(it ended)", counter);
            counter = atol(got);
            char rows[16];
            snprintf(rows, sizeof rows, "%d", i + 1);
            expect(&waiter, "SELECT count(*) FROM t", rows);
            expect(&waiter, "SELECT tidings_wait('main', 0)", "");
        }
        expect(&writer, "SELECT tidings_wait('main', 0)", "");
    }
}

void a_commit_before_the_first_wait_is_seen(void) {
    for (int mode = 0; modes[mode]; mode++) {
        const char *path = in_directory(modes[mode]);
        const peer writer = start(0, path);
        prepare(&writer, modes[mode]);
        const peer waiter = start(0, path);
        expect(&waiter, "SELECT count(*) FROM t", "0");
        expect(&writer, "INSERT INTO t VALUES(1)", "");
        const char *got = ask(&waiter, "SELECT tidings_wait('main', -1)");
        CHECK(got && atol(got) > 0, "'%s'", got ? got : "(it ended)");
        // What a connection has read by itself is not news.
        expect(&writer, "INSERT INTO t VALUES(1)", "");
        expect(&waiter, "SELECT count(*) FROM t", "2");
        expect(&waiter, "SELECT tidings_wait('main', 0)", "");
    }
}

// Executes `sql`, and checks how many notifications it posts.
static void expect_posts(const peer *writer, const peer *waiter, const char *sql, int expected) {
    const int before = posts(waiter);
    const char *got = ask(writer, "%s", sql);
    CHECK(got && strncmp(got, "error", 5) != 0, "%s: %s", sql, got ? got : "(it ended)");
    // First: the list below reads the database, and what a connection has read is no news.
    got = ask(waiter, "SELECT tidings_wait('main', 0)");
    CHECK(got && (*got != 0) == (expected > 0), "%s: the wait returned '%s'", sql, got ? got : "(it ended)");
    const int after = posts(waiter);
    CHECK(after - before == expected, "%s: %d notifications, expected %d", sql, after - before, expected);
}

#define FILL                                                                                                           \
    "INSERT INTO t SELECT zeroblob(3000) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT "    \
    "300) SELECT i FROM n)"

void rollbacks_post_nothing(void) {
    for (int mode = 0; modes[mode]; mode++) {
        const char *path = in_directory(modes[mode]);
        const peer writer = start(0, path);
        prepare(&writer, modes[mode]);
        const peer waiter = waiter_on(path);
        expect_posts(&writer, &waiter, "BEGIN; INSERT INTO t VALUES(1); ROLLBACK", 0);
        expect_posts(&writer, &waiter, "BEGIN; COMMIT", 0);
        expect_posts(&writer, &waiter, "BEGIN IMMEDIATE; COMMIT", 0);
        expect_posts(&writer, &waiter, "BEGIN EXCLUSIVE; ROLLBACK", 0);
        expect_posts(&writer, &waiter, "SELECT * FROM t", 0);
        expect_posts(&writer, &waiter, "DELETE FROM t WHERE x = 5", 0);
        // Pages are written before the transaction ends, page 1 among them.
        expect_posts(&writer, &waiter, "PRAGMA cache_size=5; BEGIN; CREATE TABLE u(x); " FILL "; ROLLBACK", 0);
        expect_posts(&writer, &waiter, "BEGIN; CREATE TABLE u(x); " FILL "; COMMIT", 1);
        expect_posts(&writer, &waiter, "BEGIN; INSERT INTO t VALUES(1); INSERT INTO u VALUES(1); COMMIT", 1);
        expect(&writer, "PRAGMA integrity_check", "ok");
    }
}

void savepoints_post_once(void) {
    for (int mode = 0; mode < 2; mode++) {
        const char *path = in_directory(modes[mode]);
        const peer writer = start(0, path);
        prepare(&writer, modes[mode]);
        const peer waiter = waiter_on(path);
        expect_posts(&writer, &waiter, "SAVEPOINT a; INSERT INTO t VALUES(1); SAVEPOINT b; INSERT INTO t VALUES(2)", 0);
        expect_posts(&writer, &waiter, "RELEASE b", 0);
        expect_posts(&writer, &waiter, "RELEASE a", 1);
        // SQLite commits this one, with the pages as they were.
        expect_posts(&writer, &waiter, "SAVEPOINT a; INSERT INTO t VALUES(1); ROLLBACK TO a; RELEASE a", 1);
        expect_posts(&writer, &waiter,
                     "BEGIN; INSERT INTO t VALUES(3); SAVEPOINT b; DELETE FROM t; ROLLBACK TO b; COMMIT", 1);
        expect(&waiter, "SELECT count(*) FROM t", "3");
    }
}

void checkpoints_post_nothing(void) {
    const char *path = in_directory("database");
    peer writer = start(0, path);
    prepare(&writer, "wal");
    const peer waiter = waiter_on(path);
    expect(&writer, "INSERT INTO t VALUES(1)", "");
    ask(&waiter, "SELECT tidings_wait('main', 0)");
    expect_posts(&writer, &waiter, "PRAGMA wal_checkpoint(PASSIVE)", 0);
    expect_posts(&writer, &waiter, "PRAGMA wal_checkpoint(FULL)", 0);
    expect_posts(&writer, &waiter, "PRAGMA wal_checkpoint(RESTART)", 0);
    expect_posts(&writer, &waiter, "PRAGMA wal_checkpoint(TRUNCATE)", 0);
    expect_posts(&writer, &waiter, "INSERT INTO t VALUES(2)", 1);
    // The last connection that closes writes the WAL to the database and deletes it, page 1 with a new counter, too.
    // The next one makes a new index.
    expect_posts(&writer, &waiter, "CREATE TABLE u(x)", 1);
    const int before = posts(&waiter);
    expect(&waiter, ".close", "");
    expect(&writer, ".close", "");
    const peer later = start(0, path);
    expect(&later, "SELECT count(*) FROM t", "2");
    CHECK(posts(&later) == before, "%d notifications, expected %d", posts(&later), before);
}

void vacuum_posts_once(void) {
    for (int mode = 0; mode < 2; mode++) {
        const char *path = in_directory(modes[mode]);
        const peer writer = start(0, path);
        prepare(&writer, modes[mode]);
        const peer waiter = waiter_on(path);
        expect_posts(&writer, &waiter, FILL, 1);
        expect_posts(&writer, &waiter, "DELETE FROM t", 1);
        expect_posts(&writer, &waiter, "VACUUM", 1);
        expect(&waiter, "PRAGMA integrity_check", "ok");
    }
}

void each_attached_file_posts(void) {
    for (int mode = 0; mode < 2; mode++) {
        const char *one = in_directory(mode ? "one" : "uno"), *two = in_directory(mode ? "two" : "due");
        const peer writer = start(0, one);
        prepare(&writer, modes[mode]);
        const peer second = start(0, two);
        prepare(&second, modes[mode]);
        const peer waiter = waiter_on(one);
        expect(&second, "SELECT tidings_wait('main', 0)", "");
        const char *got = ask(&writer, "ATTACH '%s' AS other; ATTACH ':memory:' AS memory", two);
        CHECK(got && !*got, "%s", got ? got : "(it ended)");
        expect_posts(&writer, &waiter, "BEGIN; INSERT INTO main.t VALUES(1); INSERT INTO other.t VALUES(1); COMMIT", 1);
        CHECK(*ask(&second, "SELECT tidings_wait('main', -1)"), "the attached file posted nothing");
        expect_posts(&writer, &waiter, "INSERT INTO other.t VALUES(2)", 0);
        CHECK(*ask(&second, "SELECT tidings_wait('main', -1)"), "the attached file posted nothing");
        expect_posts(&writer, &waiter, "CREATE TABLE memory.m(x); INSERT INTO memory.m VALUES(2)", 0);
        // The attached file can be waited for, too.
        expect(&writer, "SELECT tidings_wait('other', 0)", "");
        expect(&second, "INSERT INTO t VALUES(3)", "");
        CHECK(*ask(&writer, "SELECT tidings_wait('other', -1)"), "no news");
        expect(&writer, "SELECT tidings_wait('main', 0)", "");
        expect(&writer, "DETACH other", "");
        got = ask(&writer, "SELECT tidings_wait('other', 0)");
        CHECK(strstr(got, "there is no such database"), "%s", got);
    }
}

void changed_tables_are_named(void) {
    for (int mode = 0; mode < 2; mode++) {
        const char *path = in_directory(modes[mode]);
        const peer writer = start(0, path);
        prepare(&writer, modes[mode]);
        expect(&writer, "CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID", "");
        const peer waiter = waiter_on(path);
        expect(&writer, "SELECT tidings_tables('main')", "1");
        expect(&writer, "BEGIN; INSERT INTO t VALUES(1); INSERT INTO w VALUES('a', 1); UPDATE w SET v = 2; COMMIT", "");
        const long since =
            atol(ask(&waiter, "SELECT counter - 1 FROM tidings_changes('main') ORDER BY counter DESC LIMIT 1"));
        char list[128];
        snprintf(list, sizeof list, "SELECT tables FROM tidings_changes('main', %ld)", since);
        expect(&waiter, list, "{\"t\":[\"insert\"],\"w\":[\"insert\",\"update\"]}");
        // What was rolled back is not named later. All rows of a table at once are named, too.
        expect(&writer, "BEGIN; INSERT INTO t VALUES(1); ROLLBACK; DELETE FROM w", "");
        snprintf(list, sizeof list, "SELECT tables FROM tidings_changes('main', %ld)", since + 1);
        expect(&waiter, list, "{\"w\":[\"delete\"]}");
        // A table whose name does not fit is not left out in silence: the tables are unknown then.
        const char *got = ask(&writer, "CREATE TABLE \"%0300d\"(x); INSERT INTO \"%0300d\" VALUES(1)", 1, 1);
        CHECK(!*got, "%s", got);
        expect(&waiter, "SELECT tables IS NULL FROM tidings_changes('main') ORDER BY counter DESC LIMIT 1", "1");
        expect(&writer, "CREATE TABLE \"a\"\"\\b\"(x); INSERT INTO \"a\"\"\\b\" VALUES(1)", "");
        expect(&waiter,
               "SELECT key FROM (SELECT tables FROM tidings_changes('main') ORDER BY counter DESC LIMIT 1), "
               "json_each(tables)",
               "a\"\\b");
    }
}

void a_shared_cache_wakes_its_other_connection(void) {
    sqlite3 *db, *writer, *waiter;
    char *line = NULL;
    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK, "open");
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    CHECK(sqlite3_load_extension(db, extension, NULL, &line) == SQLITE_OK, "%s", line);
    for (int mode = 0; mode < 2; mode++) {
        char uri[4096];
        snprintf(uri, sizeof uri, "file:%s?cache=shared", in_directory(modes[mode]));
        const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
        CHECK(sqlite3_open_v2(uri, &writer, flags, NULL) == SQLITE_OK, "open");
        CHECK(sqlite3_exec(writer, mode ? "PRAGMA journal_mode=DELETE" : "PRAGMA journal_mode=WAL", NULL, NULL, NULL) ==
                  SQLITE_OK,
              "%s", sqlite3_errmsg(writer));
        CHECK(sqlite3_exec(writer, "CREATE TABLE t(x)", NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(writer));
        CHECK(sqlite3_open_v2(uri, &waiter, flags, NULL) == SQLITE_OK, "open");
        for (int i = 0; i < 3; i++) {
            sqlite3_stmt *statement;
            for (int connection = 0; connection < 2; connection++) {
                sqlite3 *one = connection ? waiter : writer;
                CHECK(sqlite3_prepare_v2(one, "SELECT tidings_wait('main', 0)", -1, &statement, NULL) == SQLITE_OK,
                      "%s", sqlite3_errmsg(one));
                CHECK(sqlite3_step(statement) == SQLITE_ROW, "%s", sqlite3_errmsg(one));
                const bool news = sqlite3_column_type(statement, 0) != SQLITE_NULL;
                CHECK(news == (connection == 1 && i > 0), "mode %d, turn %d, connection %d: news %d", mode, i,
                      connection, news);
                sqlite3_finalize(statement);
            }
            CHECK(sqlite3_exec(writer, "INSERT INTO t VALUES(1)", NULL, NULL, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(writer));
        }
        CHECK(sqlite3_close(writer) == SQLITE_OK && sqlite3_close(waiter) == SQLITE_OK, "close");
    }
}

void exclusive_locking_posts_when_others_can_see(void) {
    for (int mode = 0; mode < 2; mode++) {
        const char *path = in_directory(modes[mode]);
        peer writer = start(0, path);
        prepare(&writer, modes[mode]);
        // A connection to the WAL keeps the lock from being exclusive: so this checker is opened for each count.
        peer checker = start(0, path);
        const int before = posts(&checker);
        end(&checker);
        expect(&writer, "PRAGMA locking_mode=EXCLUSIVE", "exclusive");
        expect(&writer, "INSERT INTO t VALUES(1)", "");
        expect(&writer, "INSERT INTO t VALUES(2)", "");
        expect(&writer, "BEGIN; INSERT INTO t VALUES(3); ROLLBACK", "");
        expect(&writer, "PRAGMA locking_mode=NORMAL", "normal");
        expect(&writer, "SELECT count(*) FROM t", "2");
        if (mode == 0) expect(&writer, ".close", "");
        checker = start(0, path);
        expect(&checker, "SELECT count(*) FROM t", "2");
        CHECK(posts(&checker) == before + 1, "%s: %d notifications, expected 1", modes[mode], posts(&checker) - before);
        // The process ends with the lock: its commits are visible then.
        if (mode == 1) {
            expect(&checker, "SELECT tidings_wait('main', 0)", "");
            expect(&writer, "PRAGMA locking_mode=EXCLUSIVE", "exclusive");
            expect(&writer, "INSERT INTO t VALUES(4)", "");
            tell(&checker, "SELECT tidings_wait('main', -1)");
            end(&writer);
            CHECK(*answer(&checker), "no news");
            expect(&checker, "SELECT count(*) FROM t", "3");
        }
    }
}

void waits_last_through_changes_of_the_journal_mode(void) {
    const char *path = in_directory("database");
    const peer writer = start(0, path);
    prepare(&writer, "delete");
    const peer waiter = waiter_on(path);
    static const char *const to[] = {"wal", "delete", "wal", "truncate", "persist", "wal", "memory", "off"};
    for (size_t i = 0; i < sizeof to / sizeof to[0]; i++) {
        // A connection that has read a WAL keeps others from leaving it.
        if (i > 0 && strcmp(to[i - 1], "wal") == 0) {
            expect(&waiter, ".close", "");
            ask(&waiter, ".open %s 0", path);
        }
        const char *got = ask(&writer, "PRAGMA journal_mode=%s", to[i]);
        CHECK(got && strcmp(got, to[i]) == 0, "journal_mode=%s: %s", to[i], got ? got : "(it ended)");
        (void)ask(&waiter, "SELECT tidings_wait('main', 0)");
        tell(&waiter, "SELECT tidings_wait('main', -1)");
        if (i % 2) until_asleep(&waiter);
        expect(&writer, "INSERT INTO t VALUES(1)", "");
        got = answer(&waiter);
        CHECK(got && *got && strncmp(got, "error", 5) != 0, "%s: '%s'", to[i], got ? got : "(it ended)");
        char rows[16];
        snprintf(rows, sizeof rows, "%zu", i + 1);
        expect(&waiter, "SELECT count(*) FROM t", rows);
    }
}

void paths_of_one_file_are_one_database(void) {
    const char *path = in_directory("database"), *hard = in_directory("hard"), *soft = in_directory("soft");
    const peer writer = start(0, path);
    prepare(&writer, "delete");
    CHECK(link(path, hard) == 0 && symlink(path, soft) == 0, "link");
    char uri[4096];
    snprintf(uri, sizeof uri, "file://%s?mode=rw&psow=1", path);
    const char *paths[] = {hard, soft, uri};
    for (int i = 0; i < 3; i++) {
        const peer waiter = waiter_on(paths[i]);
        expect(&writer, "INSERT INTO t VALUES(1)", "");
        CHECK(*ask(&waiter, "SELECT tidings_wait('main', -1)"), "no news by %s", paths[i]);
    }
}

// MARK: Hooks

static int updates, commits, walls, authorized, progress;
static void on_update(void *c, int o, const char *d, const char *t, sqlite3_int64 r) {
    (void)c, (void)o, (void)d, (void)t, (void)r;
    updates++;
}
static int on_commit(void *context) { return (void)context, commits++, 0; }
static int on_wal(void *c, sqlite3 *db, const char *s, int pages) {
    (void)c, (void)db, (void)s, (void)pages;
    walls++;
    return SQLITE_OK;
}
static int on_authorize(void *c, int a, const char *w, const char *x, const char *y, const char *z) {
    (void)c, (void)a, (void)w, (void)x, (void)y, (void)z;
    authorized++;
    return SQLITE_OK;
}
static int on_progress(void *context) { return (void)context, progress++, 0; }

void hooks_of_the_application_stay(void) {
    sqlite3 *db;
    char *line = NULL;
    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK, "open");
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    CHECK(sqlite3_load_extension(db, extension, NULL, &line) == SQLITE_OK, "%s", line);
    CHECK(sqlite3_close(db) == SQLITE_OK && sqlite3_open(in_directory("database"), &db) == SQLITE_OK, "open");
    CHECK(sqlite3_exec(db, "PRAGMA journal_mode=WAL; CREATE TABLE t(x)", NULL, NULL, NULL) == SQLITE_OK, "%s",
          sqlite3_errmsg(db));
    CHECK(!sqlite3_update_hook(db, on_update, NULL) && !sqlite3_commit_hook(db, on_commit, NULL), "a hook was taken");
    (void)sqlite3_wal_hook(db, on_wal, NULL);
    sqlite3_set_authorizer(db, on_authorize, NULL);
    sqlite3_progress_handler(db, 1, on_progress, NULL);
    CHECK(sqlite3_exec(db,
                       "INSERT INTO t VALUES(1); SELECT tidings_tables('main'); SELECT tidings_wait('main', 0); "
                       "INSERT INTO t VALUES(2)",
                       NULL, NULL, NULL) == SQLITE_OK,
          "%s", sqlite3_errmsg(db));
    CHECK(updates == 2 && commits == 2 && walls == 2 && authorized > 0 && progress > 0, "%d %d %d %d %d", updates,
          commits, walls, authorized, progress);
    CHECK(sqlite3_changes(db) == 1 && sqlite3_total_changes(db) == 2, "%d %d", sqlite3_changes(db),
          sqlite3_total_changes(db));
    CHECK(sqlite3_close(db) == SQLITE_OK, "the extension left a statement open");
}
