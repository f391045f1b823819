#include "observing.h"

TEST(an_interrupted_observer_returns_once) {
    tidings_observer *o = fresh_observer();
    tidings_delivery d;
    tidings_observer_interrupt(o);
    CHECK_EQUAL(tidings_next(o, -1, &d), -EINTR);
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
}

TEST(a_lossless_cursor_is_published_when_the_ring_has_nothing_more) {
    tidings_observer *o = observer_with(fresh_center(), TIDINGS_OBSERVE_LOSSLESS);
    tidings_delivery d;
    post_of(o, 0, added(o, "a", 0)->entry);
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK_EQUAL(o->published, 0);
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
    CHECK_EQUAL(o->published, 1);
}

TEST(the_next_call_frees_removed_subscriptions) {
    tidings_observer *o = fresh_observer();
    tidings_delivery d;
    const uint32_t id = added(o, "a", 0)->id;
    CHECK_EQUAL(tidings_observer_remove(o, id), 0);
    CHECK(o->removed != NULL);
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
    CHECK(o->removed == NULL);
}
