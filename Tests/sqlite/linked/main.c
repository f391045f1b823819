// A program that is linked with the extension, built from the files of `make install`: linked DATABASE.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tidings_sqlite.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
    if (!(condition))                                                                                                  \
    return fprintf(stderr, "%s:%d: %s is not so: %s\n", __FILE__, __LINE__, #condition, db ? sqlite3_errmsg(db) : ""), 1

int main(int count, char **arguments) {
    sqlite3 *db = NULL;
    sqlite3_int64 counter = 0;
    int descriptor = -1;
    if (count != 2) return 64;
    const pid_t child = fork();
    CHECK(tidings_sqlite_load() == SQLITE_OK);
    CHECK(tidings_sqlite_load() == SQLITE_OK);
    CHECK(sqlite3_open(arguments[1], &db) == SQLITE_OK);
    (void)sqlite3_busy_timeout(db, 60000);
    CHECK(sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS t(x)", NULL, NULL, NULL) == SQLITE_OK);
    if (child == 0) {
        for (int i = 0; i < 100; i++) CHECK(sqlite3_exec(db, "INSERT INTO t VALUES(1)", NULL, NULL, NULL) == SQLITE_OK);
        return sqlite3_close(db);
    }
    CHECK(tidings_sqlite_wait(db, "nowhere", 0, 0, &counter) == SQLITE_ERROR);
    CHECK(tidings_sqlite_descriptor(db, "main", &descriptor) == SQLITE_OK && descriptor >= 0);
    for (int rows = 0; rows < 100;) {
        const int result = tidings_sqlite_wait(db, "main", 0, 0, &counter);
        CHECK(result == SQLITE_ROW || result == SQLITE_DONE);
        sqlite3_stmt *statement;
        CHECK(sqlite3_prepare_v2(db, "SELECT count(*) FROM t", -1, &statement, NULL) == SQLITE_OK);
        CHECK(sqlite3_step(statement) == SQLITE_ROW);
        rows = sqlite3_column_int(statement, 0);
        sqlite3_finalize(statement);
        if (rows < 100) (void)poll(&(struct pollfd){descriptor, POLLIN, 0}, 1, -1);
    }
    (void)waitpid(child, NULL, 0);
    CHECK(tidings_sqlite_wait(db, "main", 0, 0, &counter) != SQLITE_ERROR);
    CHECK(sqlite3_close(db) == SQLITE_OK);
    printf("linked program: good\n");
    return 0;
}
