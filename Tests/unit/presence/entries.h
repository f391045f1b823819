// Presence entries that a test writes by hand.
#ifndef UNIT_PRESENCE_ENTRIES_H
#define UNIT_PRESENCE_ENTRIES_H

#include "../fresh.h"

#include "presence/report.h"

// Entry `index` of a participant that is announced, and dead.
static inline tidings__presence *dead_entry(tidings_center *center, uint32_t index, uint32_t state, uint64_t from) {
    tidings__segment *s = &center->segment;
    CHECK_EQUAL(tidings__back_presence(s), 0);
    if (s->header->presence_used.word <= index) s->header->presence_used.word = index + 1;
    s->participants[index].instance = 0;
    s->presence[index].announcement = 101;
    s->presence[index].process = 4711 | UINT64_C(23) << 32;
    memcpy((void *)s->presence[index].role, "role", 4);
    s->presence[index].role_size = 4;
    s->presence[index].report = tidings__report_next(s->presence[index].report, from, 5, state);
    return &s->presence[index];
}

static inline uint32_t state_of(const tidings__presence *entry) { return tidings__report_state(entry->report); }

static inline int report(tidings_center *center, uint32_t index, bool take_over) {
    tidings__report_budget budget = tidings__report_budget_of(&center->segment);
    return tidings__report(center, index, take_over, 0, &budget);
}

// How many notices about participant `index` the ring holds.
static inline uint32_t notices(const tidings_center *center, uint32_t index) {
    const tidings__segment *s = &center->segment;
    uint32_t count = 0;
    for (uint64_t p = 0; p < s->shape.slots; p++) {
        tidings__record record;
        if (tidings__slot_status(s, p) != TIDINGS__VALID) continue;
        tidings__record_read(tidings__cell_at(s, p), &record);
        count += record.flags & TIDINGS__RECORD_NOTICE && record.participant == index;
    }
    return count;
}

#endif
