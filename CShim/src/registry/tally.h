// A tally: how many records of a name lie before a position. The pair makes lost records countable.
// design/2-eviction.md.
#ifndef TIDINGS__TALLY_H
#define TIDINGS__TALLY_H

#include "platform/atomics.h"
#include "segment/segment.h"

// Reads a count and an end that belong together. `end` never returns to an earlier value, and each count read at one
// `end` belonged to it. So if `end` is the same before and after `count` is read, the two are a pair.
static inline void tidings__tally_read(const tidings__tally *tally, uint64_t *count, uint64_t *end) {
    uint64_t before = tidings__acquire(&tally->end);
    for (int tries = 0;; tries++) {
        *count = tidings__acquire(&tally->count);
        *end = tidings__acquire(&tally->end);
        if (*end == before || tries > TIDINGS__TRIES) return;
        before = *end;
    }
}

// Invariant E4: adds the count of an evicted range, exactly once however many threads try: `end` shows which ranges
// were added.
static inline void tidings__tally_add(tidings__tally *tally, uint64_t more, uint64_t range_end) {
    uint64_t count, end;
    int tries = 0;
    do {
        if (++tries > TIDINGS__TRIES) return;
        tidings__tally_read(tally, &count, &end);
#ifdef MUTANT_EVICTION_COUNTED_TWICE  // Found by: fault-injection an_eviction
        if ((int64_t)(end - range_end) > 0) return;
#elif !defined MUTANT_RANGE_COUNTED_TWICE  // Found by: interleaving two_hands
        if ((int64_t)(end - range_end) >= 0) return;
#endif
    } while (!tidings__cas_pair(&tally->count, count, end, count + more, range_end));
}

// Restarts the tally for another name: count 0 at `end`, or at the old `end` if that is later. In the latter case both
// pairs have the same `end`, and a thread that reads the tally gets one of them. Only a hostile peer or a late helper
// of an earlier eviction changes the tally meanwhile.
static inline void tidings__tally_restart(tidings__tally *tally, uint64_t end) {
    uint64_t count, before;
    for (int tries = 0; tries < 100; tries++) {
        tidings__tally_read(tally, &count, &before);
        if (count == 0 && (int64_t)(end - before) <= 0) return;
        if (tidings__cas_pair(&tally->count, count, before, 0, (int64_t)(end - before) > 0 ? end : before)) return;
    }
}

#endif
