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
// The most frequent case: `cell` holds `position` committed, and no revoker has opened a verdict for it.
static inline bool tidings__slot_plain(const tidings__cell *cell, uint64_t position) {
#ifdef MUTANT_OBSERVER_IGNORES_VERDICT  // Found by: interleaving two_and_two
    if (tidings__c_is(tidings__acquire(&cell->commit), position)) return true;
#endif
    return __builtin_expect(tidings__c_is(tidings__acquire(&cell->commit), position), 1) &&
           __builtin_expect(tidings__acquire(&cell->verdict) >> 2 != position, 1);
}
static inline tidings__slot_state tidings__slot_status(const tidings__segment *s, uint64_t position) {
    if (tidings__slot_plain(tidings__cell_at(s, position), position)) return TIDINGS__VALID;
    return tidings__slot_status_slow(s, position);
}

// True if the slot has not been claimed for a later lap than `lap`. Call after the last byte was read.
static inline bool tidings__slot_has_lap(const tidings__cell *cell, uint64_t lap) {
    // Invariant R8: the acquire fence orders the loads of the bytes before the load of W, so that load may be relaxed.
    // A poster changes W before it changes a byte (release fence after the claim).
    tidings__fence_acquire();
    return tidings__w_lap(tidings__relaxed(&cell->claim)) == lap;
}
static inline bool tidings__slot_valid_after_copy(const tidings__segment *s, uint64_t position) {
    return tidings__slot_has_lap(tidings__cell_at(s, position), tidings__lap_at(s, position));
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
