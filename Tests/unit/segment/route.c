#include "segment/route.h"

#include "unit.h"

TEST(a_route_word_gives_back_each_of_its_parts) {
    const uint64_t route = tidings__route_word(0xffffff, 0, 0x81, 0x7f);
    CHECK_EQUAL(tidings__route_name(route), 0xffffff);
    CHECK_EQUAL(tidings__route_name_subject(route), 0);
    CHECK_EQUAL(tidings__route_flags(route), 0x81);
    CHECK_EQUAL(tidings__route_format(route), 0x7f);
    CHECK_EQUAL(tidings__route_name_subject(tidings__route_word(0, 0xffffff, 0, 0)), 0xffffff);
}

TEST(the_mask_of_both_entries_leaves_flags_and_format_out) {
    const uint64_t route = tidings__route_word(5, 6, 0xff, 0xff);
    CHECK_EQUAL(route & TIDINGS__ROUTE_ENTRIES, tidings__route_word(5, 6, 0, 0));
}

TEST(a_record_belongs_to_its_two_entries_and_to_all_names) {
    const uint64_t route = tidings__route_word(5, 6, 0xff, 0xff);
    CHECK(tidings__route_includes(route, 5));
    CHECK(tidings__route_includes(route, 6));
    CHECK(tidings__route_includes(route, TIDINGS__NAME_ALL));
    CHECK(!tidings__route_includes(route, 7));
    CHECK(!tidings__route_includes(tidings__route_word(5, 0, 0, 0), TIDINGS__NAME_NONE));
}
