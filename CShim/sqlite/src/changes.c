// tidings_changes(schema, since): the commits that are still in the center's ring, as a table.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define ROWS_MAX 65536  // a ring has at most 2^20 slots; the default has 4,096

enum { COUNTER, TABLES, PID, MISSED, JOURNAL, PAGES, SCHEMA, SINCE };

typedef struct row {
    sq__commit commit;
    char *tables;    // JSON, of sqlite3_malloc, or NULL
    int64_t missed;  // commits before this one that have no row; -1: unknown
    int32_t pid;     // 0: this row stands for commits that no process posted
    uint32_t run;    // counters of one run grow by one with each commit
} row;

typedef struct table {
    sqlite3_vtab base;
    sqlite3 *db;
} table;

typedef struct rows {
    sqlite3_vtab_cursor base;
    row *rows;
    size_t count, capacity, at;
    char *schema;
    sqlite3_int64 since;
    bool has_since;
} rows;

static void clear(rows *r) {
    for (size_t i = 0; i < r->count; i++) sqlite3_free(r->rows[i].tables);
    free(r->rows);
    sqlite3_free(r->schema);
    const sqlite3_vtab_cursor base = r->base;
    memset(r, 0, sizeof *r);
    r->base = base;
}

static bool add(rows *r, row one) {
    if (r->count == r->capacity) {
        const size_t capacity = r->capacity ? 2 * r->capacity : 64;
        row *more = capacity <= ROWS_MAX ? realloc(r->rows, capacity * sizeof *more) : NULL;
        if (!more) return false;
        r->rows = more;
        r->capacity = capacity;
    }
    r->rows[r->count++] = one;
    return true;
}

static int32_t distance(uint32_t from, uint32_t to) { return (int32_t)(to - from); }

// Processes post after their commit is visible, so two notifications may be in the other order. Counters that fall by
// more than this began anew: the WAL's index was recovered, or the journal mode changed.
#define REORDERED 512

static int by_counter(const void *a, const void *b) {
    const row *one = a, *other = b;
    if (one->run != other->run) return one->run < other->run ? -1 : 1;
    const int32_t order = distance(other->commit.counter, one->commit.counter);
    return (order > 0) - (order < 0);
}

static void find_runs(rows *r) {
    uint32_t run = 0, newest = 0;
    for (size_t i = 0; i < r->count; i++) {
        const sq__commit *now = &r->rows[i].commit;
        if (i > 0 && (now->wal != r->rows[i - 1].commit.wal || distance(newest, now->counter) < -REORDERED)) run++;
        if (i == 0 || run != r->rows[i - 1].run || distance(newest, now->counter) > 0) newest = now->counter;
        r->rows[i].run = run;
    }
    if (r->count > 1) qsort(r->rows, r->count, sizeof *r->rows, by_counter);
}

// Leaves the rows after `since` only, and counts the commits that have no row.
static void select_rows(rows *r) {
    size_t first = 0;
    bool known = false;
    uint32_t before = (uint32_t)r->since;
    for (size_t i = r->count; r->has_since && i > 0; i--) {
        const row *one = &r->rows[i - 1];
        if (one->commit.counter == before) {
            first = i;
            known = true;
            break;
        }
    }
    // Not in the ring any more: it may be older than all of the only run, or newer than the last one.
    if (r->has_since && !known && r->count > 0 && r->rows[0].run == r->rows[r->count - 1].run) {
        known = true;
        while (first < r->count && distance(before, r->rows[first].commit.counter) <= 0) first++;
    }
    for (size_t i = 0; i < first; i++) sqlite3_free(r->rows[i].tables);
    r->count -= first;
    if (r->count > 0) memmove(r->rows, r->rows + first, r->count * sizeof *r->rows);
    for (size_t i = 0; i < r->count; i++) {
        row *one = &r->rows[i];
        if (i > 0) known = one->run == r->rows[i - 1].run;
        if (i > 0) before = r->rows[i - 1].commit.counter;
        const int32_t step = distance(before, one->commit.counter);
        // Two rows with one counter: a commit that was posted and, after a crash, lost and replaced.
        one->missed = !known ? -1 : step > 0 ? step - 1 : 0;
    }
}

// MARK: Reading the ring

static int read_ring(sq__file *file, rows *r) {
    tidings_center *center = sq__center(file->database.home, true);
    if (!center) return atomic_load(&file->database.home->failed);
    tidings_observer *observer = NULL;
    uint32_t subscription;
    const uint32_t before = sq__threads_before();
    int error = tidings_observer_open(center, 0, &observer);
    (void)sq__threads_after(before);
    if (!error) error = tidings_observer_seek(observer, 0);
    if (!error)
        error = tidings_observer_add(observer, file->database.name, strlen(file->database.name), NULL, 0,
                                     TIDINGS_ADD_HISTORY, &subscription);
    for (int i = 0; i < ROWS_MAX && error == 0; i++) {
        tidings_delivery delivery;
        error = tidings_next(observer, 0, &delivery);
        if (error || delivery.kind != TIDINGS_DELIVERY_MESSAGE || delivery.format != TIDINGS_FORMAT_CBOR) continue;
        row one = {.pid = delivery.pid ? delivery.pid : -1};
        // Any peer may have written it.
        if (!sq__payload_read(delivery.payload, delivery.size, &one.commit, &one.tables)) continue;
        if (!add(r, one)) {
            sqlite3_free(one.tables);
            error = -ENOMEM;
        }
    }
    if (observer) tidings_observer_close(observer);
    if (error == -ESTALE || error == -EBADF) sq__center_ended(file->database.home, center);
    return error == -EAGAIN ? 0 : error;
}

