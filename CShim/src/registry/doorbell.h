// Sleeping and waking. README.md, "Names and who must be woken".
#ifndef TIDINGS__DOORBELL_H
#define TIDINGS__DOORBELL_H

#include "platform/futex.h"
#include "registry/name_table.h"

#define TIDINGS__ASLEEP 1u

// The most sleepers of a bell that a poster wakes. Hostile readers may put any number of sleepers on a bell: a poster pays for this many. 2: measured, a post then takes
// about twice as long as with one honest sleeper; 4 came close to the limit of 5 times.
#define TIDINGS__BELL_WAKES 2
// The most that a reader wakes in its turn, so honest readers wake as a tree: 2, 8, 32 at a time.
#define TIDINGS__BELL_PASSES 4

// Announces that this observer is about to sleep; returns the doorbell's value to sleep on. A full barrier: what is claimed after it will ring.
static inline uint32_t tidings__doorbell_announce(const tidings__segment *s, uint32_t observer) {
    _Atomic uint32_t *doorbell = tidings__doorbell(s, observer);
    uint32_t was = tidings__relaxed(doorbell), announced;
    do announced = ((was & ~TIDINGS__ASLEEP) + 2) | TIDINGS__ASLEEP;
    while (!tidings__cas(doorbell, &was, announced));
    tidings__fetch_or(&s->header->asleep[observer / 64], UINT64_C(1) << observer % 64);
    tidings__barrier_after_rmw();
    return announced;
}

static inline void tidings__doorbell_withdraw(const tidings__segment *s, uint32_t observer) {
    tidings__fetch_and(&s->header->asleep[observer / 64], ~(UINT64_C(1) << observer % 64));
    tidings__fetch_and(tidings__doorbell(s, observer), ~TIDINGS__ASLEEP);
}

// Wakes this observer if it sleeps and nobody else did.
void tidings__doorbell_ring(const tidings__segment *s, uint32_t observer);

// Rings all of an entry's members that are asleep; how many.
uint32_t tidings__ring_asleep(const tidings__segment *s, tidings__name *name);

// The same, where most often nobody is: one load of the entry, one of the map.
static inline uint32_t tidings__ring_members(const tidings__segment *s, tidings__name *name) {
    for (uint32_t words = tidings__member_words(name); words; words &= words - 1) {
        uint32_t word = (uint32_t)__builtin_ctz(words);
        if (__builtin_expect((tidings__relaxed(&name->members[word]) & tidings__relaxed(&s->header->asleep[word])) != 0, 0)) return tidings__ring_asleep(s, name);
    }
    return 0;
}

// So many members make a crowd: who is about to sleep sleeps on its name's own word as well, and so many sleepers are rung there, all by one system call.
#define TIDINGS__CROWD 4u

#endif
