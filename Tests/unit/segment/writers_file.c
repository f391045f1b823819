#include <errno.h>

#include "files.h"
#include "platform/error.h"

TEST(a_mode_with_readers_that_may_not_write_makes_a_center_observable) {
    CHECK(tidings__mode_observable(0644));
    CHECK(tidings__mode_observable(0640));
    CHECK(!tidings__mode_observable(0600));
    CHECK(!tidings__mode_observable(0660));
    CHECK(!tidings__mode_observable(0666));
}

static void writers_path(const tidings__segment *s, char *path) {
    const int result = tidings__beside_path(s->path, s->owner, s->instance, TIDINGS__WRITERS_FILE_SUFFIX, path, 4096);
    CHECK_EQUAL(result, 0);
}

TEST(the_writers_file_of_an_observable_center_is_closed_to_readers) {
    static tidings__segment s;
    char path[4096];
    CHECK_EQUAL(open_x(&s, 0, 0644), 0);
    writers_path(&s, path);
    struct stat status;
    CHECK_EQUAL(tidings__path_status(path, &status), 0);
    CHECK_EQUAL(status.st_mode & 07777, 0600);
    CHECK_EQUAL(status.st_ino, s.header->writers_file);
    CHECK(s.doorbells == s.writers_file_base);
    tidings__segment_close(&s);
}

TEST(doorbells_of_an_observable_center_are_shared_through_the_writers_file) {
    static tidings__segment first, second;
    CHECK_EQUAL(open_x(&first, 0, 0644), 0);
    CHECK_EQUAL(open_x(&second, 0, 0644), 0);
    *tidings__doorbell(&first, 3) = 42;
    CHECK_EQUAL(*tidings__doorbell(&second, 3), 42);
    CHECK_EQUAL(first.observers[3].doorbell, 0);
    CHECK_EQUAL(tidings__segment_locks(&first), first.writers_file_fd);
    tidings__segment_close(&first);
    tidings__segment_close(&second);
}

TEST(a_writers_file_that_was_replaced_is_refused) {
    static tidings__segment s, other;
    char path[4096];
    CHECK_EQUAL(open_x(&s, 0, 0644), 0);
    writers_path(&s, path);
    CHECK_EQUAL(tidings__file_unlink(path), 0);
    const int fd = tidings__file_create_named(path);
    CHECK(fd >= 0);
    CHECK_EQUAL(open_x(&other, 0, 0644), -EBADMSG);
    CHECK_SAYS(tidings__last_error(), "it is another one");
    CHECK_EQUAL(open_x(&other, TIDINGS_OPEN_READ_ONLY, 0), 0);
    CHECK(other.observable);
}

TEST(the_writers_file_goes_with_its_center) {
    static tidings__segment s;
    char path[4096];
    CHECK_EQUAL(open_x(&s, 0, 0644), 0);
    writers_path(&s, path);
    CHECK(exists(path));
    const tidings_configuration configuration = with_file(0, 0);
    CHECK_EQUAL(tidings__segment_remove("x", &configuration), 0);
    CHECK(!exists(path));
}
