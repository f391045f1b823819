// What servers and callers share. Declared and described in requests.h.
#include "requests/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "center/ends.h"
#include "platform/error.h"
#include "posting/payload_chunk.h"
#include "registry/name_table.h"
#include "segment/names.h"

_Static_assert(TIDINGS__REQUESTS_PREFIX_LENGTH + TIDINGS_REQUEST_NAME_MAX == TIDINGS_NAME_MAX,
               "the longest name of requests, with its prefix, is a notification's name");

int tidings__requests_begin(tidings_center *center, const char *what, const char *name, size_t name_length) {
    tidings__clear_error();
    int error = tidings__check_text("name of requests", name, name_length, 1, TIDINGS_REQUEST_NAME_MAX);
    if (!error) error = tidings__center_check(center, tidings__thread_self());
    if (!error && !center->segment.writable) error = tidings__center_read_only(center, what);
    if (error) return error;
    // Counted first: from then on no thread withdraws.
    tidings__fetch_add(&center->requesting, 1);
    error = tidings_presence_watch(center);
    if (error) tidings__requests_end(center, tidings__acquire(&center->fork_epoch));
    return error;
}

void tidings__requests_end(tidings_center *center, uint32_t fork_epoch) {
    // A forked child that joined anew counts its own alone.
    if (fork_epoch == tidings__acquire(&center->fork_epoch)) tidings__fetch_add(&center->requesting, UINT32_MAX);
}

size_t tidings__requests_name(char text[TIDINGS_NAME_MAX + 1], const char *name, size_t name_length) {
    memcpy(text, TIDINGS_REQUESTS_PREFIX, TIDINGS__REQUESTS_PREFIX_LENGTH);
    memcpy(text + TIDINGS__REQUESTS_PREFIX_LENGTH, name, name_length);
    text[TIDINGS__REQUESTS_PREFIX_LENGTH + name_length] = 0;
    return TIDINGS__REQUESTS_PREFIX_LENGTH + name_length;
}

void *tidings__reach_call(void *array, size_t member, uint32_t *capacity, uint32_t index) {
    if (index < *capacity) return array;
    const uint32_t grown = (index / TIDINGS__CALLS_STEP + 1) * TIDINGS__CALLS_STEP;
    uint8_t *members = realloc(array, grown * member);
    if (!members) return NULL;
    memset(members + *capacity * member, 0, (grown - *capacity) * member);
    *capacity = grown;
    return members;
}

static bool make_room(tidings__copied *to, size_t size) {
    if (to->bytes && size <= to->capacity) return true;
    // As an observer's buffer: at most 12 % and a page larger than the text, and two never exist at a time.
    free(to->bytes);
    to->capacity = tidings__round16(size < TIDINGS__CALL_INLINE ? TIDINGS__CALL_INLINE : size + size / 16);
    to->bytes = malloc(to->capacity);
    return to->bytes != NULL;
}

int tidings__text_copy(tidings__segment *s, uint64_t text, uint64_t chunk, const _Atomic uint64_t *body,
                       tidings__copied *to) {
    const size_t size = tidings__call_size(text);
    if (size > (chunk ? s->shape.maximum_payload : TIDINGS__CALL_INLINE)) return -EBADMSG;
    const uint8_t *from = NULL;
    if (chunk) {
        uint64_t capacity = 0;
        if (chunk > s->geometry.chunk_count) return -EBADMSG;
        from = tidings__chunk_bytes(s, (uint32_t)chunk - 1, &capacity);
        if (size > capacity || !tidings__chunk_has_memory(s, (uint32_t)chunk - 1, size)) return -EBADMSG;
    }
    if (!make_room(to, size)) return -ENOMEM;
    if (from)
        tidings__bytes_read(to->bytes, from, size);
    else
        tidings__body_read(body, to->bytes, size);
    tidings__fence_acquire();
    return 0;
}

int tidings__text_place(tidings_center *center, const void *bytes, size_t size, uint64_t deadline,
                        _Atomic uint64_t *body, uint64_t *chunk) {
    *chunk = 0;
    if (size <= TIDINGS__CALL_INLINE) {
        tidings__body_write(body, bytes, size);
        return 0;
    }
    uint32_t taken;
    const int error = tidings__take_chunk(center, size, deadline, &taken);
    if (error) return error;
    uint64_t capacity;
    memcpy(tidings__chunk_bytes(&center->segment, taken, &capacity), bytes, size);
    *chunk = (uint64_t)taken + 1;
    return 0;
}

int tidings_served(tidings_center *center, bool (*each)(void *context, const char *name, size_t name_length),
                   void *context) {
    tidings__clear_error();
    const int error = tidings__center_check(center, tidings__thread_self());
    if (error) return error;
    tidings__segment *s = &center->segment;
    const uint64_t used = tidings__acquire(&s->header->names_used.word);
    const uint32_t count = used < s->shape.names ? (uint32_t)used : s->shape.names;
    uint64_t prefix;
    memcpy(&prefix, TIDINGS_REQUESTS_PREFIX, sizeof prefix);
    // Of all names together, as a peer can add members to each.
    uint32_t budget = TIDINGS__SERVED_CHECKS;
    for (uint32_t index = TIDINGS__NAME_FIRST; index < count && budget > 0; index++) {
        tidings__name *entry = tidings__name_at(s, index);
        if (!entry) break;
        // Most texts differ in the first word, and the rest of them is not read.
        if (!tidings__member_words(entry) || tidings__relaxed(&entry->key[0]) != prefix) continue;
        const uint64_t name = tidings__call_name(index, tidings__name_generation(entry));
        char text[TIDINGS_NAME_MAX + 1], subject[TIDINGS_SUBJECT_MAX + 1];
        uint32_t length, subject_length;
        if (!tidings__name_text(s, index, text, &length, subject, &subject_length) || subject_length != 0 ||
            length <= TIDINGS__REQUESTS_PREFIX_LENGTH ||
            memcmp(text, TIDINGS_REQUESTS_PREFIX, TIDINGS__REQUESTS_PREFIX_LENGTH) != 0)
            continue;
        if (!tidings__call_served_beside(s, name, center->participant, &budget) || budget == 0) continue;
        if (!each(context, text + TIDINGS__REQUESTS_PREFIX_LENGTH, length - TIDINGS__REQUESTS_PREFIX_LENGTH)) break;
    }
    return 0;
}
