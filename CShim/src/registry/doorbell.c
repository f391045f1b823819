// Waking the members of a name entry: one by one by their doorbells, or as a wake group.
#include "registry/doorbell.h"

#include <limits.h>

void tidings__doorbell_ring(const tidings__segment *s, uint32_t observer) {
    _Atomic uint32_t *doorbell = tidings__doorbell(s, observer);
    uint32_t was = tidings__acquire(doorbell);
    for (int tries = 0; was & TIDINGS__ASLEEP && tries < TIDINGS__TRIES; tries++) {
        // Invariant W3: a new value with the flag still set. If this poster dies before the wake-up, the next poster
        // wakes the observer.
        uint32_t rung = was + 2;
#ifdef MUTANT_ASLEEP_CLEARED_BEFORE_WAKE  // Found by: interleaving dead_poster
        rung &= ~TIDINGS__ASLEEP;
#endif
        if (!tidings__cas(doorbell, &was, rung)) continue;
        tidings__futex_wake(doorbell, 1);
        // The flag is cleared only after the wake-up, and only if the observer has not announced another sleep
        // meanwhile.
        tidings__cas(doorbell, &rung, rung & ~TIDINGS__ASLEEP);
        return;
    }
}

static bool has_group_wait(const tidings__observer_entry *observer, uint32_t entry) {
    for (uint32_t i = 0; i < TIDINGS__GROUP_WAITS; i++)
        if (tidings__relaxed(&observer->group_waits[i]) == entry) return true;
    return false;
}

// Of the observers in `asleep` (bits of one word of the asleep map), those that also sleep on the entry's `wake_group`.
// `announced` receives the values of their doorbells.
static uint64_t in_wake_group(const tidings__segment *s, uint32_t entry, uint32_t word, uint64_t asleep,
                              uint32_t announced[64]) {
    uint64_t group = 0;
    for (; asleep; asleep &= asleep - 1) {
        const uint32_t bit = (uint32_t)__builtin_ctzll(asleep), observer = word * 64 + bit;
        announced[bit] = tidings__acquire(tidings__doorbell(s, observer));
#ifdef MUTANT_GROUP_ASLEEP_CLEARED_BEFORE_WAKE  // Found by: interleaving dead_poster_to_a_wake_group
        if (has_group_wait(&s->observers[observer], entry))
            tidings__fetch_and(tidings__doorbell(s, observer), ~TIDINGS__ASLEEP);
#endif
        // Invariant W5: must be read after the doorbell; an observer writes the list before it announces, so this list
        // belongs to the announced sleep.
        if (announced[bit] & TIDINGS__ASLEEP && has_group_wait(&s->observers[observer], entry))
            group |= UINT64_C(1) << bit;
    }
    return group;
}

// Wakes all observers that sleep on the entry's `wake_group`, and clears the asleep flags of the observers in `group`.
static void ring_wake_group(const tidings__segment *s, tidings__name *name, uint32_t word, uint64_t group,
                            const uint32_t announced[64]) {
    // The count goes up before the wake-up: an observer that comes too late to be woken finds another value. The flags
    // are cleared last: if this poster dies before that, the next poster wakes the observers.
#ifdef MUTANT_GROUP_COUNTED_AFTER_WAKE  // Found by: interleaving wake_group
    tidings__futex_wake(&name->wake_group, INT_MAX);
    tidings__fetch_add(&name->wake_group, TIDINGS__WAKE_GROUP_RUNG);
#else
#ifndef MUTANT_GROUP_WOKEN_NOT_COUNTED  // Found by: interleaving wake_group
    tidings__fetch_add(&name->wake_group, TIDINGS__WAKE_GROUP_RUNG);
#endif
#ifndef MUTANT_GROUP_COUNTED_NOT_WOKEN  // Found by: interleaving wake_group
    tidings__futex_wake(&name->wake_group, INT_MAX);
#endif
#endif
    for (; group; group &= group - 1) {
        const uint32_t bit = (uint32_t)__builtin_ctzll(group);
        uint32_t was = announced[bit];
#ifdef MUTANT_GROUP_ASLEEP_CLEARED_UNCHECKED  // Found by: interleaving two_ring_a_wake_group
        tidings__fetch_and(tidings__doorbell(s, word * 64 + bit), ~TIDINGS__ASLEEP);
#endif
        // If the CAS fails, the observer has been awake since, and saw our claim.
        tidings__cas(tidings__doorbell(s, word * 64 + bit), &was, (was + 2) & ~TIDINGS__ASLEEP);
    }
}

uint32_t tidings__ring_asleep(const tidings__segment *s, tidings__name *name, tidings__observer_set *rung) {
    const uint32_t entry = (uint32_t)(name - s->names);
    uint32_t count = 0, many = TIDINGS__WAKE_GROUP;
    for (uint32_t words = tidings__member_words(name); words; words &= words - 1) {
        const uint32_t word = (uint32_t)__builtin_ctz(words);
        uint64_t asleep = tidings__relaxed(&name->members[word]) & tidings__relaxed(&s->header->asleep[word]);
        if (word >= s->shape.observers / 64)
            asleep &= word > s->shape.observers / 64 ? 0 : (UINT64_C(1) << s->shape.observers % 64) - 1;
        if (rung) {
            asleep &= ~rung->words[word];
            rung->words[word] |= asleep;
        }
        count += (uint32_t)__builtin_popcountll(asleep);
        uint32_t announced[64];
        // A process with read access could move sleepers off a word that it can map. Where such processes may exist,
        // doorbells are in the writers file, and there are no wake groups.
        const uint64_t group = s->writers_file || (uint32_t)__builtin_popcountll(asleep) < many
                                   ? 0
                                   : in_wake_group(s, entry, word, asleep, announced);
        if ((uint32_t)__builtin_popcountll(group) >= many) {
            ring_wake_group(s, name, word, group, announced);
            // The whole group is awake now, also its observers in later words of the map. Their asleep flags are still
            // set. The same steps (read the doorbells, count up, wake, clear) clear them with one system call for each
            // word of the map. So from here on, one sleeper in a word is enough.
            many = 1;
            asleep &= ~group;
        }
        for (; asleep; asleep &= asleep - 1) tidings__doorbell_ring(s, word * 64 + (uint32_t)__builtin_ctzll(asleep));
    }
    return count;
}
