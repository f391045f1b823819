// The rare ends of a claim: its owner has died, or its owner abandons it.
#include "ring/claim.h"

static bool is_of_the_dead(uint64_t w, const tidings__participant_set *dead) {
    return w & TIDINGS__W_FOREIGN && tidings__participant_set_has(dead, w & TIDINGS__W_OWNER_MASK);
}

void tidings__claims_reclaim(const tidings__segment *s, const tidings__participant_set *dead) {
    // A slot that stayed unmarked would later seem to be claimed by the next participant that takes the dead one's
    // entry. So committed claims are marked too: a revoker that loaded C before the commit may still declare the
    // position dead, and the slot would be busy. If a poster skips the slot between the load and the CAS (at most once
    // per lap), the CAS is tried again. The bound is for a peer that changes W all the time.
    uint32_t changes = 0;
    for (uint32_t slot = 0; slot < s->shape.slots; slot++) {
        tidings__cell *cell = &s->cells[slot];
        uint64_t w = tidings__acquire(&cell->claim);
        while (is_of_the_dead(w, dead)) {
#ifdef MUTANT_COMMITTED_FOREIGN_CLAIM_KEPT  // Found by: interleaving foreign_poster_reclaimed
            if (!tidings__busy(w, tidings__acquire(&cell->commit), tidings__acquire(&cell->verdict))) break;
#endif
            const uint64_t died = (w & ~(TIDINGS__W_FOREIGN | TIDINGS__W_OWNER_MASK)) | TIDINGS__W_DIED;
            if (tidings__cas(&cell->claim, &w, died) || ++changes > s->shape.slots) break;
#ifdef MUTANT_FOREIGN_CLAIM_TRIED_ONCE  // Found by: interleaving dead_foreign_poster
            break;
#endif
        }
    }
}

void tidings__abandon(const tidings__claim *claim, uint32_t owner, tidings__thread *thread) {
    tidings__cell *cell = claim->cell;
    // The same state as after a revocation that the owner has noticed. The verdict must be stored before C, so that no
    // observer takes the cell for a record. If this thread is killed between the two stores, the position becomes a
    // tombstone.
    uint64_t v = tidings__acquire(&cell->verdict), known = tidings__v_of(claim->position, TIDINGS__V_KNOWN);
    for (int tries = 0; tries < TIDINGS__TRIES && !tidings__cas(&cell->verdict, &v, known); tries++) {}
    tidings__set_release(&cell->commit, tidings__c_of(claim->position, claim->phase));
    if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_clear(thread);
}
