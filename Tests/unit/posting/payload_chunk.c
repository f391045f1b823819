#include "posting/payload_chunk.h"
#include "fresh.h"
#include "ring/hold.h"

static void all_chunks(tidings__segment *s, uint64_t word) {
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) s->chunk_words[i] = word;
}

TEST(chunks_that_dead_participants_owned_are_taken_again) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    dead_participant(s, 3);
    all_chunks(s, tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, 3, TIDINGS__CHUNK_OWNED));
    uint32_t chunk = UINT32_MAX;
    CHECK_EQUAL(tidings__take_chunk(center, 600, 0, &chunk), 0);
    CHECK_EQUAL(s->chunk_words[chunk],
                tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, center->participant, TIDINGS__CHUNK_OWNED));
    CHECK_EQUAL(s->participants[3].instance, 0);
}

TEST(eviction_frees_a_chunk_if_the_ring_holds_all_of_them) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    const uint32_t count = s->geometry.chunk_count;
    for (uint64_t p = 0; p < 100; p++) unit_post(s, p, 0);
    for (uint32_t i = 0; i < count; i++) s->chunk_words[i] = tidings__chunk_word(i % 100, 0, TIDINGS__CHUNK_IN_RING);
    uint32_t chunk = UINT32_MAX;
    CHECK_EQUAL(tidings__take_chunk(center, 600, 0, &chunk), 0);
    CHECK_EQUAL(tidings__chunk_state(s->chunk_words[chunk]), TIDINGS__CHUNK_OWNED);
    CHECK(tidings__oldest(s) > 0);
}

TEST(the_error_says_that_other_posts_hold_the_chunks) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    uint32_t chunk = UINT32_MAX;
    all_chunks(s, tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, center->participant, TIDINGS__CHUNK_OWNED));
    CHECK_EQUAL(tidings__take_chunk(center, 600, 0, &chunk), -EAGAIN);
    CHECK_SAYS(tidings__last_error(), "other posts are filling all chunks");
}

TEST(retained_chunks_that_no_entry_names_are_taken_again) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    uint32_t chunk = UINT32_MAX;
    const uint32_t entry = joined(center, "a", false, TIDINGS__TO_RETAIN);
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) {
        s->chunk_words[i] = tidings__chunk_word(i, 0, TIDINGS__CHUNK_RETAINED);
        CHECK_EQUAL(tidings__back_chunk(s, i, TIDINGS__CHUNK_HEADER), 0);
        ((uint64_t *)(void *)tidings__chunk_bytes(s, i, NULL))[3] = entry;
    }
    // The entry names none of them, so reclaiming frees them all.
    unit_evict_to(s, s->geometry.chunk_count);
    CHECK_EQUAL(tidings__take_chunk(center, 600, 0, &chunk), 0);
}

TEST(a_process_that_lost_its_entry_takes_no_chunk) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    s->participants[center->participant].instance += 2;
    uint32_t chunk = UINT32_MAX;
    CHECK_EQUAL(tidings__take_chunk(center, 600, 0, &chunk), -EBADF);
    CHECK_EQUAL(s->chunk_words[0], 0);
}

TEST(the_error_names_the_process_that_holds_the_chunks) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    uint32_t chunk = UINT32_MAX;
    const uint64_t largest = s->geometry.classes[s->geometry.class_count - 1].size;
    const uint32_t first = s->geometry.classes[s->geometry.class_count - 1].first;
    CHECK_EQUAL(tidings__back_holds(s), 0);
    for (uint64_t p = 0; p < 8; p++) unit_post(s, p, 0);
    for (uint32_t i = 0; i < s->geometry.chunk_count - first; i++) {
        s->chunk_words[first + i] = tidings__chunk_word(7, 0, TIDINGS__CHUNK_IN_RING);
        if (i < TIDINGS__HOLDS) CHECK(tidings__hold_take(s, center->participant, i, first + i, 7, 1));
        if (i >= TIDINGS__HOLDS)
            s->chunk_words[first + i] = tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, 0, TIDINGS__CHUNK_OWNED);
    }
    // Whatever timeout the caller gave: a post does not wait for a holder.
    CHECK_EQUAL(tidings__take_chunk(center, largest, UINT64_MAX, &chunk), -EAGAIN);
    CHECK_EQUAL(tidings__oldest(s), 0);
    tidings_holder holder = {0};
    if (s->geometry.chunk_count - first <= 2 * TIDINGS__HOLDS) {
        CHECK_SAYS(tidings__last_error(), "whose payloads it reads in place");
        CHECK_EQUAL(tidings_last_error_holder(&holder), 0);
        CHECK(holder.own);
        CHECK_EQUAL(holder.participant, center->participant);
    }
    tidings__hold_leave(s, center->participant, 0, s->holds[center->participant].held[0]);
    CHECK_EQUAL(tidings__take_chunk(center, largest, 0, &chunk), 0);
    CHECK_EQUAL(chunk, first);
    CHECK_EQUAL(tidings__oldest(s), 8);
}
