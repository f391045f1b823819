// Presence entries: the state of an announcement, and whether its participant is dead. design/6-presence.md.
#ifndef TIDINGS__PRESENCE_H
#define TIDINGS__PRESENCE_H

#include "platform/atomics.h"
#include "segment/position.h"
#include "segment/segment.h"

#define TIDINGS__REPORT_FROM_MASK UINT64_C(0xffffffffff)

static inline uint32_t tidings__report_state(uint64_t report) { return (uint32_t)report & 0xf; }
static inline uint32_t tidings__report_owner(uint64_t report) { return (uint32_t)(report >> 4) & 0xfff; }
// The next value of the word. By the counter, a value comes again only after 256 changes, so a late CAS fails
// (invariant P2).
static inline uint64_t tidings__report_next(uint64_t report, uint64_t from, uint32_t owner, uint32_t state) {
    return (from & TIDINGS__REPORT_FROM_MASK) << 24 | ((report + 0x10000) & 0xff0000) | (uint64_t)(owner & 0xfff) << 4 |
           state;
}
// A position minus that of the word, both modulo 2^40.
static inline int64_t tidings__report_distance(uint64_t report, uint64_t position) {
    return (int64_t)((position << 24) - (report & ~UINT64_C(0xffffff))) >> 24;
}
// The bits of an announcement in PREPARING, PRESENT and WATCHING.
static inline uint64_t tidings__report_bits(uint64_t announcement) { return announcement >> 24; }

// The word's lower half, on which participants wait for a report. The lower half comes first on little-endian machines.
static inline _Atomic uint32_t *tidings__report_futex(tidings__presence *entry) {
    return (_Atomic uint32_t *)(void *)&entry->report;
}
// Sleepers of this word wait in timed steps, and readers can sleep on it too. So the number is bounded (invariant W8).
#define TIDINGS__REPORT_WAKES 8

// The number that observers know an announcement by: exact in a JSON number. A peer may have written more bits.
static inline uint64_t tidings__presence_id(const tidings__presence *entry) {
    return tidings__relaxed(&entry->id) & ((UINT64_C(1) << 52) - 1);
}

// The chunk word of the will of an announcement.
static inline uint64_t tidings__will_word(uint64_t announcement, uint32_t index) {
    return (announcement >> 16 | UINT64_C(1) << 47) << 16 | (uint64_t)(index & 0xfff) << 4 | TIDINGS__CHUNK_WILL;
}

// True in the states in which the life words say whether the participant is dead.
static inline bool tidings__presence_alive_in(uint32_t state) {
    return state == TIDINGS__PRESENCE_JOINING || state == TIDINGS__PRESENCE_PRESENT ||
           state == TIDINGS__PRESENCE_LEAVING || state == TIDINGS__PRESENCE_WATCHING;
}

// The number of presence entries that may be in use; 0 if they have no memory.
uint32_t tidings__presence_end(tidings__segment *s);
// True if the participant of this entry is dead. `index` is below `tidings__presence_end`. Needs write access.
bool tidings__presence_dead(const tidings__segment *s, uint32_t index);
// A record about participant `index` lies at `position`, committed. `kind`: TIDINGS__RECORD_NOTICE or …_WILL. Moves the
// report on, if it waits for this record (invariant P4). `index` may be any number.
void tidings__presence_posted(tidings__segment *s, uint32_t index, uint32_t kind, uint64_t position);
// Changes the report by CAS, and wakes the participants that wait for it.
bool tidings__report_move(tidings__segment *s, uint32_t index, uint64_t report, uint64_t to);
// Frees the chunk of the entry's will. `report`: its value, which says that the will is not needed. A second call does
// nothing.
void tidings__will_free(tidings__segment *s, uint32_t index, uint64_t report);

#endif
