// Futex system calls. Declared and described in futex.h.
#include "platform/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "platform/atomics.h"

// Every function here leaves errno alone: a signal handler may post, and the interrupted code may be about to read
// errno.

int tidings__futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns) {
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

// FUTEX_WAITV is defined here because the build system's headers may be older than the running kernel.
typedef struct waiter {
    uint64_t value, address;
    uint32_t flags, reserved;
} waiter;
#define WAITER_32_BITS 2u
#define WAITV 449  // the same number on every architecture
#define WITHOUT_WAITV_NS 5000000
#define MOVED_NS 1000000000

enum { UNKNOWN, THERE, MISSING };
static _Atomic int waitv;

static int wait_vector(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns) {
    if (tidings__relaxed(&waitv) == MISSING) return -ENOSYS;
    const int saved = errno;
    waiter waiters[TIDINGS__FUTEX_WORDS] = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        waiters[i].value = values[i].value;
        waiters[i].address = (uintptr_t)values[i].word;
        waiters[i].flags = WAITER_32_BITS;
    }
    struct timespec until;  // FUTEX_WAITV takes a point in time, not a duration
    if (timeout_ns >= 0) {
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        const int64_t nanoseconds = until.tv_nsec + timeout_ns % 1000000000;
        until.tv_sec += (time_t)(timeout_ns / 1000000000 + nanoseconds / 1000000000);
        until.tv_nsec = (long)(nanoseconds % 1000000000);
    }
    const long result = syscall(WAITV, waiters, count, 0, timeout_ns >= 0 ? &until : NULL, CLOCK_MONOTONIC);
    const int error = result < 0 ? errno : 0;
    errno = saved;
    if (error != ENOSYS && error != EPERM) return -error;  // a filter may answer EPERM for ENOSYS
    tidings__set_relaxed(&waitv, MISSING);
    return -ENOSYS;
}

// Without FUTEX_WAITV: sleeps on the first word for a short time. A change of the other words doesn't end this sleep.
static int wait_first(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns) {
    for (uint32_t i = 1; i < count; i++) {
        if (tidings__relaxed(values[i].word) != values[i].value) return -EAGAIN;
    }
    return tidings__futex_wait(values[0].word, values[0].value,
                               timeout_ns >= 0 && timeout_ns < WITHOUT_WAITV_NS ? timeout_ns : WITHOUT_WAITV_NS);
}

int tidings__futex_wait_any(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns) {
    const int result = wait_vector(values, count, timeout_ns);
    return result != -ENOSYS ? result : wait_first(values, count, timeout_ns);
}

int tidings__futex_wait_either(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns) {
    const int result = wait_vector(values, count, timeout_ns);
    if (result != -ENOSYS) return result;
    // A poster that changes a word beyond the second does not wake the first. So the sleep is short.
    if (count > 2) return wait_first(values, count, timeout_ns);
    // Returns after MOVED_NS: a process with write access can move a sleeper to another futex (FUTEX_REQUEUE) that no
    // poster wakes.
    return tidings__futex_wait(values[0].word, values[0].value,
                               timeout_ns >= 0 && timeout_ns < MOVED_NS ? timeout_ns : MOVED_NS);
}

bool tidings__futex_takes_several(void) {
    int known = tidings__relaxed(&waitv);
    if (known == UNKNOWN) {
        const int saved = errno;
        // A kernel that has the call refuses an empty list with EINVAL.
        known = syscall(WAITV, NULL, 0, 0, NULL, 0) < 0 && errno == EINVAL ? THERE : MISSING;
        errno = saved;
        tidings__set_relaxed(&waitv, known);
    }
    return known == THERE;
}

int tidings__futex_wake(_Atomic uint32_t *word, int count) {
    const int saved = errno;
    const long result = syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
    const int answer = result < 0 ? -errno : (int)result;
    errno = saved;
    return answer;
}
