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

TEST(after_a_history_records_are_not_looked_up_in_each_subscription) {
    o = fresh_observer();
    post_of(o, 0, counted(o->center, "a"));
    CHECK_EQUAL(tidings_observer_seek(o, 0), 0);
    sub = added(o, "a", TIDINGS_ADD_HISTORY);
    CHECK_EQUAL(sub->history_count, 1);
    CHECK_EQUAL(tidings__look_for(o, 1, &d), TIDINGS__DELIVERED);
    CHECK_EQUAL(o->table->special, 1);
    post_of(o, 1, sub->entry);
    CHECK_EQUAL(tidings__look_for(o, 2, &d), TIDINGS__DELIVERED);
    CHECK_EQUAL(o->table->special, 0);
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

// The observer has taken one record, and nothing but records is due. The next position is 1.
static void begin_plain(void) {
    begin();
    post_of(o, 0, sub->entry);
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK(o->plain);
}

static bool take_plain(void) {
    const uint64_t cursor = o->cursor, passed = sub->passed;
    const bool taken = tidings__take_plain(o, o->table, &d);
    CHECK_EQUAL(o->cursor, cursor + taken);
    CHECK_EQUAL(sub->passed, passed + taken);
    return taken;
}

TEST(a_plain_record_is_delivered_as_any_other) {
    begin_plain();
    post_of(o, 1, sub->entry);
    o->center->segment.cells[1].size_pid |= 5;
    memcpy((void *)o->center->segment.cells[1].body, "12345", 5);
    tidings_delivery plain;
    memset(&plain, 1, sizeof plain);
    CHECK_EQUAL(next_of(o, &plain), 0);
    CHECK(memcmp(plain.payload, "12345", 5) == 0);
    o->cursor = 1;
    memset(&d, 1, sizeof d);
    CHECK_EQUAL(tidings__look_for(o, 2, &d), TIDINGS__DELIVERED);
    CHECK_EQUAL(*plain.subscriptions, *d.subscriptions);
    d.subscriptions = plain.subscriptions;
    CHECK(memcmp(&plain, &d, sizeof d) == 0);
}

TEST(a_record_that_is_not_plain_is_left_to_the_general_path) {
    begin_plain();
    tidings__segment *s = &o->center->segment;
    CHECK(!take_plain());  // not posted yet
    const uint32_t other = counted(o->center, "b");
    const uint64_t routes[] = {tidings__route_word(other, 0, 0, 0), tidings__route_word(sub->entry, other, 0, 0),
                               tidings__route_word(TIDINGS__NAME_NONE, 0, 0, 0),
                               tidings__route_word(sub->entry, 0, TIDINGS__RECORD_CHUNK, 0),
                               tidings__route_word(sub->entry, 0, TIDINGS__RECORD_RETAIN, 0)};
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        unit_post(s, 1 + i, routes[i]);
        o->cursor = 1 + i;
        CHECK(!take_plain());
    }
    post_of(o, 6, sub->entry);
    o->cursor = 6;
    const uint64_t poster = s->cells[6].poster, size = s->cells[6].size_pid;
    s->cells[6].poster = poster | UINT64_C(1) << 48;
    CHECK(!take_plain());
    s->cells[6].poster = poster | UINT64_C(1) << 56;
    CHECK(!take_plain());
    s->cells[6].poster = poster;
    s->cells[6].size_pid = size | (TIDINGS__BODY_SIZE + 1);
    CHECK(!take_plain());
    s->cells[6].size_pid = size;
    sub->accounted = 7;
    CHECK(!take_plain());
    sub->accounted = 0;
    CHECK(take_plain());
    CHECK_EQUAL(d.sequence, 6);
}

TEST(a_record_of_two_subscriptions_is_not_plain) {
    begin_plain();
    added(o, "a", 0);
    post_of(o, 1, sub->entry);
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.subscription_count, 2);
    post_of(o, 2, sub->entry);
    CHECK(!take_plain());
}

TEST(a_removed_subscription_is_not_found_again) {
    begin_plain();
    post_of(o, 1, sub->entry);
    CHECK(take_plain());
    added(o, "b", 0);
    post_of(o, 2, sub->entry);
    CHECK_EQUAL(tidings_observer_remove(o, sub->id), 0);
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
    CHECK_EQUAL(o->cursor, 3);
}

TEST(a_loss_that_is_to_be_reported_comes_before_a_plain_record) {
    begin_plain();
    // A record that can't be copied is missed.
    unit_post(&o->center->segment, 1, tidings__route_word(sub->entry, 0, TIDINGS__RECORD_CHUNK, 0));
    o->center->segment.cells[1].body[0] = o->center->segment.geometry.chunk_count;
    post_of(o, 2, sub->entry);
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.kind, TIDINGS_DELIVERY_MISSED);
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(d.sequence, 2);
}

TEST(an_interrupt_and_a_fork_come_before_a_plain_record) {
    begin_plain();
    post_of(o, 1, sub->entry);
    tidings_observer_interrupt(o);
    CHECK_EQUAL(next_of(o, &d), -EINTR);
    CHECK(o->plain);
    o->fork_epoch++;
    CHECK_EQUAL(next_of(o, &d), -ECHILD);
    o->fork_epoch--;
    CHECK_EQUAL(next_of(o, &d), 0);
}
