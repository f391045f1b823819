// Positions that a reader skips: claimed ones that their posters don't finish. A reader can't revoke them.
// design/5-access.md.
#include "receiving/reader.h"

#include <stdlib.h>
#include <string.h>

#include "registry/tally.h"
#include "ring/verdict.h"

#define UNFINISHED_SLEEP_NS 10000000

bool tidings__reader_pass(tidings_observer *o, bool sleep) {
    tidings__set_relaxed(&o->own_heard, tidings__acquire(&o->sleeper.own_futex));
    tidings__reader_hear(o);
    // Skip only if a later position has been claimed. Otherwise the stopped poster may be the only one, and skipping
    // would lose its post for no gain. At most TIDINGS__SKIPPED_MAX positions are skipped.
    const bool more = (int64_t)(tidings__frontier(&o->center->segment, o->cursor) - o->cursor) > 1;
    // This position is checked after the later one: a poster that has committed this one and claimed the next was not
    // stopped, so its record must not be skipped.
    if (more && o->skipped_count < TIDINGS__SKIPPED_MAX &&
        tidings__slot_status(&o->center->segment, o->cursor) == TIDINGS__CLAIMED) {
        uint32_t older = 0;
        for (uint32_t i = 0; i < o->skipped_count; i++)
            if (o->skipped[i].position == o->cursor && o->skipped[i].youngest > older) older = o->skipped[i].youngest;
        o->skipped[o->skipped_count++] = (tidings__skipped){o->cursor++, older, o->youngest};
        return true;
    }
    // The next post changes a name futex. The pending claim's poster has changed it already, and its commit does not.
    if (sleep && tidings__slot_status(&o->center->segment, o->cursor) == TIDINGS__CLAIMED)
        tidings__reader_sleep(o, UNFINISHED_SLEEP_NS);
    return false;
}

static bool was_skipped(const tidings_observer *o, const tidings__subscription *sub, uint64_t position) {
    for (uint32_t i = 0; i < o->skipped_count; i++)
        if (o->skipped[i].position == position && sub->id > o->skipped[i].older && sub->id <= o->skipped[i].youngest)
            return true;
    return false;
}

// Counts the ring's records of a subscription in a range. Skipped positions are left out: they are not in `passed`.
// False: part of the range has been evicted.
static bool count_records(const tidings_observer *o, const tidings__subscription *sub, uint64_t from, uint64_t to,
                          uint64_t *count) {
    const tidings__segment *s = &o->center->segment;
    *count = 0;
    if (to - from > s->shape.slots) return false;
    for (uint64_t p = from; p != to; p++) {
        if (was_skipped(o, sub, p)) continue;
        const tidings__slot_state status = tidings__slot_status(s, p);
        if (status == TIDINGS__LAPPED || status == TIDINGS__UNDECIDED) return false;
        if (status != TIDINGS__VALID) continue;
        const uint64_t route = tidings__route(tidings__cell_at(s, p));
        if (!tidings__slot_valid_after_copy(s, p)) return false;
        *count += tidings__route_includes(route, sub->resolved);
    }
    return true;
}

// How many records of the subscription's entry lie before `position`: those that the tally counts, and those of the
// ring between its end and `position`. `*end`: where the tally ends. False: an eviction moved on during the walk.
static bool count_before(const tidings_observer *o, const tidings__subscription *sub, uint64_t position,
                         uint64_t *before, uint64_t *end) {
    const tidings__segment *s = &o->center->segment;
    // `oldest` is read before the tally: all records evicted by then are in the tally. Between the tally's `end` and
    // `oldest` lies no record of this name, and its slots may be reused.
    const uint64_t oldest = tidings__oldest(s);
    uint64_t between;
    tidings__tally_read(&s->names[sub->resolved].tally, before, end);
    if ((int64_t)(oldest - *end) > 0) *end = oldest;
    const bool behind = (int64_t)(position - *end) >= 0;
    if (!count_records(o, sub, behind ? *end : position, behind ? position : *end, &between)) return false;
    *before += behind ? between : -between;
    return true;
}

uint64_t tidings__reader_passed(const tidings_observer *o, const tidings__subscription *sub, uint64_t position) {
    uint64_t before = 0, end;
    // After a few evictions during the walk the reader is lapped here, and counts by the tally.
    for (int tries = 0; tries < 4 && !count_before(o, sub, position, &before, &end); tries++) {}
    return before;
}

// True if the subscription skipped this position, and has not accounted for it in another way since.
static bool owes(const tidings__subscription *sub, const tidings__skipped *skipped) {
    return sub->id > skipped->older && sub->id <= skipped->youngest && (int64_t)(skipped->position - sub->since) >= 0 &&
           (int64_t)(skipped->position - sub->accounted) >= 0 && (int64_t)(skipped->position - sub->settled) >= 0;
}

