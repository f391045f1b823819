#include "observing.h"

TEST(the_last_subscription_of_a_name_takes_the_membership_along) {
    tidings_observer *o = fresh_observer();
    const tidings__subscription *first = added(o, "a", 0), *again = added(o, "a", 0);
    const tidings__name *name = &o->center->segment.names[first->entry];
    const uint32_t last = again->id;
    CHECK_EQUAL(tidings_observer_remove(o, first->id), 0);
    CHECK(tidings__name_observed(name));
    CHECK_EQUAL(tidings_observer_remove(o, last), 0);
    CHECK(!tidings__name_observed(name));
}

TEST(removing_many_removes_none_if_one_of_them_does_not_exist) {
    tidings_observer *o = fresh_observer();
    const uint32_t first = added(o, "a", 0)->id, second = added(o, "b", 0)->id;
    CHECK_EQUAL(tidings_observer_remove_many(o, (uint32_t[]){second, first, 99}, 3), -ENOENT);
    CHECK_EQUAL(tidings_observer_remove_many(o, (uint32_t[]){first, first}, 2), -ENOENT);
    CHECK_EQUAL(o->table->count, 2);
    CHECK_EQUAL(tidings_observer_remove_many(o, (uint32_t[]){second, first}, 2), 0);
    CHECK_EQUAL(o->table->count, 0);
}

TEST(an_observer_that_has_begun_takes_no_history) {
    tidings_observer *o = fresh_observer();
    uint32_t id;
    o->started = true;
    CHECK_EQUAL(tidings_observer_add(o, "a", 1, NULL, 0, TIDINGS_ADD_HISTORY, &id), -EBUSY);
    CHECK_EQUAL(tidings_observer_add(o, "a", 1, NULL, 0, 0, &id), 0);
}

TEST(many_names_can_not_be_observed_by_subject) {
    tidings_observer *o = fresh_observer();
    uint32_t id;
    CHECK_EQUAL(tidings_observer_add(o, NULL, 0, "x", 1, 0, &id), -EINVAL);
    CHECK_EQUAL(tidings_observer_add(o, "a", 1, "x", 1, TIDINGS_ADD_PREFIX, &id), -EINVAL);
    CHECK_EQUAL(o->table->count, 0);
}
