// Clocks, sleeping, and the number of processors.
#include "platform/clock.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "platform/atomics.h"

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    (void)clock_gettime(clock, &now);  // fails for unknown clocks only
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t tidings__realtime_ns(void) { return read_clock(CLOCK_REALTIME); }

uint64_t tidings__monotonic_ns(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t tidings__thread_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void tidings__stamp_tick(tidings__thread *thread, uint64_t tick) {
    thread->tick_precise_ns = read_clock(CLOCK_REALTIME);
    thread->window = (uint32_t)(tick >> 28) | 0x80000000u;
    // Stored second: a signal handler that posts in between finds the old tick, and reads the clock itself.
    thread->tick_ns = tick;
}

void tidings__nap(int64_t ns) {
    if (ns <= 0) return;
    struct timespec left = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    // clock_nanosleep returns its error and leaves errno alone. After a signal, `left` has the remaining time.
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {}
}

void tidings__yield(void) { (void)sched_yield(); }

static _Atomic uint32_t processors;

uint32_t tidings__processors_refresh(void) {
    // cpu_set_t ends at 1,024 processors, and the call fails if the machine could have more. Room for 8,192.
    cpu_set_t sets[8];
    const int saved = errno;
    uint32_t count = 1;
    if (sched_getaffinity(0, sizeof sets, sets) == 0) count = (uint32_t)CPU_COUNT_S(sizeof sets, sets);
    errno = saved;
    if (count == 0) count = 1;
    tidings__set_relaxed(&processors, count);
    return count;
}

uint32_t tidings__processors(void) {
    const uint32_t count = tidings__relaxed(&processors);
    return count ? count : tidings__processors_refresh();
}