// The table was full, and the entry was given to another name: the count of this name is lost. Counts each skipped
// position that was evicted as missed, the most that can have been, and looks the name up again.
static void settle_without_tally(tidings_observer *o, tidings__subscription *sub) {
    tidings__segment *s = &o->center->segment;
    const uint64_t oldest = tidings__oldest(s);
    for (uint32_t i = 0; i < o->skipped_count; i++) {
        if ((int64_t)(oldest - o->skipped[i].position) <= 0 || !owes(sub, &o->skipped[i])) continue;
        sub->missed++;
        o->telling = true;
    }
    // The reader is lapped, too. Later, `reader_lapped` finds the new entry only, so it counts nothing of this range.
    const uint64_t from = (int64_t)(sub->since - o->cursor) > 0 ? sub->since : o->cursor;
    const uint64_t accounted = sub->accounted;
    const uint64_t end = tidings__reader_resolve_anew(o, sub, oldest);
    if ((int64_t)(end - from) > 0) {
        sub->missed += end - from;
        o->telling = true;
    } else if ((int64_t)(accounted - end) > 0) {
        sub->accounted = accounted;
    }
    sub->settled = oldest;
}

// The records of a part of the ring, as one walk found them: chains by entry, the newest record first. `first` and
// `next` are record numbers + 1.
typedef struct records {
    uint32_t *first, count;  // `first`: of each entry
    struct {
        uint64_t position;
        uint32_t next;
    } * of;
} records;

static void note(records *found, uint32_t entry, uint64_t position) {
    found->of[found->count].position = position;
    found->of[found->count].next = found->first[entry];
    found->first[entry] = ++found->count;
}

// False: no memory.
static bool find_records(const tidings__segment *s, uint64_t from, uint64_t to, records *found) {
    *found = (records){.first = calloc(s->shape.names, sizeof *found->first),
                       .of = malloc((3 * (to - from) + 1) * sizeof *found->of)};
    for (uint64_t p = from; found->first && found->of && p != to; p++) {
        if (tidings__slot_status(s, p) != TIDINGS__VALID) continue;
        const uint64_t route = tidings__route(tidings__cell_at(s, p));
        if (!tidings__slot_valid_after_copy(s, p)) continue;
        const uint32_t name = tidings__route_name(route), with_subject = tidings__route_name_subject(route);
        note(found, TIDINGS__NAME_ALL, p);
        if (name > TIDINGS__NAME_ALL && name < s->shape.names) note(found, name, p);
        if (with_subject > TIDINGS__NAME_ALL && with_subject < s->shape.names && with_subject != name)
            note(found, with_subject, p);
    }
    return found->first && found->of;
}

static uint64_t count_found(const records *found, uint32_t entry, uint64_t from, uint64_t to) {
    uint64_t count = 0;
    for (uint32_t i = found->first[entry]; i && (int64_t)(found->of[i - 1].position - from) >= 0;
         i = found->of[i - 1].next)
        count += (int64_t)(to - found->of[i - 1].position) > 0;
    return count;
}

// What lies between a tally's end and the cursor: the same for all subscriptions of one entry, which may be very many.
typedef struct between {
    uint32_t entry;
    uint64_t from, to, count;
    bool skipped[TIDINGS__SKIPPED_MAX];  // this skipped position is one of the records
} between;

static void count_between(const tidings_observer *o, const records *found, uint32_t entry, uint64_t from, uint64_t to,
                          between *of) {
    if (of->entry == entry && of->from == from && of->to == to) return;
    *of = (between){.entry = entry, .from = from, .to = to, .count = count_found(found, entry, from, to)};
    for (uint32_t i = 0; i < o->skipped_count; i++) {
        const uint64_t p = o->skipped[i].position;
        of->skipped[i] = (int64_t)(p - from) >= 0 && (int64_t)(to - p) > 0 && count_found(found, entry, p, p + 1) > 0;
    }
}

// How many of these records the subscription skipped: they are not in `passed`. The same position may be listed again,
// for newer subscriptions.
static uint64_t count_skipped(const tidings_observer *o, const tidings__subscription *sub, const between *of) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < o->skipped_count; i++)
        count += of->skipped[i] && sub->id > o->skipped[i].older && sub->id <= o->skipped[i].youngest;
    return count;
}

// Before a tally is read: its entry. False: it was counted otherwise, or has no entry.
static bool has_tally(tidings_observer *o, tidings__subscription *sub) {
    if (tidings__relaxed(&sub->fresh)) return false;
    if (sub->resolved == TIDINGS__NAME_NONE && tidings__reader_resolve(o, sub) != TIDINGS__NAME_NONE) sub->passed = 0;
    if (sub->resolved == TIDINGS__NAME_NONE) return false;
    if (sub->resolved == TIDINGS__NAME_ALL ||
        tidings__acquire(&o->center->segment.names[sub->resolved].birth) == sub->birth)
        return true;
    settle_without_tally(o, sub);
    return false;
}

