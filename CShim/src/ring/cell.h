// The three words of a cell (W claim, C commit, V verdict): how to pack them, unpack them and test them.
// design/1-ring.md.
#ifndef TIDINGS__CELL_H
#define TIDINGS__CELL_H

#include "platform/atomics.h"
#include "segment/position.h"
#include "segment/segment.h"

// Invariant R4. True while the owner of the cell's last claim may still use the cell. The caller must load W, C and V
// in this order. There are two cases:
// - The owner may still write. Only a claim flips W's phase, and only the owner makes C's phase equal to it again.
// - The owner has committed, but has not yet noticed that its position was revoked.
static inline bool tidings__busy(uint64_t w, uint64_t c, uint64_t v) {
    if (__builtin_expect((((w >> 32) ^ c) & 1) == 0 && v != ((c >> 1) << 2 | TIDINGS__V_DEAD), 1)) return false;
#ifdef MUTANT_BUSY_SLOT_REUSED  // Found by: interleaving three_laps
    return false;
#endif
    return (w & (TIDINGS__W_OWNER_MASK | TIDINGS__W_FOREIGN)) != 0 && !(w & TIDINGS__W_DIED);
}

// W's lower half. The kernel marks a dead owner in it, and observers sleep on it: both use it as a 32-bit futex. The
// cast is right on little-endian machines, where the lower half comes first.
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
