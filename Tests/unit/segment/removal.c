#include <errno.h>

#include "files.h"
#include "platform/error.h"
#include "platform/lock.h"

static int remove_x(void) {
    const tidings_configuration configuration = with_file(0, 0);
    return tidings__segment_remove("x", &configuration);
}

TEST(a_removed_center_is_marked_and_has_no_name) {
    static tidings__segment s;
    CHECK_EQUAL(open_x(&s, 0, 0600), 0);
    CHECK_EQUAL(remove_x(), 0);
    CHECK_EQUAL(s.header->removed.word, 1);
    CHECK(!exists(s.path));
    CHECK_EQUAL(remove_x(), -ENOENT);
}

// Most pages of a new center were reserved and never touched.
TEST(a_removal_rings_observers_that_sleep) {
    static tidings__segment s;
    CHECK_EQUAL(open_x(&s, 0, 0600), 0);
    *tidings__doorbell(&s, 2) = 4 | 1;
    *tidings__doorbell(&s, 3) = 4;
    CHECK_EQUAL(remove_x(), 0);
    CHECK_EQUAL(*tidings__doorbell(&s, 2), 6 | 1);
    CHECK_EQUAL(*tidings__doorbell(&s, 3), 4);
}

TEST(a_removal_rings_observers_that_sleep_on_the_writers_file) {
    static tidings__segment s;
    CHECK_EQUAL(open_x(&s, 0, 0644), 0);
    *tidings__doorbell(&s, 2) = 4 | 1;
    s.header->name_futexes[3].word = 7;
    CHECK_EQUAL(remove_x(), 0);
    CHECK_EQUAL(*tidings__doorbell(&s, 2), 6 | 1);
    CHECK_EQUAL(s.header->name_futexes[3].word, 8);
}

TEST(a_removal_leaves_the_successor_of_the_center_alone) {
    static tidings__segment s, successor;
    CHECK_EQUAL(open_x(&s, 0, 0600), 0);
    CHECK_EQUAL(tidings__file_unlink(s.path), 0);
    CHECK_EQUAL(open_x(&successor, 0, 0600), 0);
    CHECK_EQUAL(tidings__segment_unlink(&s, s.fd, -1, true, "remove"), 0);
    CHECK(exists(successor.path));
    CHECK_EQUAL(s.header->removed.word, 1);
    CHECK_EQUAL(successor.header->removed.word, 0);
}

TEST(a_removal_waits_for_another_remover_and_then_gives_up) {
    static tidings__segment s, other;
    CHECK_EQUAL(open_x(&s, 0, 0600), 0);
    CHECK_EQUAL(open_x(&other, 0, 0600), 0);
    CHECK_EQUAL(tidings__lock_try(other.fd, TIDINGS__LOCK_REMOVAL, true), 0);
    CHECK_EQUAL(tidings__segment_unlink(&s, s.fd, -1, true, "remove"), TIDINGS__LATER);
    s.looks = 2000;
    CHECK_EQUAL(tidings__segment_unlink(&s, s.fd, -1, true, "remove"), -ESTALE);
    CHECK(exists(s.path));
}

TEST(a_file_that_is_no_center_is_not_removed) {
    static tidings__segment s;
    CHECK_EQUAL(open_x(&s, 0, 0600), 0);
    s.header->magic = 0;
    CHECK_EQUAL(remove_x(), -EBADMSG);
    CHECK(exists(s.path));
}
