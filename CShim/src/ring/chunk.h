// Out-of-line payloads: who owns which chunk. README.md, "Large payloads". Knows positions, not names.
#ifndef TIDINGS__CHUNK_H
#define TIDINGS__CHUNK_H

#include "ring/cell.h"

static inline uint64_t tidings__chunk_word(uint64_t position, uint32_t participant, uint32_t state) {
    return position << 16 | (uint64_t)(participant & 0xfff) << 4 | state;
}
static inline uint32_t tidings__chunk_state(uint64_t word) { return (uint32_t)word & 0xf; }
static inline uint32_t tidings__chunk_owner(uint64_t word) { return (uint32_t)(word >> 4) & 0xfff; }
static inline uint64_t tidings__chunk_position(uint64_t word) { return word >> 16; }
// How far this word's position, of which it has 48 bits, lies behind `start`.
static inline int64_t tidings__chunk_distance(uint64_t word, uint64_t start) {
    return (int64_t)((word & ~UINT64_C(0xffff)) - (start << 16)) >> 16;
}
// Is it before `start`? NOWHERE is never.
static inline bool tidings__chunk_before(uint64_t word, uint64_t start) {
    return tidings__chunk_position(word) != TIDINGS__CHUNK_NOWHERE && tidings__chunk_distance(word, start) < 0;
}

// Where this process looks next, by size of chunk. `order`: how often it may still take the chunks from there on for
// those that eviction frees first, without a look at all others; some times after each look that found none free.
typedef struct tidings__chunk_turns {
    _Atomic uint32_t next[TIDINGS__CLASSES], order[TIDINGS__CLASSES];
} tidings__chunk_turns;

// Up to which position to evict: that frees one chunk, that a few.
typedef struct tidings__chunk_room {
    uint64_t least, most;
    _Atomic uint32_t
        *order;  // not all were looked at: there may be a free one, which is looked for once this is 0. NULL: all were
} tidings__chunk_room;

// Takes a free chunk of at least `size` bytes for this participant, backed with memory.
// 0; -EMSGSIZE; -ENOSPC; -EAGAIN: none free, and `*room` says what would help (`least` is 0: nothing, all are being
// filled).
int tidings__chunk_take(tidings__segment *s, uint32_t participant, uint64_t size, tidings__chunk_turns *turns,
                        uint32_t *chunk, tidings__chunk_room *room);
// Gives an owned chunk back.
void tidings__chunk_release(tidings__segment *s, uint32_t participant, uint32_t chunk);

// The owner's steps: between claim and commit; after the verdict.
static inline void tidings__chunk_claimed(tidings__segment *s, uint32_t participant, uint32_t chunk,
                                          uint64_t position) {
    tidings__set_release(&s->chunk_words[chunk], tidings__chunk_word(position, participant, TIDINGS__CHUNK_OWNED));
}
static inline void tidings__chunk_publish(tidings__segment *s, uint32_t participant, uint32_t chunk,
                                          uint64_t position) {
    // By CAS: eviction may have promoted it to "retained" already.
    uint64_t word = tidings__chunk_word(position, participant, TIDINGS__CHUNK_OWNED);
    tidings__cas(&s->chunk_words[chunk], &word, tidings__chunk_word(position, participant, TIDINGS__CHUNK_IN_RING));
}

// Does this chunk hold the record of `position`, now? To be asked before and after copying from it.
bool tidings__chunk_holds(const tidings__segment *s, uint32_t chunk, uint64_t position);

// Frees what dead participants owned. Call with the locks of their entries held.
void tidings__chunk_reclaim(tidings__segment *s, const tidings__participant_set *dead);

#endif
