#include "platform/event.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "unit.h"

static bool readable(int fd) {
    struct pollfd poll_of = {.fd = fd, .events = POLLIN};
    return poll(&poll_of, 1, 0) == 1;
}

TEST(an_event_is_readable_from_its_signal_until_it_is_cleared) {
    const int fd = tidings__event_open();
    CHECK(fd > 2);
    CHECK(!readable(fd));
    tidings__event_signal(fd);
    tidings__event_signal(fd);
    CHECK(readable(fd));
    tidings__event_clear(fd);
    CHECK(!readable(fd));
    tidings__event_close(fd);
}

TEST(clearing_an_event_without_a_signal_does_not_wait) {
    const int fd = tidings__event_open();
    errno = 42;
    tidings__event_clear(fd);
    CHECK_EQUAL(errno, 42);
}

static void *blocked(void *argument) {
    (void)pthread_sigmask(SIG_BLOCK, NULL, argument);
    return NULL;
}

TEST(a_helper_thread_takes_no_signals_and_its_starter_still_does) {
    sigset_t there, here;
    pthread_t thread;
    CHECK_EQUAL(tidings__thread_start(&thread, blocked, &there, 0), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK(sigismember(&there, SIGTERM));
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, NULL, &here), 0);
    CHECK(!sigismember(&here, SIGTERM));
}
