#include "observing.h"

TEST(an_observer_starts_at_the_end) {
    tidings_center *center = fresh_center();
    unit_post(&center->segment, 0, 0);
    unit_post(&center->segment, 1, 0);
    CHECK_EQUAL(tidings_observer_position(observer_with(center, 0)), 2);
}

TEST(seeking_stops_at_the_oldest_position_and_refuses_what_was_never_posted) {
    tidings_observer *o = fresh_observer();
    for (uint64_t p = 0; p < 3; p++) unit_post(&o->center->segment, p, 0);
    unit_evict_to(&o->center->segment, 1);
    CHECK_EQUAL(tidings_observer_seek(o, 0), 0);
    CHECK_EQUAL(o->cursor, 1);
    CHECK_EQUAL(tidings_observer_seek(o, UINT64_MAX), 0);
    CHECK_EQUAL(o->cursor, 3);
    CHECK_EQUAL(tidings_observer_seek(o, 4), -ERANGE);
    CHECK_EQUAL(o->cursor, 3);
}

TEST(seeking_after_a_sequence_needs_the_same_incarnation) {
    tidings_observer *o = fresh_observer();
    const uint64_t incarnation = o->center->segment.instance;
    for (uint64_t p = 0; p < 3; p++) unit_post(&o->center->segment, p, 0);
    CHECK_EQUAL(tidings_observer_seek_after(o, incarnation + 1, 0), -ESTALE);
    CHECK_EQUAL(tidings_observer_seek_after(o, incarnation, 1), 0);
    CHECK_EQUAL(o->cursor, 2);
}

TEST(an_observer_with_a_name_can_not_seek) {
    tidings_observer *o = fresh_observer();
    (void)added(o, "a", 0);
    CHECK_EQUAL(tidings_observer_seek(o, 0), -EBUSY);
}

TEST(closing_an_observer_frees_its_entry_and_leaves_its_names) {
    tidings_center *center = fresh_center();
    tidings_observer *o = observer_with(center, 0);
    const uint32_t index = o->index, entry = added(o, "a", 0)->entry;
    CHECK_EQUAL(center->segment.observers[index].owner, center->participant + 1);
    CHECK(tidings__name_observed(&center->segment.names[entry]));
    tidings_observer_close(o);
    CHECK_EQUAL(center->segment.observers[index].owner, 0);
    CHECK(!tidings__name_observed(&center->segment.names[entry]));
}
