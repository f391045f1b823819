// Sleeping and waking. README.md, "Names and who must be woken".
#ifndef TIDINGS__DOORBELL_H
#define TIDINGS__DOORBELL_H

#include "platform/futex.h"
#include "registry/name_table.h"

#define TIDINGS__ASLEEP 1u

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

// Rings everyone asleep who looks at this name entry; how many. Most often: one load of the entry, one of the map.
static inline uint32_t tidings__ring_members(const tidings__segment *s, const tidings__name *name) {
    uint32_t rung = 0, words = tidings__relaxed(&name->member_words) & ((1u << TIDINGS__MAP_WORDS) - 1);
    while (words) {
        uint32_t word = (uint32_t)__builtin_ctz(words);
        words &= words - 1;
        uint64_t asleep = tidings__relaxed(&name->members[word]) & tidings__relaxed(&s->header->asleep[word]);
        while (__builtin_expect(asleep != 0, 0)) {
            uint32_t bit = (uint32_t)__builtin_ctzll(asleep);
            asleep &= asleep - 1;
            if (word * 64 + bit < s->shape.observers) tidings__doorbell_ring(s, word * 64 + bit);
            rung++;
        }
    }
    return rung;
}

#endif
