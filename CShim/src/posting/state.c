// State of a name: sets, clears and reads its retained value.
#include <errno.h>
#include <string.h>

#include "center/center.h"
#include "platform/error.h"
#include "posting/publisher.h"
#include "retained/retained.h"
#include "ring/chunk.h"

// Tries to copy a value that other processes replace meanwhile. That takes a whole ring of posts during each copy.
#define COPIES 16

__attribute__((noinline, cold)) int tidings__state_subject(const tidings_publisher *publisher) {
    return tidings__fail(
        EINVAL,
        "can't retain or read a value of \"%.*s\" for subject \"%.*s\": a name has one value, without a "
        "subject; put the subject into the name",
        (int)publisher->key.name_length, publisher->key.name, (int)publisher->key_subject.subject_length,
        publisher->key_subject.subject);
}

int tidings_state_set(tidings_publisher *publisher, const void *payload, size_t size,
                      const tidings_post_options *options, uint64_t *sequence) {
    tidings_post_options with = options ? *options : (tidings_post_options){0};
    with.flags |= TIDINGS_POST_RETAIN;
    if (!payload && size == 0) with.flags |= TIDINGS__POST_CLEAR;
    return tidings_post(publisher, payload ? payload : "", size, &with, sequence);
}

int tidings_state_get(tidings_publisher *publisher, void *buffer, size_t *size, uint8_t *format, uint64_t *sequence) {
    tidings__clear_error();
    tidings_center *center = publisher->center;
    tidings__segment *s = &center->segment;
    int error = tidings__center_check(center, tidings__thread_self());
    if (!error && publisher->subject_words) error = tidings__state_subject(publisher);
    if (error) return error;
    tidings__record record;
    uint64_t generation = 0;
    uint32_t entry = tidings__name_find_now(s, &publisher->key, &generation);
    uint64_t position, failed = UINT64_MAX;
    uint32_t chunk;
    // A further round is needed only if the value was replaced while it was copied. If a round finds the same position
    // as the one before, that value is unreadable, and the loop ends.
    int round = 0;
    for (; entry && round < COPIES; round++) {
        if (!tidings__retained_find(s, entry, 0, UINT64_MAX, &position, &chunk, &record) || position == failed) break;
        failed = position;
        uint64_t capacity;
        const uint8_t *bytes = tidings__chunk_bytes(s, chunk, &capacity);
        if (!bytes || record.size + (uint64_t)TIDINGS__CHUNK_HEADER > capacity) continue;
        size_t room = buffer ? *size : 0;
#ifdef MUTANT_STATE_LARGER_THAN_BUFFER  // Found by: fuzz image
        room = SIZE_MAX;
#endif
        if (record.size > 0 && record.size <= room) {
            if (tidings__back_chunk(s, chunk, TIDINGS__CHUNK_HEADER + (uint64_t)record.size) != 0) continue;
            tidings__bytes_read(buffer, bytes + TIDINGS__CHUNK_HEADER, record.size);
        }
        if (!tidings__chunk_holds(s, chunk, position)) continue;
#ifndef MUTANT_VALUE_OF_ANOTHER_NAME  // Found by: interleaving value_of_another_name
        // If the entry serves another name now, the value may be that one's.
        if (!tidings__name_still(s, entry, generation)) {
            entry = tidings__name_find_now(s, &publisher->key, &generation);
            failed = UINT64_MAX;
            continue;
        }
#endif
        *size = record.size;
        if (format) *format = record.format;
        if (sequence) *sequence = position;
        if (record.size <= room) return 0;
        return tidings__fail(ENOBUFS,
                             "can't copy the state of \"%.*s\": it has %u bytes, the buffer %zu; pass a larger one",
                             (int)publisher->key.name_length, publisher->key.name, record.size, room);
    }
    if (round == COPIES)
        return tidings__fail(EBUSY,
                             "can't read the state of \"%.*s\" in center \"%s\": other processes replaced it each time "
                             "it was copied; try again",
                             (int)publisher->key.name_length, publisher->key.name, s->name);
    return tidings__fail(
        ENOENT, "can't read the state of \"%.*s\" in center \"%s\": none was set, or it was cleared; set it first",
        (int)publisher->key.name_length, publisher->key.name, s->name);
}
