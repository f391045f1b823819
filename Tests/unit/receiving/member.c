#include "observing.h"
#include "registry/doorbell.h"

TEST(a_member_of_a_name_is_listed_in_its_entry) {
    tidings_observer *o = fresh_observer();
    const tidings__subscription *sub = added(o, "a", 0);
    CHECK(tidings__name_observed(&o->center->segment.names[sub->entry]));
    CHECK_EQUAL(o->center->segment.observers[o->index].owner, o->center->participant + 1);
}

TEST(a_rung_doorbell_ends_the_sleep_of_a_member) {
    tidings_observer *o = fresh_observer();
    uint32_t announced;
    tidings_delivery d;
    (void)added(o, "a", 0);
    CHECK_EQUAL(tidings__announce(o, &announced, &d), TIDINGS__NOTHING);
    CHECK(!tidings__rung(o, announced));
    tidings__doorbell_ring(&o->center->segment, o->index);
    CHECK(tidings__rung(o, announced));
}

TEST(a_member_finds_what_was_posted_before_its_announcement) {
    tidings_observer *o = fresh_observer();
    uint32_t announced;
    tidings_delivery d;
    post_of(o, 0, added(o, "a", 0)->entry);
    CHECK_EQUAL(tidings__announce(o, &announced, &d), TIDINGS__DELIVERED);
}

TEST(an_observer_takes_the_entry_of_a_dead_participant) {
    tidings_center *center = fresh_center();
    tidings__segment *s = &center->segment;
    dead_participant(s, 3);
    for (uint32_t i = 0; i < s->shape.observers; i++) s->observers[i].owner = (i == 2 ? 3 : center->participant) + 1;
    CHECK_EQUAL(observer_with(center, 0)->index, 2);
}
