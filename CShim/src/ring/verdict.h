// Decides whether the record at a position is delivered. Every participant gets the same answer. design/1-ring.md.
#ifndef TIDINGS__VERDICT_H
#define TIDINGS__VERDICT_H

#include "ring/cell.h"

typedef enum tidings__slot_state {
    TIDINGS__UNDECIDED,  // neither claimed nor skipped yet
    TIDINGS__CLAIMED,    // its poster writes the record; for a reader also: committed with a pending verdict
    TIDINGS__VALID,      // committed: delivered to every observer
    TIDINGS__VOID,       // delivered to no observer: tombstone, revoked, abandoned, or skipped
    TIDINGS__LAPPED,     // a later lap uses the slot
} tidings__slot_state;

// The status of `position`. A copy made after VALID may be used only if `tidings__slot_valid_after_copy` is true after
// the last byte was copied.
tidings__slot_state tidings__slot_status_slow(const tidings__segment *s, uint64_t position);
static inline tidings__slot_state tidings__slot_status(const tidings__segment *s, uint64_t position) {
    // Fast path, the most frequent case: the position is committed, and no revoker has opened a verdict for it.
    tidings__cell *cell = tidings__cell_at(s, position);
#ifdef MUTANT_OBSERVER_IGNORES_VERDICT  // Found by: interleaving two_and_two
    if (tidings__c_is(tidings__acquire(&cell->commit), position)) return TIDINGS__VALID;
#endif
    if (__builtin_expect(tidings__c_is(tidings__acquire(&cell->commit), position), 1) &&
        __builtin_expect(tidings__acquire(&cell->verdict) >> 2 != position, 1))
        return TIDINGS__VALID;
    return tidings__slot_status_slow(s, position);
}

// True if the slot has not been claimed for a later lap. Call after the last byte was read.
static inline bool tidings__slot_valid_after_copy(const tidings__segment *s, uint64_t position) {
    // Invariant R8: the acquire fence orders the loads of the bytes before the load of W, so that load may be relaxed.
    // A poster changes W before it changes a byte (release fence after the claim).
    tidings__fence_acquire();
    return tidings__lap_ahead(tidings__relaxed(&tidings__cell_at(s, position)->claim), tidings__lap_at(s, position)) ==
           0;
}

// Ends the wait for a claimed position: afterwards it is VALID, VOID or LAPPED. Only if a peer has damaged the cell, it
// may still be CLAIMED. Never waits for the claim's owner. Needs write access.
void tidings__revoke(const tidings__segment *s, uint64_t position);
// The same for all claimed positions from `position` to before `end`, with one barrier.
void tidings__revoke_all(const tidings__segment *s, uint64_t position, uint64_t end);

// Called by the owner after its commit, if the verdict word names its position. True: the record is delivered. False:
// it was revoked.
bool tidings__verdict_of_owner(tidings__cell *cell, uint64_t position);

#endif
