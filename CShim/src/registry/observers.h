// Places of observers: a doorbell each, a cursor for those that must not lose anything.
#ifndef TIDINGS__OBSERVERS_H
#define TIDINGS__OBSERVERS_H

#include "platform/atomics.h"
#include "segment/segment.h"

// Takes a free place for this participant. -EUSERS: all taken.
int tidings__observer_take(tidings__segment *s, uint32_t participant, uint32_t *index);
// Gives it back. Its bits in name entries must be gone already, or its next holder is rung for nothing.
void tidings__observer_release(tidings__segment *s, uint32_t index);

// From now on eviction stops at this observer's cursor. Returns the position that is certain to be kept (not before
// `from`).
uint64_t tidings__lossless_begin(tidings__segment *s, uint32_t index, uint64_t from);
static inline void tidings__lossless_advance(const tidings__segment *s, uint32_t index, uint64_t cursor) {
    tidings__set_release(&s->observers[index].cursor, cursor);
}
// Until its cursor is there it needs every record (it reads history, some of which was posted before its name had an
// entry).
static inline void tidings__lossless_history(const tidings__segment *s, uint32_t index, uint64_t until) {
    tidings__set_release(&s->observers[index].history, until);
}
// Does its owner live, as far as anybody has found out?
static inline bool tidings__observer_alive(const tidings__segment *s, uint32_t index) {
    uint32_t participant = tidings__acquire(&s->observers[index].owner) - 1;
    if (participant >= s->shape.participants) return false;
    uint64_t instance = tidings__relaxed(&s->observers[index].instance);
    return instance & 1 && tidings__acquire(&s->participants[participant].instance) == instance;
}
// The least cursor of lossless observers, UINT64_MAX if there are none. `*history`: the least of those that need every
// record, `*holder` is whose that is. `living`: those whose participants are alive, a bit each.
uint64_t tidings__lossless_least(const tidings__segment *s, tidings__observer_set *living, uint64_t *history,
                                 uint32_t *holder);

// Of `all`, those whose cursor has come to this position; returns where the next of the others stands. A walk along
// positions asks again there, and not for each position.
uint64_t tidings__lossless_at(const tidings__segment *s, const tidings__observer_set *all, uint64_t position,
                              tidings__observer_set *here);

// Frees what dead participants observed with, and finishes what they did to names. Call with the locks of their entries
// held.
void tidings__observers_reclaim(tidings__segment *s, const tidings__participant_set *dead);

#endif
