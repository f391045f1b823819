// Takes a chunk for a payload that does not fit a cell. Frees chunks by eviction and by reclaiming dead participants.
#include "posting/payload_chunk.h"

#include <errno.h>

#include "eviction/backpressure.h"
#include "eviction/evict.h"
#include "platform/error.h"
#include "registry/participants.h"
#include "retained/retained.h"
#include "ring/chunk.h"

// Fails with -EAGAIN: all chunks that are large enough are being filled, or hold retained values.
static int no_chunk(const tidings__segment *s, uint64_t size) {
    uint32_t of_size = 0, retained = 0, wills = 0;
    for (uint32_t c = 0; c < s->geometry.class_count; c++) {
        const tidings__class *class = &s->geometry.classes[c];
        if (class->size < size) continue;
        of_size += class->count;
        for (uint32_t i = 0; i < class->count; i++) {
            const uint32_t state = tidings__chunk_state(tidings__acquire(&s->chunk_words[class->first + i]));
            retained += state == TIDINGS__CHUNK_RETAINED;
            wills += state == TIDINGS__CHUNK_WILL;
        }
    }
    if (2 * (retained + wills) < of_size)
        return tidings__fail(EAGAIN,
                             "can't post %llu bytes to center \"%s\": other posts are filling all chunks of this size; "
                             "try again",
                             (unsigned long long)size, s->name);
    if (wills > 0)
        return tidings__fail(EAGAIN,
                             "can't post %llu bytes to center \"%s\": of the %u chunks of this size, %u hold retained "
                             "values and %u last wills; clear some values, or withdraw participants with wills",
                             (unsigned long long)size, s->name, of_size, retained, wills);
    return tidings__fail(EAGAIN,
                         "can't post %llu bytes to center \"%s\": of the %u chunks of this size, %u hold retained "
                         "values; clear some",
                         (unsigned long long)size, s->name, of_size, retained);
}

int tidings__take_chunk(tidings_center *center, uint64_t size, uint64_t deadline, uint32_t *chunk) {
    tidings__segment *s = &center->segment;
    bool reclaimed = false;
    uint32_t passed = 0;
    int place = tidings__center_place(center);
    if (place) return place;
    for (;;) {
        tidings__chunk_room room;
        int error = tidings__chunk_take(s, center->participant, size, &center->chunk_turns, chunk, &room);
        if (error != -EAGAIN) return error;
        uint32_t holder = 0;
        if (room.least) {
            error = tidings__evict_to(center, room.most, &holder);
            if (error == -EAGAIN && (int64_t)(tidings__oldest(s) - room.least) >= 0)
                // Eviction stopped before `most`, but at or after `least`, so it freed a chunk.
                continue;
            if (error == -EAGAIN && room.order) {
                // Not all chunks were checked, and one may be free. The next try checks all, before a lossless observer
                // holds this post back.
                tidings__set_relaxed(room.order, 0);
                continue;
            }
            if (error == -EAGAIN) error = tidings__held_back(center, holder, deadline, &passed);
            if (error) return error;
            continue;
        }
        if (reclaimed) return no_chunk(s, size);
        // All chunks are being filled, or hold retained values. Some of their owners may be dead.
        reclaimed = true;
        (void)tidings__reclaim_dead(center);
        tidings__reclaim_retained(center);
    }
}
