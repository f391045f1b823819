// Shifts CLOCK_REALTIME of a process by TIDINGS_TEST_CLOCK seconds: a library for LD_PRELOAD. Namespaces have no such
// clock of their own.
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t shift;

__attribute__((constructor)) static void read_shift(void) {
    const char *seconds = getenv("TIDINGS_TEST_CLOCK");
    if (seconds) shift = atol(seconds);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    const int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += shift;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    *now = (struct timeval){.tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000};
    return 0;
}

// SwiftNIO and the C client of NATS wait until a time of this clock. A time of the monotonic clock is below 10^9 s.
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *end) {
    struct timespec time = *end;
    const bool is_shifted = time.tv_sec > 1000000000;
    if (is_shifted) time.tv_sec -= shift;
    return pthread_cond_clockwait(condition, mutex, is_shifted ? CLOCK_REALTIME : CLOCK_MONOTONIC, &time);
}
