// Sleeping on a word of shared memory. Shared futexes: keyed by inode and offset, so any two mappings of a center meet.
#ifndef TIDINGS__FUTEX_H
#define TIDINGS__FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Sleeps while *word is `expected`: 0 (woken, perhaps for nothing), -EAGAIN (the value was another), -ETIMEDOUT,
// -EINTR. `timeout_ns` counts on CLOCK_MONOTONIC; below 0: without end. Works on a read-only mapping. Leaves errno
// alone. Async-signal-safe.
int tidings__futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);

// Sleeps while each of `count` words (1 to TIDINGS__FUTEX_WORDS) has its value: as above, but without FUTEX_WAITV
// (before Linux 5.16) for 5 ms at most, and then -ETIMEDOUT says no more than that these have gone by.
#define TIDINGS__FUTEX_WORDS 40
typedef struct tidings__futex_value {
    _Atomic uint32_t *word;
    uint32_t value;
} tidings__futex_value;
int tidings__futex_wait_any(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns);

// Sleeps while each of `count` words has its value. The first is rung by whoever rings; the second is one of this
// process's own memory: off the others another process can move us (FUTEX_REQUEUE), or wake somebody else in our stead.
// Without FUTEX_WAITV it sleeps on the first alone; if there are more than two, for 5 ms at most.
int tidings__futex_wait_either(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns);

// Is there FUTEX_WAITV? Asked of the kernel once; a filter that comes later is found out by the first sleep.
bool tidings__futex_takes_several(void);

// Wakes up to `count`; how many it woke, or a negative errno. Leaves errno alone. Async-signal-safe.
int tidings__futex_wake(_Atomic uint32_t *word, int count);

#endif
