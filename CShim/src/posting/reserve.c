// Reservations: chunks in which a caller builds its payload. Invariant R10: encoders are user code, so they run here,
// in a chunk that this participant alone owns, and never inside a claim.
#include <errno.h>
#include <string.h>

#include "center/center.h"
#include "center/ends.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "posting/payload_chunk.h"
#include "posting/publisher.h"
#include "registry/participants.h"
#include "ring/chunk.h"
#include "ring/section.h"

// Bytes for name and subject, on top of the requested capacity. The publisher is not known when the chunk is reserved.
#define TEXT_ROOM (2 * 256u)

static void fill(const tidings_center *center, uint32_t chunk, tidings_reservation *reservation) {
    uint64_t capacity;
    uint8_t *bytes = tidings__chunk_bytes(&center->segment, chunk, &capacity);
    uint64_t usable = capacity - TIDINGS__CHUNK_HEADER - TEXT_ROOM;
    if (usable > center->segment.shape.maximum_payload) usable = center->segment.shape.maximum_payload;
    reservation->bytes = bytes + TIDINGS__CHUNK_HEADER;
    reservation->capacity = usable;
    reservation->internal = chunk;
}

static int reserve(tidings_center *center, size_t capacity, tidings_reservation *reservation) {
    int error = tidings__center_check(center, tidings__thread_self());
    if (error) return error;
    if (!center->segment.writable) return tidings__center_read_only(center, "reserve memory in");
    if (capacity > center->segment.shape.maximum_payload)
        return tidings__fail(
            EMSGSIZE,
            "can't post %zu bytes to center \"%s\": its maximum is %llu; create it with a larger maximum_payload",
            capacity, center->segment.name, (unsigned long long)center->segment.shape.maximum_payload);
    uint32_t chunk;
    uint64_t need = TIDINGS__CHUNK_HEADER + TEXT_ROOM + tidings__round8(capacity);
    error = tidings__take_chunk(center, need, 0, &chunk);
    if (error) return error;
    fill(center, chunk, reservation);
    // Only the requested bytes are certain to have memory.
    reservation->capacity = tidings__round8(capacity) < reservation->capacity ? tidings__round8(capacity)
                                                                              : reservation->capacity;
    return 0;
}

int tidings_reserve(tidings_center *center, size_t capacity, tidings_reservation *reservation) {
    return reserve(center, capacity, reservation);
}

// True if the reservation was neither posted nor abandoned, and this participant still owns its chunk.
static bool usable(const tidings_center *center, const tidings_reservation *reservation) {
    const tidings__segment *s = &center->segment;
    const uint32_t chunk = (uint32_t)reservation->internal;
    if (!reservation->bytes || chunk >= s->geometry.chunk_count) return false;
    const uint64_t word = tidings__acquire(&s->chunk_words[chunk]);
    return tidings__chunk_state(word) == TIDINGS__CHUNK_OWNED && tidings__chunk_owner(word) == center->participant;
}

int tidings_reserve_more(tidings_center *center, tidings_reservation *reservation, size_t used, size_t capacity) {
    tidings__segment *s = &center->segment;
    if (!usable(center, reservation))
        return tidings__fail(EINVAL,
                             "can't enlarge a reservation of center \"%s\" that isn't (or is no longer) this "
                             "process's; reserve anew",
                             s->name);
    if (capacity <= reservation->capacity) return 0;
    if (!tidings__center_joined(center, tidings__thread_self()))
        return tidings__fail(
            ECHILD, "can't go on with a reservation of center \"%s\" that was made before a fork; reserve anew",
            s->name);
    // If the chunk itself is large enough, it only needs more memory.
    uint64_t whole;
    uint32_t chunk = (uint32_t)reservation->internal;
    tidings__chunk_bytes(s, chunk, &whole);
    uint64_t need = TIDINGS__CHUNK_HEADER + TEXT_ROOM + tidings__round8(capacity);
    if (capacity <= s->shape.maximum_payload && need <= whole) {
        int error = tidings__back_chunk(s, chunk, need);
        if (error) return error;
        reservation->capacity = tidings__round8(capacity);
        if (reservation->capacity > s->shape.maximum_payload) reservation->capacity = s->shape.maximum_payload;
        return 0;
    }
    tidings_reservation larger;
    int error = reserve(center, capacity, &larger);
    if (error) return error;
    memcpy(larger.bytes, reservation->bytes, used);
    tidings_abandon(center, reservation);
    *reservation = larger;
    return 0;
}

