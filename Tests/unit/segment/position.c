#include "segment/position.h"

#include "ring/record.h"
#include "unit.h"

TEST(a_position_lies_in_a_slot_and_in_a_lap_that_counts_from_1) {
    tidings__segment *s = unit_ring(4);
    CHECK(tidings__cell_at(s, 6) == &s->cells[2]);
    CHECK_EQUAL(tidings__lap_at(s, 0), 1);
    CHECK_EQUAL(tidings__lap_at(s, 3), 1);
    CHECK_EQUAL(tidings__lap_at(s, 4), 2);
}

TEST(laps_are_compared_across_the_end_of_their_31_bits) {
    const uint64_t last = TIDINGS__LAP_MASK << TIDINGS__W_LAP_SHIFT, first = 0;
    CHECK_EQUAL(tidings__lap_ahead(last, TIDINGS__LAP_MASK), 0);
    CHECK_EQUAL(tidings__lap_ahead(first, TIDINGS__LAP_MASK), 1);
    CHECK_EQUAL(tidings__lap_ahead(last, 0), -1);
}

TEST(the_frontier_is_the_first_position_that_is_not_claimed) {
    tidings__segment *s = unit_segment();
    CHECK_EQUAL(tidings__frontier(s, 0), 0);
    for (uint64_t p = 0; p < 100; p++) unit_claim(s, p, UNIT_OWNER);
    CHECK_EQUAL(tidings__frontier(s, 0), 100);
    CHECK_EQUAL(tidings__frontier(s, 37), 100);
    CHECK_EQUAL(tidings__frontier(s, 100), 100);
}

TEST(the_frontier_of_a_full_ring_is_a_lap_after_the_oldest_position) {
    tidings__segment *s = unit_ring(8);
    for (uint64_t p = 0; p < 11; p++) unit_claim(s, p, UNIT_OWNER);
    unit_evict_to(s, 3);
    CHECK_EQUAL(tidings__frontier(s, 3), 11);
}

TEST(a_search_from_outside_the_ring_begins_at_the_oldest_position) {
    tidings__segment *s = unit_ring(8);
    for (uint64_t p = 0; p < 6; p++) unit_claim(s, p, UNIT_OWNER);
    unit_evict_to(s, 2);
    CHECK_EQUAL(tidings__frontier(s, 0), 6);
    CHECK_EQUAL(tidings__frontier(s, 100), 6);
}

TEST(the_ring_may_hold_records_of_the_entries_that_it_names) {
    tidings__segment *s = unit_ring(8);
    unit_post(s, 0, tidings__route_word(5, 6, 0, 0));
    unit_post(s, 1, tidings__route_word(7, 0, TIDINGS__RECORD_RETAIN, 0));
    CHECK(tidings__ring_may_hold(s, 5, false));
    CHECK(tidings__ring_may_hold(s, 6, false));
    CHECK(!tidings__ring_may_hold(s, 5, true));
    CHECK(tidings__ring_may_hold(s, 7, true));
    CHECK(!tidings__ring_may_hold(s, 8, false));
    unit_evict_to(s, 2);
    CHECK(!tidings__ring_may_hold(s, 7, true));
}

TEST(a_claimed_position_may_hold_a_record_of_every_entry) {
    tidings__segment *s = unit_ring(8);
    unit_claim(s, 0, UNIT_OWNER);
    CHECK(tidings__ring_may_hold(s, 5, true));
    unit_claim(s, 0, UNIT_OWNER | TIDINGS__W_DIED);
    CHECK(!tidings__ring_may_hold(s, 5, true));
    unit_claim(s, 0, UNIT_OWNER | TIDINGS__W_SKIPPED);
    CHECK(!tidings__ring_may_hold(s, 5, true));
}

TEST(the_entries_of_all_retained_records_are_found_by_one_look) {
    tidings__segment *s = unit_ring(8);
    unit_post(s, 0, tidings__route_word(5, 6, TIDINGS__RECORD_RETAIN, 0));
    unit_post(s, 1, tidings__route_word(7, 0, 0, 0));
    unit_post(s, 2, tidings__route_word(s->shape.names, 0, TIDINGS__RECORD_RETAIN, 0));
    uint64_t entries[2] = {0};
    CHECK(!tidings__ring_values(s, entries));
    CHECK_EQUAL(entries[0] & ~UINT64_C(1), 1 << 5 | 1 << 6);
    CHECK_EQUAL(entries[1], 0);
    unit_claim(s, 3, UNIT_OWNER);
    CHECK(tidings__ring_values(s, entries));
}
