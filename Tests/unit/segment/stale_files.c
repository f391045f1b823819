#include <errno.h>
#include <stdio.h>

#include "files.h"
#include "platform/lock.h"

// What a search of the test's directory told of last.
static tidings_stale_file last;

static bool note(void *context, const tidings_stale_file *stale_file) {
    (void)context;
    last = *stale_file;
    return true;
}
static int search(bool delete_them) { return tidings__stale_files(unit_directory(), delete_them, note, NULL); }

// An empty file beside the centers of this user.
static int file_beside(const char *suffix, char path[4096]) {
    (void)snprintf(path, 4096, "%s/tidings.%u..0123456789abcdef%s", unit_directory(), tidings__user_id(), suffix);
    const int fd = tidings__file_create_named(path);
    CHECK(fd >= 0);
    return fd;
}

TEST(a_center_in_use_is_no_stale_file) {
    static tidings__segment s;
    CHECK_EQUAL(open_x(&s, 0, 0644), 0);
    CHECK_EQUAL(search(true), 0);
    CHECK(exists(s.path));
}

TEST(an_unfinished_center_is_stale_unless_its_creator_holds_it) {
    char path[4096];
    const int fd = file_beside("", path);
    CHECK_EQUAL(tidings__birth_hold(fd, path), 0);
    CHECK_EQUAL(search(true), 0);
    tidings__birth_release(fd);
    CHECK_EQUAL(search(false), 1);
    CHECK_EQUAL(last.kind, TIDINGS_STALE_FILE_UNFINISHED);
    CHECK(!last.deleted);
    CHECK_EQUAL(search(true), 1);
    CHECK(last.deleted);
    CHECK(!exists(path));
}

TEST(a_creator_that_lost_its_file_begins_anew) {
    char path[4096];
    const int fd = file_beside("", path);
    CHECK_EQUAL(tidings__file_unlink(path), 0);
    CHECK_EQUAL(tidings__birth_hold(fd, path), -EAGAIN);
}

TEST(a_writers_file_without_its_center_is_stale) {
    static tidings__segment s;
    char path[4096];
    CHECK_EQUAL(open_x(&s, 0, 0644), 0);
    (void)file_beside(TIDINGS__WRITERS_FILE_SUFFIX, path);
    CHECK_EQUAL(search(true), 1);
    CHECK_EQUAL(last.kind, TIDINGS_STALE_FILE_WRITERS_FILE);
    CHECK(!exists(path));
    CHECK(exists(s.path));
}

TEST(a_center_that_is_marked_as_removed_and_has_its_name_is_stale) {
    static tidings__segment s;
    CHECK_EQUAL(open_x(&s, 0, 0600), 0);
    s.header->removed.word = 1;
    CHECK_EQUAL(search(true), 1);
    CHECK_EQUAL(last.kind, TIDINGS_STALE_FILE_REMOVED);
    CHECK(!exists(s.path));
}

TEST(files_with_other_names_are_left_alone) {
    char path[4096];
    (void)file_beside("0", path);
    CHECK_EQUAL(search(true), 0);
    CHECK(exists(path));
}
