// Claims the next position, and commits or abandons it. This is the hot path of a post, so it is inlined there.
#ifndef TIDINGS__CLAIM_H
#define TIDINGS__CLAIM_H

#include <errno.h>

#include "platform/barrier.h"
#include "platform/thread.h"
#include "ring/cell.h"
#include "ring/verdict.h"

typedef struct tidings__claim {
    tidings__cell *cell;
    uint64_t position;
    uint64_t phase;
} tidings__claim;

// Marks the foreign claims of dead participants with "owner died", as the kernel does for claims with a TID. Call with
// the locks of the dead participants' entries held.
void tidings__claims_reclaim(const tidings__segment *s, const tidings__participant_set *dead);

// Invariant R9: from here on, the kernel marks this word if the thread dies. Uses the one pending operation in glibc's
// robust list head. It is free while the thread is in no robust mutex operation. Only a post from a signal handler can
// interrupt such an operation: see `tidings__owner`.
static inline void tidings__pending_set(tidings__thread *thread, _Atomic uint64_t *word) {
#ifndef MEASURE_WITHOUT_DEATH_NOTICE  // Measured by: Benchmarks/Regressions/without
    // Volatile: only the kernel reads the value, so the compiler could drop the store. The offset is right on
    // little-endian machines: the futex is the lower half of the word, which comes first.
    *(volatile uintptr_t *)thread->pending = (uintptr_t)word - (uintptr_t)thread->pending_offset;
#endif
    tidings__fence_compiler();
}
static inline void tidings__pending_clear(tidings__thread *thread) {
    tidings__fence_compiler();
#ifndef MEASURE_WITHOUT_DEATH_NOTICE
    *(volatile uintptr_t *)thread->pending = 0;
#endif
}

// Claims the next position for `owner`: a TID, or TIDINGS__W_FOREIGN with a participant index. A foreign claim is not
// announced to the kernel through `thread`.
// - `hint`: where the search starts; the position after the claim on success.
// - `followed`: true if the posted name probably has observers. May be wrong: it only controls prefetches.
// - `held`: counts the busy slots that this claim skipped. The caller sets it to 0 before a claim's first call.
//
// Returns 0 or:
// - -EAGAIN: the ring is full; evict until `*hint` can be claimed, then call again.
// - -EBADMSG: the ring contradicts itself.
// - -EBUSY: `*held` exceeds the number of slots.
static inline __attribute__((always_inline)) int tidings__claim_next(const tidings__segment *s, _Atomic uint64_t *hint,
                                                                     uint32_t owner, tidings__thread *thread,
                                                                     bool followed, uint32_t *held,
                                                                     tidings__claim *claim) {
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
        // Invariant R2: the CAS below, or the one above that skips, decides the position.
        uint64_t phase = ~c & 1;
#ifdef MUTANT_PHASE_NOT_FLIPPED  // Found by: interleaving three_laps
        phase = c & 1;
#endif
        // Prefetches the record's second line while the claim waits for the first one. Also prefetches a cell that a
        // later post will use. Fetching a line from the core that read it takes 100 ns. A locked instruction can't hide
        // that, but a request made this early can. (8 to 32 cells ahead are equally good.) If no observer has read the
        // lines, this core still owns them, and the prefetch would cost a twentieth of a post for nothing.
        if (followed) {
            tidings__prefetch_own((char *)cell + TIDINGS__LINE);
            char *upcoming = (char *)tidings__cell_at(s, position + 16);
            tidings__prefetch_own(upcoming);
            tidings__prefetch_own(upcoming + TIDINGS__LINE);
        }
#ifndef MUTANT_PENDING_SET_AFTER_CLAIM  // Found by: interleaving dead_poster
        if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_set(thread, &cell->claim);
#endif
#ifdef MEASURE_WITHOUT_LOCKED_CLAIM  // Measured by: Benchmarks/Regressions/without
        tidings__set_relaxed(&cell->claim, lap << TIDINGS__W_LAP_SHIFT | phase << 32 | owner);
        const bool claimed = true;
#else
        const bool claimed = tidings__cas(&cell->claim, &w, lap << TIDINGS__W_LAP_SHIFT | phase << 32 | owner);
#endif
        if (claimed) {
            tidings__barrier_after_rmw();
#ifdef MUTANT_PENDING_SET_AFTER_CLAIM
            if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_set(thread, &cell->claim);
#endif
            claim->cell = cell;
            claim->position = position;
            claim->phase = phase;
            tidings__set_relaxed(hint, position + 1);
            // Only every 64th position: each store to a contended line delays the commit that follows. Relaxed: a stale
            // hint costs a longer walk.
#ifdef MUTANT_POSITION_BEFORE_CLAIM
            ticket = UINT64_MAX;
#else
            if (__builtin_expect(position % 64 == 0, 0))
                tidings__set_relaxed(&s->header->frontier_hint.word, position + 1);
#endif
            return 0;
        }
    }
}

// Commits the record in the claimed cell. True: the record is delivered at that position. False: the position was
// revoked meanwhile and is delivered to no observer, so the caller must post again at a new position. In both cases the
// caller must not use the cell any more.
static inline bool tidings__commit(tidings__claim *claim, uint32_t owner, tidings__thread *thread) {
    tidings__cell *cell = claim->cell;
#ifdef MUTANT_PENDING_CLEARED_BEFORE_COMMIT  // Found by: interleaving dead_poster
    if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_clear(thread);
#endif
    // Invariant R6: release, so the record is written before C.
    tidings__set_release(&cell->commit, tidings__c_of(claim->position, claim->phase));
    // The store of C must come before the load of V. If this process is registered, the revoker's membarrier ensures
    // that, and only the compiler must keep the order. Paired with `tidings__revoke_all`.
    if (tidings__barrier_registered())
        tidings__fence_compiler();
    else
        tidings__fence_full();
#ifdef MUTANT_OWNER_IGNORES_VERDICT  // Found by: interleaving two_and_two
    bool counts = true;
#else
    bool counts = __builtin_expect(tidings__acquire(&cell->verdict) >> 2 != claim->position, 1) ||
                  tidings__verdict_of_owner(cell, claim->position);
#endif
    // Must come after the verdict was read: if the thread dies before this, the kernel's mark frees the slot whatever
    // the verdict was.
    if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_clear(thread);
#ifdef MUTANT_OWNER_IGNORES_REVOCATION  // Found by: fault-injection a_revoked_post
    counts = true;
#endif
    return counts;
}

// Gives a claimed position up: it is delivered to no observer. The caller must not use the cell any more.
void tidings__abandon(const tidings__claim *claim, uint32_t owner, tidings__thread *thread);

#endif
