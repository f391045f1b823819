// Calls, servers and participants that a test writes by hand.
#ifndef UNIT_CALLS_BY_HAND_H
#define UNIT_CALLS_BY_HAND_H

#include "../fresh.h"

#include "calls/calls.h"
#include "segment/position.h"

#define SERVICE TIDINGS_REQUESTS_PREFIX "s"

// A center with 64 calls, and with presence entries of four participants that live: 1, 2 and 3 watch.
static inline tidings_center *center_with_calls(void) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    CHECK_EQUAL(tidings__back_presence(s), 0);
    CHECK_EQUAL(tidings__back_calls(s, TIDINGS__CALLS_STEP), 0);
    s->header->presence_used.word = 4;
    s->header->calls_used.word = TIDINGS__CALLS_STEP;
    for (uint32_t i = 1; i < 4; i++) {
        s->participants[i].instance = 101;
        s->presence[i].announcement = 101;
        s->presence[i].report = tidings__report_next(0, 0, i, TIDINGS__PRESENCE_WATCHING);
    }
    return center;
}

static inline void died(tidings__segment *s, uint32_t participant) {
    tidings__presence_line_at(s, participant)->life[0] = TIDINGS__LIFE_DIED;
}

// Observer `observer` of this participant serves the name. Returns the name, as in a call.
static inline uint64_t server_of(tidings_center *center, const char *name, uint32_t participant, uint32_t observer) {
    tidings__segment *s = &center->segment;
    s->observers[observer].owner = participant + 1;
    s->observers[observer].instance = 101;
    s->observers[observer].serves = 1;
    const uint32_t entry = joined(center, name, false, observer);
    return tidings__call_name(entry, tidings__name_generation(tidings__name_at(s, entry)));
}

static inline uint64_t call_word(uint64_t generation, uint32_t caller, uint32_t server, uint32_t state) {
    return generation << 31 | (uint64_t)server << 18 | (uint64_t)caller << 6 | state;
}

// Writes call `index` of generation 5.
static inline uint64_t put_call(tidings__segment *s, uint32_t index, uint64_t name, uint32_t caller, uint32_t server,
                                uint64_t state) {
    const uint64_t word = call_word(5, caller, server, 0) | state;
    s->calls[index].name = name;
    s->calls[index].state = word;
    return word;
}

static inline uint32_t call_state(const tidings__segment *s, uint32_t index) {
    return tidings__call_state(s->calls[index].state);
}

static inline int settle_at(tidings_center *center, uint32_t participant, uint64_t report) {
    tidings__ended ended = tidings__ended_alone(participant, report);
    return tidings__calls_settle(center, &ended, &(uint64_t){TIDINGS__TELLS_ALL});
}
static inline int settle(tidings_center *center, uint32_t participant) {
    return settle_at(center, participant, center->segment.presence[participant].report);
}

static inline _Atomic uint32_t *lane_of(const tidings__segment *s, uint32_t participant, uint32_t lane) {
    return &tidings__presence_line_at(s, participant)->replies[lane];
}

// How many records make servers search.
static inline uint64_t records(const tidings_center *center) { return tidings__frontier(&center->segment, 0); }

#endif
