// The search for a position to claim, and the rare ends of a claim: its owner has died, or abandons it.
#include "ring/claim.h"

int tidings__claim_next(const tidings__claimant *by, uint32_t *held, tidings__claim *claim) {
    const tidings__segment *s = by->segment;
    _Atomic uint64_t *hint = by->hint;
#ifdef MUTANT_POSITION_BEFORE_CLAIM  // Found by: fault-injection a_small_post
    // Takes a position from a shared counter, before the slot says that the position is taken.
    static _Thread_local uint64_t ticket = UINT64_MAX;
    if (ticket == UINT64_MAX) ticket = tidings__fetch_add(&s->header->frontier_hint.word, 1);
    uint64_t position = ticket;
#else
    uint64_t position = tidings__relaxed(hint);
#endif
    // `steps` counts the cells checked one after the other. 0 means that the position comes from a shared word, which
    // is untrusted. `*hint` comes from a claim of this process, so the positions before it are decided.
    uint32_t steps = 1, contradictions = 0;
    for (;;) {
        // Invariant R5: EV must be loaded before W. If the slot's earlier position (position - slots) is before E, it
        // was decided before this load, so W's lap is at least lap - 1.
        uint64_t start = tidings__oldest(s);
        if ((int64_t)(position - start) < 0) position = start;
        if (position - start >= s->shape.slots) {
            // Either the hint is beyond the frontier (damaged), or the ring is full until its oldest position is
            // evicted.
            if (position - start > s->shape.slots || steps == 0) {
                if (++contradictions > 8) return -EBADMSG;
                position = tidings__frontier(s, start);
                steps = 1;
                continue;
            }
            tidings__set_relaxed(hint, position);
            return -EAGAIN;
        }
        tidings__cell *cell = tidings__cell_at(s, position);
        uint64_t lap = tidings__lap_at(s, position);
        uint64_t w = tidings__acquire(&cell->claim);
        int32_t ahead = tidings__lap_ahead(w, lap);
        if (ahead >= 0) {
            // Other posters have claimed positions since `*hint` was stored. Checking the next few cells is cheaper
            // than loading the shared hint, as every poster writes to that line.
            position++;
            if (++steps > 5) {
                // Relaxed: a stale or hostile hint is checked below (`steps == 0`).
                uint64_t shared = tidings__relaxed(&s->header->frontier_hint.word);
                position = tidings__frontier(s, (int64_t)(shared - position) > 0 ? shared : position);
                steps = 0;
            }
            continue;
        }
        if (ahead != -1) {
            // The position was beyond the frontier: a peer stored a wrong hint. Search from E.
            if (++contradictions > 8) return -EBADMSG;
            position = tidings__frontier(s, start);
            continue;
        }
#ifdef MUTANT_POSITION_BEFORE_CLAIM
        steps = 1;
#endif
        if (position != start && steps == 0) {
            // Invariant R1: a position is claimed only if the position before it is decided, so the order has no gap. A
            // shared hint does not prove that, so the position before is checked.
            uint64_t before = tidings__acquire(&tidings__cell_at(s, position - 1)->claim);
            if (tidings__lap_ahead(before, tidings__lap_at(s, position - 1)) < 0) {
                if (++contradictions > 8) return -EBADMSG;
                position = tidings__frontier(s, start);
                continue;
            }
        }
        uint64_t c = tidings__acquire(&cell->commit);
        // Invariant R3: a claim needs a cell that is not busy.
        if (tidings__busy(w, c, tidings__acquire(&cell->verdict))) {
            uint64_t over = lap << TIDINGS__W_LAP_SHIFT |
                            (w & (TIDINGS__W_PHASE | TIDINGS__W_FOREIGN | TIDINGS__W_OWNER_MASK)) | TIDINGS__W_SKIPPED;
            if (!tidings__cas(&cell->claim, &w, over)) continue;
            if (++*held > s->shape.slots) return -EBUSY;
            position++;
            steps = 1;
            continue;
        }
        if (tidings__claim_cell(by, by->owner, cell, position, (uint32_t)(lap << 1 | (~c & 1)), w, claim)) {
            tidings__claim_noted(by, position, position);
#ifdef MUTANT_POSITION_BEFORE_CLAIM
            ticket = UINT64_MAX;
#endif
            return 0;
        }
    }
}

static bool is_of_the_dead(uint64_t w, const tidings__participant_set *dead) {
    return w & TIDINGS__W_FOREIGN && tidings__participant_set_has(dead, w & TIDINGS__W_OWNER_MASK);
}

void tidings__claims_reclaim(const tidings__segment *s, const tidings__participant_set *dead) {
    // An unmarked slot would later seem to be claimed by the next participant that takes the dead participant's entry.
    // Committed claims are marked, too: a revoker that loaded C before the commit may still declare the position dead,
    // and the slot would then be busy. A poster may skip the slot between the load and the CAS (at most once per lap);
    // the CAS is then tried again. The bound is for a peer that changes W all the time.
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
