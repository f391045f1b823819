#include "requests/requests.h"

#include <stdlib.h>

#include "../calls/by_hand.h"
#include "ring/chunk.h"

static int copied(tidings__segment *s, uint64_t text, uint64_t chunk) {
    tidings__copied to = {NULL, 0};
    const int error = tidings__text_copy(s, text, chunk, s->call_bodies[3].request, &to);
    free(to.bytes);
    return error;
}

TEST(a_text_is_written_and_copied_whole) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    uint8_t bytes[1000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7 + 1);
    tidings__copied to = {NULL, 0};
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint64_t chunk;
        CHECK_EQUAL(tidings__text_place(center, bytes, size, 0, s->call_bodies[3].request, &chunk), 0);
        CHECK_EQUAL(chunk != 0, size > TIDINGS__CALL_INLINE);
        CHECK_EQUAL(tidings__text_copy(s, size | UINT64_C(0xff) << 32, chunk, s->call_bodies[3].request, &to), 0);
        CHECK(to.bytes && memcmp(to.bytes, bytes, size) == 0);
        CHECK(to.capacity <= TIDINGS__CALL_INLINE || to.capacity <= size + size / 16 + 16);
        if (chunk) tidings__chunk_release(s, center->participant, (uint32_t)chunk - 1);
    }
    free(to.bytes);
}

TEST(a_text_of_a_hostile_size_is_refused) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    CHECK_EQUAL(copied(s, TIDINGS__CALL_INLINE, 0), 0);
    CHECK_EQUAL(copied(s, TIDINGS__CALL_INLINE + 1, 0), -EBADMSG);
    CHECK_EQUAL(copied(s, UINT32_MAX, 0), -EBADMSG);
    uint64_t chunk;
    static const uint8_t large[1000];
    CHECK_EQUAL(tidings__text_place(center, large, sizeof large, 0, s->call_bodies[3].request, &chunk), 0);
    CHECK_EQUAL(copied(s, 1000, chunk), 0);
    CHECK_EQUAL(copied(s, 0, chunk), 0);
    CHECK_EQUAL(copied(s, s->shape.maximum_payload + 1, chunk), -EBADMSG);
    CHECK_EQUAL(copied(s, UINT32_MAX, chunk), -EBADMSG);
}

TEST(a_text_in_a_hostile_chunk_is_refused) {
    tidings__segment *s = &center_with_calls()->segment;
    const uint64_t chunks[] = {s->geometry.chunk_count + 1, UINT64_C(1) << 32, UINT64_C(1) << 32 | 1, UINT64_MAX};
    for (int i = 0; i < 4; i++) {
        CHECK_EQUAL(copied(s, 0, chunks[i]), -EBADMSG);
        CHECK_EQUAL(copied(s, 300, chunks[i]), -EBADMSG);
    }
    // No chunk has memory yet.
    CHECK_EQUAL(copied(s, 1000, s->geometry.chunk_count), -EBADMSG);
}

TEST(a_name_of_requests_has_the_prefix) {
    char text[TIDINGS_NAME_MAX + 1], name[TIDINGS_REQUEST_NAME_MAX];
    CHECK_EQUAL(tidings__requests_name(text, "s", 1), strlen(SERVICE));
    CHECK_TEXT(text, SERVICE);
    memset(name, 'n', sizeof name);
    CHECK_EQUAL(tidings__requests_name(text, name, sizeof name), TIDINGS_NAME_MAX);
}

TEST(servers_and_callers_are_counted_until_they_end) {
    tidings_center *center = fresh_center();
    CHECK_EQUAL(tidings__requests_begin(center, "call", "", 0), -EINVAL);
    CHECK_EQUAL(center->requesting, 0);
    CHECK_EQUAL(tidings__requests_begin(center, "call", "s", 1), 0);
    CHECK_EQUAL(tidings__requests_begin(center, "call", "s", 1), 0);
    CHECK_EQUAL(center->requesting, 2);
    tidings__requests_end(center, center->fork_epoch + 1);  // of another process
    CHECK_EQUAL(center->requesting, 2);
    tidings__requests_end(center, center->fork_epoch);
    tidings__requests_end(center, center->fork_epoch);
    CHECK_EQUAL(center->requesting, 0);
    tidings_close(center);
}

typedef struct names {
    uint32_t count, most;
    char last[TIDINGS_NAME_MAX + 1];
} names;

static bool add_name(void *context, const char *name, size_t length) {
    names *n = context;
    memcpy(n->last, name, length);
    n->last[length] = 0;
    return ++n->count < n->most;
}

TEST(the_names_that_others_serve_are_listed) {
    tidings_center *center = center_with_calls();
    tidings__segment *s = &center->segment;
    names found = {.most = 100};
    (void)joined(center, "s", false, 0);      // observed, and not served
    (void)joined(center, SERVICE, false, 1);  // observed by no server
    CHECK_EQUAL(tidings_served(center, add_name, &found), 0);
    CHECK_EQUAL(found.count, 0);
    (void)server_of(center, SERVICE, 1, 2);
    (void)server_of(center, TIDINGS_REQUESTS_PREFIX "dead", 2, 3);
    (void)server_of(center, TIDINGS_REQUESTS_PREFIX "own", center->participant, 4);
    died(s, 2);
    CHECK_EQUAL(tidings_served(center, add_name, &found), 0);
    CHECK_EQUAL(found.count, 1);
    CHECK(strcmp(found.last, "s") == 0);
    (void)server_of(center, TIDINGS_REQUESTS_PREFIX "own", 3, 5);
    found = (names){.most = 1};
    CHECK_EQUAL(tidings_served(center, add_name, &found), 0);
    CHECK_EQUAL(found.count, 1);
    found = (names){.most = 100};
    s->header->names_used.word = UINT64_MAX;
    CHECK_EQUAL(tidings_served(center, add_name, &found), 0);
    CHECK_EQUAL(found.count, 2);
}
