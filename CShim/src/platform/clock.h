// Time, and passing it.
#ifndef TIDINGS__CLOCK_H
#define TIDINGS__CLOCK_H

#include <stdint.h>

#include "platform/thread.h"

uint64_t tidings__realtime_ns(void);
uint64_t tidings__monotonic_ns(void);

// CLOCK_REALTIME for a post: exact for the thread's first in a kernel tick (1 to 4 ms), that same time for others of
// the tick. A third of the price of exact. A clock that is set, back or forth, shows with the next call.
uint64_t tidings__stamp(tidings__thread *thread);

void tidings__nap(int64_t ns);  // the whole time, whatever signals arrive. Leaves errno alone
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

// Processors this process may run on (its affinity, not its quota), at least 1. Cached; refresh looks again.
uint32_t tidings__processors(void);
uint32_t tidings__processors_refresh(void);

#endif
