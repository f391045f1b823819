// Sleeping and waking: an observer announces its sleep in its doorbell, and posters wake it. design/3-wake-ups.md.
#ifndef TIDINGS__DOORBELL_H
#define TIDINGS__DOORBELL_H

#include "platform/futex.h"
#include "registry/name_table.h"

#define TIDINGS__ASLEEP 1u

// The most sleepers on a name futex that a poster wakes. Hostile readers may put any number of sleepers there: a poster
// pays for this many. Why 1: on two processors the kernel runs a second woken thread in place of the poster. Measured
// beside 500 hostile threads, a post that wakes 2 takes 4.4 to 6.3 times as long as beside one honest sleeper. A post
// that wakes 1 takes 1.1 to 1.3 times as long. With either, 20 honest readers are awake equally soon.
#define TIDINGS__NAME_FUTEX_WAKES 1
// The most sleepers that a woken reader wakes, so honest readers wake as a tree: 1, 4, 16 at a time.
#define TIDINGS__NAME_FUTEX_PASSES 4

// Announces that this observer is about to sleep. Returns the value of its doorbell to sleep on.
// Invariant W1: a full barrier, so a poster that claims after it sees the announcement and wakes the observer.
static inline uint32_t tidings__doorbell_announce(const tidings__segment *s, uint32_t observer) {
    _Atomic uint32_t *doorbell = tidings__doorbell(s, observer);
    uint32_t was = tidings__relaxed(doorbell), announced;
    // If the tries are used up, the sleep ends at once, because the doorbell has another value.
    int tries = 0;
#ifdef MUTANT_ANNOUNCE_WITHOUT_EPOCH  // Found by: interleaving two_and_two
    do announced = was | TIDINGS__ASLEEP;
#else
    do announced = ((was & ~TIDINGS__ASLEEP) + 2) | TIDINGS__ASLEEP;
#endif
    while (!tidings__cas(doorbell, &was, announced) && ++tries < TIDINGS__TRIES);
    // Invariant W4: only the observer sets its bit.
#ifndef MUTANT_ASLEEP_BIT_NOT_SET  // Found by: interleaving one_post
    tidings__fetch_or(&s->header->asleep[observer / 64], UINT64_C(1) << observer % 64);
#endif
    tidings__barrier_after_rmw();
    return announced;
}

static inline void tidings__doorbell_withdraw(const tidings__segment *s, uint32_t observer) {
    tidings__fetch_and(&s->header->asleep[observer / 64], ~(UINT64_C(1) << observer % 64));
    tidings__fetch_and(tidings__doorbell(s, observer), ~TIDINGS__ASLEEP);
}

// Wakes this observer if it sleeps and no other thread has woken it.
void tidings__doorbell_ring(const tidings__segment *s, uint32_t observer);

// Wakes all sleeping members of an entry. Returns how many of its members the asleep map shows. `rung`, or NULL: the
// observers that this post has woken, which are passed over, and those that it wakes now.
uint32_t tidings__ring_asleep(const tidings__segment *s, tidings__name *name, tidings__observer_set *rung);

// True if the asleep map shows a member of the entry: one load for the entry, and two for each word of `members` that
// is in use. The map is read relaxed: the claim's full barrier orders these loads.
static inline bool tidings__some_asleep(const tidings__segment *s, const tidings__name *name) {
    for (uint32_t words = tidings__member_words(name); words; words &= words - 1) {
        uint32_t word = (uint32_t)__builtin_ctz(words);
        if (__builtin_expect((tidings__relaxed(&name->members[word]) & tidings__relaxed(&s->header->asleep[word])) != 0,
                             0))
            return true;
    }
    return false;
}

// `tidings__ring_asleep`, fast if no member sleeps.
static inline uint32_t tidings__ring_members(const tidings__segment *s, tidings__name *name) {
    return __builtin_expect(tidings__some_asleep(s, name), 0) ? tidings__ring_asleep(s, name, NULL) : 0;
}

// The least number of members of a name, and of sleepers in one word of the asleep map, for a wake group. From this
// many members on, an observer that is about to sleep also sleeps on the entry's `wake_group`. From this many sleepers
// on, a poster wakes them there by one system call.
#define TIDINGS__WAKE_GROUP 4u

#endif
