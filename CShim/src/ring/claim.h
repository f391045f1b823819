// Getting the next place in the order, and giving it up again by committing. The hot half of a post; inlined there.
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

// Marks the claims that dead participants left as foreign, as the kernel does for TIDs. Call with the locks of their
// entries held.
void tidings__claims_reclaim(const tidings__segment *s, const tidings__participant_set *dead);

// Tells the kernel which word to mark if this thread dies from here on. glibc's own robust list head, its one pending
// operation: free while we are not inside a robust mutex operation, which a post never is (except from a signal
// handler: see `owner` in post.c).
static inline void tidings__pending_set(tidings__thread *thread, _Atomic uint64_t *word) {
#ifndef MEASURE_WITHOUT_DEATH_NOTICE  // Measured by: Benchmarks/Regressions/without
    // Volatile: nothing in this program ever reads it. Little endian: the futex is the word's lower, first half.
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

// Claims the next position for `owner` (a TID, or TIDINGS__W_FOREIGN and a participant: then `thread` is not told to
// the kernel). `followed`: somebody observes what is posted, as far as is known. 0, -EAGAIN: positions must be evicted
// first (`*hint` is the one that wants room), -EBADMSG: the ring contradicts itself, -EBUSY: a whole lap of slots was
// held by others. `*held`, 0 before the first call for a claim, counts those.
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
    // Cells walked along. 0 is where a word that others write has sent us; our own hint comes from a claim of this
    // process, so what lies before it was claimed.
    uint32_t steps = 1, contradictions = 0;
    for (;;) {
        // EV before W: then position - slots < E was decided before, and W's lap is at least the one before ours.
        uint64_t start = tidings__oldest(s);
        if ((int64_t)(position - start) < 0) position = start;
        if (position - start >= s->shape.slots) {
            // Either the hint is ahead of the truth (damaged), or the ring is full of what was not evicted yet.
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
            // Others have posted since we did. A few cells further is cheaper to walk (an observer has them at hand
            // anyway) than to ask for a line that every poster writes to.
            position++;
            if (++steps > 5) {
                uint64_t shared = tidings__relaxed(&s->header->frontier_hint.word);
                position = tidings__frontier(s, (int64_t)(shared - position) > 0 ? shared : position);
                steps = 0;
            }
            continue;
        }
        if (ahead != -1) {
            // The hint was beyond the frontier (a peer's stale or hostile store): search from what is certain.
            if (++contradictions > 8) return -EBADMSG;
            position = tidings__frontier(s, start);
            continue;
        }
#ifdef MUTANT_POSITION_BEFORE_CLAIM
        steps = 1;
#endif
        if (position != start && steps == 0) {
            // Trust in a hint ends here: a claim needs the position before it decided, or the order would have a hole.
            uint64_t before = tidings__acquire(&tidings__cell_at(s, position - 1)->claim);
            if (tidings__lap_ahead(before, tidings__lap_at(s, position - 1)) < 0) {
                if (++contradictions > 8) return -EBADMSG;
                position = tidings__frontier(s, start);
                continue;
            }
        }
        uint64_t c = tidings__acquire(&cell->commit);
        if (tidings__busy(w, c, tidings__acquire(&cell->verdict))) {
            uint64_t over = lap << TIDINGS__W_LAP_SHIFT |
                            (w & (TIDINGS__W_PHASE | TIDINGS__W_FOREIGN | TIDINGS__W_OWNER_MASK)) | TIDINGS__W_SKIPPED;
            if (!tidings__cas(&cell->claim, &w, over)) continue;
            if (++*held > s->shape.slots) return -EBUSY;
            position++;
            steps = 1;
            continue;
        }
        uint64_t phase = ~c & 1;
#ifdef MUTANT_PHASE_NOT_FLIPPED  // Found by: interleaving three_laps
        phase = c & 1;
#endif
        // The record's second line travels while the claim waits for its first. And a cell some posts ahead: getting a
        // line from the core that read it takes 100 ns, which a locked instruction can't hide, but a request made this
        // early can. (8 to 32 ahead are equally good.) Lines that nobody has read are still ours, and asking for them
        // takes a twentieth of a post.
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
            // Seldom: every store to a contended line delays the commit behind it.
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

// Publishes what was written to the claimed cell. True: it is at that position for everybody. False: it was revoked
// while we were stopped, nobody got it, and it has to be posted anew; the cell is no longer ours either way.
static inline bool tidings__commit(tidings__claim *claim, uint32_t owner, tidings__thread *thread) {
    tidings__cell *cell = claim->cell;
#ifdef MUTANT_PENDING_CLEARED_BEFORE_COMMIT  // Found by: interleaving dead_poster
    if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_clear(thread);
#endif
    tidings__set_release(&cell->commit, tidings__c_of(claim->position, claim->phase));
    // Store before load: the revoker's membarrier does it for us, if the kernel knows of us. Paired with
    // `tidings__revoke`.
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
    // Only now: a death before this frees the slot, whatever the verdict was.
    if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_clear(thread);
#ifdef MUTANT_OWNER_IGNORES_REVOCATION  // Found by: fault-injection a_revoked_post
    counts = true;
#endif
    return counts;
}

// Gives a claimed position up: nobody is delivered anything there. The cell is no longer ours.
void tidings__abandon(const tidings__claim *claim, uint32_t owner, tidings__thread *thread);

#endif
