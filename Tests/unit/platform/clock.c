#include "platform/clock.h"

#include <errno.h>
#include <sched.h>

#include "unit.h"

TEST(posts_of_one_kernel_tick_have_one_time) {
    tidings__thread thread = {0};
    uint64_t first, second, tick;
    // The tick may end between two calls: then the pair is taken again.
    do {
        first = tidings__stamp(&thread);
        tick = thread.tick_ns;
        second = tidings__stamp(&thread);
    } while (thread.tick_ns != tick);
    CHECK_EQUAL(second, first);
}

TEST(a_new_tick_is_a_new_time_also_backwards) {
    tidings__thread thread = {.tick_ns = UINT64_MAX, .tick_precise_ns = UINT64_MAX};
    CHECK(tidings__stamp(&thread) < UINT64_MAX);
    CHECK(thread.window != 0);
}

TEST(a_nap_of_nothing_returns_and_leaves_errno_alone) {
    errno = 42;
    tidings__nap(0);
    tidings__nap(-1);
    CHECK_EQUAL(errno, 42);
}

TEST(processors_are_those_that_this_process_may_run_on) {
    CHECK(tidings__processors() >= 1);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    CHECK_EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_EQUAL(tidings__processors_refresh(), 1);
    CHECK_EQUAL(tidings__processors(), 1);
}
