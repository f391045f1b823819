// The entry point: registers the VFS once for the process, and the functions for each connection.
#include <dlfcn.h>
#include <stdlib.h>

#include "internal.h"
#include "tidings_sqlite.h"

SQLITE_EXTENSION_INIT1

#define OLDEST 3034000  // the first SQLite with sqlite3_txn_state

void sq__fail(sqlite3_context *context, const char *what, const char *schema, const char *why) {
    char *line = sqlite3_mprintf("can't %s \"%s\": %s", what, schema, why);
    sqlite3_result_error(context, line ? line : "no memory", -1);
    sqlite3_free(line);
}

// What SQLite passes to the functions of one connection. Its address identifies the connection.
typedef struct connection {
    sqlite3 *db;
} connection;

static void forget(sq__file *file, void *context) { sq__waiters_close(file, context); }

// SQLite has closed the connection's files. One that it shares with other connections is still open.
static void end_connection(void *context) {
    sq__files_each(forget, context);
    free(context);
}

static int connect(sqlite3 *db, char **error) {
    connection *one = calloc(1, sizeof *one);
    if (!one) return SQLITE_NOMEM;
    one->db = db;
    const char *why;
    sq__file *file = sq__file_of(db, "main", &why);
    sqlite3 *owner = NULL;
    if (file && !atomic_compare_exchange_strong(&file->owner, &owner, db) && owner != db)
        atomic_store(&file->shared, true);
    const int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    int result = sqlite3_create_function_v2(db, "tidings_wait", 2, flags, one, sq__wait_function, NULL, NULL,
                                            end_connection);
    // SQLite has called `end_connection` if this failed.
    if (result != SQLITE_OK) one = NULL;
    for (int count = 3; one && result == SQLITE_OK && count <= 4; count++)
        result = sqlite3_create_function_v2(db, "tidings_wait", count, flags, one, sq__wait_function, NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_create_function_v2(db, "tidings_descriptor", 1, flags, one, sq__descriptor_function, NULL,
                                            NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_create_function_v2(db, "tidings_tables", 1, flags, one, sq__tables_function, NULL, NULL, NULL);
    if (result == SQLITE_OK) result = sqlite3_create_module_v2(db, "tidings_changes", &sq__changes_module, one, NULL);
    if (result != SQLITE_OK)
        *error = sqlite3_mprintf("can't add the functions of tidings_sqlite: %s; close a statement "
                                 "that runs",
                                 sqlite3_errstr(result));
    return result;
}

// A connection may end, and the VFS stays. SQLITE_OK_LOAD_PERMANENTLY would say so too, but is an error where SQLite
// calls the entry point for each connection.
static void stay_loaded(void) {
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)sqlite3_tidingssqlite_init, &info))
        (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

__attribute__((visibility("default"))) int sqlite3_tidingssqlite_init(sqlite3 *db, char **error,
                                                                      const sqlite3_api_routines *api) {
    if (!api) return SQLITE_ERROR;
    SQLITE_EXTENSION_INIT2(api);
    if (sqlite3_libversion_number() < OLDEST) {
        *error = sqlite3_mprintf("can't load tidings_sqlite into SQLite %s: it needs 3.34; use a newer one",
                                 sqlite3_libversion());
        return SQLITE_ERROR;
    }
    stay_loaded();
    sq__process_prepare();
    int result = sq__vfs_register();
    if (result == SQLITE_OK) result = sqlite3_auto_extension((void (*)(void))sqlite3_tidingssqlite_init);
    return result == SQLITE_OK ? connect(db, error) : result;
}
