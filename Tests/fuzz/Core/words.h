// What each word of a center is, where there are some of its kind, and what a peer that knows the layout would write
// there.
#ifndef WORDS_H
#define WORDS_H

#include "segment/geometry.h"
#include "segment/layout.h"

typedef enum word {
    WORD_EVICTION,
    WORD_HINT,
    WORD_GENERATION,
    WORD_NAMES_USED,
    WORD_NAMES_BACKED,
    WORD_REVOKED,
    WORD_REMOVED,
    WORD_WAITING,
    WORD_ASLEEP,
    WORD_LOSSLESS,
    WORD_CLAIM,
    WORD_COMMIT,
    WORD_VERDICT,
    WORD_TIME,
    WORD_SIZE,
    WORD_POSTER,
    WORD_ROUTE,
    WORD_CHUNK_NUMBER,
    WORD_BODY,
    WORD_COUNT,
    WORD_END,
    WORD_NEXT,
    WORD_STATE,
    WORD_HASH,
    WORD_RETAINED,
    WORD_BIRTH,
    WORD_LENGTHS,
    WORD_MEMBERS,
    WORD_KEY,
    WORD_BUCKET,
    WORD_CHUNK,
    WORD_CHUNK_SIZE,
    WORD_CHUNK_POSTER,
    WORD_CHUNK_ROUTE,
    WORD_CHUNK_BYTES,
    WORD_DOORBELL,
    WORD_CURSOR,
    WORD_OBSERVER_INSTANCE,
    WORD_HISTORY,
    WORD_INSTANCE,
    WORD_PARTICIPANT,
    WORD_NAME_FUTEX,
    WORDS,
    WORD_NONE = WORDS,  // the fixed page, and what is not used
    // Not among those that inputs number: they keep their meaning.
    WORD_PRESENCE,  // of presence entries
    WORD_CALL,      // of calls and their bodies
    WORD_KINDS
} word;
_Static_assert(WORD_KINDS <= 64, "a bit each");

typedef struct words {
    uint8_t *base;
    uint64_t length;
    tidings__shape shape;
    tidings__geometry geometry;
    uint64_t posted;                // where this process posted last
    uint64_t replaced[WORD_KINDS];  // in a word of this kind, last: what a slow peer would store
} words;

word word_at(const words *center, uint64_t offset);
// Whatever the sanitizer has been told of it.
uint64_t word_read(const words *center, uint64_t offset);
// The offset of a word of this kind; small numbers are those in use.
uint64_t word_place(const words *center, word kind, uint32_t which);
// The word of another kind that belongs to the same cell, name, chunk or observer.
uint64_t word_beside(const words *center, uint64_t offset, word kind);
// What may be written at `offset` in place of `now`; `how` and `with` choose.
uint64_t word_instead(words *center, uint64_t offset, uint64_t now, uint8_t how, uint16_t with);

#endif
