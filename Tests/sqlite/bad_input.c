// Wrong arguments, strange files, centers that are missing or spoiled: an error line, or commits as before.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sqlite.h"

static void expect_line(const peer *peer, const char *sql, const char *part) {
    const char *got = ask(peer, "%s", sql);
    CHECK(got && strncmp(got, "error: ", 7) == 0 && strstr(got, part), "%s: '%s', expected '%s'", sql,
          got ? got : "(it ended)", part);
}

void wrong_arguments_are_refused(void) {
    const peer peer = start(0, in_directory("database"));
    prepare(&peer, "wal");
    expect_line(&peer, "SELECT tidings_wait('nowhere', 0)", "there is no such database");
    expect_line(&peer, "SELECT tidings_wait(NULL, 0)", "the arguments are");
    expect_line(&peer, "SELECT tidings_wait('main', 'soon')", "the arguments are");
    expect_line(&peer, "SELECT tidings_wait('main', 1.5)", "the arguments are");
    expect_line(&peer, "SELECT tidings_wait('main', NULL)", "the arguments are");
    expect_line(&peer, "SELECT tidings_wait('main', 0, 'x')", "the arguments are");
    expect_line(&peer, "SELECT tidings_wait('main')", "wrong number of arguments");
    expect_line(&peer, "SELECT tidings_wait('a\"; DROP TABLE t; --', 0)", "there is no such database");
    expect_line(&peer, "SELECT tidings_descriptor('nowhere')", "there is no such database");
    expect_line(&peer, "SELECT tidings_tables('nowhere')", "there is no such database");
    expect_line(&peer, "SELECT tidings_tables(NULL)", "its name is NULL");
    expect_line(&peer, "SELECT * FROM tidings_changes", "no schema was given");
    expect_line(&peer, "SELECT * FROM tidings_changes(NULL)", "no schema was given");
    expect_line(&peer, "SELECT * FROM tidings_changes('nowhere')", "there is no such database");
    expect(&peer, "SELECT count(*) FROM tidings_changes('main', 'never')", "2");
    expect(&peer, "SELECT count(*) > 0 FROM tidings_changes('main', -9223372036854775807)", "1");
    // A schema is not trusted: no trigger and no view of it may wait.
    expect(&peer, "CREATE VIEW v AS SELECT tidings_wait('main', -1)", "");
    expect_line(&peer, "SELECT * FROM v", "unsafe use");
    expect(&peer, "CREATE VIEW c AS SELECT * FROM tidings_changes('main')", "");
    expect_line(&peer, "SELECT * FROM c", "unsafe use");
    expect(&peer, "BEGIN IMMEDIATE", "");
    expect_line(&peer, "SELECT tidings_wait('main', -1)", "write transaction");
    expect(&peer, "COMMIT; PRAGMA journal_mode=DELETE", "delete");
    expect(&peer, "BEGIN", "");
    expect_line(&peer, "SELECT tidings_wait('main', -1)", "end it first");
    expect(&peer, "COMMIT; INSERT INTO t VALUES(1)", "");
    expect_line(&peer, "SELECT tidings_wait('main', -1) FROM t", "end it first");
    // With a WAL a reader keeps no other connection from committing.
    expect(&peer, "PRAGMA journal_mode=WAL", "wal");
    expect(&peer, "SELECT tidings_wait('main', 0) FROM t", "");
    expect(&peer, ".load", "");
    expect(&peer, ".load", "");
    expect(&peer, "SELECT tidings_wait('main', 0)", "");
}

void what_no_other_process_can_change_is_refused(void) {
    const peer peer = start(0, ":memory:");
    expect_line(&peer, "SELECT tidings_wait('main', -1)", "in memory or temporary");
    expect(&peer, "CREATE TEMP TABLE t(x)", "");
    expect_line(&peer, "SELECT tidings_wait('temp', -1)", "in memory or temporary");
    expect_line(&peer, "SELECT * FROM tidings_changes('main')", "in memory or temporary");
    const char *uris[] = {"file::memory:?cache=shared", "file:x?mode=memory", "file:/x?vfs=memdb"};
    for (int i = 0; i < 3; i++) {
        CHECK(!*ask(&peer, ".open %s 0", uris[i]), "open");
        expect(&peer, "CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t VALUES(1)", "");
        const char *got = ask(&peer, "SELECT tidings_wait('main', -1)");
        CHECK(strstr(got, "can't wait"), "%s", got);
    }
}

