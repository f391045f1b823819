// The three words of a cell: packing, unpacking, and the questions that can be asked of them. README.md, "The cell".
#ifndef TIDINGS__CELL_H
#define TIDINGS__CELL_H

#include "platform/atomics.h"
#include "segment/position.h"
#include "segment/segment.h"

// Is this cell still its last owner's? Either it may still write (only a claim flips W's phase, only its owner makes
// C's equal again), or it has committed but not yet noticed that it was revoked. Read in this order: W, C, V.
static inline bool tidings__busy(uint64_t w, uint64_t c, uint64_t v) {
    if (__builtin_expect((((w >> 32) ^ c) & 1) == 0 && v != ((c >> 1) << 2 | TIDINGS__V_DEAD), 1)) return false;
#ifdef MUTANT_BUSY_SLOT_REUSED  // Found by: interleaving three_laps
    return false;
#endif
    return (w & (TIDINGS__W_OWNER_MASK | TIDINGS__W_FOREIGN)) != 0 && !(w & TIDINGS__W_DIED);
}

// W's lower half, which the kernel, and who sleeps on it, know as a futex. Little endian: its first half.
static inline _Atomic uint32_t *tidings__claim_futex(tidings__cell *cell) {
    return (_Atomic uint32_t *)(void *)&cell->claim;
}

static inline uint64_t tidings__c_of(uint64_t position, uint64_t phase) { return position << 1 | phase; }
static inline bool tidings__c_is(uint64_t c, uint64_t position) { return c >> 1 == position; }
static inline uint64_t tidings__v_of(uint64_t position, uint64_t verdict) { return position << 2 | verdict; }
static inline bool tidings__v_void(uint64_t v, uint64_t position) {
    return v == tidings__v_of(position, TIDINGS__V_DEAD) || v == tidings__v_of(position, TIDINGS__V_KNOWN);
}

#endif
