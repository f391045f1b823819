// Positions, slots and laps, and the search for the frontier. The layers ring and registry do not include each other
// and both need these, so they are here.
#ifndef TIDINGS__POSITION_H
#define TIDINGS__POSITION_H

#include "platform/atomics.h"
#include "segment/eviction.h"
#include "segment/segment.h"

#define TIDINGS__LAP_MASK UINT64_C(0x7fffffff)

static inline tidings__cell *tidings__cell_at(const tidings__segment *s, uint64_t position) {
    return &s->cells[position & s->slot_mask];
}

// Laps count from 1. So a cell of zeros says "lap 0, no owner", and its position on the first lap is undecided.
static inline uint64_t tidings__lap_at(const tidings__segment *s, uint64_t position) {
    return ((position >> s->slot_shift) + 1) & TIDINGS__LAP_MASK;
}

static inline uint64_t tidings__w_lap(uint64_t w) { return w >> TIDINGS__W_LAP_SHIFT; }

// W's lap minus `lap`, modulo 2^31. The laps that are compared in one slot are never 2^30 apart.
static inline int32_t tidings__lap_ahead(uint64_t w, uint64_t lap) {
    uint32_t difference = (uint32_t)((tidings__w_lap(w) - lap) & TIDINGS__LAP_MASK) << 1;
    return (int32_t)difference / 2;
}

// The first undecided position at or after `from`. All positions before `from` must be decided or evicted. The result
// may have been decided by the time the function returns.
uint64_t tidings__frontier(const tidings__segment *s, uint64_t from);

// True if the ring may hold a record of this name entry (`retained`: a retained record). A claimed cell counts as such
// a record, as its name is not known yet. Reads every cell of the ring at most.
bool tidings__ring_may_hold(const tidings__segment *s, uint32_t entry, bool retained);
// Sets the bit of each name entry of which the ring holds a retained record, in one walk of the ring. True if a cell is
// claimed: then the ring may hold a retained record of any name entry.
bool tidings__ring_values(const tidings__segment *s, uint64_t *entries);

#endif