void a_read_only_connection_waits(void) {
    for (int mode = 0; mode < 2; mode++) {
        const char *path = in_directory(modes[mode]);
        const peer writer = start(0, path);
        prepare(&writer, modes[mode]);
        const peer waiter = start(0, NULL);
        CHECK(!*ask(&waiter, ".open %s %d", path, SQLITE_OPEN_READONLY), "open");
        expect(&waiter, "SELECT tidings_wait('main', 0)", "");
        tell(&waiter, "SELECT tidings_wait('main', -1)");
        expect(&writer, "INSERT INTO t VALUES(1)", "");
        CHECK(*answer(&waiter), "no news");
        expect(&waiter, "SELECT count(*) FROM t", "1");
        expect_line(&waiter, "INSERT INTO t VALUES(1)", "readonly");
        char uri[4096];
        snprintf(uri, sizeof uri, "file:%s?immutable=1", path);
        CHECK(!*ask(&waiter, ".open %s %d", uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI), "open");
        // SQLite takes no locks then and reads stale pages; the wait returns all the same.
        const char *got = ask(&waiter, "SELECT tidings_wait('main', 1)");
        CHECK(got, "it ended");
    }
}

void files_that_move_are_told_apart(void) {
    const char *path = in_directory("database"), *copy = in_directory("copy"), *renamed = in_directory("renamed");
    const peer old = start(0, path);
    prepare(&old, "delete");
    const peer old_waiter = start(0, path);
    expect(&old_waiter, "SELECT tidings_wait('main', 0)", "");
    char command[4096];
    snprintf(command, sizeof command, "cp '%s' '%s'", path, copy);
    CHECK(system(command) == 0, "%s", command);
    // A copy is another database.
    const peer copied = start(0, copy), copy_waiter = start(0, copy);
    expect(&copy_waiter, "SELECT tidings_wait('main', 0)", "");
    expect(&copied, "INSERT INTO t VALUES(1)", "");
    CHECK(*ask(&copy_waiter, "SELECT tidings_wait('main', -1)"), "no news");
    expect(&old_waiter, "SELECT tidings_wait('main', 0)", "");
    CHECK(posts(&old_waiter) == 1 && posts(&copy_waiter) == 1, "%d, %d", posts(&old_waiter), posts(&copy_waiter));
    // A renamed file stays the same database.
    CHECK(rename(path, renamed) == 0, "%s", strerror(errno));
    expect_line(&old_waiter, "SELECT tidings_wait('main', -1)", "deleted, renamed or replaced");
    const peer later = start(0, renamed);
    expect(&later, "SELECT tidings_wait('main', 0)", "");
    // SQLite itself refuses to write to a file that moved.
    expect_line(&old, "INSERT INTO t VALUES(1)", "readonly");
    expect(&later, "INSERT INTO t VALUES(1)", "");
    CHECK(posts(&old_waiter) == 2, "%d", posts(&old_waiter));
    // A deleted and recreated file is a new one, also if it gets the old inode number.
    for (int i = 0; i < 3; i++) {
        CHECK(unlink(copy) == 0, "%s", strerror(errno));
        expect_line(&copy_waiter, "SELECT tidings_wait('main', -1)", "deleted, renamed or replaced");
        expect(&copied, ".close", "");
        expect(&copy_waiter, ".close", "");
        CHECK(!*ask(&copied, ".open %s 0", copy), "open");
        CHECK(!*ask(&copy_waiter, ".open %s 0", copy), "open");
        expect(&copied, "CREATE TABLE t(x)", "");
        CHECK(posts(&copy_waiter) == 1, "%d notifications of a new file", posts(&copy_waiter));
    }
}

// MARK: Other VFSes

static sqlite3_vfs plain_vfs;
static sqlite3_io_methods without_shm;
static int opened;

// Loads the extension into this process, above a VFS that opens files with `open`.
static void load_above(int (*open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *)) {
    sqlite3 *db;
    char *line = NULL;
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    plain_vfs = *real;
    plain_vfs.zName = "plain";
    plain_vfs.pAppData = real;
    plain_vfs.xOpen = open;
    plain_vfs.pNext = NULL;
    // The VFS below is called with its own object, which passes it to the one below it.
    CHECK(sqlite3_vfs_register(&plain_vfs, 1) == SQLITE_OK, "register");
    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK, "open");
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    CHECK(sqlite3_load_extension(db, extension, NULL, &line) == SQLITE_OK, "%s", line);
    sqlite3_close(db);
}

