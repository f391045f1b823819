#include "receiving/account.h"

#include "observing.h"

TEST(a_subscription_begins_at_the_end_and_counts_the_records_before) {
    tidings_observer *o = fresh_observer();
    const uint32_t a = counted(o->center, "a"), b = counted(o->center, "b");
    post_of(o, 0, a);
    post_of(o, 1, b);
    post_of(o, 2, a);
    const tidings__subscription *sub = added(o, "a", 0);
    CHECK_EQUAL(sub->since, 3);
    CHECK_EQUAL(sub->passed, 2);
    CHECK_EQUAL(sub->history_count, 0);
}

TEST(a_record_that_the_tally_has_counted_is_not_counted_twice) {
    tidings_observer *o = fresh_observer();
    const uint32_t a = counted(o->center, "a");
    post_of(o, 0, a);
    post_of(o, 1, a);
    o->center->segment.names[a].tally.count = 5;
    o->center->segment.names[a].tally.end = 1;
    CHECK_EQUAL(added(o, "a", 0)->passed, 6);
}

TEST(a_history_lists_the_records_of_its_name_from_the_cursor_on) {
    tidings_observer *o = fresh_observer();
    const uint32_t a = counted(o->center, "a"), b = counted(o->center, "b");
    post_of(o, 0, a);
    post_of(o, 1, a);
    post_of(o, 2, b);
    post_of(o, 3, a);
    o->cursor = 1;
    const tidings__subscription *sub = added(o, "a", TIDINGS_ADD_HISTORY);
    CHECK_EQUAL(sub->history_count, 2);
    CHECK_EQUAL(sub->history[0], 1);
    CHECK_EQUAL(sub->history[1], 3);
}

TEST(a_history_lists_records_whose_entry_was_taken_out) {
    tidings_observer *o = fresh_observer();
    tidings__segment *s = &o->center->segment;
    const uint32_t a = counted(o->center, "a");
    post_of(o, 0, a);
    CHECK(tidings__name_take_out(s, 0, a, &(uint64_t){UINT64_MAX}));
    CHECK_EQUAL(tidings_observer_seek(o, 0), 0);
    tidings__subscription *sub = added(o, "a", TIDINGS_ADD_HISTORY);
    CHECK(sub->entry != a);
    CHECK_EQUAL(sub->history_count, 1);
}

TEST(records_before_the_birth_of_the_entry_are_not_of_the_name) {
    tidings_observer *o = fresh_observer();
    const uint32_t a = counted(o->center, "a");
    post_of(o, 0, a);
    post_of(o, 1, a);
    o->center->segment.names[a].birth = 1;
    CHECK_EQUAL(added(o, "a", 0)->passed, 1);
}
