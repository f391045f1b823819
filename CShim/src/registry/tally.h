// How many records of a name lie before a position: the pair that makes losses countable. README.md, "Eviction".
#ifndef TIDINGS__TALLY_H
#define TIDINGS__TALLY_H

#include "platform/atomics.h"
#include "segment/segment.h"

// Both halves as of one moment. `end` never comes back once it has changed, and each count read at one `end` was its
// partner, so equal ends around `count` make it one.
static inline void tidings__tally_read(const tidings__tally *tally, uint64_t *count, uint64_t *end) {
    uint64_t before = tidings__acquire(&tally->end);
    for (int tries = 0;; tries++) {
        *count = tidings__acquire(&tally->count);
        *end = tidings__acquire(&tally->end);
        // Bounded: only a hostile peer changes it this often (honest ones once in many posts).
        if (*end == before || tries > 1000) return;
        before = *end;
    }
}

// Adds what an evicted range held, once, whoever and however many try: `end` remembers the ranges that were added.
static inline void tidings__tally_add(tidings__tally *tally, uint64_t more, uint64_t range_end) {
    uint64_t count, end;
    do {
        tidings__tally_read(tally, &count, &end);
#ifdef MUTANT_EVICTION_COUNTED_TWICE  // Found by: fault-injection an_eviction
        if ((int64_t)(end - range_end) > 0) return;
#elif !defined MUTANT_RANGE_COUNTED_TWICE  // Found by: interleaving two_hands
        if ((int64_t)(end - range_end) >= 0) return;
#endif
    } while (!tidings__cas_pair(&tally->count, count, end, count + more, range_end));
}

// For another name: from 0, at `end`, or where it ended if that is later (then the pair is a new one by its count, and
// both were true). Only a hostile peer or a helper of long ago changes it meanwhile.
static inline void tidings__tally_restart(tidings__tally *tally, uint64_t end) {
    uint64_t count, before;
    for (int tries = 0; tries < 100; tries++) {
        tidings__tally_read(tally, &count, &before);
        if (count == 0 && (int64_t)(end - before) <= 0) return;
        if (tidings__cas_pair(&tally->count, count, before, 0, (int64_t)(end - before) > 0 ? end : before)) return;
    }
}

#endif
