#include "registry/tally.h"

#include "unit.h"

TEST(a_range_is_counted_once_however_many_add_it) {
    tidings__tally tally = {.count = 5, .end = 64};
    tidings__tally_add(&tally, 3, 128);
    tidings__tally_add(&tally, 3, 128);
    CHECK_EQUAL(tally.count, 8);
    CHECK_EQUAL(tally.end, 128);
}

TEST(an_earlier_range_is_not_added_to_a_later_tally) {
    tidings__tally tally = {.count = 5, .end = 128};
    tidings__tally_add(&tally, 3, 64);
    CHECK_EQUAL(tally.count, 5);
    CHECK_EQUAL(tally.end, 128);
}

TEST(a_tally_is_read_as_a_pair) {
    const tidings__tally tally = {.count = 5, .end = 128};
    uint64_t count, end;
    tidings__tally_read(&tally, &count, &end);
    CHECK_EQUAL(count, 5);
    CHECK_EQUAL(end, 128);
}

TEST(a_restarted_tally_counts_from_0_and_never_ends_earlier) {
    tidings__tally tally = {.count = 5, .end = 128};
    tidings__tally_restart(&tally, 64);
    CHECK_EQUAL(tally.count, 0);
    CHECK_EQUAL(tally.end, 128);
    tidings__tally_restart(&tally, 192);
    CHECK_EQUAL(tally.count, 0);
    CHECK_EQUAL(tally.end, 192);
}
