#include "platform/lock.h"

#include <errno.h>
#include <unistd.h>

#include "platform/file.h"
#include "unit.h"

// Two open file descriptions of one file.
static int first, second;

static void begin(void) {
    first = tidings__file_create_memory("unit");
    second = tidings__file_reopen(first, true, "");
    CHECK(second >= 0);
}

TEST(a_lock_excludes_another_description_from_its_byte_only) {
    begin();
    CHECK_EQUAL(tidings__lock_try(first, 3, true), 0);
    CHECK_EQUAL(tidings__lock_try(second, 3, true), -EAGAIN);
    CHECK_EQUAL(tidings__lock_try(second, 4, true), 0);
}

TEST(a_lock_is_granted_again_to_its_description) {
    begin();
    CHECK_EQUAL(tidings__lock_try(first, 3, true), 0);
    CHECK_EQUAL(tidings__lock_try(first, 3, true), 0);
}

TEST(a_description_sees_the_locks_of_the_other_but_not_its_own) {
    begin();
    CHECK_EQUAL(tidings__lock_try(first, 3, true), 0);
    CHECK_EQUAL(tidings__lock_held(first, 3), 0);
    CHECK_EQUAL(tidings__lock_held(second, 3), 1);
    CHECK_EQUAL(tidings__lock_held(second, 4), 0);
}

TEST(a_lock_ends_with_its_release_and_with_its_description) {
    begin();
    CHECK_EQUAL(tidings__lock_try(first, 3, true), 0);
    CHECK_EQUAL(tidings__lock_try(first, TIDINGS__LOCK_REMOVAL, true), 0);
    CHECK_EQUAL(tidings__lock_release(first, 3), 0);
    CHECK_EQUAL(tidings__lock_held(second, 3), 0);
    CHECK_EQUAL(tidings__lock_held(second, TIDINGS__LOCK_REMOVAL), 1);
    CHECK_EQUAL(close(first), 0);
    CHECK_EQUAL(tidings__lock_held(second, TIDINGS__LOCK_REMOVAL), 0);
}

TEST(readers_share_a_lock_that_keeps_writers_off) {
    begin();
    CHECK_EQUAL(tidings__lock_try(first, 3, false), 0);
    CHECK_EQUAL(tidings__lock_try(second, 3, false), 0);
    CHECK_EQUAL(tidings__lock_try(second, 3, true), -EAGAIN);
}
