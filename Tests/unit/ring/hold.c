#include "ring/hold.h"

#include "unit.h"

#define OWN 3u
#define PEER 5u

static tidings__segment *s;

// Two living participants, and one chunk with this word. Positions 0 to 9 are in the ring.
static void begin(uint64_t word) {
    s = unit_segment();
    CHECK_EQUAL(tidings__back_holds(s), 0);
    s->participants[OWN].instance = s->participants[PEER].instance = 1;
    s->chunk_words[2] = word;
}

static uint64_t in_ring(uint64_t position) { return tidings__chunk_word(position, 0, TIDINGS__CHUNK_IN_RING); }

TEST(a_hold_is_an_entry_and_the_held_bit) {
    begin(in_ring(4));
    CHECK(tidings__hold_take(s, OWN, 1, 2, 4, 77));
    CHECK_EQUAL(s->holds[OWN].held[1], tidings__hold_word(2, 4));
    CHECK_EQUAL(s->holds[OWN].held_since[1], 77);
    CHECK_EQUAL(s->holds[OWN].held_end, 2);
    CHECK_EQUAL(s->header->holds_used.word, OWN + 1);
    CHECK_EQUAL(s->chunk_words[2], in_ring(4) | TIDINGS__CHUNK_HELD);
    CHECK(tidings__hold_found(s, 2, s->chunk_words[2]));
    CHECK(!tidings__hold_found(s, 3, s->chunk_words[2]));
    CHECK(!tidings__hold_found(s, 2, in_ring(5)));
}

TEST(a_released_hold_leaves_the_held_bit_alone) {
    begin(in_ring(4));
    CHECK(tidings__hold_take(s, OWN, 1, 2, 4, 77));
    tidings__hold_leave(s, OWN, 1, tidings__hold_word(2, 4));
    CHECK_EQUAL(s->holds[OWN].held[1], 0);
    CHECK_EQUAL(s->chunk_words[2], in_ring(4) | TIDINGS__CHUNK_HELD);
    CHECK(!tidings__hold_found(s, 2, s->chunk_words[2]));
}

TEST(releasing_clears_no_other_hold_of_the_entry) {
    begin(in_ring(4));
    s->holds[OWN].held[1] = tidings__hold_word(7, 8);
    tidings__hold_leave(s, OWN, 1, tidings__hold_word(2, 4));
    CHECK_EQUAL(s->holds[OWN].held[1], tidings__hold_word(7, 8));
    CHECK(!tidings__hold_take(s, OWN, 1, 2, 4, 77));
    CHECK_EQUAL(s->holds[OWN].held[1], tidings__hold_word(7, 8));
}

TEST(a_holder_publishes_a_chunk_whose_owner_has_not) {
    begin(tidings__chunk_word(4, PEER, TIDINGS__CHUNK_OWNED));
    CHECK(tidings__hold_take(s, OWN, 0, 2, 4, 1));
    CHECK_EQUAL(s->chunk_words[2], in_ring(4) | TIDINGS__CHUNK_HELD);
    tidings__chunk_publish(s, PEER, 2, 4);
    CHECK_EQUAL(s->chunk_words[2], in_ring(4) | TIDINGS__CHUNK_HELD);
}

TEST(a_chunk_that_has_another_record_is_not_held) {
    begin(in_ring(5));
    CHECK(!tidings__hold_take(s, OWN, 0, 2, 4, 1));
    CHECK_EQUAL(s->holds[OWN].held[0], 0);
    CHECK_EQUAL(s->chunk_words[2], in_ring(5));
    s->chunk_words[2] = tidings__chunk_word(4, 0, TIDINGS__CHUNK_FREE);
    CHECK(!tidings__hold_take(s, OWN, 0, 2, 4, 1));
    s->chunk_words[2] = tidings__chunk_word(4, 0, TIDINGS__CHUNK_DROPPED) | TIDINGS__CHUNK_HELD;
    CHECK(!tidings__hold_take(s, OWN, 0, 2, 4, 1));
    CHECK(!tidings__hold_take(s, OWN, 0, s->geometry.chunk_count, 4, 1));
    CHECK_EQUAL(s->holds[OWN].held[0], 0);
}

