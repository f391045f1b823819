#include "observing.h"
#include "receiving/reader.h"

static tidings_observer *o;
static tidings__segment *s;
static tidings__subscription *sub;
static uint32_t a;

// A reader of "a" that has skipped position 0: it is claimed, and position 1 is too.
static void skip_first(void) {
    o = fresh_reader();
    s = &o->center->segment;
    a = counted(o->center, "a");
    sub = added(o, "a", 0);
    CHECK_EQUAL(tidings__look_for(o, 0, &(tidings_delivery){0}), TIDINGS__NOTHING);
    unit_claim(s, 0, UNIT_OWNER);
    unit_claim(s, 1, UNIT_OWNER);
    CHECK(tidings__reader_pass(o, false));
    CHECK_EQUAL(o->cursor, 1);
}

// Position 0 is evicted, and its slot is in use by the next lap.
static void evict_first(void) {
    unit_claim(s, 0, UNIT_OWNER);
    unit_commit(s, 0);
    unit_evict_to(s, 1);
    unit_post(s, s->shape.slots, 0);
}

TEST(a_reader_does_not_skip_the_last_claimed_position) {
    o = fresh_reader();
    (void)added(o, "a", 0);
    unit_claim(&o->center->segment, 0, UNIT_OWNER);
    CHECK(!tidings__reader_pass(o, false));
    CHECK_EQUAL(o->cursor, 0);
    CHECK_EQUAL(o->skipped_count, 0);
}

TEST(a_skipped_position_that_was_committed_after_all_is_missed) {
    skip_first();
    s->cells[0].route = tidings__route_word(a, 0, 0, 0);
    unit_commit(s, 0);
    tidings__reader_settle(o, o->table);
    CHECK_EQUAL(sub->missed, 1);
    CHECK_EQUAL(sub->passed, 1);
    CHECK_EQUAL(o->skipped_count, 0);
}

TEST(a_skipped_position_of_another_name_is_not_missed) {
    skip_first();
    s->cells[0].route = tidings__route_word(counted(o->center, "b"), 0, 0, 0);
    unit_commit(s, 0);
    tidings__reader_settle(o, o->table);
    CHECK_EQUAL(sub->missed, 0);
    CHECK_EQUAL(o->skipped_count, 0);
}

TEST(an_evicted_skipped_position_is_missed_if_the_tally_counted_it) {
    skip_first();
    evict_first();
    s->names[a].tally.count = 1;
    s->names[a].tally.end = 1;
    tidings__reader_settle(o, o->table);
    CHECK_EQUAL(sub->missed, 1);
    CHECK_EQUAL(o->skipped_count, 0);
}

TEST(an_evicted_skipped_position_is_missed_once_when_its_entry_serves_another_name) {
    skip_first();
    evict_first();
    s->names[a].hash++;
    s->names[a].birth = 1;
    s->names[a].tally.count = 40;
    s->names[a].tally.end = 1;
    tidings__reader_settle(o, o->table);
    CHECK_EQUAL(sub->missed, 1);
    CHECK_EQUAL(sub->resolved, TIDINGS__NAME_NONE);
    CHECK_EQUAL(sub->passed, 0);
    CHECK_EQUAL(o->skipped_count, 0);
}

TEST(a_lapped_reader_misses_the_evicted_range_too_when_its_entry_serves_another_name) {
    skip_first();
    evict_first();
    unit_evict_to(s, 5);
    s->names[a].hash++;
    s->names[a].birth = 5;
    s->names[a].tally.count = 40;
    s->names[a].tally.end = 5;
    tidings__reader_settle(o, o->table);
    CHECK_EQUAL(sub->missed, 5);
    CHECK_EQUAL(sub->accounted, 5);
    CHECK_EQUAL(o->skipped_count, 0);
}

TEST(a_skipped_position_before_the_subscription_is_not_missed_when_its_entry_serves_another_name) {
    skip_first();
    evict_first();
    sub->since = 1;
    s->names[a].hash++;
    s->names[a].birth = 1;
    s->names[a].tally.count = 40;
    tidings__reader_settle(o, o->table);
    CHECK_EQUAL(sub->missed, 0);
}
