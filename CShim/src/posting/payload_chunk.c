// Takes a chunk for a payload that does not fit a cell. Frees chunks by eviction and by reclaiming dead participants.
#include "posting/payload_chunk.h"

#include <errno.h>

#include "eviction/backpressure.h"
#include "eviction/evict.h"
#include "platform/error.h"
#include "registry/participants.h"
#include "retained/retained.h"
#include "ring/hold.h"

// Fails with -EAGAIN: a participant holds most of the chunks that are large enough. 0: none is held any more.
static int held_by(tidings_center *center, uint64_t size, uint32_t of_size) {
    tidings__segment *s = &center->segment;
    tidings__row row, most = {0};
    uint32_t holder = 0;
    for (uint32_t i = 0; i < s->shape.participants; i++) {
        tidings__holds_of(s, i, size, &row);
        if (row.count <= most.count) continue;
        most = row;
        holder = i;
    }
    if (most.count == 0) return 0;
    const uint32_t pid = tidings__relaxed(&s->participants[holder].pid);
    const int error = tidings__fail(EAGAIN,
                                    "can't post %llu bytes to center \"%s\": process %u holds %u of the %u chunks of "
                                    "this size, whose payloads it reads in place; let it release them",
                                    (unsigned long long)size, s->name, pid, most.count, of_size);
    return tidings__error_held_by(error, holder, pid, holder == center->participant);
}

// Fails with -EAGAIN: all chunks that are large enough are being filled or held, or have retained values.
static int no_chunk(tidings_center *center, uint64_t size) {
    tidings__segment *s = &center->segment;
    uint32_t of_size = 0, retained = 0, wills = 0, held = 0;
    tidings__chunk_set set;
    tidings__holds_list(s, &set);
    for (uint32_t c = 0; c < s->geometry.class_count; c++) {
        const tidings__class *class = &s->geometry.classes[c];
        if (class->size < size) continue;
        of_size += class->count;
        for (uint32_t i = class->first; i < class->first + class->count; i++) {
            const uint32_t state = tidings__chunk_state(tidings__acquire(&s->chunk_words[i]));
            retained += state == TIDINGS__CHUNK_RETAINED;
            wills += state == TIDINGS__CHUNK_WILL;
            // A value that is held stays if it is released.
            held += state != TIDINGS__CHUNK_RETAINED && tidings__chunk_set_has(&set, i);
        }
    }
    if (held > retained + wills && held > of_size / 3) {
        const int error = held_by(center, size, of_size);
        if (error) return error;
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

// Other posts may take the chunks that eviction frees for this one. If they do so this often, the call
// fails as if they had taken them before. Under an emulator, honest posts do so for 17 rounds in a row.
#define ROUNDS_MOST 1000u

int tidings__take_chunk(tidings_center *center, uint64_t size, uint64_t deadline, uint32_t *chunk) {
    tidings__segment *s = &center->segment;
    bool reclaimed = false;
    tidings__effort effort = {0};
    int place = tidings__center_place(center);
    if (place) return place;
    for (;;) {
        tidings__chunk_room room;
        int error = tidings__chunk_take(s, center->participant, size, &center->chunk_turns, chunk, &room);
        if (error != -EAGAIN) return error;
        uint32_t holder = 0;
        if (room.least) {
            if (tidings__effort_over(&effort, ROUNDS_MOST)) return no_chunk(center, size);
            error = tidings__evict_to(center, room.most, &effort, &holder);
            if (error == -EAGAIN && (int64_t)(tidings__oldest(s) - room.least) >= 0)
                // Eviction stopped before `most`, but at or after `least`, so it freed a chunk.
                continue;
            if (error == -EAGAIN && room.order) {
                // Not all chunks were checked, and one may be free. The next try checks all, before a lossless observer
                // holds this post back.
                tidings__set_relaxed(room.order, 0);
                continue;
            }
            if (error == -EAGAIN) error = tidings__held_back(center, holder, deadline, &effort);
            if (error) return error;
            continue;
        }
        if (reclaimed) return no_chunk(center, size);
        // All chunks are being filled or held, or have retained values. Some of the owners and holders may be dead.
        reclaimed = true;
        (void)tidings__reclaim_dead(center);
        tidings__reclaim_retained(center);
    }
}
