#include "observing.h"

static void tally(tidings_observer *o, uint32_t entry, uint64_t count, uint64_t end) {
    o->center->segment.names[entry].tally.count = count;
    o->center->segment.names[entry].tally.end = end;
}

TEST(what_the_tally_counts_beyond_the_passed_records_is_missed) {
    tidings_observer *o = fresh_observer();
    tidings__subscription *sub = added(o, "a", 0);
    sub->passed = 2;
    tally(o, sub->entry, 5, 9);
    tidings__account(&o->center->segment, sub, sub->entry);
    CHECK_EQUAL(sub->missed, 3);
    CHECK_EQUAL(sub->passed, 5);
    CHECK_EQUAL(sub->accounted, 9);
}

TEST(a_tally_behind_the_passed_records_says_nothing) {
    tidings_observer *o = fresh_observer();
    tidings__subscription *sub = added(o, "a", 0);
    sub->passed = 6;
    tally(o, sub->entry, 5, 9);
    tidings__account(&o->center->segment, sub, sub->entry);
    CHECK_EQUAL(sub->missed, 0);
    CHECK_EQUAL(sub->passed, 6);
    CHECK_EQUAL(sub->accounted, 0);
}

static bool lapped(tidings_observer *o) {
    const uint64_t was = o->cursor, gone = tidings__leave_lap(o);
    tidings__account_lap(o, o->table, was, gone);
    return gone > 0;
}

TEST(a_lapped_observer_goes_on_at_the_oldest_position) {
    tidings_observer *o = fresh_observer();
    tidings__subscription *sub = added(o, "a", 0);
    unit_evict_to(&o->center->segment, 7);
    tally(o, sub->entry, 4, 7);
    CHECK(lapped(o));
    CHECK_EQUAL(o->cursor, 7);
    CHECK_EQUAL(sub->missed, 4);
    CHECK(o->telling);
}

TEST(losses_are_reported_one_subscription_at_a_time_and_once) {
    tidings_observer *o = fresh_observer();
    tidings__subscription *first = added(o, "a", 0), *second = added(o, "b", 0);
    tidings_delivery d;
    first->missed = 2;
    second->missed = 3;
    CHECK(tidings__tell_missed(o, o->table, &d));
    CHECK_EQUAL(d.kind, TIDINGS_DELIVERY_MISSED);
    CHECK_EQUAL(d.subscriptions[0], first->id);
    CHECK_EQUAL(d.missed, 2);
    CHECK(tidings__tell_missed(o, o->table, &d));
    CHECK_EQUAL(d.subscriptions[0], second->id);
    CHECK_EQUAL(d.missed, 3);
    CHECK(!tidings__tell_missed(o, o->table, &d));
}

TEST(reported_losses_are_published_with_the_position) {
    tidings_observer *o = fresh_observer();
    tidings__subscription *first = added(o, "a", 0), *second = added(o, "b", 0);
    const _Atomic uint64_t *progress = &o->center->segment.observers[o->index].progress;
    tidings_delivery d;
    o->cursor = 7;
    first->missed = 2;
    second->missed = 3;
    CHECK(tidings__tell_missed(o, o->table, &d));
    CHECK_EQUAL(*progress, TIDINGS__PROGRESS(7, 2));
    CHECK(tidings__tell_missed(o, o->table, &d));
    CHECK_EQUAL(*progress, TIDINGS__PROGRESS(7, 5));
}

TEST(no_more_is_reported_as_missed_than_positions_were_evicted) {
    tidings_observer *o = fresh_observer();
    tidings__subscription *sub = added(o, "a", 0);
    tidings_delivery d;
    unit_evict_to(&o->center->segment, 10);
    sub->missed = UINT64_C(1) << 60;
    CHECK(tidings__tell_missed(o, o->table, &d));
    CHECK_EQUAL(d.missed, 10 + TIDINGS__EV_LENGTH_MAX);
    sub->missed = 1;
    CHECK(!tidings__tell_missed(o, o->table, &d));
}

TEST(a_loss_is_reported_before_the_position_where_its_subscription_continues) {
    tidings_observer *o = fresh_observer();
    tidings__subscription *a = added(o, "a", 0), *b = added(o, "b", 0);
    tidings_delivery d;
    // The range 7 to 16 is counted for one of the names, and not evicted yet.
    unit_evict_to(&o->center->segment, 7);
    tally(o, a->entry, 4, 16);
    tally(o, b->entry, 2, 7);
    CHECK(lapped(o));
    CHECK(tidings__tell_missed(o, o->table, &d));
    CHECK_EQUAL(d.subscriptions[0], a->id);
    CHECK_EQUAL(d.sequence, 16);
    CHECK(tidings__tell_missed(o, o->table, &d));
    CHECK_EQUAL(d.subscriptions[0], b->id);
    CHECK_EQUAL(d.sequence, 7);
}

TEST(a_loss_is_reported_before_a_position_that_can_be_counted_whatever_the_tally_says) {
    tidings_observer *o = fresh_observer();
    tidings__subscription *sub = added(o, "a", 0);
    tidings_delivery d;
    unit_evict_to(&o->center->segment, 7);
    tally(o, sub->entry, 4, UINT64_C(1) << 60);
    CHECK(lapped(o));
    CHECK(tidings__tell_missed(o, o->table, &d));
    CHECK_EQUAL(d.sequence, 7 + TIDINGS__EV_LENGTH_MAX);
}
