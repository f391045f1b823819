// Is what stands at a position part of the order? One answer for everybody. README.md, "The cell", "Revoke".
#ifndef TIDINGS__VERDICT_H
#define TIDINGS__VERDICT_H

#include "ring/cell.h"

typedef enum tidings__slot_state {
    TIDINGS__UNDECIDED,  // nothing was posted here yet
    TIDINGS__CLAIMED,    // being written
    TIDINGS__VALID,      // committed, for everybody
    TIDINGS__VOID,       // nobody's: tombstone, revoked, or passed over
    TIDINGS__LAPPED,     // its slot is in use by a later lap
} tidings__slot_state;

// What stands at `position`. A copy made after VALID is only good if `tidings__slot_valid_after_copy` says so
// afterwards.
tidings__slot_state tidings__slot_status_slow(const tidings__segment *s, uint64_t position);
static inline tidings__slot_state tidings__slot_status(const tidings__segment *s, uint64_t position) {
    // Committed and nobody ever asked: what nearly every look finds.
    tidings__cell *cell = tidings__cell_at(s, position);
#ifdef MUTANT_OBSERVER_IGNORES_VERDICT  // Found by: interleaving two_and_two
    if (tidings__c_is(tidings__acquire(&cell->commit), position)) return TIDINGS__VALID;
#endif
    if (__builtin_expect(tidings__c_is(tidings__acquire(&cell->commit), position), 1) &&
        __builtin_expect(tidings__acquire(&cell->verdict) >> 2 != position, 1))
        return TIDINGS__VALID;
    return tidings__slot_status_slow(s, position);
}

// Has the slot not been taken for a later lap yet? Call after the last byte was read.
static inline bool tidings__slot_valid_after_copy(const tidings__segment *s, uint64_t position) {
    // Acquire fence: the bytes were read before W is. A claimant changes W before it changes a byte (release fence
    // after the claim).
    tidings__fence_acquire();
    return tidings__lap_ahead(tidings__relaxed(&tidings__cell_at(s, position)->claim), tidings__lap_at(s, position)) ==
           0;
}

// Ends the wait for a claimed position: afterwards it is VALID or VOID (or LAPPED). Never waits for its owner.
void tidings__revoke(const tidings__segment *s, uint64_t position);
// The same of all claimed positions up to `end`, by one barrier.
void tidings__revoke_all(const tidings__segment *s, uint64_t position, uint64_t end);

// The owner of a commit found its position in the verdict word: true if the notification counts.
bool tidings__verdict_of_owner(tidings__cell *cell, uint64_t position);

#endif
