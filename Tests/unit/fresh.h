// Centers, publishers and observers as a test needs them.
#ifndef UNIT_FRESH_H
#define UNIT_FRESH_H

#include <errno.h>
#include <stdlib.h>

#include "center/center.h"
#include "eviction/name_registration.h"
#include "platform/error.h"
#include "registry/name_table.h"
#include "segment/eviction.h"
#include "unit.h"

// A new center, joined by this process as participant 0.
static inline tidings_center *fresh_center(void) {
    tidings_center *center = NULL;
    CHECK_EQUAL(tidings_create_sealed("unit", &unit_smallest, &center), 0);
    return center;
}

static inline tidings_publisher *opened_publisher(tidings_center *center, const char *name) {
    static tidings_publisher **all;  // those that a test has lost would be leaks
    static size_t count;
    all = realloc(all, (count + 1) * sizeof(tidings_publisher *));
    CHECK(all != NULL);
    CHECK_EQUAL(tidings_publisher_open(center, name, strlen(name), NULL, 0, &all[count]), 0);
    return all[count++];
}

// The entry that `observer` joins.
static inline uint32_t joined(tidings_center *center, const char *name, bool prefix, uint32_t observer) {
    tidings__key key;
    uint32_t index = TIDINGS__NAME_NONE;
    tidings__key_make(&key, name, strlen(name), NULL, 0);
    key.prefix = prefix;
    CHECK_EQUAL(tidings__join_name(center, &key, observer, &index), 0);
    return index;
}

// A participant whose lock no process holds.
static inline void dead_participant(tidings__segment *s, uint32_t participant) {
    s->participants[participant].instance = 101;
}

#endif
