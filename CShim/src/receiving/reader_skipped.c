// Positions that a reader skips: claimed ones that their posters don't finish. A reader can't revoke them.
// design/5-access.md.
#include "receiving/reader.h"
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
#ifndef MUTANT_READER_WALKS_EVICTED_RANGE  // Found by: interleaving lapped_readers
    if ((int64_t)(oldest - *end) > 0) *end = oldest;
#endif
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

// Evicted before its outcome was known: missed = evicted count − passed. The tally counts all records before its `end`;
// `passed` counts all but the skipped ones. False: retry later.
static bool settle_by_tally(tidings_observer *o, const tidings__table *t) {
    tidings__segment *s = &o->center->segment;
    for (uint32_t i = 0; i < t->count; i++) {
        tidings__subscription *sub = t->of[i];
        uint64_t before, end;
        if (tidings__relaxed(&sub->fresh)) continue;
        if (sub->resolved == TIDINGS__NAME_NONE && tidings__reader_resolve(o, sub) != TIDINGS__NAME_NONE)
            sub->passed = 0;
        if (sub->resolved == TIDINGS__NAME_NONE) continue;
        if (sub->resolved != TIDINGS__NAME_ALL && tidings__acquire(&s->names[sub->resolved].birth) != sub->birth) {
            settle_without_tally(o, sub);
            continue;
        }
        // The first position that this subscription has not passed. The cursor may have gone back behind it for newer
        // ones.
        const uint64_t at = (int64_t)(sub->replayed - o->cursor) > 0 ? sub->replayed : o->cursor;
        if (!count_before(o, sub, at, &before, &end)) return false;
        sub->settled = end;
        if ((int64_t)(before - sub->passed) <= 0) continue;
        sub->missed += before - sub->passed;
        sub->passed = before;
        o->telling = true;
    }
    return true;
}

static bool is_of(tidings__segment *s, const tidings__subscription *sub, uint32_t entry) {
    const tidings__name *name = entry == TIDINGS__NAME_NONE ? NULL : tidings__name_at(s, entry);
    return name && tidings__name_same(name, &sub->key);
}

// The skipped position was committed after all: count it as missed for each subscription that skipped it.
static void settle_valid(tidings_observer *o, const tidings__table *t, const tidings__skipped *skipped,
                         uint64_t route) {
    tidings__segment *s = &o->center->segment;
    for (uint32_t i = 0; i < t->count; i++) {
        tidings__subscription *sub = t->of[i];
        if (!owes(sub, skipped)) continue;
        if (sub->entry != TIDINGS__NAME_ALL && !is_of(s, sub, tidings__route_name(route)) &&
            !is_of(s, sub, tidings__route_name_subject(route)))
            continue;
        sub->missed++;
        sub->passed++;
        o->telling = true;
    }
}

void tidings__reader_settle(tidings_observer *o, const tidings__table *t) {
    tidings__segment *s = &o->center->segment;
    for (uint32_t i = 0; i < o->skipped_count; i++) {
        const tidings__skipped skipped = o->skipped[i];
        const tidings__slot_state status = tidings__slot_status(s, skipped.position);
        bool settled = status == TIDINGS__VOID;
        if (status == TIDINGS__VALID) {
            const uint64_t route = tidings__route(tidings__cell_at(s, skipped.position));
            if (tidings__slot_valid_after_copy(s, skipped.position)) {
                settle_valid(o, t, &skipped, route);
                settled = true;
            }
        } else if (status == TIDINGS__LAPPED) {
            settled = settle_by_tally(o, t);
        }
        // Removes it at once: `count_records` leaves out what is listed here, and this position is in `passed` now.
        if (settled) o->skipped[i--] = o->skipped[--o->skipped_count];
    }
}
