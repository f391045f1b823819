#include "fresh.h"

#include "registry/doorbell.h"
#include "ring/record.h"
#include "ring/verdict.h"

static int post(tidings_publisher *publisher, const char *text) {
    return tidings_post(publisher, text, strlen(text), NULL, NULL);
}

TEST(a_post_commits_its_record_and_leaves_the_post) {
    tidings_center *center = fresh_center();
    CHECK_EQUAL(post(opened_publisher(center, "name"), "payload"), 0);
    const tidings__cell *cell = &center->segment.cells[0];
    CHECK_EQUAL(tidings__slot_status(&center->segment, 0), TIDINGS__VALID);
    tidings__record record;
    tidings__record_read(cell, &record);
    CHECK_EQUAL(record.size, 7);
    CHECK_EQUAL(record.name, TIDINGS__NAME_NONE);
    CHECK_EQUAL(record.name_length, 4);
    CHECK(memcmp((const void *)cell->body, "payload\0name", 12) == 0);
    CHECK_EQUAL(tidings__thread_self()->inside, 0);
}

TEST(a_post_under_an_observed_name_carries_its_entry_and_no_text) {
    tidings_center *center = fresh_center();
    const uint32_t entry = joined(center, "name", false, 1);
    CHECK_EQUAL(post(opened_publisher(center, "name"), "payload"), 0);
    tidings__record record;
    tidings__record_read(&center->segment.cells[0], &record);
    CHECK_EQUAL(record.name, entry);
    CHECK_EQUAL(record.name_length, 0);
}

TEST(a_post_rings_the_observers_of_its_name) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    (void)joined(center, "name", false, 1);
    (void)joined(center, "other", false, 2);
    (void)tidings__doorbell_announce(s, 1);
    (void)tidings__doorbell_announce(s, 2);
    CHECK_EQUAL(post(opened_publisher(center, "name"), "payload"), 0);
    CHECK_EQUAL(*tidings__doorbell(s, 1) & TIDINGS__ASLEEP, 0);
    CHECK_EQUAL(*tidings__doorbell(s, 2) & TIDINGS__ASLEEP, TIDINGS__ASLEEP);
}

TEST(a_post_rings_the_observers_of_a_prefix_and_of_all_names) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    (void)joined(center, "na", true, 1);
    CHECK_EQUAL(tidings__name_join_all(s, 2), 0);
    (void)tidings__doorbell_announce(s, 1);
    (void)tidings__doorbell_announce(s, 2);
    CHECK_EQUAL(post(opened_publisher(center, "name"), "payload"), 0);
    CHECK_EQUAL(*tidings__doorbell(s, 1) & TIDINGS__ASLEEP, 0);
    CHECK_EQUAL(*tidings__doorbell(s, 2) & TIDINGS__ASLEEP, 0);
}

TEST(a_payload_that_no_cell_takes_is_posted_in_a_chunk) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    char large[600];
    memset(large, 'x', sizeof large);
    CHECK_EQUAL(tidings_post(opened_publisher(center, "name"), large, sizeof large, NULL, NULL), 0);
    tidings__record record;
    tidings__record_read(&s->cells[0], &record);
    CHECK_EQUAL(record.flags, TIDINGS__RECORD_CHUNK);
    CHECK_EQUAL(s->chunk_words[record.chunk], tidings__chunk_word(0, center->participant, TIDINGS__CHUNK_IN_RING));
    const uint8_t *bytes = tidings__chunk_bytes(s, record.chunk, NULL);
    CHECK(memcmp(bytes + TIDINGS__CHUNK_HEADER, large, sizeof large) == 0);
}

TEST(a_post_evicts_from_a_full_ring) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    for (uint64_t p = 0; p < s->shape.slots; p++) unit_post(s, p, 0);
    uint64_t sequence = 0;
    CHECK_EQUAL(tidings_post(opened_publisher(center, "name"), "x", 1, NULL, &sequence), 0);
    CHECK_EQUAL(sequence, s->shape.slots);
    CHECK(tidings__oldest(s) > 0);
}

TEST(an_abandoned_reservation_frees_its_chunk) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    tidings_reservation reservation = {0};
    CHECK_EQUAL(tidings_reserve(center, 600, &reservation), 0);
    CHECK_EQUAL(tidings__chunk_state(s->chunk_words[reservation.internal]), TIDINGS__CHUNK_OWNED);
    tidings_abandon(center, &reservation);
    CHECK_EQUAL(s->chunk_words[reservation.internal], 0);
}