static int open_plain(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
    sqlite3_vfs *real = vfs->pAppData;
    const int result = real->xOpen(real, name, file, flags, out);
    if (result == SQLITE_OK && flags & SQLITE_OPEN_MAIN_DB) {
        opened++;
        without_shm = *file->pMethods;
        without_shm.iVersion = 1;
        file->pMethods = &without_shm;
    }
    return result;
}

static void expect_value(sqlite3 *db, const char *sql, const char *expected) {
    sqlite3_stmt *statement;
    CHECK(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
    const int result = sqlite3_step(statement);
    const char *got = result == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : "";
    CHECK(result == SQLITE_ROW || result == SQLITE_DONE, "%s: %s", sql, sqlite3_errmsg(db));
    CHECK(strcmp(got ? got : "", expected) == 0, "%s: '%s', expected '%s'", sql, got ? got : "", expected);
    sqlite3_finalize(statement);
}

// The VFS below the extension's, when it is about to give up the lock of a commit. Positions of the center's ring are
// counted, because a connection would wait for that lock.
static sqlite3_io_methods real_methods, watched_methods;
static tidings_center *watched;
static uint64_t used_before;
static int given_up;

static uint64_t positions_used(void) {
    tidings_statistics statistics;
    CHECK(tidings_statistics_get(watched, &statistics) == 0, "%s", tidings_last_error());
    return statistics.posted;
}

static void look_before_the_lock_is_free(void) {
    if (!watched) return;
    CHECK(positions_used() == used_before, "a commit was posted before its lock was free");
    given_up++;
}

static int unlock_watched(sqlite3_file *file, int level) {
    if (level == SQLITE_LOCK_SHARED) look_before_the_lock_is_free();
    return real_methods.xUnlock(file, level);
}

static int shm_lock_watched(sqlite3_file *file, int offset, int count, int flags) {
    if (offset == 0 && flags == (SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE)) look_before_the_lock_is_free();
    return real_methods.xShmLock(file, offset, count, flags);
}

static int open_watched(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
    sqlite3_vfs *real = vfs->pAppData;
    const int result = real->xOpen(real, name, file, flags, out);
    if (result == SQLITE_OK && flags & SQLITE_OPEN_MAIN_DB) {
        real_methods = watched_methods = *file->pMethods;
        watched_methods.xUnlock = unlock_watched;
        watched_methods.xShmLock = shm_lock_watched;
        file->pMethods = &watched_methods;
    }
    return result;
}

void a_commit_is_posted_when_its_lock_is_free(void) {
    load_above(open_watched);
    for (const char *const *mode = modes; *mode; mode++) {
        sqlite3 *db;
        char sql[64];
        CHECK(sqlite3_open(in_directory(*mode), &db) == SQLITE_OK, "open");
        snprintf(sql, sizeof sql, "PRAGMA journal_mode=%s", *mode);
        expect_value(db, sql, *mode);
        expect_value(db, "CREATE TABLE t(x)", "");  // also what the process posts once: its presence, the path
        CHECK(tidings_open("sqlite", NULL, &watched) == 0, "%s", tidings_last_error());
        used_before = positions_used();
        given_up = 0;
        expect_value(db, "INSERT INTO t VALUES(1)", "");
        CHECK(given_up == 1 && positions_used() == used_before + 1, "%s: %d locks given up, %d posts", *mode, given_up,
              (int)(positions_used() - used_before));
        tidings_close(watched);
        watched = NULL;
        sqlite3_close(db);
    }
}

void other_vfses_work_underneath(void) {
    // One without shared memory, as some file systems are: SQLite offers no WAL on it.
    sqlite3 *db, *other;
    char *line = NULL;
    load_above(open_plain);
    const char *path = in_directory("database");
    CHECK(sqlite3_open(path, &db) == SQLITE_OK && sqlite3_open(path, &other) == SQLITE_OK && opened == 2, "open");
    expect_value(db, "PRAGMA journal_mode=WAL", "delete");
    expect_value(other, "SELECT tidings_wait('main', 0)", "");
    expect_value(db, "CREATE TABLE t(x)", "");
    expect_value(other, "SELECT tidings_wait('main', -1)", "1");
    // A connection that names another VFS is not seen, and its waits say so.
    char uri[4096];
    snprintf(uri, sizeof uri, "file:%s?vfs=unix", path);
    sqlite3_close(other);
    CHECK(sqlite3_open_v2(uri, &other, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL) == SQLITE_OK, "open");
    CHECK(sqlite3_exec(other, "SELECT tidings_wait('main', 0)", NULL, NULL, &line) == SQLITE_ERROR &&
              strstr(line, "by another VFS"),
          "%s", line);
    CHECK(sqlite3_exec(other, "INSERT INTO t VALUES(1)", NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(other));
    expect_value(db, "SELECT count(*) FROM t", "1");
}

// MARK: Centers

static void commits_go_on_without_a_center(const char *path, const char *place) {
    setenv("TIDINGS_DIRECTORY", place, 1);
    peer writer = start(ERRORS, path);
    for (int mode = 0; mode < 2; mode++) {
        CHECK(strcmp(ask(&writer, "PRAGMA journal_mode=%s", modes[mode]), modes[mode]) == 0, "mode");
        expect(&writer, "CREATE TABLE t(x)", "");
        for (int j = 0; j < 10; j++) expect(&writer, "INSERT INTO t VALUES(1)", "");
        expect(&writer, "SELECT count(*) FROM t", "10");
        expect(&writer, "DROP TABLE t", "");
    }
    expect_line(&writer, "SELECT tidings_wait('main', -1)", "can't wait for commits to \"main\": can't");
    expect_line(&writer, "SELECT tidings_descriptor('main')", "can't");
    expect_line(&writer, "SELECT * FROM tidings_changes('main')", "can't");
    // The opt-in check needs no center.
    const peer plain = start(PLAIN, path);
    expect(&writer, "SELECT tidings_wait('main', 5, 1)", "");
    tell(&writer, "SELECT tidings_wait('main', -1, 1)");
    expect(&plain, "CREATE TABLE IF NOT EXISTS u(x); INSERT INTO u VALUES(1)", "");
    CHECK(*answer(&writer), "no news");
    end(&writer);
    const char *errors = errors_of(&writer);
    int lines = 0;
    for (const char *c = errors; *c; c++) lines += *c == '\n';
    CHECK(lines == 1 && strncmp(errors, "tidings_sqlite: can't ", 22) == 0, "%d lines: %s", lines, errors);
}

void without_a_center_commits_go_on(void) {
    const char *path = in_directory("database");
    // No directory; a file in its place; no permission.
    const char *places[] = {in_directory("nowhere"), "/proc/version", "/proc"};
    for (int i = 0; i < 3; i++) commits_go_on_without_a_center(path, places[i]);
}

void without_room_for_a_center_commits_go_on(void) {
    const char *place = in_directory("full");
    if (mkdir(place, 0700) != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", place, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=0700") != 0) {
        printf("SKIPPED without_room_for_a_center_commits_go_on: it needs the right to mount a file system\n");
        exit(77);
    }
    const int fill = open(in_directory("full/fill"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    static const char bytes[4096];
    while (write(fill, bytes, sizeof bytes) > 0) continue;
    CHECK(errno == ENOSPC, "%s", strerror(errno));
    commits_go_on_without_a_center(in_directory("database"), place);
    // There is room again: a process that is started then posts.
    CHECK(mount("none", place, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV, "size=64m") == 0, "%s", strerror(errno));
    const peer writer = start(0, in_directory("database")), waiter = start(0, in_directory("database"));
    expect(&waiter, "SELECT tidings_wait('main', 0)", "");
    expect(&writer, "CREATE TABLE v(x)", "");
    CHECK(*ask(&waiter, "SELECT tidings_wait('main', -1)"), "no news");
}

void another_users_database_is_written_as_before(void) {
    if (geteuid() != 0) {
        printf("SKIPPED another_users_database_is_written_as_before: it needs root, to become another user\n");
        exit(77);
    }
    const char *path = in_directory("database");
    CHECK(chmod(directory, 01777) == 0, "%s", strerror(errno));
    const peer owner = start(0, path);
    prepare(&owner, "delete");
    CHECK(chmod(path, 0666) == 0, "%s", strerror(errno));
    expect(&owner, "SELECT tidings_wait('main', 0)", "");
    fflush(NULL);
    const pid_t user = fork();
    if (user == 0) {
        CHECK(setgid(65534) == 0 && setuid(65534) == 0, "%s", strerror(errno));
        peer other = start(ERRORS, path);
        for (int i = 0; i < 5; i++) expect(&other, "INSERT INTO t VALUES(1)", "");
        expect_line(&other, "SELECT tidings_wait('main', -1)", "can't");
        end(&other);
        const char *errors = errors_of(&other);
        CHECK(strncmp(errors, "tidings_sqlite: can't open center \"sqlite\"", 41) == 0 &&
                  strchr(errors, '\n') == errors + strlen(errors) - 1,
              "%s", errors);
        exit(0);
    }
    int status;
    CHECK(waitpid(user, &status, 0) == user && WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", status);
    expect(&owner, "SELECT count(*) FROM t", "5");
    expect(&owner, "PRAGMA integrity_check", "ok");
}

void garbage_in_the_center_changes_no_result(void) {
    const char *path = in_directory("database");
    const peer writer = start(ERRORS, path);
    prepare(&writer, "wal");
    const peer waiter = start(ERRORS, path);
    expect(&waiter, "SELECT tidings_wait('main', 0)", "");
    // Notifications of the right name, with random payloads and with forged counters.
    tidings_center *center;
    CHECK(tidings_open("sqlite", NULL, &center) == 0, "%s", tidings_last_error());
    tidings_statistics statistics;
    CHECK(tidings_statistics_get(center, &statistics) == 0, "%s", tidings_last_error());
    char name[TIDINGS_NAME_MAX + 1] = "";
    for (uint32_t i = 0; i < statistics.names_max && !*name; i++) {
        tidings_name_info info;
        if (tidings_name(center, i, &info) == 0 && info.observers > 0 && strncmp(info.name, "sqlite.", 7) == 0 &&
            strcmp(info.name, "sqlite.died") != 0)
            strcpy(name, info.name);
    }
    CHECK(*name, "no name");
    tidings_publisher *publisher;
    CHECK(tidings_publisher_open(center, name, strlen(name), NULL, 0, &publisher) == 0, "%s", tidings_last_error());
    const int before = posts(&waiter);
    for (int i = 0; i < 2000; i++) {
        unsigned char bytes[300];
        const size_t size = at_random(sizeof bytes);
        for (size_t j = 0; j < size; j++) bytes[j] = (unsigned char)at_random(256);
        // Half of them begin as a payload does.
        if (i % 2 && size > 40) memcpy(bytes, "\xa4gcounter\x1a\xff\xff\xff\xffgjournalcwalepages", 33);
        const tidings_post_options options = {.format = TIDINGS_FORMAT_CBOR};
        CHECK(tidings_post(publisher, bytes, size, &options, NULL) == 0, "%s", tidings_last_error());
    }
    expect(&waiter, "SELECT tidings_wait('main', 0)", "");
    expect(&waiter, "SELECT tidings_wait('main', 1)", "");
    CHECK(posts(&waiter) >= before, "%d", posts(&waiter));
    tell(&waiter, "SELECT tidings_wait('main', -1)");
    expect(&writer, "INSERT INTO t VALUES(1)", "");
    CHECK(*answer(&waiter), "no news");
    // Random words anywhere in the center's file, while both processes use it.
    const char *file = tidings_path(center);
    const int descriptor = open(file, O_RDWR | O_CLOEXEC);
    CHECK(descriptor >= 0, "%s: %s", file, strerror(errno));
    volatile uint32_t *words = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    CHECK(words != MAP_FAILED, "%s", strerror(errno));
    for (int i = 0; i < 300; i++) {
        for (int j = 0; j < 200; j++) words[at_random(1 << 18)] = (uint32_t)at_random(UINT32_MAX);
        expect(&writer, "INSERT INTO t VALUES(1)", "");
        char rows[16];
        snprintf(rows, sizeof rows, "%d", i + 2);
        expect(&waiter, "SELECT count(*) FROM t", rows);
        if (i % 10 == 0) CHECK(ask(&waiter, "SELECT tidings_wait('main', 1)"), "the waiter ended");
        if (i % 50 == 0) CHECK(ask(&waiter, "SELECT count(*) FROM tidings_changes('main')"), "the waiter ended");
    }
    expect(&writer, "PRAGMA integrity_check", "ok");
}
