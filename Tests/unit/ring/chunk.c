#include "ring/chunk.h"

#include "platform/error.h"
#include "ring/hold.h"
#include "unit.h"

#define OWN 3u

static tidings__chunk_turns turns;
static tidings__chunk_room room;
static uint32_t chunk = 12345;

static int take(tidings__segment *s, uint64_t size) { return tidings__chunk_take(s, OWN, size, &turns, &chunk, &room); }

static void set_all(tidings__segment *s, uint64_t word) {
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) s->chunk_words[i] = word;
}

TEST(a_chunk_word_gives_back_position_participant_and_state) {
    const uint64_t word = tidings__chunk_word(0x123456789, 0xabc, TIDINGS__CHUNK_IN_RING);
    CHECK_EQUAL(tidings__chunk_position(word), 0x123456789);
    CHECK_EQUAL(tidings__chunk_owner(word), 0xabc);
    CHECK_EQUAL(tidings__chunk_state(word), TIDINGS__CHUNK_IN_RING);
}

TEST(the_distance_of_a_chunk_counts_in_48_bits) {
    const uint64_t start = (UINT64_C(1) << 48) + 5;
    CHECK_EQUAL(tidings__chunk_distance(tidings__chunk_word(8, 0, 0), start), 3);
    CHECK_EQUAL(tidings__chunk_distance(tidings__chunk_word(4, 0, 0), start), -1);
    CHECK(tidings__chunk_before(tidings__chunk_word(4, 0, 0), start));
    CHECK(!tidings__chunk_before(tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, 0, 0), start));
}

TEST(a_taken_chunk_belongs_to_its_participant_at_no_position) {
    tidings__segment *s = unit_segment();
    CHECK_EQUAL(take(s, 100), 0);
    CHECK_EQUAL(s->chunk_words[chunk], tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, OWN, TIDINGS__CHUNK_OWNED));
    CHECK_EQUAL(turns.next[0], chunk + 1);
}

TEST(a_chunk_of_an_evicted_record_is_free) {
    tidings__segment *s = unit_segment();
    set_all(s, tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, 1, TIDINGS__CHUNK_OWNED));
    s->chunk_words[2] = tidings__chunk_word(5, 1, TIDINGS__CHUNK_IN_RING);
    unit_evict_to(s, 6);
    CHECK_EQUAL(take(s, 100), 0);
    CHECK_EQUAL(chunk, 2);
}

TEST(a_refusal_says_which_eviction_frees_a_chunk) {
    tidings__segment *s = unit_segment();
    set_all(s, tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, 1, TIDINGS__CHUNK_OWNED));
    s->chunk_words[4] = tidings__chunk_word(9, 1, TIDINGS__CHUNK_IN_RING);
    s->chunk_words[7] = tidings__chunk_word(6, 1, TIDINGS__CHUNK_IN_RING);
    unit_evict_to(s, 5);
    CHECK_EQUAL(take(s, 100), -EAGAIN);
    CHECK_EQUAL(room.least, 7);
    CHECK(room.most >= room.least);
    CHECK(!room.order);
}

TEST(no_eviction_helps_while_all_chunks_are_owned) {
    tidings__segment *s = unit_segment();
    set_all(s, tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, 1, TIDINGS__CHUNK_OWNED));
    CHECK_EQUAL(take(s, 100), -EAGAIN);
    CHECK_EQUAL(room.least, 0);
}

TEST(a_payload_larger_than_every_chunk_is_refused) {
    tidings__segment *s = unit_segment();
    const tidings__class *last = &s->geometry.classes[s->geometry.class_count - 1];
    CHECK_EQUAL(take(s, last->size + 1), -EMSGSIZE);
    CHECK_SAYS(tidings__last_error(), "maximum_payload");
}