TEST(an_evicted_record_is_held_only_if_it_is_retained) {
    begin(in_ring(4));
    unit_evict_to(s, 5);
    CHECK(!tidings__hold_take(s, OWN, 0, 2, 4, 1));
    CHECK_EQUAL(s->holds[OWN].held[0], 0);
    s->chunk_words[2] = tidings__chunk_word(4, 0, TIDINGS__CHUNK_RETAINED);
    CHECK(tidings__hold_take(s, OWN, 0, 2, 4, 1));
    CHECK_EQUAL(s->chunk_words[2], tidings__chunk_word(4, 0, TIDINGS__CHUNK_RETAINED) | TIDINGS__CHUNK_HELD);
}

TEST(holds_of_a_participant_that_is_declared_dead_do_not_count) {
    begin(in_ring(4));
    CHECK(tidings__hold_take(s, PEER, 0, 2, 4, 1));
    tidings__chunk_set held;
    tidings__holds_list(s, &held);
    CHECK(tidings__chunk_set_has(&held, 2));
    s->participants[PEER].instance = 2;
    CHECK(!tidings__hold_found(s, 2, s->chunk_words[2]));
    tidings__holds_list(s, &held);
    CHECK(!tidings__chunk_set_has(&held, 2));
}

TEST(reclaiming_clears_the_rows_of_dead_participants_alone) {
    begin(in_ring(4));
    CHECK(tidings__hold_take(s, PEER, 0, 2, 4, 1));
    CHECK(tidings__hold_take(s, OWN, 0, 2, 4, 1));
    const tidings__participant_set dead = tidings__participant_only(PEER);
    tidings__holds_reclaim(s, &dead);
    CHECK_EQUAL(s->holds[PEER].held[0], 0);
    CHECK_EQUAL(s->holds[PEER].held_end, 0);
    CHECK_EQUAL(s->holds[OWN].held[0], tidings__hold_word(2, 4));
}

TEST(holds_are_counted_by_the_size_of_their_chunks) {
    begin(in_ring(4));
    const tidings__class *large = &s->geometry.classes[s->geometry.class_count - 1];
    s->chunk_words[large->first] = in_ring(5);
    CHECK(tidings__hold_take(s, OWN, 0, 2, 4, 20));
    CHECK(tidings__hold_take(s, OWN, 4, large->first, 5, 10));
    s->holds[OWN].held[1] = tidings__hold_word(3, 4);  // the chunk has no record
    tidings__row row;
    tidings__holds_of(s, OWN, 0, &row);
    CHECK_EQUAL(row.count, 2);
    CHECK_EQUAL(row.since, 10);
    const uint64_t bytes = s->geometry.classes[0].size + large->size;
    CHECK_EQUAL(row.bytes, bytes);
    tidings__holds_of(s, OWN, large->size, &row);
    CHECK_EQUAL(row.count, s->geometry.class_count > 1 ? 1 : 2);
    tidings__holds_of(s, PEER, 0, &row);
    CHECK_EQUAL(row.count, 0);
}

TEST(ends_that_a_peer_made_up_are_bounded) {
    begin(in_ring(4) | TIDINGS__CHUNK_HELD);
    s->header->holds_used.word = UINT64_MAX;
    s->holds[OWN].held_end = UINT64_MAX;
    s->holds[OWN].held[TIDINGS__HOLDS - 1] = tidings__hold_word(2, 4);
    s->holds[OWN].held[0] = UINT64_MAX;
    CHECK(tidings__hold_found(s, 2, s->chunk_words[2]));
    tidings__chunk_set held;
    tidings__holds_list(s, &held);
    CHECK(tidings__chunk_set_has(&held, 2));
    tidings__row row;
    tidings__holds_of(s, OWN, 0, &row);
    CHECK_EQUAL(row.count, 1);
}
