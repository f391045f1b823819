// Waits for descriptors. Declared and described in wait.h.
#include "wait.h"

#include <errno.h>
#include <time.h>

static int64_t now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int tidings__wait_ready(struct pollfd *watched, nfds_t count, int64_t timeout_ns) {
    const int64_t begin = now_ns();
    for (;;) {
        const int64_t passed = now_ns() - begin, left = timeout_ns > passed ? timeout_ns - passed : 0;
        const struct timespec wait = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        const int ready = ppoll(watched, count, timeout_ns < 0 ? NULL : &wait, NULL);
        if (ready > 0) return 0;
        if (ready == 0 && left == 0) return -ETIMEDOUT;
    }
}
