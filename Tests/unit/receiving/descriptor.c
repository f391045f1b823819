#include <poll.h>

#include "observing.h"

static bool readable(int fd) { return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1; }

TEST(a_descriptor_is_readable_until_nothing_is_left) {
    tidings_observer *o = fresh_observer();
    tidings_delivery d;
    int fd;
    post_of(o, 0, added(o, "a", 0)->entry);
    CHECK_EQUAL(tidings_observer_descriptor(o, &fd), 0);
    CHECK(readable(fd));
    CHECK_EQUAL(next_of(o, &d), 0);
    CHECK(readable(fd));
    CHECK_EQUAL(next_of(o, &d), -EAGAIN);
    CHECK(!readable(fd));
    tidings_observer_close(o);
}

TEST(a_descriptor_of_an_interrupted_observer_stays_readable) {
    tidings_observer *o = fresh_observer();
    tidings_delivery d;
    int fd;
    CHECK_EQUAL(tidings_observer_descriptor(o, &fd), 0);
    o->interrupted = 1;
    CHECK_EQUAL(tidings__descriptor_arm(o, &d), -EAGAIN);
    CHECK(readable(fd));
    tidings_observer_close(o);
}
