// Slot status for the rare cases, and the revocation of claimed positions.
#include "ring/verdict.h"

#include "platform/barrier.h"

// The status of a committed position, with its verdict. A participant that finds a pending verdict together with the
// commit decides it: accepted. A reader can't write, so it gets CLAIMED. So does a participant whose CAS fails
// TIDINGS__TRIES times: a peer changes V all the time.
static tidings__slot_state committed_at(const tidings__segment *s, tidings__cell *cell, uint64_t position) {
    for (int tries = 0; tries < TIDINGS__TRIES; tries++) {
        uint64_t v = tidings__acquire(&cell->verdict);
        if (v >> 2 != position || v == tidings__v_of(position, TIDINGS__V_ACCEPTED)) return TIDINGS__VALID;
        if (tidings__v_void(v, position))
            return tidings__slot_valid_after_copy(s, position) ? TIDINGS__VOID : TIDINGS__LAPPED;
        if (!s->writable) break;
        tidings__cas(&cell->verdict, &v, tidings__v_of(position, TIDINGS__V_ACCEPTED));
    }
    return TIDINGS__CLAIMED;
}

tidings__slot_state tidings__slot_status_slow(const tidings__segment *s, uint64_t position) {
    tidings__cell *cell = tidings__cell_at(s, position);
    if (tidings__c_is(tidings__acquire(&cell->commit), position)) return committed_at(s, cell, position);
    uint64_t w = tidings__acquire(&cell->claim);
    int32_t ahead = tidings__lap_ahead(w, tidings__lap_at(s, position));
    if (ahead < 0) return TIDINGS__UNDECIDED;
    if (ahead > 0) return TIDINGS__LAPPED;
    if (w & TIDINGS__W_SKIPPED) return TIDINGS__VOID;
    // Since C was loaded, the owner may have committed, and may even have died after that. So C is loaded again after
    // W: if W says "owner died", a commit before the death is visible now.
    if (tidings__c_is(tidings__acquire(&cell->commit), position)) return committed_at(s, cell, position);
    if (w & TIDINGS__W_DIED) return TIDINGS__VOID;
    uint64_t v = tidings__acquire(&cell->verdict);
    if (tidings__v_void(v, position))
        return tidings__slot_valid_after_copy(s, position) ? TIDINGS__VOID : TIDINGS__LAPPED;
    // V names a later position, but W says that no later lap has begun: a peer damaged the cell. Any result is wrong,
    // but CLAIMED would make observers wait.
    if (v != TIDINGS__V_NEVER && (int64_t)((v >> 2) - position) > 0) return TIDINGS__LAPPED;
    return TIDINGS__CLAIMED;
}

// Makes the verdict of a claimed position pending. True: the verdict is pending, set here or by another revoker. False:
// nothing to decide, as the position is not claimed any more or already has a verdict; or a peer changes V all the
// time.
static bool make_pending(const tidings__segment *s, uint64_t position) {
    tidings__cell *cell = tidings__cell_at(s, position);
    const uint64_t pending = tidings__v_of(position, TIDINGS__V_PENDING);
    uint64_t v = tidings__acquire(&cell->verdict);
    for (int tries = 0; v >> 2 != position; tries++) {
        if (tries == TIDINGS__TRIES) return false;
        // Invariant R7: the position in V only grows, so a late revoker can't open the verdict of an earlier lap again.
        if (v != TIDINGS__V_NEVER && (int64_t)((v >> 2) - position) > 0) return false;
        if (tidings__slot_status(s, position) != TIDINGS__CLAIMED) return false;
        if (tidings__cas(&cell->verdict, &v, pending)) return true;
    }
    return v == pending;
}

// Makes a pending verdict accepted or dead. Call after the barrier of `tidings__revoke_all`.
static void finish_verdict(const tidings__segment *s, uint64_t position) {
    tidings__cell *cell = tidings__cell_at(s, position);
    // A later position in C also counts as committed. This thread may have been stopped since `make_pending`, while the
    // slot went on to later laps. A slot does so only after this position was evicted. Then its outcome is final, and
    // no thread reads this verdict any more.
    uint64_t c = tidings__acquire(&cell->commit);
    bool committed = c >> 1 != TIDINGS__C_NEVER >> 1 && (int64_t)((c >> 1) - position) >= 0;
    uint64_t verdict = committed ? TIDINGS__V_ACCEPTED : TIDINGS__V_DEAD;
    uint64_t v = tidings__v_of(position, TIDINGS__V_PENDING);
    if (tidings__cas(&cell->verdict, &v, tidings__v_of(position, verdict)) && verdict == TIDINGS__V_DEAD)
        tidings__fetch_add(&s->header->revoked.word, 1);
}

void tidings__revoke_all(const tidings__segment *s, uint64_t position, uint64_t end) {
    bool any = false;
    for (uint64_t p = position; (int64_t)(end - p) > 0; p++) any |= make_pending(s, p);
    if (!any) return;
#ifndef MUTANT_NO_BARRIER_BEFORE_VERDICT  // Found by: interleaving late_stores
    // Either the next load of C here sees the owner's commit, or the owner's load of V after its commit sees `pending`.
    // Paired with `tidings__commit`. One system call serves all positions.
    tidings__heavy_barrier();
#endif
    for (uint64_t p = position; (int64_t)(end - p) > 0; p++)
        if (tidings__acquire(&tidings__cell_at(s, p)->verdict) == tidings__v_of(p, TIDINGS__V_PENDING))
            finish_verdict(s, p);
}

void tidings__revoke(const tidings__segment *s, uint64_t position) { tidings__revoke_all(s, position, position + 1); }

bool tidings__verdict_of_owner(tidings__cell *cell, uint64_t position) {
    uint64_t v = tidings__v_of(position, TIDINGS__V_PENDING);
    if (tidings__cas(&cell->verdict, &v, tidings__v_of(position, TIDINGS__V_ACCEPTED))) return true;
    if (v != tidings__v_of(position, TIDINGS__V_DEAD)) return true;
    // Frees the slot. While V says dead(position), the slot is busy and can't be claimed. Otherwise the verdict of the
    // next lap could overwrite this one before its owner has read it.
    tidings__set_release(&cell->verdict, tidings__v_of(position, TIDINGS__V_KNOWN));
    return false;
}
