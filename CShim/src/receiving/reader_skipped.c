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
    if (more && o->skipped_count < TIDINGS__SKIPPED_MAX) {
        uint32_t older = 0;
        for (uint32_t i = 0; i < o->skipped_count; i++)
            if (o->skipped[i].position == o->cursor && o->skipped[i].youngest > older) older = o->skipped[i].youngest;
        o->skipped[o->skipped_count++] = (tidings__skipped){o->cursor++, older, o->youngest};
        return true;
    }
    // Later posts change a name futex. This one has changed it already, and its commit does not.
    if (sleep && tidings__slot_status(&o->center->segment, o->cursor) == TIDINGS__CLAIMED)
        tidings__reader_sleep(o, UNFINISHED_SLEEP_NS);
    return false;
}

static bool was_skipped(const tidings_observer *o, const tidings__subscription *in, uint64_t position) {
    for (uint32_t i = 0; i < o->skipped_count; i++)
        if (o->skipped[i].position == position && in->id > o->skipped[i].older && in->id <= o->skipped[i].youngest)
            return true;
    return false;
}

// Counts the ring's records of a subscription in a range. Skipped positions are left out: they are not in `passed`.
// False: part of the range has been evicted.
static bool count_records(const tidings_observer *o, const tidings__subscription *in, uint64_t from, uint64_t to,
                          uint64_t *count) {
    const tidings__segment *s = &o->center->segment;
    *count = 0;
    if (to - from > s->shape.slots) return false;
    for (uint64_t p = from; p != to; p++) {
        if (was_skipped(o, in, p)) continue;
        const tidings__slot_state finding = tidings__slot_status(s, p);
        if (finding == TIDINGS__LAPPED || finding == TIDINGS__UNDECIDED) return false;
        if (finding != TIDINGS__VALID) continue;
        const uint64_t route = tidings__route(tidings__cell_at(s, p));
        if (!tidings__slot_valid_after_copy(s, p)) return false;
        *count += tidings__route_includes(route, in->resolved);
    }
    return true;
}

// Evicted before its outcome was known: missed = evicted count − passed. The tally counts all records before its `end`;
// `passed` counts all but the skipped ones. False: retry later.
static bool settle_by_tally(tidings_observer *o, const tidings__table *t) {
    tidings__segment *s = &o->center->segment;
    for (uint32_t i = 0; i < t->count; i++) {
        tidings__subscription *in = t->of[i];
        uint64_t count, end, between;
        if (tidings__relaxed(&in->fresh)) continue;
        if (in->resolved == TIDINGS__NAME_NONE && tidings__reader_resolve(o, in) != TIDINGS__NAME_NONE) in->passed = 0;
        if (in->resolved == TIDINGS__NAME_NONE) continue;
        // `oldest` is read before the tally: all records evicted by then are in the tally. Between the tally's `end`
        // and `oldest` lies no record of this name, and its slots may be reused.
        const uint64_t oldest = tidings__oldest(s);
        tidings__tally_read(&s->names[in->resolved].tally, &count, &end);
#ifndef MUTANT_READER_WALKS_EVICTED_RANGE  // Found by: interleaving lapped_readers
        if ((int64_t)(oldest - end) > 0) end = oldest;
#endif
        // How far this subscription has got: it may be ahead of a cursor that went back for newer ones.
        const uint64_t at = (int64_t)(in->replayed - o->cursor) > 0 ? in->replayed : o->cursor;
        const bool behind = (int64_t)(at - end) >= 0;
        if (!count_records(o, in, behind ? end : at, behind ? at : end, &between)) return false;
        const uint64_t passed = behind ? in->passed - between : in->passed + between;
        in->settled = end;
        if ((int64_t)(count - passed) <= 0) continue;
        in->missed += count - passed;
        in->passed += count - passed;
        o->telling = true;
    }
    return true;
}

static bool is_of(tidings__segment *s, const tidings__subscription *in, uint32_t entry) {
    const tidings__name *name = entry == TIDINGS__NAME_NONE ? NULL : tidings__name_at(s, entry);
    return name && tidings__name_same(name, &in->key);
}

// The skipped position was committed after all: count it as missed for each subscription that skipped it.
static void settle_valid(tidings_observer *o, const tidings__table *t, const tidings__skipped *left, uint64_t route) {
    tidings__segment *s = &o->center->segment;
    for (uint32_t i = 0; i < t->count; i++) {
        tidings__subscription *in = t->of[i];
        if (in->id <= left->older || in->id > left->youngest) continue;
        if ((int64_t)(left->position - in->since) < 0 || (int64_t)(left->position - in->accounted) < 0 ||
            (int64_t)(left->position - in->settled) < 0)
            continue;
        if (in->entry != TIDINGS__NAME_ALL && !is_of(s, in, tidings__route_name(route)) &&
            !is_of(s, in, tidings__route_name_subject(route)))
            continue;
        in->missed++;
        in->passed++;
        o->telling = true;
    }
}

void tidings__reader_settle(tidings_observer *o, const tidings__table *t) {
    tidings__segment *s = &o->center->segment;
    for (uint32_t i = 0; i < o->skipped_count; i++) {
        const tidings__skipped left = o->skipped[i];
        const tidings__slot_state finding = tidings__slot_status(s, left.position);
        bool settled = finding == TIDINGS__VOID;
        if (finding == TIDINGS__VALID) {
            const uint64_t route = tidings__route(tidings__cell_at(s, left.position));
            if (tidings__slot_valid_after_copy(s, left.position)) {
                settle_valid(o, t, &left, route);
                settled = true;
            }
        } else if (finding == TIDINGS__LAPPED) {
            settled = settle_by_tally(o, t);
        }
        // Remove it at once: from now on it counts as passed.
        if (settled) o->skipped[i--] = o->skipped[--o->skipped_count];
    }
}
