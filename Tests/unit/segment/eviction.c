#include "segment/eviction.h"

#include "unit.h"

TEST(an_idle_eviction_word_has_no_length_whatever_its_tag) {
    const uint64_t ev = tidings__ev_idle(1000, TIDINGS__EV_LOW_MASK);
    CHECK_EQUAL(tidings__ev_start(ev), 1000);
    CHECK_EQUAL(tidings__ev_length(ev), 0);
}

TEST(a_tag_that_overflows_leaves_the_start_alone) {
    CHECK_EQUAL(tidings__ev_idle(1000, TIDINGS__EV_LOW_MASK + 1), tidings__ev_idle(1000, 0));
}

TEST(an_eviction_word_gives_back_the_range) {
    const uint64_t start = (UINT64_C(1) << 52) - 1, ev = tidings__ev_evicting(start, TIDINGS__EV_LENGTH_MAX);
    CHECK_EQUAL(tidings__ev_start(ev), start);
    CHECK_EQUAL(tidings__ev_length(ev), TIDINGS__EV_LENGTH_MAX);
}

TEST(the_oldest_position_is_the_start_of_the_range_being_evicted) {
    tidings__segment *s = unit_segment();
    s->header->eviction.word = tidings__ev_evicting(12, 4);
    CHECK_EQUAL(tidings__oldest(s), 12);
}
