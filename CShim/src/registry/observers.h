// Observer entries: each has a doorbell, and a cursor that eviction respects if the observer is lossless.
#ifndef TIDINGS__OBSERVERS_H
#define TIDINGS__OBSERVERS_H

#include "platform/atomics.h"
#include "segment/segment.h"

// Takes a free entry for this participant. -EUSERS with an error line: all entries are taken.
int tidings__observer_take(tidings__segment *s, uint32_t participant, uint32_t *index);
// Frees the entry. Its bits in name entries must be cleared before, or posters wake its next owner for nothing.
void tidings__observer_release(tidings__segment *s, uint32_t index);

// From now on eviction stops at this observer's cursor. Returns the first position that certainly stays in the ring
// (not before `from`).
uint64_t tidings__lossless_begin(tidings__segment *s, uint32_t index, uint64_t from);
static inline void tidings__lossless_advance(const tidings__segment *s, uint32_t index, uint64_t cursor) {
    tidings__set_release(&s->observers[index].cursor, cursor);
}
// How far an observer is, for other processes to show. No process acts on it.
static inline void tidings__progress_set(const tidings__segment *s, uint32_t index, uint64_t cursor, uint64_t missed) {
    tidings__set_relaxed(&s->observers[index].progress, TIDINGS__PROGRESS(cursor, missed));
}
typedef struct tidings__progress {
    bool published;     // false: its process is of version 1.0, or has published nothing yet
    uint32_t missed;    // modulo 2^31
    uint64_t position;  // the next one that it needs; at most `end`
} tidings__progress;
tidings__progress tidings__progress_of(const tidings__segment *s, uint32_t index, uint64_t end);

// Until its cursor is at `until`, the observer needs every record. It reads history, and some of that was posted before
// its name had an entry.
static inline void tidings__lossless_history(const tidings__segment *s, uint32_t index, uint64_t until) {
    tidings__set_release(&s->observers[index].history, until);
}
// True if the observer entry has an owner that no process has declared dead.
static inline bool tidings__observer_alive(const tidings__segment *s, uint32_t index) {
    uint32_t participant = tidings__acquire(&s->observers[index].owner) - 1;
    if (participant >= s->shape.participants) return false;
    uint64_t instance = tidings__relaxed(&s->observers[index].instance);
    return instance & 1 && tidings__acquire(&s->participants[participant].instance) == instance;
}
// The least cursor of lossless observers, or UINT64_MAX if there are none. `*history` is the least cursor of those that
// need every record, and `*holder` the index of that observer. `living` receives the lossless observers whose
// participants are alive.
uint64_t tidings__lossless_least(const tidings__segment *s, tidings__observer_set *living, uint64_t *history,
                                 uint32_t *holder);

// Of `all`, finds the observers whose cursor is at or before `position`. Returns the least cursor of the remaining ones
// (UINT64_MAX: none). A walk along positions calls it again only at that cursor.
uint64_t tidings__lossless_at(const tidings__segment *s, const tidings__observer_set *all, uint64_t position,
                              tidings__observer_set *here);

// Frees the observer entries of dead participants, and finishes what these participants did to name entries. Call with
// the locks of their participant entries held.
void tidings__observers_reclaim(tidings__segment *s, const tidings__participant_set *dead);

#endif