// Evicted before its outcome was known: missed = evicted count − passed. The tally counts all records before its `end`;
// `passed` counts all but the skipped ones. The ring's records between that end and the cursor are found in one walk
// for all subscriptions, before any tally is read: what is evicted afterwards lies before the `end` that is read.
// False: retry later.
static bool settle_by_tally(tidings_observer *o, const tidings__table *t) {
    tidings__segment *s = &o->center->segment;
    uint64_t to = o->cursor, from = tidings__oldest(s);
    for (uint32_t i = 0; i < t->count; i++)
        if ((int64_t)(t->of[i]->replayed - to) > 0) to = t->of[i]->replayed;
    if ((int64_t)(from - to) > 0) to = from;  // the reader is lapped, too
    if (to - from > s->shape.slots) return false;
    records found;
    const bool all = find_records(s, from, to, &found);
    bool unsettled = false;
    const uint64_t oldest = tidings__oldest(s);
    between between = {.entry = TIDINGS__NAME_NONE};
    tidings__look_up_all(o, t);
    for (uint32_t i = 0; all && i < t->count; i++) {
        tidings__subscription *sub = t->of[i];
        uint64_t before, end;
        if (!has_tally(o, sub)) continue;
        // The first position that this subscription has not passed. The cursor may have gone back behind it for newer
        // ones.
        const uint64_t at = (int64_t)(sub->replayed - o->cursor) > 0 ? sub->replayed : o->cursor;
        tidings__tally_read(&s->names[sub->resolved].tally, &before, &end);
        // Between the tally's end and `oldest` lies no record of this name.
        if ((int64_t)(oldest - end) > 0) end = oldest;
        // The eviction under way has counted beyond this position. The subscription passes that end soon, or is lapped.
        if ((int64_t)(at - end) < 0) {
            unsettled = true;
            continue;
        }
        count_between(o, &found, sub->resolved, end, at, &between);
        before -= count_skipped(o, sub, &between);
#ifndef MUTANT_READER_COUNTS_TALLY_ALONE  // Found by: interleaving lapped_readers
        before += between.count;
#endif
        sub->settled = end;
        if ((int64_t)(before - sub->passed) <= 0) continue;
        sub->missed += before - sub->passed;
        sub->passed = before;
        o->telling = true;
    }
    tidings__look_up_all(o, NULL);
    free(found.first);
    free(found.of);
    return all && !unsettled;
}

static bool is_of(tidings__segment *s, const tidings__subscription *sub, uint32_t entry) {
    const tidings__name *name = entry == TIDINGS__NAME_NONE ? NULL : tidings__name_at(s, entry);
    return name && tidings__name_same(name, &sub->key);
}

// The skipped position was committed after all: counts it as missed for each of these subscriptions that skipped it.
static void settle_valid(tidings_observer *o, const tidings__table *t, uint32_t number, uint32_t entry,
                         const tidings__skipped *skipped) {
    uint32_t count;
    tidings__subscription *const *of = tidings__table_find(t, number, &count);
    for (uint32_t i = 0; i < count; i++) {
        tidings__subscription *sub = of[i];
        if (!owes(sub, skipped) || (number != TIDINGS__NAME_ALL && !is_of(&o->center->segment, sub, entry))) continue;
        sub->missed++;
        sub->passed++;
        o->telling = true;
    }
}

static void settle_valid_of(tidings_observer *o, const tidings__table *t, uint32_t entry,
                            const tidings__skipped *skipped) {
    const tidings__name *name = tidings__name_at(&o->center->segment, entry);
    if (!name || entry == TIDINGS__NAME_ALL) return;
    const tidings__key sought = {.hash = tidings__relaxed(&name->hash)};
    settle_valid(o, t, tidings__reader_number(&sought), entry, skipped);
}

void tidings__reader_settle(tidings_observer *o, const tidings__table *t) {
    tidings__segment *s = &o->center->segment;
    uint32_t evicted = 0;  // so many, at the beginning of the list
    for (uint32_t i = 0; i < o->skipped_count; i++) {
        const tidings__skipped skipped = o->skipped[i];
        const tidings__slot_state status = tidings__slot_status(s, skipped.position);
        bool settled = status == TIDINGS__VOID;
        if (status == TIDINGS__VALID) {
            const uint64_t route = tidings__route(tidings__cell_at(s, skipped.position));
            if (tidings__slot_valid_after_copy(s, skipped.position)) {
                const uint32_t name = tidings__route_name(route), with_subject = tidings__route_name_subject(route);
                settle_valid(o, t, TIDINGS__NAME_ALL, TIDINGS__NAME_ALL, &skipped);
                settle_valid_of(o, t, name, &skipped);
                if (with_subject != name) settle_valid_of(o, t, with_subject, &skipped);
                settled = true;
            }
        } else if (status == TIDINGS__LAPPED) {
            o->skipped[i] = o->skipped[evicted];
            o->skipped[evicted++] = skipped;
        }
        // Removes it at once: `settle_by_tally` leaves out what is listed here, and this position is in `passed` now.
        if (settled) o->skipped[i--] = o->skipped[--o->skipped_count];
    }
    if (evicted == 0 || !settle_by_tally(o, t)) return;
    o->skipped_count -= evicted;
    memmove(o->skipped, o->skipped + evicted, o->skipped_count * sizeof o->skipped[0]);
}