TEST(only_its_owner_releases_a_chunk) {
    tidings__segment *s = unit_segment();
    const uint64_t owned = tidings__chunk_word(4, OWN, TIDINGS__CHUNK_OWNED);
    s->chunk_words[1] = owned;
    tidings__chunk_release(s, OWN + 1, 1);
    CHECK_EQUAL(s->chunk_words[1], owned);
    tidings__chunk_release(s, OWN, 1);
    CHECK_EQUAL(s->chunk_words[1], 0);
    s->chunk_words[1] = tidings__chunk_word(4, OWN, TIDINGS__CHUNK_RETAINED);
    tidings__chunk_release(s, OWN, 1);
    CHECK_EQUAL(tidings__chunk_state(s->chunk_words[1]), TIDINGS__CHUNK_RETAINED);
}

TEST(publishing_does_not_undo_a_promotion) {
    tidings__segment *s = unit_segment();
    tidings__chunk_claimed(s, OWN, 1, 4);
    tidings__chunk_publish(s, OWN, 1, 4);
    CHECK_EQUAL(s->chunk_words[1], tidings__chunk_word(4, 0, TIDINGS__CHUNK_IN_RING));
    const uint64_t retained = tidings__chunk_word(4, OWN, TIDINGS__CHUNK_RETAINED);
    s->chunk_words[1] = retained;
    tidings__chunk_publish(s, OWN, 1, 4);
    CHECK_EQUAL(s->chunk_words[1], retained);
}

TEST(a_chunk_holds_only_the_record_of_its_position) {
    tidings__segment *s = unit_segment();
    s->chunk_words[1] = tidings__chunk_word(4, OWN, TIDINGS__CHUNK_IN_RING);
    CHECK(tidings__chunk_holds(s, 1, 4));
    CHECK(!tidings__chunk_holds(s, 1, 5));
    CHECK(!tidings__chunk_holds(s, s->geometry.chunk_count, 4));
    s->chunk_words[1] = tidings__chunk_word(4, OWN, TIDINGS__CHUNK_FREE);
    CHECK(!tidings__chunk_holds(s, 1, 4));
}

TEST(the_copy_of_a_record_in_a_chunk_reads_as_the_record_in_its_cell) {
    tidings__segment *s = unit_segment();
    const tidings__record_header header = {5, UINT64_C(7) << 32 | 6, UINT64_C(0x0908000a0000000b),
                                           tidings__route_word(3, 4, TIDINGS__RECORD_RETAIN, 0xfe)};
    tidings__cell cell = {.body[0] = 1};
    tidings__header_write(&cell, header);
    uint64_t capacity;
    CHECK_EQUAL(tidings__back_chunk(s, 1, TIDINGS__CHUNK_HEADER), 0);
    memcpy(tidings__chunk_bytes(s, 1, &capacity), &header, sizeof header);
    tidings__record in_cell, in_chunk;
    memset(&in_cell, 0, sizeof in_cell);
    memset(&in_chunk, 0, sizeof in_chunk);
    tidings__record_read(&cell, &in_cell);
    CHECK(tidings__chunk_record(s, 1, &in_chunk));
    CHECK(memcmp(&in_cell, &in_chunk, sizeof in_cell) == 0);
}

TEST(reclaiming_frees_unposted_chunks_and_keeps_posted_ones) {
    tidings__segment *s = unit_segment();
    unit_post(s, 0, 0);
    unit_claim(s, 1, TIDINGS__W_FOREIGN | OWN | TIDINGS__W_DIED);
    const uint64_t nowhere = TIDINGS__CHUNK_NOWHERE;
    s->chunk_words[0] = tidings__chunk_word(0, OWN, TIDINGS__CHUNK_OWNED);        // its record was committed
    s->chunk_words[1] = tidings__chunk_word(1, OWN, TIDINGS__CHUNK_OWNED);        // its owner died before the commit
    s->chunk_words[2] = tidings__chunk_word(nowhere, OWN, TIDINGS__CHUNK_OWNED);  // its owner died before the claim
    s->chunk_words[3] = tidings__chunk_word(nowhere, 1, TIDINGS__CHUNK_OWNED);    // its owner lives
    const tidings__participant_set dead = tidings__participant_only(OWN);
    tidings__chunk_reclaim(s, &dead);
    CHECK_EQUAL(tidings__chunk_state(s->chunk_words[0]), TIDINGS__CHUNK_IN_RING);
    CHECK_EQUAL(s->chunk_words[1], 0);
    CHECK_EQUAL(s->chunk_words[2], 0);
    CHECK_EQUAL(tidings__chunk_state(s->chunk_words[3]), TIDINGS__CHUNK_OWNED);
}

