// Sets of entries, a bit each. What is done for each member of a set is done in one walk of a table: a table may be
// large, and its dead may be many.
#ifndef TIDINGS__SETS_H
#define TIDINGS__SETS_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout.h"

// Observers by entry, as in the members of a name.
typedef struct tidings__observer_set {
    uint64_t words[TIDINGS__MAP_WORDS];
} tidings__observer_set;

static inline void tidings__observer_set_add(tidings__observer_set *set, uint32_t observer) {
    set->words[observer / 64] |= UINT64_C(1) << observer % 64;
}
static inline bool tidings__observer_set_has(const tidings__observer_set *set, uint32_t observer) {
    return set->words[observer / 64] >> observer % 64 & 1;
}

// Which words have a member: a bit each, as in a name's `crowd`.
static inline uint32_t tidings__observer_set_used(const tidings__observer_set *set) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) used |= (uint32_t)(set->words[i] != 0) << i;
    return used;
}

// Participants by entry.
typedef struct tidings__participant_set {
    uint64_t words[TIDINGS__PARTICIPANTS_MAX / 64];
} tidings__participant_set;

static inline void tidings__participant_set_add(tidings__participant_set *set, uint32_t participant) {
    set->words[participant / 64] |= UINT64_C(1) << participant % 64;
}
// A number from shared memory may be anything.
static inline bool tidings__participant_set_has(const tidings__participant_set *set, uint64_t participant) {
    return participant < TIDINGS__PARTICIPANTS_MAX && set->words[participant / 64] >> participant % 64 & 1;
}
static inline tidings__participant_set tidings__participant_only(uint32_t participant) {
    tidings__participant_set set = {0};
    tidings__participant_set_add(&set, participant);
    return set;
}
static inline uint32_t tidings__participant_set_first(const tidings__participant_set *set) {
    uint32_t word = 0;
    while (word + 1 < TIDINGS__PARTICIPANTS_MAX / 64 && !set->words[word]) word++;
    return set->words[word] ? word * 64 + (uint32_t)__builtin_ctzll(set->words[word]) : 0;
}

#endif
