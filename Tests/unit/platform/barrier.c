#include "platform/barrier.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

TEST(a_registered_process_knows_the_kernels_answer) {
    tidings__barrier_register();
    CHECK(tidings__barrier_state == 1 || tidings__barrier_state == 2);
    CHECK_EQUAL(tidings__barrier_registered(), tidings__barrier_state == 1);
}

TEST(a_process_that_was_refused_keeps_its_own_fence) {
    tidings__barrier_state = 2;
    tidings__barrier_register();
    CHECK_EQUAL(tidings__barrier_state, 2);
    CHECK(!tidings__barrier_registered());
}

TEST(a_forked_child_registers_itself) {
    tidings__barrier_register();
    const pid_t child = fork();
    if (child == 0) {
        // Its parent's answer does not count in the child: the hook has asked again.
        _exit(tidings__barrier_state == 0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

TEST(a_heavy_barrier_leaves_errno_alone) {
    errno = 42;
    tidings__heavy_barrier();
    CHECK_EQUAL(errno, 42);
}