TEST(reclaiming_frees_a_chunk_whose_position_never_comes) {
    tidings__segment *s = unit_segment();
    s->chunk_words[1] = tidings__chunk_word(100000, OWN, TIDINGS__CHUNK_OWNED);
    const tidings__participant_set dead = tidings__participant_only(OWN);
    tidings__chunk_reclaim(s, &dead);
    CHECK_EQUAL(s->chunk_words[1], 0);
}

// One participant, which holds chunks.
static void hold(tidings__segment *s, uint32_t held, uint64_t position) {
    CHECK_EQUAL(tidings__back_holds(s), 0);
    s->participants[OWN].instance = 1;
    CHECK(tidings__hold_take(s, OWN, held, held, position, 1));
}

TEST(a_held_chunk_is_passed_by_until_it_is_released) {
    tidings__segment *s = unit_segment();
    set_all(s, tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, 1, TIDINGS__CHUNK_OWNED));
    s->chunk_words[2] = tidings__chunk_word(5, 0, TIDINGS__CHUNK_IN_RING);
    hold(s, 2, 5);
    unit_evict_to(s, 6);
    CHECK_EQUAL(take(s, 100), -EAGAIN);
    CHECK_EQUAL(room.least, 0);
    tidings__hold_leave(s, OWN, 2, tidings__hold_word(2, 5));
    CHECK_EQUAL(take(s, 100), 0);
    CHECK_EQUAL(chunk, 2);
    CHECK_EQUAL(s->chunk_words[2], tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, OWN, TIDINGS__CHUNK_OWNED));
}

TEST(eviction_is_not_asked_to_free_a_held_chunk) {
    tidings__segment *s = unit_segment();
    set_all(s, tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, 1, TIDINGS__CHUNK_OWNED));
    s->chunk_words[2] = tidings__chunk_word(5, 0, TIDINGS__CHUNK_IN_RING);
    s->chunk_words[4] = tidings__chunk_word(8, 0, TIDINGS__CHUNK_IN_RING);
    hold(s, 2, 5);
    CHECK_EQUAL(take(s, 100), -EAGAIN);
    CHECK_EQUAL(room.least, 9);
    CHECK_EQUAL(room.most, 9);
}

TEST(a_dropped_value_is_free_if_no_participant_holds_it) {
    tidings__segment *s = unit_segment();
    set_all(s, tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, 1, TIDINGS__CHUNK_OWNED));
    s->chunk_words[2] = tidings__chunk_word(5, 0, TIDINGS__CHUNK_RETAINED);
    unit_evict_to(s, 6);
    hold(s, 2, 5);
    s->chunk_words[2] = tidings__chunk_freed(s->chunk_words[2]);
    CHECK_EQUAL(tidings__chunk_state(s->chunk_words[2]), TIDINGS__CHUNK_DROPPED);
    CHECK(!tidings__chunk_holds(s, 2, 5));
    CHECK_EQUAL(take(s, 100), -EAGAIN);
    tidings__hold_leave(s, OWN, 2, tidings__hold_word(2, 5));
    CHECK_EQUAL(take(s, 100), 0);
    CHECK_EQUAL(chunk, 2);
    CHECK_EQUAL(tidings__chunk_freed(tidings__chunk_word(5, 0, TIDINGS__CHUNK_RETAINED)), 0);
}
