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

// What a thread claims with.
typedef struct tidings__claimant {
    const tidings__segment *segment;
    tidings__thread *thread;  // unused by a foreign claim
    _Atomic uint64_t *hint;   // where the search starts; the position after the claim on success
    uint32_t owner;           // a TID, or TIDINGS__W_FOREIGN with a participant index
    // True if the posted name probably has observers. May be wrong: it only controls prefetches.
    bool followed;
} tidings__claimant;

// Takes `cell` for `position`: changes the cell's W from `w` to the claim, by CAS. `upper`: the upper half of the new
// W, the lap and the phase. `owner`: `by->owner`. It is a parameter, here and below, because some callers know its kind
// at compile time. False: W has changed.
static inline __attribute__((always_inline)) bool tidings__claim_cell(const tidings__claimant *by, uint32_t owner,
                                                                      tidings__cell *cell, uint64_t position,
                                                                      uint32_t upper, uint64_t w,
                                                                      tidings__claim *claim) {
#ifdef MUTANT_PHASE_NOT_FLIPPED  // Found by: interleaving three_laps
    upper ^= 1;
#endif
    // Prefetches the record's second line while the claim waits for the first one. Also prefetches a cell that a later
    // post will use. Fetching a line from the core that read it takes 100 ns. A locked instruction can't hide that, but
    // a request made this early can. (8 to 32 cells ahead are equally good. At the ring's end the prefetch is in vain.)
    // If no observer has read the lines, this core still owns them, and the prefetch would cost a twentieth of a post
    // for nothing.
    if (by->followed) {
        tidings__prefetch_own((char *)cell + TIDINGS__LINE);
        tidings__prefetch_own((char *)cell + 16 * sizeof *cell);
        tidings__prefetch_own((char *)cell + 16 * sizeof *cell + TIDINGS__LINE);
    }
#ifndef MUTANT_PENDING_SET_AFTER_CLAIM  // Found by: interleaving dead_poster
    if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_set(by->thread, &cell->claim);
#endif
#ifdef MEASURE_WITHOUT_LOCKED_CLAIM  // Measured by: Benchmarks/Regressions/without
    tidings__set_relaxed(&cell->claim, (uint64_t)upper << 32 | owner);
#else
    // Invariant R2: this CAS, or the one that skips a busy cell, decides the position.
    if (!tidings__cas(&cell->claim, &w, (uint64_t)upper << 32 | owner)) return false;
#endif
    tidings__barrier_after_rmw();
#ifdef MUTANT_PENDING_SET_AFTER_CLAIM
    if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_set(by->thread, &cell->claim);
#endif
    claim->cell = cell;
    claim->position = position;
    claim->phase = upper & 1;
    return true;
}

// Notes that the positions from `first` to `last` are claimed, for the next claims of this process and of others.
static inline void tidings__claim_noted(const tidings__claimant *by, uint64_t first, uint64_t last) {
    tidings__set_relaxed(by->hint, last + 1);
    // Only if one of the positions is a multiple of 64: each store to a contended line delays the commit that follows.
    // Relaxed: a stale hint costs a longer walk.
#ifndef MUTANT_POSITION_BEFORE_CLAIM
    if (__builtin_expect(last % 64 <= last - first, 0))
        tidings__set_relaxed(&by->segment->header->frontier_hint.word, last + 1);
#endif
}

// Claims the next position for `by`. `held` counts the busy slots that this claim skipped. The caller sets it to 0
// before a claim's first call.
//
// Returns 0 or:
// - -EAGAIN: the ring is full; evict until the position at the hint can be claimed, then call again.
// - -EBADMSG: the ring contradicts itself.
// - -EBUSY: `*held` exceeds the number of slots.
int tidings__claim_next(const tidings__claimant *by, uint32_t *held, tidings__claim *claim);

// Claims `position` in its `cell` if the cell is free and has the previous lap, as most have. It takes half as many
// instructions as `tidings__claim_next`. False: call `tidings__claim_next`. `before`: twice the previous lap. The
// position must be less than E + N, with E of an EV that was loaded before (invariant R5). The caller calls
// `tidings__claim_noted` before another claim of its thread.
static inline __attribute__((always_inline)) bool tidings__claim_free(const tidings__claimant *by, uint32_t owner,
                                                                      tidings__cell *cell, uint64_t position,
                                                                      uint32_t before, tidings__claim *claim) {
    const uint64_t w = tidings__acquire(&cell->claim), c = tidings__acquire(&cell->commit);
    // W must have the previous lap, and the phase of C. Otherwise the position is claimed, or its cell is in use. The
    // death of a cell's owner may have freed it; `tidings__claim_next` finds out.
    const uint32_t upper = (uint32_t)(w >> 32);
    if (upper != (before | (c & 1))) return false;
    if (tidings__acquire(&cell->verdict) == ((c >> 1) << 2 | TIDINGS__V_DEAD)) return false;
    // The next lap, and the other phase.
    return tidings__claim_cell(by, owner, cell, position, (upper ^ 1) + 2, w, claim);
}

// The same for the position at the hint. `start`: E of an EV that was loaded before.
static inline __attribute__((always_inline)) bool tidings__claim_usual(const tidings__claimant *by, uint64_t start,
                                                                       tidings__claim *claim) {
#ifdef MUTANT_POSITION_BEFORE_CLAIM
    return false;
#endif
    const tidings__segment *s = by->segment;
    const uint64_t position = tidings__relaxed(by->hint);
    if (position - start > s->slot_mask) return false;
    if (!tidings__claim_free(by, by->owner, tidings__cell_at(s, position), position,
                             (uint32_t)(position >> s->slot_shift << 1), claim))
        return false;
    tidings__claim_noted(by, position, position);
    return true;
}

// Commits the record in the claimed cell. True: the record is delivered at that position. False: the position was
// revoked meanwhile and is delivered to no observer, so the caller must post again at a new position. In both cases the
// caller must not use the cell any more. Invariant R9: the pending word still points to W. The caller clears it, or
// sets it for its next claim.
static inline bool tidings__commit_pending(const tidings__claim *claim) {
    tidings__cell *cell = claim->cell;
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
#ifdef MUTANT_OWNER_IGNORES_REVOCATION  // Found by: fault-injection a_revoked_post
    counts = true;
#endif
    return counts;
}

// The same, and clears the pending word.
static inline bool tidings__commit(const tidings__claim *claim, uint32_t owner, tidings__thread *thread) {
#ifdef MUTANT_PENDING_CLEARED_BEFORE_COMMIT  // Found by: interleaving dead_poster
    if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_clear(thread);
#endif
    const bool counts = tidings__commit_pending(claim);
    // Must come after the verdict was read: if the thread dies before this, the kernel's mark frees the slot whatever
    // the verdict was.
    if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_clear(thread);
    return counts;
}

// Gives a claimed position up: it is delivered to no observer. The caller must not use the cell any more.
void tidings__abandon(const tidings__claim *claim, uint32_t owner, tidings__thread *thread);

#endif