static int fail(sqlite3_vtab *base, const char *schema, const char *why) {
    sqlite3_free(base->zErrMsg);
    base->zErrMsg = sqlite3_mprintf("can't list the changes of \"%s\": %s", schema ? schema : "", why);
    return SQLITE_ERROR;
}

static int filter(sqlite3_vtab_cursor *base, int index, const char *text, int count, sqlite3_value **values) {
    (void)index, (void)text;
    rows *r = (rows *)base;
    sqlite3 *db = ((table *)base->pVtab)->db;
    clear(r);
    if (count < 1 || sqlite3_value_type(values[0]) == SQLITE_NULL)
        return fail(base->pVtab, NULL, "no schema was given; call tidings_changes('main', since)");
    r->schema = sqlite3_mprintf("%s", (const char *)sqlite3_value_text(values[0]));
    if (!r->schema) return SQLITE_NOMEM;
    r->has_since = count > 1 && sqlite3_value_type(values[1]) != SQLITE_NULL;
    if (r->has_since) r->since = sqlite3_value_int64(values[1]);
    // No counter: the table has all that is known.
    if (r->since < 0 || r->since > UINT32_MAX) r->has_since = false;
    const char *why;
    sq__file *file = sq__file_of(db, r->schema, &why);
    if (!file) return fail(base->pVtab, r->schema, why);
    const int error = read_ring(file, r);
    if (error == -ENOMEM) return SQLITE_NOMEM;
    if (error) return fail(base->pVtab, r->schema, tidings_last_error());
    find_runs(r);
    // Commits that no process has posted: of a killed process, of one without the extension, or of one about to post.
    uint64_t version;
    if (r->has_since || r->count > 0) {
        const row *last = r->count > 0 ? &r->rows[r->count - 1] : NULL;
        if (sq__version_now(db, r->schema, file, &version) == SQLITE_OK) {
            const uint32_t counter = (uint32_t)version;
            const bool wal = version >> 32 != 0;
            const bool behind = last ? last->commit.wal != wal || distance(last->commit.counter, counter) > 0
                                     : distance((uint32_t)r->since, counter) > 0;
            const row unposted = {.commit = {counter, 0, wal}, .run = last ? last->run + (last->commit.wal != wal) : 0};
            if (behind && !add(r, unposted)) return SQLITE_NOMEM;
        }
    }
    select_rows(r);
    return SQLITE_OK;
}

// MARK: The virtual table

static int connect(sqlite3 *db, void *data, int count, const char *const *arguments, sqlite3_vtab **vtab,
                   char **error) {
    (void)data, (void)count, (void)arguments, (void)error;
    const int result = sqlite3_declare_vtab(
        db, "CREATE TABLE x(counter INTEGER, tables TEXT, pid INTEGER, missed INTEGER, journal TEXT, pages INTEGER, "
            "schema HIDDEN, since HIDDEN)");
    if (result != SQLITE_OK) return result;
    (void)sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    table *one = calloc(1, sizeof *one);
    if (!one) return SQLITE_NOMEM;
    one->db = db;
    *vtab = &one->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab) {
    free(vtab);
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    int schema = -1, since = -1;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *one = &info->aConstraint[i];
        if (one->iColumn < SCHEMA || one->op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
        if (!one->usable) return SQLITE_CONSTRAINT;
        if (one->iColumn == SCHEMA) schema = i;
        if (one->iColumn == SINCE) since = i;
    }
    (void)vtab;
    if (schema >= 0) {
        info->aConstraintUsage[schema].argvIndex = 1;
        info->aConstraintUsage[schema].omit = 1;
        if (since >= 0) info->aConstraintUsage[since].argvIndex = 2;
        if (since >= 0) info->aConstraintUsage[since].omit = 1;
    }
    info->estimatedCost = 1000;
    info->estimatedRows = 100;
    return SQLITE_OK;
}

static int open_rows(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    (void)vtab;
    rows *r = calloc(1, sizeof *r);
    if (!r) return SQLITE_NOMEM;
    *cursor = &r->base;
    return SQLITE_OK;
}

static int close_rows(sqlite3_vtab_cursor *base) {
    clear((rows *)base);
    free(base);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base) {
    ((rows *)base)->at++;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base) { return ((rows *)base)->at >= ((rows *)base)->count; }

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number) {
    const rows *r = (rows *)base;
    const row *one = &r->rows[r->at];
    switch (number) {
        case COUNTER: sqlite3_result_int64(context, one->commit.counter); break;
        case TABLES:
            if (one->tables) sqlite3_result_text(context, one->tables, -1, SQLITE_TRANSIENT);
            break;
        case PID:
            if (one->pid != 0) sqlite3_result_int(context, one->pid);
            break;
        case MISSED:
            if (one->missed >= 0) sqlite3_result_int64(context, one->missed);
            break;
        case JOURNAL: sqlite3_result_text(context, one->commit.wal ? "wal" : "rollback", -1, SQLITE_STATIC); break;
        case PAGES:
            if (one->pid != 0) sqlite3_result_int64(context, one->commit.pages);
            break;
        case SCHEMA: sqlite3_result_text(context, r->schema, -1, SQLITE_TRANSIENT); break;
        default:
            if (r->has_since) sqlite3_result_int64(context, r->since);
            break;
    }
    return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id) {
    *id = (sqlite3_int64)((rows *)base)->at;
    return SQLITE_OK;
}

const sqlite3_module sq__changes_module = {
    .xConnect = connect,  // without xCreate: the table is there without CREATE VIRTUAL TABLE
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xOpen = open_rows,
    .xClose = close_rows,
    .xFilter = filter,
    .xNext = next,
    .xEof = at_end,
    .xColumn = column,
    .xRowid = row_id,
};
