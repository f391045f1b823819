#include "platform/error.h"

#include <errno.h>

#include "unit.h"

TEST(a_failure_keeps_its_line_and_leaves_errno_alone) {
    errno = 42;
    CHECK_EQUAL(tidings__fail(EINVAL, "can't use %d", 7), -EINVAL);
    CHECK_TEXT(tidings__last_error(), "can't use 7");
    CHECK_EQUAL(errno, 42);
    tidings__clear_error();
    CHECK_TEXT(tidings__last_error(), "");
}

TEST(a_failure_has_a_holder_until_the_next_one) {
    CHECK(!tidings__last_error_holder().known);
    const int error = tidings__fail(EAGAIN, "can't post");
    CHECK_EQUAL(tidings__error_held_by(error, 7, 4711, true), -EAGAIN);
    const tidings__error_holder holder = tidings__last_error_holder();
    CHECK(holder.known && holder.own);
    CHECK_EQUAL(holder.participant, 7);
    CHECK_EQUAL(holder.pid, 4711);
    CHECK_TEXT(tidings__last_error(), "can't post");
    (void)tidings__fail(EINVAL, "too large");
    CHECK(!tidings__last_error_holder().known);
    (void)tidings__error_held_by(-EAGAIN, 7, 4711, true);
    tidings__clear_error();
    CHECK(!tidings__last_error_holder().known);
}

TEST(a_failure_may_wrap_the_present_line) {
    (void)tidings__fail(EINVAL, "too large");
    (void)tidings__fail(EINVAL, "can't open: %s", tidings__last_error());
    CHECK_TEXT(tidings__last_error(), "can't open: too large");
}

TEST(control_characters_do_not_reach_the_line) {
    (void)tidings__fail(EINVAL, "a\nb\x1b[0m\x7f");
    CHECK_TEXT(tidings__last_error(), "a?b?[0m?");
    // U+009B is one too, as a terminal reads it; U+00A9 is not.
    (void)tidings__fail(EINVAL, "\xc2\x9b%s", "2J \xc2\xa9 \xc2");
    CHECK_TEXT(tidings__last_error(), "??2J \xc2\xa9 \xc2");
}

TEST(a_long_line_loses_its_middle_between_two_characters) {
    char text[1200];
    for (size_t i = 0; i + 1 < sizeof text; i += 2) memcpy(text + i, "\xc3\xa4", 2);
    text[0] = '<', text[1] = '-', text[sizeof text - 2] = '>', text[sizeof text - 1] = 0;
    (void)tidings__fail(EINVAL, "%s", text);
    const char *line = tidings__last_error();
    const char *gap = strstr(line, "…");
    CHECK(strlen(line) <= 511);
    CHECK(gap);
    CHECK(line[0] == '<');
    CHECK(line[strlen(line) - 1] == '>');
    CHECK_EQUAL((uint8_t)gap[-1], 0xa4);
    CHECK_EQUAL((uint8_t)gap[3], 0xc3);
}

static const char *amount(uint64_t bytes) {
    static char text[TIDINGS__AMOUNT_SIZE];
    return tidings__amount(bytes, text);
}

TEST(an_amount_has_a_tenth_below_ten_of_its_unit) {
    CHECK_TEXT(amount(17), "17 B");
    CHECK_TEXT(amount(256 << 10), "256 KiB");
    CHECK_TEXT(amount(1503238), "1.4 MiB");
    CHECK_TEXT(amount(1023), "1023 B");
    CHECK_TEXT(amount(UINT64_MAX), "15 EiB");
}
