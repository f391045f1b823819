#include "observing.h"

static tidings_observer *o;
static tidings__subscription *sub;
static tidings_delivery d;

static void begin(void) {
    o = fresh_observer();
    sub = added(o, "a", 0);
}

TEST(a_record_of_an_observed_name_is_delivered_and_passed) {
    begin();
    post_of(o, 0, sub->entry);
    CHECK_EQUAL(tidings__look_for(o, 1, &d), TIDINGS__DELIVERED);
    CHECK_EQUAL(d.sequence, 0);
    CHECK_EQUAL(d.subscriptions[0], sub->id);
    CHECK_TEXT(d.name, "a");
    CHECK_EQUAL(sub->passed, 1);
    CHECK_EQUAL(o->cursor, 1);
}

TEST(records_of_other_names_are_passed_without_a_delivery) {
    begin();
    post_of(o, 0, counted(o->center, "b"));
    CHECK_EQUAL(tidings__look_for(o, 1, &d), TIDINGS__NOTHING);
    CHECK_EQUAL(o->cursor, 1);
    CHECK_EQUAL(sub->passed, 0);
}

TEST(an_observer_of_all_names_is_told_a_name_whose_entry_was_taken_out) {
    tidings_observer *o = fresh_observer();
    added(o, NULL, 0);
    const uint32_t a = counted(o->center, "a");
    post_of(o, 0, a);
    CHECK(tidings__name_take_out(&o->center->segment, 0, a, &(uint64_t){UINT64_MAX}));
    tidings_delivery d;
    CHECK_EQUAL(tidings__look_for(o, 1, &d), TIDINGS__DELIVERED);
    CHECK_TEXT(d.name, "a");
}

TEST(a_claimed_position_is_waited_for) {
    begin();
    unit_claim(&o->center->segment, 0, UNIT_OWNER);
    post_of(o, 1, sub->entry);
    CHECK_EQUAL(tidings__look_for(o, 2, &d), TIDINGS__IN_FLIGHT);
    CHECK_EQUAL(o->cursor, 0);
}

TEST(the_cursor_does_not_pass_the_limit) {
    begin();
    post_of(o, 0, sub->entry);
    CHECK_EQUAL(tidings__look_for(o, 0, &d), TIDINGS__NOTHING);
    CHECK_EQUAL(o->cursor, 0);
}

TEST(a_record_that_can_not_be_copied_is_missed) {
    begin();
    post_of(o, 0, sub->entry);
    o->center->segment.cells[0].route |= (uint64_t)TIDINGS__RECORD_CHUNK << 24;
    o->center->segment.cells[0].body[0] = o->center->segment.geometry.chunk_count;
    CHECK_EQUAL(tidings__look_for(o, 1, &d), TIDINGS__DELIVERED);
    CHECK_EQUAL(d.kind, TIDINGS_DELIVERY_MISSED);
    CHECK_EQUAL(d.missed, 1);
    CHECK_EQUAL(o->cursor, 1);
}

TEST(a_new_subscription_moves_the_cursor_back_for_itself_alone) {
    begin();
    post_of(o, 0, sub->entry);
    CHECK_EQUAL(tidings__look_for(o, 1, &d), TIDINGS__DELIVERED);
    tidings__subscription *newer = added(o, "a", 0);
    newer->since = newer->passed = 0;
    CHECK_EQUAL(tidings__look_for(o, 1, &d), TIDINGS__DELIVERED);
    CHECK_EQUAL(d.subscription_count, 1);
    CHECK_EQUAL(d.subscriptions[0], newer->id);
    CHECK_EQUAL(sub->passed, 1);
}
