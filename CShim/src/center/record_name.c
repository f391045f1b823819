// Finds the name under which a record was posted: in a name entry, in the cell or in a chunk.
#include "center/record_name.h"
#include "center/center.h"
#include "ring/chunk.h"
#include "ring/record.h"

static const _Atomic uint64_t *of_entry(tidings__segment *s, uint32_t index, uint32_t *length) {
    const tidings__name *entry = tidings__name_at(s, index);
    if (!entry || index == TIDINGS__NAME_ALL) return NULL;
    const uint32_t lengths = tidings__relaxed(&entry->lengths);
    *length = lengths & (TIDINGS__LENGTHS_PREFIX - 1);
    return *length > TIDINGS_NAME_MAX || lengths & TIDINGS__LENGTHS_PREFIX ? NULL : entry->key;
}

static const _Atomic uint64_t *of_chunk(tidings__segment *s, uint64_t position, const tidings__record *r,
                                        _Atomic uint64_t *copy, uint32_t *length) {
    const uint64_t begin = TIDINGS__CHUNK_HEADER + tidings__round8(r->size),
                   end = begin + tidings__round8(r->name_length);
    uint64_t capacity;
    const uint8_t *bytes = tidings__chunk_bytes(s, r->chunk, &capacity);
    if (!bytes || end > capacity || !tidings__chunk_holds(s, r->chunk, position)) return NULL;
    if (tidings__back_chunk(s, r->chunk, end) != 0) {
        *length = TIDINGS__NAME_UNREADABLE;
        return NULL;
    }
    tidings__bytes_read(copy, bytes + begin, end - begin);
    return tidings__chunk_holds(s, r->chunk, position) ? copy : NULL;
}

const _Atomic uint64_t *tidings__record_name(tidings__segment *s, uint64_t position,
                                             _Atomic uint64_t copy[TIDINGS__NAME_WORDS], uint32_t *length) {
    const tidings__cell *cell = tidings__cell_at(s, position);
    tidings__record r;
    tidings__record_read(cell, &r);
    *length = 0;
    if (r.name != TIDINGS__NAME_NONE) return of_entry(s, r.name, length);
    *length = r.name_length;
    if (r.size > s->shape.maximum_payload) return NULL;
    if (r.flags & TIDINGS__RECORD_CHUNK) return of_chunk(s, position, &r, copy, length);
    const uint64_t begin = tidings__round8(r.size);
    return begin + tidings__round8(r.name_length) > TIDINGS__BODY_SIZE ? NULL : &cell->body[begin / 8];
}
