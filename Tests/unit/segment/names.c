#include "segment/names.h"

#include <errno.h>
#include <stdlib.h>

#include "platform/error.h"
#include "unit.h"

static size_t valid(const char *text) { return tidings__valid_prefix(text, strlen(text)); }

TEST(characters_of_one_to_four_bytes_are_valid) { CHECK_EQUAL(valid("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), 10); }

TEST(overlong_surrogate_and_too_large_characters_are_not_valid) {
    CHECK_EQUAL(valid("a\xc0\xaf"), 1);
    CHECK_EQUAL(valid("a\xe0\x80\xaf"), 1);
    CHECK_EQUAL(valid("a\xed\xa0\x80"), 1);
    CHECK_EQUAL(valid("a\xf0\x80\x80\xaf"), 1);
    CHECK_EQUAL(valid("a\xf4\x90\x80\x80"), 1);
    CHECK_EQUAL(valid("a\xe2\x82"), 1);
    CHECK_EQUAL(tidings__valid_prefix("a\0b", 3), 1);
}

TEST(a_text_is_refused_by_its_length_and_by_its_bytes) {
    CHECK_EQUAL(tidings__check_text("subject", "abc", 3, 1, 3), 0);
    CHECK_EQUAL(tidings__check_text("subject", "abcd", 4, 1, 3), -EINVAL);
    CHECK_EQUAL(tidings__check_text("subject", "", 0, 1, 3), -EINVAL);
    CHECK_EQUAL(tidings__check_text("subject", "\xff", 1, 1, 3), -EINVAL);
    CHECK_SAYS(tidings__last_error(), "subject");
}

TEST(a_center_name_that_could_leave_its_directory_is_refused) {
    CHECK_EQUAL(tidings__check_center_name("a.b"), 0);
    CHECK_EQUAL(tidings__check_center_name(".a"), -EINVAL);
    CHECK_EQUAL(tidings__check_center_name("a/b"), -EINVAL);
    CHECK_EQUAL(tidings__check_center_name("a\nb"), -EINVAL);
    CHECK_EQUAL(tidings__check_center_name("a\xc2\x85"), -EINVAL);
    CHECK_EQUAL(tidings__check_center_name(""), -EINVAL);
}

TEST(a_center_path_has_one_slash_before_the_file) {
    char path[64];
    CHECK_EQUAL(tidings__center_path("x", "/tmp", 7, path, sizeof path), 0);
    CHECK_TEXT(path, "/tmp/tidings.7.x");
    CHECK_EQUAL(tidings__center_path("x", "/", 7, path, sizeof path), 0);
    CHECK_TEXT(path, "/tidings.7.x");
    CHECK_EQUAL(tidings__center_path("x", "/tmp", 7, path, 12), -ENAMETOOLONG);
}

TEST(a_path_beside_a_center_has_its_number_in_hexadecimal) {
    char path[64];
    CHECK_EQUAL(tidings__beside_path("/tmp/tidings.120.x", 120, 0xabc, ".writers", path, sizeof path), 0);
    CHECK_TEXT(path, "/tmp/tidings.120..0000000000000abc.writers");
    CHECK_EQUAL(tidings__beside_path("/tmp/tidings.120.x", 120, 0xabc, ".writers", path, 42), -ENAMETOOLONG);
}

TEST(the_directory_of_the_environment_is_used_unless_one_is_configured) {
    char path[64];
    CHECK_EQUAL(setenv("TIDINGS_DIRECTORY", "/tmp/", 1), 0);
    CHECK_EQUAL(tidings__center_directory(NULL, path, sizeof path), 0);
    CHECK_TEXT(path, "/tmp");
    CHECK_EQUAL(tidings__center_directory("", path, sizeof path), 0);
    CHECK_TEXT(path, "/dev/shm");
}
