// The tables that a transaction changes, and how: the application asks for them with `tidings_tables`.
#include <dlfcn.h>
#include <string.h>

#include "internal.h"

enum { INSERTED = 1, UPDATED = 2, DELETED = 4 };

void sq__tables_clear(sq__tables *tables) {
    tables->count = 0;
    tables->size = 0;
    tables->too_many = false;
}

void sq__tables_add(sq__tables *tables, int operation, const char *name) {
    const unsigned char kind = operation == SQLITE_INSERT ? INSERTED : operation == SQLITE_UPDATE ? UPDATED : DELETED;
    const size_t length = strlen(name);
    for (size_t at = 0; at < tables->size; at += 2u + tables->entries[at + 1]) {
        if (tables->entries[at + 1] == length && memcmp(&tables->entries[at + 2], name, length) == 0) {
            tables->entries[at] |= kind;
            return;
        }
    }
    // Its CBOR takes at most 24 bytes more than its entry: the names of three kinds, and heads.
    if (length > UINT8_MAX || tables->size + 26 * (tables->count + 1u) + length > SQ__TABLES_MAX) {
        tables->too_many = true;
        return;
    }
    tables->entries[tables->size] = kind;
    tables->entries[tables->size + 1] = (unsigned char)length;
    memcpy(&tables->entries[tables->size + 2], name, length);
    tables->size += 2 + length;
    tables->count++;
}

size_t sq__tables_write(const sq__tables *tables, unsigned char *bytes, size_t capacity) {
    sq__bytes out = {bytes, 0, capacity};
    if (tables->too_many) {
        sq__cbor_head(&out, 7, 22);  // null
        return out.size;
    }
    sq__cbor_head(&out, 5, tables->count);
    for (size_t at = 0; at < tables->size; at += 2u + tables->entries[at + 1]) {
        const unsigned char kinds = tables->entries[at];
        sq__cbor_text(&out, (const char *)&tables->entries[at + 2], tables->entries[at + 1]);
        sq__cbor_head(&out, 4, (uint64_t)__builtin_popcount(kinds));
        if (kinds & INSERTED) sq__cbor_text(&out, "insert", 6);
        if (kinds & UPDATED) sq__cbor_text(&out, "update", 6);
        if (kinds & DELETED) sq__cbor_text(&out, "delete", 6);
    }
    return out.size;
}

// MARK: The hook

static void changed(void *context, sqlite3 *db, int operation, const char *schema, const char *table,
                    sqlite3_int64 from, sqlite3_int64 to) {
    (void)context, (void)from, (void)to;
    const char *why;
    sq__file *file = sq__file_of(db, schema, &why);
    if (file && file->tables.wanted) sq__tables_add(&file->tables, operation, table);
}

typedef void *(*preupdate_hook)(
    sqlite3 *, void (*)(void *, sqlite3 *, int, const char *, const char *, sqlite3_int64, sqlite3_int64), void *);

// The function is not in the table that SQLite passes to extensions. A process may contain two copies of SQLite: it is
// looked for in the file that the table's functions come from, and nowhere else.
static preupdate_hook find_hook(void) {
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)sqlite3_api->open_v2, &info)) return NULL;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) library = dlopen(NULL, RTLD_LAZY);
    void *hook = library ? dlsym(library, "sqlite3_preupdate_hook") : NULL;
    Dl_info other;
    if (hook && (!dladdr(hook, &other) || other.dli_fbase != info.dli_fbase)) hook = NULL;
    if (library) dlclose(library);
    return (preupdate_hook)(uintptr_t)hook;
}

void sq__tables_function(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count;
    sqlite3 *db = sqlite3_context_db_handle(context);
    const char *schema = (const char *)sqlite3_value_text(values[0]), *why = "its name is NULL";
    sq__file *file = schema ? sq__file_of(db, schema, &why) : NULL;
    const preupdate_hook hook = file ? find_hook() : NULL;
    if (file && !hook) why = "this SQLite was built without SQLITE_ENABLE_PREUPDATE_HOOK; use one that has it";
    if (!hook) {
        sq__fail(context, "post the changed tables of", schema ? schema : "", why);
        return;
    }
    (void)hook(db, changed, NULL);
    file->tables.wanted = true;
    sqlite3_result_int(context, 1);
}
