// Name entries as a test needs them.
#ifndef UNIT_NAMES_H
#define UNIT_NAMES_H

#include "registry/name_table.h"
#include "unit.h"

#define OWN 3u

static inline uint64_t state_word(uint64_t generation, uint32_t participant, uint32_t state) {
    return generation << 20 | (uint64_t)participant << 4 | state;
}
static inline uint32_t state_in(const tidings__name *entry) { return (uint32_t)entry->state & 0xf; }

static inline tidings__key key_of(const char *name, bool prefix) {
    tidings__key key;
    tidings__key_make(&key, name, strlen(name), NULL, 0);
    key.prefix = prefix;
    return key;
}

// The entry that `observer` joins.
static inline uint32_t joined(tidings__segment *s, const char *name, bool prefix, uint32_t observer) {
    const tidings__key key = key_of(name, prefix);
    uint32_t index = TIDINGS__NAME_NONE;
    CHECK_EQUAL(tidings__name_join(s, OWN, &key, observer, &index), 0);
    return index;
}

#endif
