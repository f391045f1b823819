// Positions, slots and laps, and how far the order has come. Side by side ring and registry read it.
#ifndef TIDINGS__POSITION_H
#define TIDINGS__POSITION_H

#include "platform/atomics.h"
#include "segment/eviction.h"
#include "segment/segment.h"

#define TIDINGS__LAP_MASK UINT64_C(0x7fffffff)

static inline tidings__cell *tidings__cell_at(const tidings__segment *s, uint64_t position) {
    return &s->cells[position & s->slot_mask];
}

// Laps count from 1, so that a segment of zeros reads "lap 0, free": undecided on the first lap.
static inline uint64_t tidings__lap_at(const tidings__segment *s, uint64_t position) {
    return ((position >> s->slot_shift) + 1) & TIDINGS__LAP_MASK;
}

static inline uint64_t tidings__w_lap(uint64_t w) { return w >> TIDINGS__W_LAP_SHIFT; }

// How far W's lap is ahead of `lap`, in the arithmetic of 31 bits: laps that meet in one slot are never 2^30 apart.
static inline int32_t tidings__lap_ahead(uint64_t w, uint64_t lap) {
    uint32_t difference = (uint32_t)((tidings__w_lap(w) - lap) & TIDINGS__LAP_MASK) << 1;
    return (int32_t)difference / 2;
}

// The first undecided position at or after `from` (all before `from` must be decided, or evicted). May be decided by
// the time it returns.
uint64_t tidings__frontier(const tidings__segment *s, uint64_t from);

// May the ring hold a record (a retained one) of this name entry? A claimed cell may: nobody knows what is being
// written there. Costs a look at every cell.
bool tidings__ring_may_hold(const tidings__segment *s, uint32_t entry, bool retained);
// The same for all of them, of retained ones, by one look at every cell: marks their entries, a bit each. True: there
// is a claimed one, so any may.
bool tidings__ring_values(const tidings__segment *s, uint64_t *entries);

#endif
