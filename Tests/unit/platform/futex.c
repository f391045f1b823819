#include "platform/futex.h"

#include <errno.h>

#include "unit.h"

// A wait that is due at once: no test sleeps.
#define AT_ONCE 0

TEST(a_sleep_on_another_value_returns_at_once) {
    _Atomic uint32_t word = 5;
    errno = 42;
    CHECK_EQUAL(tidings__futex_wait(&word, 4, -1), -EAGAIN);
    CHECK_EQUAL(tidings__futex_wait(&word, 5, AT_ONCE), -ETIMEDOUT);
    CHECK_EQUAL(errno, 42);
}

TEST(a_sleep_on_several_words_returns_if_one_has_another_value) {
    _Atomic uint32_t words[2] = {5, 6};
    tidings__futex_value values[2] = {{&words[0], 5}, {&words[1], 6}};
    CHECK_EQUAL(tidings__futex_wait_any(values, 2, AT_ONCE), -ETIMEDOUT);
    values[1].value = 7;
    CHECK_EQUAL(tidings__futex_wait_any(values, 2, -1), -EAGAIN);
    values[0].value = 7;
    values[1].value = 6;
    CHECK_EQUAL(tidings__futex_wait_either(values, 2, -1), -EAGAIN);
}

TEST(a_wake_up_without_sleepers_wakes_none) {
    _Atomic uint32_t word = 5;
    errno = 42;
    CHECK_EQUAL(tidings__futex_wake(&word, 1), 0);
    CHECK_EQUAL(errno, 42);
}

TEST(the_kernel_is_asked_once_whether_it_takes_several_words) {
    errno = 42;
    CHECK_EQUAL(tidings__futex_takes_several(), tidings__futex_takes_several());
    CHECK_EQUAL(errno, 42);
}
