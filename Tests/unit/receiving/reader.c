#include "receiving/reader.h"

#include "observing.h"
#include "receiving/kind.h"

TEST(a_reader_takes_no_entry_of_the_center) {
    tidings_observer *o = fresh_reader();
    const uint32_t a = counted(o->center, "a");
    const tidings__subscription *sub = added(o, "a", 0);
    CHECK_EQUAL(sub->resolved, a);
    CHECK(!tidings__name_observed(&o->center->segment.names[a]));
    for (uint32_t i = 0; i < o->center->segment.shape.observers; i++)
        CHECK_EQUAL(o->center->segment.observers[i].owner, 0);
}

TEST(a_reader_matches_a_name_that_got_its_entry_later) {
    tidings_observer *o = fresh_reader();
    tidings__subscription *sub = added(o, "a", 0);
    tidings_delivery d;
    CHECK_EQUAL(sub->resolved, TIDINGS__NAME_NONE);
    post_of(o, 0, counted(o->center, "a"));
    CHECK_EQUAL(tidings__look_for(o, 1, &d), TIDINGS__DELIVERED);
    CHECK_EQUAL(sub->passed, 1);
}

TEST(a_reader_does_not_count_by_the_tally_of_another_name) {
    tidings_observer *o = fresh_reader();
    const uint32_t a = counted(o->center, "a");
    tidings__subscription *sub = added(o, "a", 0);
    o->center->segment.names[a].hash++;
    o->center->segment.names[a].birth = 1;
    o->center->segment.names[a].tally.count = 40;
    o->cursor = 3;
    o->kind->lapped(o, sub, 1, o->cursor - 1);
    CHECK_EQUAL(sub->missed, 2);
    CHECK_EQUAL(sub->accounted, 3);
    CHECK_EQUAL(sub->resolved, TIDINGS__NAME_NONE);
}

TEST(a_reader_counts_no_record_again_when_its_entry_is_taken_out) {
    tidings_observer *o = fresh_reader();
    tidings__segment *s = &o->center->segment;
    const uint32_t a = counted(o->center, "a");
    tidings__subscription *sub = added(o, "a", 0);
    tidings_delivery d;
    for (uint64_t p = 0; p < 3; p++) post_of(o, p, a);
    CHECK_EQUAL(tidings__look_for(o, 3, &d), TIDINGS__DELIVERED);
    CHECK_EQUAL(tidings__look_for(o, 3, &d), TIDINGS__DELIVERED);
    CHECK(tidings__name_take_out(s, 0, a, &(uint64_t){UINT64_MAX}));
    CHECK_EQUAL(tidings__look_for(o, 3, &d), TIDINGS__DELIVERED);
    CHECK_EQUAL(sub->passed, 3);
    s->names[a].tally.count = s->names[a].tally.end = 3;
    o->cursor = 4;
    o->kind->lapped(o, sub, 3, o->cursor - 3);
    CHECK_EQUAL(sub->missed, 0);
}

TEST(a_lapped_reader_counts_the_most_when_its_entry_was_taken_out_and_its_name_has_another) {
    tidings_observer *o = fresh_reader();
    tidings__segment *s = &o->center->segment;
    const uint32_t a = counted(o->center, "a");
    tidings__subscription *sub = added(o, "a", 0);
    tidings_delivery d;
    post_of(o, 0, a);
    CHECK(tidings__name_take_out(s, 0, a, &(uint64_t){UINT64_MAX}));
    CHECK_EQUAL(tidings__look_for(o, 1, &d), TIDINGS__DELIVERED);
    s->names[a].birth = sub->birth = 5;
    const uint32_t anew = counted(o->center, "a");
    CHECK(anew != a);
    o->cursor = 4;
    o->kind->lapped(o, sub, 1, o->cursor - 1);
    CHECK_EQUAL(sub->resolved, anew);
    CHECK_EQUAL(sub->missed, 3);
}

// An evicting thread has added to the tally, and has not moved EV on yet.
TEST(a_reader_counts_what_an_unfinished_eviction_has_counted_once_when_its_name_has_a_new_entry) {
    tidings_observer *o = fresh_reader();
    tidings__segment *s = &o->center->segment;
    const uint32_t a = counted(o->center, "a");
    tidings__subscription *sub = added(o, "a", 0);
    s->names[a].hash++;
    s->names[a].birth = 1;
    const uint32_t anew = counted(o->center, "a");
    s->names[anew].tally.count = 7;
    s->names[anew].tally.end = 6;
    o->cursor = 3;
    o->kind->lapped(o, sub, 1, o->cursor - 1);
    CHECK_EQUAL(sub->resolved, anew);
    CHECK_EQUAL(sub->passed, 7);
    CHECK_EQUAL(sub->accounted, 6);
    CHECK_EQUAL(sub->missed, 5);
}

TEST(a_changed_name_futex_ends_the_sleep_of_a_reader) {
    tidings_observer *o = fresh_reader();
    const tidings__subscription *sub = added(o, "a", 0);
    uint32_t announced;
    tidings_delivery d;
    CHECK_EQUAL(tidings__announce(o, &announced, &d), TIDINGS__NOTHING);
    CHECK(!tidings__rung(o, announced));
    o->center->segment.header->name_futexes[sub->name_futex].word++;
    CHECK(tidings__rung(o, announced));
}

TEST(a_reader_can_not_observe_a_prefix_or_hold_posters_back) {
    tidings_observer *o = fresh_reader(), *lossless;
    uint32_t id;
    CHECK_EQUAL(tidings_observer_add(o, "a", 1, NULL, 0, TIDINGS_ADD_PREFIX, &id), -EACCES);
    CHECK_EQUAL(tidings_observer_open(o->center, TIDINGS_OBSERVE_LOSSLESS, &lossless), -EACCES);
}
