// Holds: a participant notes that it reads a chunk in place, and no poster takes the chunk. design/8-holds.md.
#ifndef TIDINGS__HOLD_H
#define TIDINGS__HOLD_H

#include <string.h>

#include "ring/chunk.h"

_Static_assert(TIDINGS__HOLDS == TIDINGS_HOLDS_MAX, "a row has the entries that are promised");

// A set of chunks.
typedef struct tidings__chunk_set {
    uint64_t words[(TIDINGS__CHUNKS_MAX + 63) / 64];
} tidings__chunk_set;

static inline bool tidings__chunk_set_has(const tidings__chunk_set *set, uint32_t chunk) {
    return set->words[chunk / 64] >> chunk % 64 & 1;
}

static inline uint64_t tidings__hold_word(uint32_t chunk, uint64_t position) { return position << 16 | (chunk + 1); }

// Holds the chunk of the record at `position`, which is valid, in entry `at` of this participant's row. `now`:
// CLOCK_REALTIME, in nanoseconds. False: the hold does not count. This hold is not in the entry. Call after
// `tidings__back_holds`.
bool tidings__hold_take(tidings__segment *s, uint32_t participant, uint32_t at, uint32_t chunk, uint64_t position,
                        uint64_t now);
// Clears the entry, if it still has this hold. The payload must have been read.
void tidings__hold_leave(tidings__segment *s, uint32_t participant, uint32_t at, uint64_t hold);

// True if a living participant holds this chunk, whose word was loaded before. Also true if the rows have no memory, so
// that they can't be read.
bool tidings__hold_found(tidings__segment *s, uint32_t chunk, uint64_t word);
// All chunks that living participants hold. Every chunk, if the rows can't be read.
void tidings__holds_list(tidings__segment *s, tidings__chunk_set *held);

// What one participant holds.
typedef struct tidings__row {
    uint32_t count;
    uint64_t bytes;  // of its chunks
    uint64_t since;  // of the oldest hold
} tidings__row;
// Counts the holds of a participant that are of chunks with at least `size` bytes. Counts nothing if the rows can't be
// read.
void tidings__holds_of(tidings__segment *s, uint32_t participant, uint64_t size, tidings__row *row);

// Clears the rows of dead participants, or of this process's own. Call with the locks of their entries held.
void tidings__holds_reclaim(tidings__segment *s, const tidings__participant_set *dead);

#endif
