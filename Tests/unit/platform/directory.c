#include "platform/directory.h"

#include <errno.h>
#include <unistd.h>

#include "platform/file.h"
#include "unit.h"

TEST(a_relative_directory_is_made_absolute_without_trailing_slashes) {
    char path[64];
    CHECK_EQUAL(chdir("/tmp"), 0);
    CHECK_EQUAL(tidings__directory_absolute("a//", path, sizeof path), 0);
    CHECK_TEXT(path, "/tmp/a");
    CHECK_EQUAL(chdir("/"), 0);
    CHECK_EQUAL(tidings__directory_absolute("a", path, sizeof path), 0);
    CHECK_TEXT(path, "/a");
    CHECK_EQUAL(tidings__directory_absolute("//", path, sizeof path), 0);
    CHECK_TEXT(path, "/");
}

TEST(a_directory_that_does_not_fit_is_refused) {
    char path[5];
    CHECK_EQUAL(tidings__directory_absolute("/tmp", path, sizeof path), 0);
    CHECK_EQUAL(tidings__directory_absolute("/tmp/", path, sizeof path), -ENAMETOOLONG);
}

TEST(a_file_is_no_directory) {
    struct stat status;
    CHECK_EQUAL(tidings__directory_status(unit_directory(), &status), 0);
    CHECK_EQUAL(tidings__directory_status("/proc/self/status", &status), -ENOTDIR);
    CHECK_EQUAL(tidings__directory_status("/none", &status), -ENOENT);
}

static uint32_t met;
static bool one(void *context, const char *file) {
    met++;
    CHECK(file[0] != '.');
    return *(bool *)context;
}

TEST(a_list_ends_when_its_caller_has_enough) {
    char path[128];
    for (char file[] = "a"; file[0] < 'd'; file[0]++) {
        (void)strcat(strcat(strcpy(path, unit_directory()), "/"), file);
        tidings__file_close(tidings__file_create_named(path));
    }
    bool more = true;
    CHECK_EQUAL(tidings__list(unit_directory(), one, &more), 0);
    CHECK_EQUAL(met, 3);
    more = false;
    CHECK_EQUAL(tidings__list(unit_directory(), one, &more), 0);
    CHECK_EQUAL(met, 4);
}
