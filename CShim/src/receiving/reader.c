// Readers: matching and counting without a name entry of their own, skipping claimed positions, and sleeping on name
// futexes. design/5-access.md.
#include "receiving/reader.h"

#include "platform/futex.h"
#include "registry/doorbell.h"
#include "registry/tally.h"
#include "ring/verdict.h"

#define LONGEST_SLEEP_NS 1000000000
#define UNFINISHED_SLEEP_NS 10000000

uint32_t tidings__reader_resolve(tidings_observer *o, tidings__subscription *in) {
    tidings__segment *s = &o->center->segment;
    in->resolved = in->entry == TIDINGS__NAME_ALL ? TIDINGS__NAME_ALL : tidings__name_find(s, &in->key);
    if (in->resolved != TIDINGS__NAME_NONE) in->birth = tidings__acquire(&s->names[in->resolved].birth);
    return in->resolved;
}

void tidings__reader_match(tidings_observer *o, const tidings__table *t, uint32_t entry, uint64_t position,
                           uint32_t *matched) {
    tidings__segment *s = &o->center->segment;
    tidings__name *name = tidings__name_at(s, entry);
    if (!name) return;
    // While the ring holds this record, the entry stands for the name that its poster meant.
    const uint64_t birth = tidings__acquire(&name->birth);
    const tidings__key sought = {.hash = tidings__relaxed(&name->hash)};
    uint32_t count;
    tidings__subscription *const *of = tidings__table_find(t, tidings__reader_number(&sought), &count);
    for (uint32_t i = 0; i < count && *matched < o->matched_capacity; i++) {
        tidings__subscription *in = of[i];
        if ((in->resolved != entry || in->birth != birth) && !tidings__name_same(name, &in->key)) continue;
        if (in->resolved != entry || in->birth != birth) {
            // The entry began to serve this name since the last lookup; otherwise an earlier record of it would have
            // been matched. So no record of it lies before this one.
            in->resolved = entry;
            in->birth = birth;
            in->passed = 0;
        }
        if (tidings__due(in, position)) o->matched[(*matched)++] = in;
    }
}

void tidings__reader_lapped(tidings_observer *o, tidings__subscription *in, uint64_t was) {
    tidings__segment *s = &o->center->segment;
    const uint32_t entry = in->resolved;
    if (entry == TIDINGS__NAME_NONE) {
        // No record of this name lies before the cursor. An entry that was added since counts from 0.
        if (tidings__reader_resolve(o, in) == TIDINGS__NAME_NONE) return;
        in->passed = 0;
    } else if (entry != TIDINGS__NAME_ALL && tidings__acquire(&s->names[entry].birth) != in->birth) {
        // The table was full, and the entry was given to another name: its count is lost. Count the most that can have
        // been missed.
        in->missed += (int64_t)(o->cursor - was) > 0 ? o->cursor - was : 0;
        in->passed = 0;
        in->accounted = o->cursor;
        uint64_t end;
        if (tidings__reader_resolve(o, in) != TIDINGS__NAME_NONE)
            tidings__tally_read(&s->names[in->resolved].tally, &in->passed, &end);
        return;
    }
#ifndef MUTANT_LAPPED_READER_COUNTS_NOTHING  // Found by: fault-injection reading
    tidings__account(s, in, in->resolved);
#endif
}

// Reads the name futexes of the subscribed names.
static void hear(tidings_observer *o) {
    const tidings__segment *s = &o->center->segment;
    const uint32_t name_futexes = tidings__table_use(o)->name_futexes;
    tidings__table_leave(o);
    for (uint32_t left = name_futexes; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        tidings__set_relaxed(&o->heard[i], tidings__acquire(&s->header->name_futexes[i].word));
    }
    tidings__set_relaxed(&o->heard_name_futexes, name_futexes);
}

// MARK: What its poster doesn't finish

bool tidings__reader_pass(tidings_observer *o, bool sleep) {
    tidings__set_relaxed(&o->own_heard, tidings__acquire(&o->sleeper.own_futex));
    hear(o);
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

// MARK: Sleeping

int tidings__reader_announce(tidings_observer *o, tidings_delivery *d) {
    hear(o);
    return tidings__look_for(o, tidings__frontier(&o->center->segment, o->cursor), d);
}

bool tidings__reader_rung(const tidings_observer *o) {
    const tidings__segment *s = &o->center->segment;
    for (uint32_t name_futexes = tidings__relaxed(&o->heard_name_futexes); name_futexes;
         name_futexes &= name_futexes - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(name_futexes);
        if (tidings__acquire(&s->header->name_futexes[i].word) != tidings__relaxed(&o->heard[i])) return true;
    }
    return false;
}

// Wakes the next sleepers of a name futex that no longer has the value read. A thread sleeps on an older value only if
// it fell asleep before the futex had this one. A wake-up that finds fewer sleepers than it may wake has therefore
// woken all of these, in every process. The other readers of this process then skip the call. This is wrong if the
// futex has wrapped round 2^32, or if a hostile reader moved sleepers away and back. These sleep for a second at most.
static void ring_on(tidings_center *center, uint32_t name_futex, uint32_t heard) {
    _Atomic uint32_t *word = &center->segment.header->name_futexes[name_futex].word,
                     *emptied = &center->emptied[name_futex];
    const uint32_t now = tidings__acquire(word);
    if (now == heard || now == tidings__acquire(emptied)) return;
    const int woken = tidings__futex_wake(word, TIDINGS__NAME_FUTEX_PASSES);
    if (woken >= 0 && woken < TIDINGS__NAME_FUTEX_PASSES) tidings__set_release(emptied, now);
}

void tidings__reader_sleep(tidings_observer *o, int64_t timeout_ns) {
    tidings__segment *s = &o->center->segment;
    tidings__futex_value values[TIDINGS__NAME_FUTEXES + 1];
    const uint32_t name_futexes = tidings__relaxed(&o->heard_name_futexes);
    uint32_t count = 0;
    for (uint32_t left = name_futexes; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        values[count++] = (tidings__futex_value){&s->header->name_futexes[i].word, tidings__relaxed(&o->heard[i])};
#ifdef MUTANT_NAME_FUTEX_READ_AFTER_CHECK  // Found by: interleaving one_reader
        values[count - 1].value = tidings__acquire(values[count - 1].word);
#endif
    }
    values[count++] = (tidings__futex_value){&o->sleeper.own_futex, tidings__relaxed(&o->own_heard)};
#ifdef MUTANT_OWN_FUTEX_READ_AFTER_CHECK  // Found by: interleaving one_reader_changing
    values[count - 1].value = tidings__acquire(values[count - 1].word);
#endif
    tidings__futex_wait_any(values, count,
                            timeout_ns >= 0 && timeout_ns < LONGEST_SLEEP_NS ? timeout_ns : LONGEST_SLEEP_NS);
    // Invariant W9: a poster wakes a bounded number of sleepers, so this reader wakes the next ones. It does so
    // whatever has ended its own sleep: the poster's wake-up may have been spent on it.
    for (uint32_t left = name_futexes, i = 0; left; left &= left - 1)
        ring_on(o->center, (uint32_t)__builtin_ctz(left), values[i++].value);
}
