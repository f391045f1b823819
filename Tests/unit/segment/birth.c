#include <errno.h>

#include "files.h"
#include "platform/error.h"

TEST(a_new_center_says_what_it_is_in_its_first_page) {
    static tidings__segment s;
    CHECK_EQUAL(open_x(&s, 0, 0600), 0);
    CHECK_EQUAL(s.header->magic, TIDINGS__MAGIC);
    CHECK_EQUAL(s.header->version, TIDINGS__FORMAT_VERSION);
    CHECK_EQUAL(s.header->layout_stamp, tidings__layout_stamp());
    CHECK_EQUAL(s.header->file_size, s.size);
    CHECK_EQUAL(s.header->birthplace, s.inode);
    CHECK(s.header->instance != 0);
    tidings__segment_close(&s);
}

TEST(only_slot_0_of_a_new_ring_says_that_its_position_never_came) {
    tidings__segment *s = unit_segment();
    CHECK_EQUAL(s->cells[0].commit, TIDINGS__C_NEVER);
    CHECK_EQUAL(s->cells[0].verdict, TIDINGS__V_NEVER);
    for (uint32_t slot = 1; slot < s->shape.slots; slot++)
        CHECK_EQUAL(s->cells[slot].commit | s->cells[slot].verdict, 0);
    CHECK_EQUAL(s->header->names_used.word, TIDINGS__NAME_FIRST);
}

TEST(a_new_center_has_the_mode_that_was_asked_for_and_no_file_beside_it) {
    static tidings__segment s;
    CHECK_EQUAL(open_x(&s, 0, 0660), 0);
    struct stat status;
    CHECK_EQUAL(tidings__path_status(s.path, &status), 0);
    CHECK_EQUAL(status.st_mode & 07777, 0660);
    CHECK_EQUAL(status.st_nlink, 1);
    CHECK(!s.observable);
    tidings__segment_close(&s);
}

TEST(a_creator_that_comes_second_is_told_so_and_changes_nothing) {
    static tidings__segment s, other;
    CHECK_EQUAL(open_x(&s, 0, 0600), 0);
    other = s;
    CHECK_EQUAL(tidings__segment_birth(&other, 0600, NULL), -EEXIST);
    CHECK_EQUAL(s.header->instance, s.instance);
    tidings__segment_close(&s);
}

TEST(a_creator_without_a_directory_is_told_which) {
    static tidings__segment s;
    tidings_configuration configuration = with_file(0, 0600);
    configuration.directory = "/dev/shm/tidings-unit-none";
    s.looks = 0;
    CHECK_EQUAL(tidings__segment_open("x", &configuration, &s), -ENOENT);
    CHECK_SAYS(tidings__last_error(), "/dev/shm/tidings-unit-none does not exist");
}
