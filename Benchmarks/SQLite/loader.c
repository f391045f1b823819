// Loads the extension that $EXTENSION names into a program that is linked with this file, before its main.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void load(void) {
    const char *extension = getenv("EXTENSION");
    sqlite3 *db;
    char *error = NULL;
    if (!extension) return;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) exit(9);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    if (sqlite3_load_extension(db, extension, NULL, &error) != SQLITE_OK) {
        fprintf(stderr, "%s\n", error);
        exit(9);
    }
    (void)sqlite3_close(db);
}
