// Ownership and reuse of chunks, which hold retained values and payloads that do not fit a cell. design/1-ring.md. This
// layer knows positions, but no names.
#ifndef TIDINGS__CHUNK_H
#define TIDINGS__CHUNK_H

#include "ring/record.h"

static inline uint64_t tidings__chunk_word(uint64_t position, uint32_t participant, uint32_t state) {
    return position << 16 | (uint64_t)(participant & 0xfff) << 4 | state;
}
static inline uint32_t tidings__chunk_state(uint64_t word) { return (uint32_t)word & 0xf; }
static inline uint32_t tidings__chunk_owner(uint64_t word) { return (uint32_t)(word >> 4) & 0xfff; }
static inline uint64_t tidings__chunk_position(uint64_t word) { return word >> 16; }
// The word's position minus `start`, in positions. A word holds 48 bits of a position, so both are compared modulo
// 2^48.
static inline int64_t tidings__chunk_distance(uint64_t word, uint64_t start) {
    return (int64_t)((word & ~UINT64_C(0xffff)) - (start << 16)) >> 16;
}
// True if the word's position is before `start`. False if the word has no position (NOWHERE).
static inline bool tidings__chunk_before(uint64_t word, uint64_t start) {
    return tidings__chunk_position(word) != TIDINGS__CHUNK_NOWHERE && tidings__chunk_distance(word, start) < 0;
}

// The word of a chunk whose retained value is not needed any more. Invariant H5: dropped, not free, if it may be held.
static inline uint64_t tidings__chunk_freed(uint64_t word) {
#ifdef MUTANT_HELD_VALUE_FREED  // Found by: interleaving held_values
    return 0;
#endif
#ifdef MUTANT_DROPPED_VALUE_IN_RING  // Found by: interleaving a_dropped_value_beside_a_late_hand
    if (word & TIDINGS__CHUNK_HELD) return (word & ~UINT64_C(0xf)) | TIDINGS__CHUNK_IN_RING;
#endif
    return word & TIDINGS__CHUNK_HELD ? (word & ~UINT64_C(0xf)) | TIDINGS__CHUNK_DROPPED : 0;
}

// Search state of this process, per chunk size; only hints. `next`: the chunk where the next search starts. `order`:
// how many more searches may assume that eviction frees the chunks from `next` on first. A search of the whole class
// that finds none free sets it anew.
typedef struct tidings__chunk_turns {
    _Atomic uint32_t next[TIDINGS__CLASSES], order[TIDINGS__CLASSES];
} tidings__chunk_turns;

// How far to evict if no chunk is free. Evicting to before `least` frees one chunk, to before `most` a few.
typedef struct tidings__chunk_room {
    uint64_t least, most;
    // NULL: all chunks were checked. Otherwise not all were, and one may be free: set this to 0 and retry.
    _Atomic uint32_t *order;
} tidings__chunk_room;

// Takes a free chunk of at least `size` bytes that no participant holds, and backs it with memory. Returns 0 or:
// - -EMSGSIZE: no chunk is that large.
// - -ENOSPC, or another error of the file system: the chunk could not be backed.
// - -EAGAIN: no chunk is free. `*room` says how far to evict. `room->least` 0: eviction frees none, as all chunks are
//   being filled, retained or held.
int tidings__chunk_take(tidings__segment *s, uint32_t participant, uint64_t size, tidings__chunk_turns *turns,
                        uint32_t *chunk, tidings__chunk_room *room);
// Frees a chunk that this participant owns. Does nothing if the participant does not own it any more.
void tidings__chunk_release(tidings__segment *s, uint32_t participant, uint32_t chunk);

// The owner's steps: `claimed` between claim and commit, `publish` after the verdict.
static inline void tidings__chunk_claimed(tidings__segment *s, uint32_t participant, uint32_t chunk,
                                          uint64_t position) {
    tidings__set_release(&s->chunk_words[chunk], tidings__chunk_word(position, participant, TIDINGS__CHUNK_OWNED));
}
static inline void tidings__chunk_publish(tidings__segment *s, uint32_t participant, uint32_t chunk,
                                          uint64_t position) {
    // A CAS, as eviction may already have promoted the chunk to "retained", or an observer that holds it may have done
    // this step.
    uint64_t word = tidings__chunk_word(position, participant, TIDINGS__CHUNK_OWNED);
    tidings__cas(&s->chunk_words[chunk], &word, tidings__chunk_word(position, 0, TIDINGS__CHUNK_IN_RING));
}

// The copy of a record's header at the start of a chunk. The chunk may get another record while it is read: check
// `tidings__chunk_holds`, or the name entry's retained word, afterwards. False: the chunk has no memory.
bool tidings__chunk_record(tidings__segment *s, uint32_t chunk, tidings__record *record);

// True if the chunk holds the record of `position` now. Check before and after copying from the chunk.
bool tidings__chunk_holds(const tidings__segment *s, uint32_t chunk, uint64_t position);

// Frees or publishes the chunks that dead participants owned. Call with the locks of their entries held.
void tidings__chunk_reclaim(tidings__segment *s, const tidings__participant_set *dead);

#endif
