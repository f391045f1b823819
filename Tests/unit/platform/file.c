#include "platform/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "unit.h"

static const char *path_of(const char *file) {
    static char paths[4][128];
    static uint32_t used;
    return strcat(strcat(strcpy(paths[used++ % 4], unit_directory()), "/"), file);
}

TEST(no_file_gets_the_number_of_a_standard_descriptor) {
    CHECK_EQUAL(close(0), 0);
    const int fd = tidings__file_create_named(path_of("a"));
    CHECK(fd > 2);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK(fcntl(0, F_GETFD) < 0);
}

TEST(a_symbolic_link_is_not_opened) {
    CHECK_EQUAL(symlink("/dev/null", path_of("link")), 0);
    CHECK_EQUAL(tidings__file_open(path_of("link"), false), -ELOOP);
}

TEST(a_fifo_without_a_writer_does_not_block_an_opening) {
    CHECK_EQUAL(mkfifo(path_of("fifo"), 0600), 0);
    CHECK(tidings__file_open(path_of("fifo"), false) >= 0);
}

TEST(a_name_that_is_taken_is_not_given_again) {
    const int unnamed = tidings__file_create_unnamed(unit_directory());
    CHECK(unnamed >= 0);
    CHECK_EQUAL(tidings__file_publish(unnamed, path_of("a")), 0);
    CHECK(tidings__file_same(unnamed, path_of("a")));
    const int named = tidings__file_create_named(path_of("b"));
    CHECK(named >= 0);
    CHECK_EQUAL(tidings__file_rename(path_of("b"), path_of("a")), -EEXIST);
    CHECK(tidings__file_same(named, path_of("b")));
    CHECK_EQUAL(tidings__file_create_named(path_of("a")), -EEXIST);
}

TEST(a_reopened_file_is_the_same_whatever_its_name_has_become) {
    const int fd = tidings__file_create_named(path_of("a"));
    CHECK(fd >= 0);
    CHECK_EQUAL(tidings__file_unlink(path_of("a")), 0);
    CHECK(tidings__file_create_named(path_of("a")) >= 0);
    struct stat ours;
    CHECK_EQUAL(tidings__file_status(fd, &ours), 0);
    const int again = tidings__file_reopen(fd, true, path_of("a"));
    CHECK(again >= 0);
    CHECK(tidings__file_is(again, ours.st_dev, ours.st_ino));
    CHECK(!tidings__file_same(fd, path_of("a")));
}

TEST(a_read_beyond_the_end_is_refused) {
    const int fd = tidings__file_create_named(path_of("a"));
    char bytes[8];
    CHECK_EQUAL(tidings__file_write(fd, "1234", 4, 2), 0);
    CHECK_EQUAL(tidings__file_read(fd, bytes, 4, 2), 0);
    CHECK(memcmp(bytes, "1234", 4) == 0);
    CHECK_EQUAL(tidings__file_read(fd, bytes, 5, 2), -ENODATA);
}

TEST(sealed_memory_keeps_its_length) {
    const int fd = tidings__file_create_memory("unit");
    CHECK_EQUAL(tidings__file_resize(fd, 8192), 0);
    CHECK(!tidings__file_sealed(fd));
    CHECK_EQUAL(tidings__file_seal(fd), 0);
    CHECK(tidings__file_sealed(fd));
    CHECK_EQUAL(tidings__file_resize(fd, 4096), -EPERM);
}

TEST(an_exact_mode_is_set_whatever_the_umask) {
    const int fd = tidings__file_create_named(path_of("a"));
    struct stat status;
    (void)umask(0777);
    CHECK_EQUAL(tidings__file_access(fd, 0664, NULL), 0);
    CHECK_EQUAL(tidings__file_status(fd, &status), 0);
    CHECK_EQUAL(status.st_mode & 07777, 0664);
}

TEST(closing_a_descriptor_leaves_errno_alone) {
    errno = 42;
    tidings__file_close(-1);
    tidings__file_close(1000);
    CHECK_EQUAL(errno, 42);
}
