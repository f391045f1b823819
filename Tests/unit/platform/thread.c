#include "platform/thread.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit.h"

TEST(a_thread_fills_in_its_state_at_the_first_look) {
    CHECK_EQUAL(tidings__thread_state.fork_epoch, 0);
    errno = 42;
    const tidings__thread *thread = tidings__thread_self();
    CHECK_EQUAL(thread->tid, syscall(SYS_gettid));
    CHECK_EQUAL(thread->fork_epoch, tidings__fork_epoch);
    CHECK_EQUAL(errno, 42);
}

TEST(a_thread_of_a_forked_child_fills_in_its_state_anew) {
    tidings__thread *thread = tidings__thread_self();
    thread->tid = 0;
    CHECK_EQUAL(tidings__thread_self()->tid, 0);
    tidings__fork_epoch++;
    CHECK_EQUAL(tidings__thread_self()->tid, syscall(SYS_gettid));
}

TEST(a_refresh_leaves_the_depth_of_posts_alone) {
    tidings__thread_state.inside = 2;
    CHECK_EQUAL(tidings__thread_refresh()->inside, 2);
}
