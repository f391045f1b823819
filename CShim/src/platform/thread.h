// Per-thread state, cached so that a post makes no system call.
#ifndef TIDINGS__THREAD_H
#define TIDINGS__THREAD_H

#include <stdint.h>

#include "platform/atomics.h"
#include "platform/process.h"

typedef struct tidings__thread {
    uint32_t tid;  // in this process's own pid namespace
    // How many posts this thread is in: more than one if a signal handler posts during a post. The posting code counts.
    uint32_t inside;
    // The robust list's `list_op_pending`. NULL: the kernel doesn't mark this thread's death, so it claims as foreign.
    uintptr_t *pending;
    intptr_t pending_offset;  // for a word at address a, the value is (uintptr_t)a - pending_offset
    // clock.c: the kernel tick of this thread's last post, and the exact time of its first post in that tick.
    uint64_t tick_ns, tick_precise_ns;
    uint32_t fork_epoch;  // the fork epoch in which this was filled in; 0: never
    uint32_t window;      // clock.c: the 2^28 ns window of CLOCK_REALTIME that contains `tick_ns`, never 0
} tidings__thread;

// Initial-exec: one load and an addition instead of a call, also in a shared library. Small, so that a library loaded
// late still fits into the loader's reserve for such variables (glibc: 1.6 KiB).
extern _Thread_local tidings__thread tidings__thread_state __attribute__((tls_model("initial-exec")));

// Fills in the state of a new thread, or of a forked child's thread. Async-signal-safe once the process has opened a
// center.
tidings__thread *tidings__thread_refresh(void) __attribute__((cold));

static inline tidings__thread *tidings__thread_self(void) {
    tidings__thread *thread = &tidings__thread_state;
    // Relaxed: the epoch only changes in a newly forked child, which has one thread.
    if (__builtin_expect(thread->fork_epoch == tidings__relaxed(&tidings__fork_epoch), 1)) return thread;
    return tidings__thread_refresh();
}

#endif
