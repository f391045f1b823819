#include "segment/sets.h"

#include "unit.h"

TEST(a_set_of_observers_has_what_was_added) {
    tidings__observer_set set = {0};
    tidings__observer_set_add(&set, 0);
    tidings__observer_set_add(&set, TIDINGS__OBSERVERS_MAX - 1);
    CHECK(tidings__observer_set_has(&set, 0));
    CHECK(tidings__observer_set_has(&set, TIDINGS__OBSERVERS_MAX - 1));
    CHECK(!tidings__observer_set_has(&set, 64));
    CHECK_EQUAL(tidings__observer_set_used(&set), 1 | 1 << (TIDINGS__MAP_WORDS - 1));
}

TEST(a_set_of_participants_has_no_number_beyond_the_most) {
    const tidings__participant_set set = tidings__participant_only(TIDINGS__PARTICIPANTS_MAX - 1);
    CHECK(tidings__participant_set_has(&set, TIDINGS__PARTICIPANTS_MAX - 1));
    CHECK(!tidings__participant_set_has(&set, TIDINGS__PARTICIPANTS_MAX));
    CHECK(!tidings__participant_set_has(&set, UINT64_MAX));
}

TEST(the_first_participant_of_a_set_is_the_least) {
    tidings__participant_set set = tidings__participant_only(200);
    tidings__participant_set_add(&set, 70);
    CHECK_EQUAL(tidings__participant_set_first(&set), 70);
    CHECK_EQUAL(tidings__participant_set_first(&(tidings__participant_set){0}), 0);
}
