#include "observing.h"

TEST(a_sealed_center_has_no_successor) { CHECK_EQUAL(tidings_observer_await_successor(fresh_observer(), -1), -EINVAL); }

// An observer of a center in a file.
static tidings_observer *in_file(void) {
    tidings_configuration configuration = unit_smallest;
    tidings_center *center = NULL;
    configuration.directory = unit_directory();
    CHECK_EQUAL(tidings_open("unit", &configuration, &center), 0);
    return observer_with(center, 0);
}

TEST(another_file_at_the_path_is_the_successor) {
    tidings_observer *o = in_file();
    CHECK_EQUAL(tidings_observer_await_successor(o, 0), -ETIMEDOUT);
    o->center->segment.inode++;
    CHECK_EQUAL(tidings_observer_await_successor(o, -1), 0);
}

TEST(an_interrupt_ends_the_wait_for_a_successor) {
    tidings_observer *o = in_file();
    o->interrupted = 1;
    CHECK_EQUAL(tidings_observer_await_successor(o, -1), -EINTR);
    CHECK_EQUAL(o->interrupted, 0);
}
