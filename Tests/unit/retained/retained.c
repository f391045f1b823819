#include "retained/retained.h"

#include "fresh.h"

static tidings__segment *s;
static uint32_t a;

static void begin(void) {
    tidings_center *center = fresh_center();
    s = &center->segment;
    a = joined(center, "a", false, TIDINGS__TO_RETAIN);
}

// A retained record of "a" whose payload is in this chunk; flags as in a route word.
static void post_value(uint64_t position, uint32_t chunk, uint8_t more) {
    unit_post(s, position, tidings__route_word(a, 0, TIDINGS__RECORD_RETAIN | more, 0));
    if (more & TIDINGS__RECORD_CLEAR) return;
    s->cells[position].route |= (uint64_t)TIDINGS__RECORD_CHUNK << 24;
    s->cells[position].body[0] = chunk;
    s->chunk_words[chunk] = tidings__chunk_word(position, 0, TIDINGS__CHUNK_IN_RING);
}
static uint32_t state_of(uint32_t chunk) { return tidings__chunk_state(s->chunk_words[chunk]); }
static uint64_t word(uint64_t position, uint32_t chunk) { return position << 16 | (chunk + 1); }

TEST(an_evicted_value_moves_to_the_entry_of_its_name) {
    begin();
    post_value(0, 5, 0);
    tidings__retained_promote(s, 0);
    CHECK_EQUAL(s->names[a].retained, word(0, 5));
    CHECK_EQUAL(state_of(5), TIDINGS__CHUNK_RETAINED);
    tidings__retained_promote(s, 0);
    CHECK_EQUAL(s->names[a].retained, word(0, 5));
    CHECK_EQUAL(state_of(5), TIDINGS__CHUNK_RETAINED);
}

TEST(a_newer_value_frees_the_chunk_of_the_older) {
    begin();
    post_value(1, 5, 0);
    post_value(2, 6, 0);
    tidings__retained_promote(s, 1);
    tidings__retained_promote(s, 2);
    CHECK_EQUAL(s->names[a].retained, word(2, 6));
    CHECK_EQUAL(state_of(5), TIDINGS__CHUNK_FREE);
    CHECK_EQUAL(state_of(6), TIDINGS__CHUNK_RETAINED);
}

TEST(an_older_value_does_not_replace_a_newer_and_frees_its_chunk) {
    begin();
    post_value(1, 5, 0);
    post_value(2, 6, 0);
    tidings__retained_promote(s, 2);
    tidings__retained_promote(s, 1);
    CHECK_EQUAL(s->names[a].retained, word(2, 6));
    CHECK_EQUAL(state_of(5), TIDINGS__CHUNK_FREE);
}

TEST(clearing_a_value_leaves_its_position_and_no_chunk) {
    begin();
    post_value(1, 5, 0);
    post_value(2, 0, TIDINGS__RECORD_CLEAR);
    tidings__retained_promote(s, 1);
    tidings__retained_promote(s, 2);
    CHECK_EQUAL(s->names[a].retained, UINT64_C(2) << 16 | TIDINGS__RETAINED_EXPECTED);
    CHECK_EQUAL(state_of(5), TIDINGS__CHUNK_FREE);
}

TEST(a_record_that_names_no_chunk_of_its_own_is_not_promoted) {
    begin();
    post_value(1, 5, 0);
    s->cells[1].body[0] = s->geometry.chunk_count;
    tidings__retained_promote(s, 1);
    CHECK_EQUAL(s->names[a].retained, TIDINGS__RETAINED_EXPECTED);
    s->cells[1].body[0] = 6;  // another record's
    s->chunk_words[6] = tidings__chunk_word(7, 0, TIDINGS__CHUNK_IN_RING);
    tidings__retained_promote(s, 1);
    CHECK_EQUAL(s->names[a].retained, TIDINGS__RETAINED_EXPECTED);
    CHECK_EQUAL(state_of(6), TIDINGS__CHUNK_IN_RING);
}

TEST(the_newest_value_in_the_ring_is_found_before_that_of_the_entry) {
    begin();
    uint64_t position;
    uint32_t chunk;
    tidings__record record;
    CHECK(!tidings__retained_find(s, a, 0, UINT64_MAX, &position, &chunk, &record));
    post_value(0, 5, 0);
    post_value(1, 6, 0);
    CHECK(tidings__retained_find(s, a, 0, UINT64_MAX, &position, &chunk, &record));
    CHECK_EQUAL(position, 1);
    CHECK_EQUAL(chunk, 6);
    CHECK(tidings__retained_find(s, a, 0, 1, &position, &chunk, &record));
    CHECK_EQUAL(chunk, 5);
    post_value(2, 0, TIDINGS__RECORD_CLEAR);
    CHECK(!tidings__retained_find(s, a, 0, UINT64_MAX, &position, &chunk, &record));
}

TEST(a_retained_word_of_an_impossible_chunk_says_nothing) {
    begin();
    uint64_t position;
    uint32_t chunk;
    CHECK(!tidings__retained_in(s, 0, &position, &chunk));
    CHECK(!tidings__retained_in(s, UINT64_C(4) << 16 | TIDINGS__RETAINED_EXPECTED, &position, &chunk));
    CHECK(!tidings__retained_in(s, word(4, s->geometry.chunk_count), &position, &chunk));
    unit_evict_to(s, 6);
    CHECK(tidings__retained_in(s, word(4, 3), &position, &chunk));
    CHECK_EQUAL(position, 4);
    CHECK_EQUAL(chunk, 3);
}

TEST(a_value_that_may_be_held_stays_so_when_it_is_promoted_and_is_dropped_when_it_is_replaced) {
    begin();
    post_value(1, 5, 0);
    post_value(2, 6, 0);
    s->chunk_words[5] |= TIDINGS__CHUNK_HELD;
    tidings__retained_promote(s, 1);
    CHECK_EQUAL(s->chunk_words[5], tidings__chunk_word(1, 0, TIDINGS__CHUNK_RETAINED) | TIDINGS__CHUNK_HELD);
    tidings__retained_promote(s, 2);
    CHECK_EQUAL(s->chunk_words[5], tidings__chunk_word(1, 0, TIDINGS__CHUNK_DROPPED) | TIDINGS__CHUNK_HELD);
    // A late evicting thread.
    tidings__retained_promote(s, 1);
    CHECK_EQUAL(s->chunk_words[5], tidings__chunk_word(1, 0, TIDINGS__CHUNK_DROPPED) | TIDINGS__CHUNK_HELD);
    CHECK_EQUAL(s->names[a].retained, word(2, 6));
}

TEST(a_promoted_chunk_has_no_owner_in_the_place_of_the_held_bit) {
    begin();
    post_value(1, 5, 0);
    s->chunk_words[5] = tidings__chunk_word(1, 0xfff, TIDINGS__CHUNK_OWNED);
    tidings__retained_promote(s, 1);
    CHECK_EQUAL(s->chunk_words[5], tidings__chunk_word(1, 0, TIDINGS__CHUNK_RETAINED));
}
