#include <errno.h>

#include "files.h"
#include "platform/error.h"

TEST(two_openings_of_a_name_meet_in_one_center) {
    static tidings__segment first, second;
    CHECK_EQUAL(open_x(&first, 0, 0600), 0);
    CHECK_EQUAL(open_x(&second, 0, 0600), 0);
    CHECK_EQUAL(second.instance, first.instance);
    first.header->generation.word = 42;
    CHECK_EQUAL(second.header->generation.word, 42);
    CHECK(first.fd != second.fd);
    tidings__segment_close(&first);
    tidings__segment_close(&second);
}

TEST(an_existing_center_keeps_its_shape) {
    static tidings__segment first, second;
    CHECK_EQUAL(open_x(&first, 0, 0600), 0);
    tidings_configuration larger = with_file(0, 0600);
    larger.slots = 1024;
    second.looks = 0;
    CHECK_EQUAL(tidings__segment_open("x", &larger, &second), 0);
    CHECK_EQUAL(second.shape.slots, 256);
    CHECK_EQUAL(second.slot_mask, 255);
    CHECK_EQUAL(second.slot_shift, 8);
    tidings__segment_close(&first);
    tidings__segment_close(&second);
}

TEST(an_opening_that_must_not_create_creates_nothing) {
    static tidings__segment s;
    CHECK_EQUAL(open_x(&s, TIDINGS_OPEN_EXISTING, 0), -ENOENT);
    CHECK_EQUAL(open_x(&s, TIDINGS_OPEN_READ_ONLY, 0), -ENOENT);
    CHECK(!exists(s.path));
}

TEST(an_exclusive_opening_refuses_a_center_that_exists) {
    static tidings__segment first, second;
    CHECK_EQUAL(open_x(&first, TIDINGS_OPEN_EXCLUSIVE, 0600), 0);
    CHECK_EQUAL(open_x(&second, TIDINGS_OPEN_EXCLUSIVE, 0600), -EEXIST);
    tidings__segment_close(&first);
}

TEST(an_opening_finishes_the_removal_of_a_center_that_is_marked_as_removed) {
    static tidings__segment first, second;
    CHECK_EQUAL(open_x(&first, 0, 0600), 0);
    first.header->removed.word = 1;
    CHECK_EQUAL(open_x(&second, 0, 0600), 0);
    CHECK(second.instance != first.instance);
    CHECK_EQUAL(second.header->removed.word, 0);
    tidings__segment_close(&first);
    tidings__segment_close(&second);
}

TEST(a_descriptor_that_leads_to_another_file_is_not_the_segments) {
    static tidings__segment s;
    CHECK_EQUAL(open_x(&s, 0, 0600), 0);
    CHECK_EQUAL(tidings__segment_descriptor(&s), s.fd);
    s.inode++;
    CHECK_EQUAL(tidings__segment_descriptor(&s), -EBADF);
    s.inode--;
    tidings__segment_close(&s);
    tidings__segment_close(&s);
    CHECK_EQUAL(s.fd, -1);
}
