// The observer's buffer, and copying a record into it.
#include "receiving/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "platform/error.h"
#include "ring/section.h"

#define BUFFER_STEP 4096u

void tidings__buffer_free(tidings_observer *o) {
    if (!o->lent) free(o->buffer);
    o->buffer = NULL;
    o->capacity = 0;
    o->lent = false;
}

bool tidings__buffer_grow(tidings_observer *o, size_t size) {
    size_t capacity = TIDINGS__BUFFER_LEAST;
    while (capacity < size && capacity < BUFFER_STEP) capacity *= 2;
    // A payload's buffer is at most 12 % and a page larger than the payload. A sixteenth more than asked, so that
    // slowly growing payloads don't need a new buffer each.
    if (capacity < size) capacity = (size + size / 16 + BUFFER_STEP - 1) & ~((size_t)BUFFER_STEP - 1);
    // The old buffer holds nothing that is still needed. It is freed first, so that two never exist at a time.
    tidings__buffer_free(o);
    o->buffer = aligned_alloc(64, capacity);
    if (!o->buffer) {
        o->without_memory = true;
        return false;
    }
    o->capacity = capacity;
    return true;
}

// Memory of the program for one payload and its text (`tidings_observer_lend`).
static bool lend(tidings_observer *o, size_t size) {
    tidings__buffer_free(o);
    o->buffer = o->allocate(o->allocate_context, size);
    o->lent = o->buffer != NULL;
    o->without_memory |= !o->lent;
    return o->lent;
}

// Leaves the memory at `*own` to the caller, and goes on in a copy, to which those of the deliveries point that had
// their payloads and sections there.
static int detach(tidings_observer *o, uint8_t **own, size_t size, tidings_delivery *deliveries, size_t count,
                  void **memory) {
    uint8_t *copy = aligned_alloc(64, size);
    if (!copy)
        return tidings__fail(ENOMEM, "can't detach the memory of an observer of center \"%s\": no memory for %zu bytes",
                             o->center->segment.name, size);
    memcpy(copy, *own, size);
    for (size_t i = 0; i < count; i++) {
        const uintptr_t offset = (uintptr_t)deliveries[i].payload - (uintptr_t)*own;
        if (offset < size) deliveries[i].payload = copy + offset;
        if (deliveries[i].flags & TIDINGS_DELIVERY_SECTIONS)
            deliveries[i].sections = copy + ((const uint8_t *)deliveries[i].sections - *own);
    }
    *memory = *own;
    *own = copy;
    return 0;
}

int tidings_observer_detach(tidings_observer *o, tidings_delivery *delivery, size_t count, void **memory) {
    *memory = NULL;
    if (o->in_place)
        return tidings__fail(EINVAL, "can't detach a payload that lies in center \"%s\"; hold it with tidings_hold",
                             o->center->segment.name);
    if (o->batch && (uintptr_t)delivery->payload - (uintptr_t)o->batch < TIDINGS__BATCH_SIZE)
        return detach(o, &o->batch, TIDINGS__BATCH_SIZE, delivery, count, memory);
    if (o->lent || !o->buffer) return 0;
    return detach(o, &o->buffer, o->capacity, delivery, count, memory);
}

bool tidings__buffer_begin(tidings_observer *o) { return tidings__buffer_room(o, TIDINGS__BUFFER_LEAST); }

static bool memory_is_there(tidings__segment *s, uint32_t chunk, uint64_t bytes) {
    return tidings__chunk_has_memory(s, chunk, bytes) || tidings__back_chunk(s, chunk, bytes) == 0;
}

bool tidings__chunk_copy(tidings_observer *o, uint64_t position, const tidings__record *r, uint64_t total,
                         uint64_t skipped) {
    tidings__segment *s = &o->center->segment;
    uint64_t capacity;
    const uint8_t *bytes = tidings__chunk_bytes(s, r->chunk, &capacity);
    if (!bytes) return false;
    uint64_t end = total + TIDINGS__CHUNK_HEADER;
#ifdef MUTANT_CHUNK_SIZE_UNCHECKED  // Found by: fuzz image
    end = TIDINGS__CHUNK_HEADER;
#endif
    if (end > capacity) return false;
    if (!tidings__chunk_holds(s, r->chunk, position)) return false;
    o->sections_room = 0;
    if (r->flags & TIDINGS__RECORD_SECTIONS && !(o->flags & TIDINGS_OBSERVE_BARE) && end + 8 <= capacity &&
        memory_is_there(s, r->chunk, end + 8)) {
        // A peer may change the word: the one that is copied counts.
        uint64_t first;
        tidings__bytes_read(&first, bytes + end, sizeof first);
        const uint64_t area = tidings__sections_bytes(first);
        if (end + area <= capacity) o->sections_room = area;
    }
    total += o->sections_room;
    end += o->sections_room;
    const bool in_place = r->size >= o->in_place_from && r->size > TIDINGS__BODY_SIZE && skipped == 0;
    tidings__place_leave(o);
    if (in_place && tidings__buffer_room(o, TIDINGS__BUFFER_LEAST + o->sections_room) &&
        memory_is_there(s, r->chunk, end) && tidings__place_take(o, position, r->chunk)) {
        skipped = tidings__round8(r->size);
        // The hold counts, so no poster writes here.
        tidings__bytes_read(o->buffer, bytes + TIDINGS__CHUNK_HEADER + skipped, total - skipped);
        return true;
    }
    // Without its payload a record is small, whatever its `size` is, so no memory is lent for it.
    const bool lends = r->size >= o->lent_from && skipped == 0;
    if (!(lends ? lend(o, total) : tidings__buffer_room(o, total - skipped + 8)) || !memory_is_there(s, r->chunk, end))
        return false;
    tidings__bytes_read(o->buffer, bytes + TIDINGS__CHUNK_HEADER + skipped, total - skipped);
#ifdef MUTANT_CHUNK_NOT_CHECKED_AFTER_COPY  // Found by: interleaving large
    return true;
#endif
    return tidings__chunk_holds(s, r->chunk, position);
}

bool tidings__cell_copy(tidings_observer *o, uint64_t position, uint64_t total, uint64_t skipped) {
    if (total > TIDINGS__BODY_SIZE || !tidings__buffer_room(o, TIDINGS__BODY_SIZE + 16)) return false;
    tidings__body_read(tidings__cell_at(&o->center->segment, position)->body + skipped / 8, o->buffer,
                       TIDINGS__BODY_SIZE - skipped);
    o->sections_room = TIDINGS__BODY_SIZE - total;
    return true;
}

bool tidings__record_copy(tidings_observer *o, uint64_t position, const tidings__record *r) {
    return tidings__record_copy_of(o, position, *r);
}

bool tidings__record_text(tidings_observer *o, const tidings__record *r, uint64_t position, uint32_t *name_length,
                          uint32_t *subject_length) {
    const uint8_t *text = o->buffer + tidings__text_at(o, r);
    *name_length = r->name_length;
    if (r->name_length == 0) {
        if (!tidings__name_text_at(&o->center->segment, r->name, position, o->name, name_length)) return false;
    } else {
        memcpy(o->name, text, r->name_length);
        o->name[r->name_length] = 0;
        text += tidings__round8(r->name_length);
    }
    *subject_length = r->subject_length;
    memcpy(o->subject, text, r->subject_length);
    o->subject[r->subject_length] = 0;
    return true;
}
