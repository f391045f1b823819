// How many records of a name lie before a position: the pair that makes losses countable. README.md, "Eviction".
#ifndef TIDINGS__TALLY_H
#define TIDINGS__TALLY_H

#include "platform/atomics.h"
#include "segment/segment.h"

// Both halves as of one moment. `count` changes with every change of the pair and never comes back, so equal counts around `end` make it one.
static inline void tidings__tally_read(const tidings__tally *tally, uint64_t *count, uint64_t *end) {
    uint64_t before = tidings__acquire(&tally->count);
    for (int tries = 0;; tries++) {
        *end = tidings__acquire(&tally->end);
        *count = tidings__acquire(&tally->count);
        // Bounded: only a hostile peer changes it this often (honest ones once in many posts).
        if (*count == before || tries > 1000) return;
        before = *count;
    }
}

// Adds what an evicted range held, once, whoever and however many try: `end` remembers the ranges that were added.
static inline void tidings__tally_add(tidings__tally *tally, uint64_t more, uint64_t range_end) {
    uint64_t count, end;
    do {
        tidings__tally_read(tally, &count, &end);
        if ((int64_t)(end - range_end) >= 0) return;
    } while (!tidings__cas_pair(&tally->count, count, end, count + more, range_end));
}

#endif
