// Loads the extension that $EXTENSION names into a program that is linked with this file: before its main or, if SQLite
// is compiled with SQLITE_EXTRA_INIT=load_extension_of_environment, whenever SQLite is initialised.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

int load_extension_of_environment(const char *unused);

#ifndef SQLITE_EXTRA_INIT
__attribute__((constructor)) static void load(void) {
    if (load_extension_of_environment(NULL) != SQLITE_OK) exit(9);
}
#endif

int load_extension_of_environment(const char *unused) {
    const char *extension = getenv("EXTENSION");
    sqlite3 *db;
    char *error = NULL;
    (void)unused;
    if (!extension) return SQLITE_OK;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) return SQLITE_ERROR;
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    if (sqlite3_load_extension(db, extension, NULL, &error) != SQLITE_OK) {
        fprintf(stderr, "%s\n", error);
        return SQLITE_ERROR;
    }
    return sqlite3_close(db);
}
