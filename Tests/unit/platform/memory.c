#include <errno.h>
#include <sys/resource.h>

#include "platform/file.h"
#include "unit.h"

#define SIZE (8 * TIDINGS__PAGE)

static int file_of(uint64_t size) {
    const int fd = tidings__file_create_memory("unit");
    CHECK_EQUAL(tidings__file_resize(fd, size), 0);
    return fd;
}

TEST(a_new_file_is_one_hole) {
    const int fd = file_of(SIZE);
    CHECK_EQUAL(tidings__file_hole(fd, 0), 0);
    CHECK_EQUAL(tidings__file_hole(fd, SIZE), SIZE);
    CHECK(!tidings__file_backed(fd, 0, 1));
}

TEST(a_hole_begins_where_pages_were_never_touched) {
    const int fd = file_of(SIZE);
    CHECK_EQUAL(tidings__file_zero(fd, 0, 2 * TIDINGS__PAGE), 0);
    CHECK_EQUAL(tidings__file_hole(fd, 0), 2 * TIDINGS__PAGE);
    CHECK(tidings__file_backed(fd, 0, 2 * TIDINGS__PAGE));
    CHECK(!tidings__file_backed(fd, 0, 2 * TIDINGS__PAGE + 1));
}

TEST(nothing_is_known_to_have_memory_in_a_file_that_was_closed) {
    CHECK_EQUAL(tidings__file_hole(-1, TIDINGS__PAGE), TIDINGS__PAGE);
    CHECK(!tidings__file_backed(-1, 0, 1));
}

TEST(populating_touches_what_has_memory_or_can_get_it) {
    const int fd = file_of(SIZE);
    uint8_t *writing, *reading;
    CHECK_EQUAL(tidings__map(fd, SIZE, true, &writing), 0);
    CHECK_EQUAL(tidings__map(fd, SIZE, false, &reading), 0);
    writing[5] = 77;
    CHECK_EQUAL(tidings__map_populate(reading + 5, 1, false), 0);
    CHECK_EQUAL(tidings__map_populate(writing + TIDINGS__PAGE, TIDINGS__PAGE, true), 0);
    CHECK(tidings__file_backed(fd, 0, 2 * TIDINGS__PAGE));
    CHECK_EQUAL(reading[5], 77);
    CHECK_EQUAL(tidings__file_resize(fd, TIDINGS__PAGE), 0);
    CHECK_EQUAL(tidings__map_populate(reading + TIDINGS__PAGE, 1, false), -ENOSPC);  // touching would be SIGBUS
}

TEST(touching_reserved_pages_backs_them_and_changes_nothing) {
    const int fd = file_of(SIZE);
    uint8_t *base;
    CHECK_EQUAL(tidings__map(fd, SIZE, true, &base), 0);
    CHECK_EQUAL(tidings__file_reserve(fd, 0, SIZE), 0);
    base[5] = 77;
    CHECK_EQUAL(tidings__map_touch(base + 5, TIDINGS__PAGE, true), 0);
    CHECK(tidings__file_backed(fd, 0, 2 * TIDINGS__PAGE));
    tidings__map_touch_each(base, SIZE);
    CHECK(tidings__file_backed(fd, 0, SIZE));
    CHECK_EQUAL(base[5], 77);
    tidings__unmap(base, SIZE);
}

TEST(reserving_gives_memory_to_the_range_only) {
    const int fd = file_of(SIZE);
    CHECK_EQUAL(tidings__file_reserve(fd, TIDINGS__PAGE, 2 * TIDINGS__PAGE), 0);
    CHECK_EQUAL(tidings__file_memory(fd), 2 * TIDINGS__PAGE);
}

TEST(a_length_over_the_limit_is_refused_without_a_signal) {
    const int fd = file_of(SIZE);
    const struct rlimit limit = {.rlim_cur = 2 * SIZE, .rlim_max = 2 * SIZE};
    CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_EQUAL(tidings__file_resize(fd, 2 * SIZE + 1), -EFBIG);
    CHECK_EQUAL(tidings__file_resize(fd, 2 * SIZE), 0);
}

TEST(unmapping_nothing_leaves_errno_alone) {
    errno = 42;
    tidings__unmap(NULL, SIZE);
    CHECK_EQUAL(errno, 42);
}
