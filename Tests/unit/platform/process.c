#include "platform/process.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

static bool in_child(bool (*holds)(void)) {
    const pid_t child = fork();
    if (child == 0) _exit(!holds());
    int status = -1;
    (void)waitpid(child, &status, 0);
    return status == 0;
}

static uint32_t parent, epoch, hooks;
static bool is_another_process(void) {
    return tidings__process_id() != parent && tidings__process_id() == (uint32_t)getpid() &&
           tidings__fork_epoch == epoch + 1;
}

TEST(a_forked_child_has_its_own_number_and_epoch) {
    parent = tidings__process_id();
    epoch = tidings__fork_epoch;
    CHECK_EQUAL(parent, getpid());
    CHECK(in_child(is_another_process));
    CHECK_EQUAL(tidings__fork_epoch, epoch);
}

static void hook(void) { hooks++; }
static bool hooked_once(void) { return hooks == 1; }

TEST(a_fork_hook_runs_once_and_in_the_child_only) {
    tidings__at_fork_child(hook);
    tidings__at_fork_child(hook);
    CHECK(in_child(hooked_once));
    CHECK_EQUAL(hooks, 0);
}

TEST(the_name_of_the_executable_is_cut_to_its_room) {
    char text[80], shorter[3];
    const size_t length = tidings__executable_name(text, sizeof text);
    CHECK(length > 2);
    CHECK_EQUAL(length, strlen(text));
    CHECK(!strchr(text, '/'));
    CHECK_EQUAL(tidings__executable_name(shorter, sizeof shorter), 2);
    CHECK(memcmp(text, shorter, 2) == 0);
    CHECK_EQUAL(tidings__executable_name(shorter, 0), 0);
}

TEST(random_numbers_are_not_0_and_differ) {
    errno = 42;
    const uint64_t one = tidings__random(), other = tidings__random();
    CHECK(one != 0);
    CHECK(one != other);
    CHECK_EQUAL(errno, 42);
}

TEST(the_caller_is_a_user_that_its_namespace_knows) {
    CHECK(tidings__user_known(tidings__user_id()));
    CHECK_EQUAL(tidings__pid_namespace(), tidings__pid_namespace());
}
