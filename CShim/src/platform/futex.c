#include "platform/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// errno is kept everywhere here, because a post is allowed in a signal handler, and whom that interrupted may be about to read it.

int tidings__futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    const int saved = errno;
    struct timespec limit;
    if (timeout_ns >= 0) {
        limit.tv_sec = (time_t)(timeout_ns / 1000000000);
        limit.tv_nsec = (long)(timeout_ns % 1000000000);
    }
    const long result = syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ns >= 0 ? &limit : NULL, NULL, 0);
    const int error = result < 0 ? errno : 0;
    errno = saved;
    return -error;
}

int tidings__futex_wake(_Atomic uint32_t *word, int count)
{
    const int saved = errno;
    const long result = syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
    const int answer = result < 0 ? -errno : (int)result;
    errno = saved;
    return answer;
}
