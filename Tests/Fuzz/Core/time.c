// Linked in front of the core's own (--wrap): time that passes as it is asked for, and sleep that takes none. Inputs run the same each time, a hundred times as many a
// second where claims are waited for, and a wait that is too long is known at once.
#include <errno.h>
#include <stdatomic.h>

#include "fuzz.h"

#define ASKED_NS 1000  // a loop that waits for a time gets there

uint64_t __wrap_tidings__monotonic_ns(void);
int __wrap_tidings__futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);
void __wrap_tidings__nap(int64_t ns);
void __wrap_tidings__heavy_barrier(void);

static uint64_t now = UINT64_C(1000000000), slept;

uint64_t time_slept(void)
{
    const uint64_t since = slept;
    slept = 0;
    return since;
}

uint64_t __wrap_tidings__monotonic_ns(void) { return now += ASKED_NS; }

static void sleep_for(int64_t ns)
{
    MUST(ns >= 0, ns);  // nobody would ever wake us
    now += (uint64_t)ns;
    slept += (uint64_t)ns;
}

int __wrap_tidings__futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    if (atomic_load(word) != expected) return -EAGAIN;
    sleep_for(timeout_ns);
    return -ETIMEDOUT;
}

void __wrap_tidings__nap(int64_t ns) { sleep_for(ns); }

// One thread needs none, and on a busy machine each may take milliseconds.
void __wrap_tidings__heavy_barrier(void) {}
