// Reads clocks, waits, and counts processors.
#ifndef TIDINGS__CLOCK_H
#define TIDINGS__CLOCK_H

#include <stdint.h>
#include <time.h>

#include "platform/thread.h"

uint64_t tidings__realtime_ns(void);
uint64_t tidings__monotonic_ns(void);
uint64_t tidings__thread_ns(void);  // processor time of the calling thread

// Takes the calling thread's processor time since `begun` (of `tidings__thread_ns`) from what is left, down to 0.
static inline void tidings__spend(uint64_t *left, uint64_t begun) {
    const uint64_t took = tidings__thread_ns() - begun;
    *left -= took < *left ? took : *left;
}

// For `tidings__stamp`: reads the exact time, because the kernel's tick is a new one.
void tidings__stamp_tick(tidings__thread *thread, uint64_t tick);
// CLOCK_REALTIME for a post, in nanoseconds. It is exact for a thread's first post in a kernel tick (1 to 4 ms); the
// thread's later posts in that tick get the same time. Costs a third of an exact reading. If the clock is set, the next
// call shows it.
static inline uint64_t tidings__stamp(tidings__thread *thread) {
#ifdef MEASURE_WITHOUT_CLOCK  // Measured by: Benchmarks/Regressions/without
    if (thread->tick_ns) return thread->tick_precise_ns;
#endif
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);  // fails for unknown clocks only
    // Compared for equality, not for order: a clock that is set back yields a new tick, too.
    const uint64_t tick = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    if (__builtin_expect(thread->tick_ns != tick, 0)) tidings__stamp_tick(thread, tick);
    return thread->tick_precise_ns;
}

void tidings__nap(int64_t ns);  // sleeps the whole time, whatever signals arrive; leaves errno alone
void tidings__yield(void);

static inline void tidings__cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");  // `yield` is a no-op on most cores; isb takes about as long as x86's pause
#elif defined(__arm__)
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

// The number of processors on which the calling thread may run (its affinity, not a quota), at least 1. Cached for the
// process; `_refresh` asks the kernel again.
uint32_t tidings__processors(void);
uint32_t tidings__processors_refresh(void);

#endif
