// Losses: what an observer has missed, and how it is told. design/2-eviction.md.
#include <string.h>

#include "receiving/kind.h"
#include "registry/observers.h"
#include "registry/tally.h"

void tidings__account(const tidings__segment *s, tidings__subscription *sub, uint32_t entry) {
    uint64_t count, end;
    tidings__tally_read(&s->names[entry].tally, &count, &end);
    // Invariant E9: what was evicted and not passed is missed. If the count is no greater than `passed`, nothing is
    // lost. The tally may not yet include all records that this subscription has read.
    if ((int64_t)(count - sub->passed) <= 0) return;
    sub->missed += count - sub->passed;
    sub->passed = count;
#ifndef MUTANT_JUMP_FORGETS_COUNTED_END  // Found by: interleaving one_lap
    sub->accounted = end;
#endif
}

uint64_t tidings__leave_lap(tidings_observer *o) {
    tidings__segment *s = &o->center->segment;
    const uint64_t oldest = tidings__oldest(s), gone = (int64_t)(oldest - o->cursor) > 0 ? oldest - o->cursor : 0;
    if (gone) {
        o->cursor = oldest;
    } else {
        // An honest ring evicts a position before its slot is reused. This one is damaged: continue at its apparent
        // end.
        uint64_t frontier = tidings__frontier(s, oldest);
        o->cursor = (int64_t)(frontier - o->cursor) > 0 ? frontier : o->cursor + 1;
    }
    // The tally also counts the positions that a reader skipped.
    if (gone) o->skipped_count = 0;
    return gone;
}

void tidings__account_lap(tidings_observer *o, const tidings__table *t, uint64_t was, uint64_t gone) {
    tidings__look_up_all(o, t);
    o->visited += t->count;
    for (uint32_t i = 0; i < t->count; i++) {
        tidings__subscription *sub = t->of[i];
        o->kind->lapped(o, sub, was, gone);
        // An unfinished eviction may already have counted records beyond the cursor, up to `accounted`. History before
        // that is counted as missed here. Otherwise the later loss would be reported before the older history is
        // delivered.
        const uint64_t counted = (int64_t)(sub->accounted - o->cursor) > 0 ? sub->accounted : o->cursor;
        for (; tidings__history_left(sub) && (int64_t)(counted - tidings__history_at(sub)) > 0;
             tidings__history_step(sub))
            sub->missed++;
        o->telling |= sub->missed > 0;
    }
    tidings__look_up_all(o, NULL);
}

// No position from here on has been evicted, or counted as evicted, whatever a hostile writer has made of a tally: an
// unfinished eviction counts at most TIDINGS__EV_LENGTH_MAX positions. The cursor alone is no bound: EV may have moved
// between our reading of EV and of the tally.
static uint64_t counted_end(const tidings_observer *o) {
    const uint64_t oldest = tidings__oldest(&o->center->segment);
    return (oldest > o->cursor ? oldest : o->cursor) + TIDINGS__EV_LENGTH_MAX;
}

// Limits `missed`. False: nothing is left to report. Each missed notification has its own position, which was counted
// as evicted. All that is ever reported for one subscription stays below 2^53, so a caller's sum can't overflow. Not
// inlined, because it runs after a loss only: `tidings_next` then takes 0.7 % fewer instructions for posted records.
static __attribute__((noinline)) bool bound_missed(const tidings_observer *o, tidings__subscription *sub) {
    const uint64_t end = counted_end(o), most = end > sub->told ? end - sub->told : 0;
    if (sub->missed > most) sub->missed = most;
    sub->told += sub->missed;
    return sub->missed != 0;
}

static void describe_missed(tidings_observer *o, tidings__subscription *sub, tidings_delivery *d) {
    memset(d, 0, sizeof *d);
    d->kind = TIDINGS_DELIVERY_MISSED;
    // An unfinished eviction may already have counted records beyond the cursor, up to `accounted`: then this
    // subscription continues there.
    const uint64_t at = (int64_t)(sub->accounted - o->cursor) > 0 ? sub->accounted : o->cursor, end = counted_end(o);
    d->sequence = at < end ? at : end;
    d->missed = sub->missed;
    d->subscriptions = &sub->id;
    d->subscription_count = 1;
    d->name = sub->name;
    d->name_length = sub->name_length;
    d->subject = sub->subject;
    d->subject_length = sub->subject_length;
    d->payload = "";
#ifndef MUTANT_LOSS_NOT_PUBLISHED  // Found by: fault-injection an_observer_shows_how_far_it_is_and_what_it_missed
    o->reported += sub->missed;
#endif
    sub->missed = 0;
    if (o->publish_step && tidings__has_place(o->center))
        tidings__progress_set(&o->center->segment, o->index, o->cursor, o->reported);
}

bool tidings__tell_missed(tidings_observer *o, const tidings__table *t, tidings_delivery *d) {
    // Continue after the subscription reported last, as there may be a hundred thousand. Then once from the beginning,
    // as earlier ones may have missed something since.
    for (int rounds = o->telling_at ? 2 : 1; rounds > 0; rounds--, o->telling_at = 0) {
        for (; o->telling_at < t->count; o->telling_at++) {
            if (t->of[o->telling_at]->missed == 0 || !bound_missed(o, t->of[o->telling_at])) continue;
            describe_missed(o, t->of[o->telling_at], d);
            return true;
        }
    }
    o->telling = false;
    return false;
}
