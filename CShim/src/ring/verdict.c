#include "ring/verdict.h"

#include "platform/barrier.h"

// Committed: is there a verdict on it? Whoever finds the question open, and the commit there, answers it: accepted.
static tidings__slot_state committed_at(const tidings__segment *s, tidings__cell *cell, uint64_t position) {
    for (;;) {
        uint64_t v = tidings__acquire(&cell->verdict);
        if (v >> 2 != position || v == tidings__v_of(position, TIDINGS__V_ACCEPTED)) return TIDINGS__VALID;
        if (tidings__v_void(v, position))
            return tidings__slot_valid_after_copy(s, position) ? TIDINGS__VOID : TIDINGS__LAPPED;
        if (!s->writable) return TIDINGS__CLAIMED;
        tidings__cas(&cell->verdict, &v, tidings__v_of(position, TIDINGS__V_ACCEPTED));
    }
}

tidings__slot_state tidings__slot_status_slow(const tidings__segment *s, uint64_t position) {
    tidings__cell *cell = tidings__cell_at(s, position);
    if (tidings__c_is(tidings__acquire(&cell->commit), position)) return committed_at(s, cell, position);
    uint64_t w = tidings__acquire(&cell->claim);
    int32_t ahead = tidings__lap_ahead(w, tidings__lap_at(s, position));
    if (ahead < 0) return TIDINGS__UNDECIDED;
    if (ahead > 0) return TIDINGS__LAPPED;
    if (w & TIDINGS__W_SKIPPED) return TIDINGS__VOID;
    // Its owner may have committed, and even died after that, since we read C. W first, then C: a commit comes before
    // what W says now.
    if (tidings__c_is(tidings__acquire(&cell->commit), position)) return committed_at(s, cell, position);
    if (w & TIDINGS__W_DIED) return TIDINGS__VOID;
    uint64_t v = tidings__acquire(&cell->verdict);
    if (tidings__v_void(v, position))
        return tidings__slot_valid_after_copy(s, position) ? TIDINGS__VOID : TIDINGS__LAPPED;
    // A verdict on a later position, while W says that there is none: somebody's rubbish. Whatever we call it, it must
    // not be waited for.
    if (v != TIDINGS__V_NEVER && (int64_t)((v >> 2) - position) > 0) return TIDINGS__LAPPED;
    return TIDINGS__CLAIMED;
}

// Opens the question, if nobody has yet. False: it is answered.
static bool ask(const tidings__segment *s, uint64_t position) {
    tidings__cell *cell = tidings__cell_at(s, position);
    const uint64_t pending = tidings__v_of(position, TIDINGS__V_PENDING);
    uint64_t v = tidings__acquire(&cell->verdict);
    while (v >> 2 != position) {
        // Verdicts of a slot only move forward, so that a late revoker can't reopen an earlier question.
        if (v != TIDINGS__V_NEVER && (int64_t)((v >> 2) - position) > 0) return false;
        if (tidings__slot_status(s, position) != TIDINGS__CLAIMED) return false;
        if (tidings__cas(&cell->verdict, &v, pending)) return true;
    }
    return v == pending;
}

// After the barrier.
static void answer(const tidings__segment *s, uint64_t position) {
    tidings__cell *cell = tidings__cell_at(s, position);
    // "Or later": we may have been stopped since we asked, and the slot may be laps further. Then the commit was there.
    uint64_t c = tidings__acquire(&cell->commit);
    bool committed = c >> 1 != TIDINGS__C_NEVER >> 1 && (int64_t)((c >> 1) - position) >= 0;
    uint64_t verdict = committed ? TIDINGS__V_ACCEPTED : TIDINGS__V_DEAD;
    uint64_t v = tidings__v_of(position, TIDINGS__V_PENDING);
    if (tidings__cas(&cell->verdict, &v, tidings__v_of(position, verdict)) && verdict == TIDINGS__V_DEAD)
        tidings__fetch_add(&s->header->revoked.word, 1);
}

void tidings__revoke_all(const tidings__segment *s, uint64_t position, uint64_t end) {
    bool any = false;
    for (uint64_t p = position; (int64_t)(end - p) > 0; p++) any |= ask(s, p);
    if (!any) return;
        // Either our next load sees an owner's commit, or the owner's load of V (after its commit) sees `pending`.
        // Paired with `tidings__commit`. A system call, and one for all.
#ifndef MUTANT_NO_BARRIER_BEFORE_VERDICT  // Found by: interleaving late_stores
    tidings__heavy_barrier();
#endif
    for (uint64_t p = position; (int64_t)(end - p) > 0; p++)
        if (tidings__acquire(&tidings__cell_at(s, p)->verdict) == tidings__v_of(p, TIDINGS__V_PENDING)) answer(s, p);
}

void tidings__revoke(const tidings__segment *s, uint64_t position) { tidings__revoke_all(s, position, position + 1); }

bool tidings__verdict_of_owner(tidings__cell *cell, uint64_t position) {
    uint64_t v = tidings__v_of(position, TIDINGS__V_PENDING);
    if (tidings__cas(&cell->verdict, &v, tidings__v_of(position, TIDINGS__V_ACCEPTED))) return true;
    if (v != tidings__v_of(position, TIDINGS__V_DEAD)) return true;
    // Taken note of. Until here nobody claims the slot, or the next verdict there would hide this one from us.
    tidings__set_release(&cell->verdict, tidings__v_of(position, TIDINGS__V_KNOWN));
    return false;
}
