#include "platform/watch.h"

#include <errno.h>
#include <unistd.h>

#include "platform/file.h"
#include "platform/futex.h"
#include "unit.h"

// Counts changes; a futex.
static _Atomic uint32_t changes;
static _Atomic int32_t changed_watch;

static void changed(int32_t watch) {
    changed_watch = watch;
    changes++;
    tidings__futex_wake(&changes, 1);
}
static void await_change(void) {
    while (changes == 0) tidings__futex_wait(&changes, 0, -1);
}

// A watch, unless this kernel has no way for one.
static bool may_watch(int32_t watch) {
    CHECK(watch > 0 || watch == -ENOSYS);
    return watch > 0 && tidings__watch_runs();
}

static const char *path_in(char path[128], const char *file) {
    return strcat(strcat(strcpy(path, unit_directory()), "/"), file);
}

TEST(a_file_that_loses_its_name_is_told_of) {
    char path[128];
    const int fd = tidings__file_create_named(path_in(path, "a"));
    const int32_t watch = tidings__watch_add(fd, path, changed);
    if (!may_watch(watch)) return;
    CHECK_EQUAL(tidings__file_unlink(path), 0);
    await_change();
    CHECK_EQUAL(changed_watch, watch);
}

TEST(a_file_that_comes_into_a_directory_is_told_of) {
    char path[128];
    const int32_t watch = tidings__watch_add_directory(unit_directory(), changed);
    if (!may_watch(watch)) return;
    CHECK(tidings__file_create_named(path_in(path, "a")) >= 0);
    await_change();
    CHECK_EQUAL(changed_watch, watch);
}

TEST(two_descriptors_of_a_file_have_one_watch) {
    char path[128];
    const int fd = tidings__file_create_named(path_in(path, "a"));
    const int32_t watch = tidings__watch_add(fd, path, changed);
    if (!may_watch(watch)) return;
    errno = 42;
    CHECK_EQUAL(tidings__watch_add(dup(fd), path, changed), watch);
    tidings__watch_remove(watch);
    CHECK_EQUAL(errno, 42);
}
