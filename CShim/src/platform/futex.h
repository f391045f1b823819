// Sleeps on words of shared memory. The futexes are shared: the kernel keys them by inode and offset, so all mappings
// of a center meet.
#ifndef TIDINGS__FUTEX_H
#define TIDINGS__FUTEX_H

#include <stdbool.h>
#include <stdint.h>

// Sleeps while *word is `expected`. 0: woken, perhaps without a change. -EAGAIN: the word has another value.
// -ETIMEDOUT, -EINTR. `timeout_ns` counts on CLOCK_MONOTONIC; below 0: no limit. Works on a read-only mapping. Leaves
// errno alone. Async-signal-safe.
int tidings__futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);

// Sleeps while each of `count` words (1 to TIDINGS__FUTEX_WORDS) has its value. Results as above. Without FUTEX_WAITV
// (before Linux 5.16) it sleeps for 5 ms at most, and -ETIMEDOUT then means only that these have passed.
#define TIDINGS__FUTEX_WORDS 40
typedef struct tidings__futex_value {
    _Atomic uint32_t *word;
    uint32_t value;
} tidings__futex_value;
int tidings__futex_wait_any(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns);

// Sleeps while each of `count` words has its value. A thread that wakes one sleeper changes the first word; a thread
// that wakes a group changes a word after the second. The second word is in this process's own memory: from every other
// word, a peer can move this sleeper (FUTEX_REQUEUE). Without FUTEX_WAITV it sleeps on the first word alone, for 1 s at
// most; if there are more than two words, for 5 ms at most.
int tidings__futex_wait_either(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns);

// True if the kernel has FUTEX_WAITV. Asked once. If a filter later forbids the call, the first sleep notices.
bool tidings__futex_takes_several(void);

// Wakes up to `count` sleepers. Returns how many it woke, or a negative errno. Leaves errno alone. Async-signal-safe.
int tidings__futex_wake(_Atomic uint32_t *word, int count);

#endif
