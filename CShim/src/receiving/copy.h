// Copying a record out of the ring, into the observer's buffer.
#ifndef TIDINGS__COPY_H
#define TIDINGS__COPY_H

#include "receiving/observer.h"
#include "ring/chunk.h"

// Makes sure that the buffer has `size` bytes. Its contents are lost. False: no memory.
bool tidings__buffer_grow(tidings_observer *observer, size_t size);
static inline bool tidings__buffer_room(tidings_observer *observer, size_t size) {
    return size <= observer->capacity || tidings__buffer_grow(observer, size);
}
// The part of `tidings__record_copy_of` for a payload in a chunk. If the observer takes payloads in place, and the
// chunk can be held, copies the text only, and sets `in_place`.
bool tidings__chunk_copy(tidings_observer *observer, uint64_t position, const tidings__record *record, uint64_t total,
                         uint64_t skipped);

// The same for a record with sections in a cell.
bool tidings__cell_copy(tidings_observer *observer, uint64_t position, uint64_t total, uint64_t skipped);

// Offset of the text in the buffer: after the payload, if that was copied.
static inline uint64_t tidings__text_at(const tidings_observer *o, const tidings__record *r) {
    return o->flags & TIDINGS_OBSERVE_BARE || o->in_place ? 0 : tidings__round8(r->size);
}

// The record is passed by value, here and in `tidings__describe_record`, so that the caller's variable stays in
// registers.
static inline __attribute__((always_inline)) bool tidings__record_copy_of(tidings_observer *o, uint64_t position,
                                                                          const tidings__record r) {
    tidings__segment *s = &o->center->segment;
    if (r.size > s->shape.maximum_payload) return false;
    uint64_t total = tidings__round8(r.size);
#ifndef MUTANT_RECORD_TEXT_BEYOND_BODY  // Found by: fuzz image
    total += tidings__round8(r.name_length);
    total += tidings__round8(r.subject_length);
#endif
    const uint64_t skipped = o->flags & TIDINGS_OBSERVE_BARE ? tidings__round8(r.size) : 0;
    if (__builtin_expect(r.flags & (TIDINGS__RECORD_CHUNK | TIDINGS__RECORD_SECTIONS), 0)) {
        const tidings__record in_memory = r;
        return r.flags & TIDINGS__RECORD_CHUNK ? tidings__chunk_copy(o, position, &in_memory, total, skipped)
                                               : tidings__cell_copy(o, position, total, skipped);
    }
#ifndef MUTANT_RECORD_SIZE_UNCHECKED  // Found by: fuzz image
    if (total > TIDINGS__BODY_SIZE) return false;
#endif
    if (!tidings__buffer_room(o, TIDINGS__BODY_SIZE + 16)) return false;
#ifdef MUTANT_RECORD_SIZE_READ_TWICE  // Found by: fuzz image
    tidings__record again;
    tidings__record_read(tidings__cell_at(s, position), &again);
    total = tidings__round8(again.size) + tidings__round8(again.name_length) + tidings__round8(again.subject_length);
#endif
    tidings__body_read(tidings__cell_at(s, position)->body + skipped / 8, o->buffer, total - skipped);
    return true;
}

#endif
