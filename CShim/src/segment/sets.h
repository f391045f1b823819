// Sets of observers and of participants, with one bit per table entry. A table may be large, and have many dead
// participants: work for all members of a set takes one walk of the table.
#ifndef TIDINGS__SETS_H
#define TIDINGS__SETS_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout.h"

// A set of observer entries, in the format of a name's `members`.
typedef struct tidings__observer_set {
    uint64_t words[TIDINGS__MAP_WORDS];
} tidings__observer_set;

static inline void tidings__observer_set_add(tidings__observer_set *set, uint32_t observer) {
    set->words[observer / 64] |= UINT64_C(1) << observer % 64;
}
static inline bool tidings__observer_set_has(const tidings__observer_set *set, uint32_t observer) {
    return set->words[observer / 64] >> observer % 64 & 1;
}

// One bit for each word that has a member, as in the lower half of a name's `wake_group`.
static inline uint32_t tidings__observer_set_used(const tidings__observer_set *set) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++) used |= (uint32_t)(set->words[i] != 0) << i;
    return used;
}

// A set of participant entries.
typedef struct tidings__participant_set {
    uint64_t words[TIDINGS__PARTICIPANTS_MAX / 64];
} tidings__participant_set;

static inline void tidings__participant_set_add(tidings__participant_set *set, uint32_t participant) {
    set->words[participant / 64] |= UINT64_C(1) << participant % 64;
}
// `participant` may come from shared memory, so it may have any value.
static inline bool tidings__participant_set_has(const tidings__participant_set *set, uint64_t participant) {
    return participant < TIDINGS__PARTICIPANTS_MAX && set->words[participant / 64] >> participant % 64 & 1;
}
static inline tidings__participant_set tidings__participant_only(uint32_t participant) {
    tidings__participant_set set = {0};
    tidings__participant_set_add(&set, participant);
    return set;
}
// The lowest member; 0 also if the set is empty.
static inline uint32_t tidings__participant_set_first(const tidings__participant_set *set) {
    uint32_t word = 0;
    while (word + 1 < TIDINGS__PARTICIPANTS_MAX / 64 && !set->words[word]) word++;
    return set->words[word] ? word * 64 + (uint32_t)__builtin_ctzll(set->words[word]) : 0;
}

#endif