// Makes room for sections behind the text: in the same chunk, or in a larger one.
static int room_for(const tidings_publisher *publisher, tidings_reservation *reservation, size_t size,
                    uint64_t sections) {
    tidings_center *center = publisher->center;
    tidings__segment *s = &center->segment;
    const uint64_t need = TIDINGS__CHUNK_HEADER + tidings__round8(size) + tidings__text_size(publisher) + sections;
    uint64_t whole;
    uint32_t chunk = (uint32_t)reservation->internal;
    tidings__chunk_bytes(s, chunk, &whole);
    if (need <= whole) return tidings__back_chunk(s, chunk, need);
    int error = tidings__take_chunk(center, need, 0, &chunk);
    if (error) return error;
    uint8_t *bytes = tidings__chunk_bytes(s, chunk, &whole) + TIDINGS__CHUNK_HEADER;
    memcpy(bytes, reservation->bytes, size);
    tidings_abandon(center, reservation);
    *reservation = (tidings_reservation){.bytes = bytes, .capacity = size, .internal = chunk};
    return 0;
}

int tidings_post_reserved(tidings_publisher *publisher, tidings_reservation *reservation, size_t size,
                          const tidings_post_options *options, uint64_t *sequence) {
    tidings_center *center = publisher->center;
    int error = tidings__center_check(center, tidings__thread_self());
    if (error) return error;
    if (!center->segment.writable) return tidings__center_read_only(center, "post to");
    tidings_post_options without;
    uint64_t sections = 0;
    if (!usable(center, reservation)) {
        error = tidings__fail(
            EINVAL,
            "can't post a reservation of center \"%s\" that isn't (or is no longer) this process's; reserve anew",
            center->segment.name);
    } else if (size > reservation->capacity) {
        error = tidings__fail(EINVAL, "can't post %zu bytes of a reservation of %zu; reserve more first", size,
                              reservation->capacity);
    } else if ((error = tidings__sections_size(options, &sections)) != 0) {
    } else if (tidings__fits_cell(publisher, tidings__round8(size) + sections) &&
               !(options && options->flags & ~TIDINGS__POST_OF_SECTIONS)) {
        // The payload fits a cell after all: the observers read it sooner there, and the chunk is free again at once.
        error = tidings_post(publisher, reservation->bytes, size, options, sequence);
    } else if (tidings__end_known(center)) {
        error = tidings__end_fail(center, "post to");
    } else if (!sections || (error = room_for(publisher, reservation, size, sections)) == 0 ||
               tidings__sections_optional(options)) {
        if (error) {
            without = *options;
            without.flags &= (uint8_t)~TIDINGS_POST_SECTIONS;
            options = &without;
        }
        reservation->bytes = NULL;
        reservation->capacity = 0;
        return tidings__post_chunk(publisher, (uint32_t)reservation->internal, size, options, sequence);
    }
    tidings_abandon(center, reservation);
    return error;
}

void tidings_abandon(tidings_center *center, tidings_reservation *reservation) {
    if (!reservation->bytes) return;
    reservation->bytes = NULL;
    reservation->capacity = 0;
#ifndef MUTANT_ABANDONED_CHUNK_KEPT  // Found by: interleaving reserving
    if (tidings__center_joined(center, tidings__thread_self()))
        tidings__chunk_release(&center->segment, center->participant, (uint32_t)reservation->internal);
#endif
}
