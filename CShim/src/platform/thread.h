// What a thread keeps about itself, so that a post makes no system call.
#ifndef TIDINGS__THREAD_H
#define TIDINGS__THREAD_H

#include <stdatomic.h>
#include <stdint.h>

#include "platform/process.h"

typedef struct tidings__thread {
    uint32_t tid;     // in this process's own pid namespace
    uint32_t inside;  // > 0 during a post: a signal handler that posts on top of it sees it. Ours only to define; the
                      // ring counts
    uintptr_t *pending;       // the robust list's `list_op_pending`; NULL: no help from the kernel, claim as foreign
    intptr_t pending_offset;  // the value for a word at address a is (uintptr_t)a - pending_offset
    uint64_t tick_ns, tick_precise_ns;  // clock.c
    uint32_t fork_epoch;                // the one this was filled in under; 0: never
    uint32_t window;                    // clock.c: which 2^28 ns of CLOCK_REALTIME `tick_ns` lies in, never 0
} tidings__thread;

// Initial-exec: one load and an addition instead of a call, also in a shared library. Kept this small so that a library
// loaded late still finds room in what the loader sets aside for such variables (glibc: 1.6 KiB).
extern _Thread_local tidings__thread tidings__thread_state __attribute__((tls_model("initial-exec")));

// Fills in the state of a thread new here, or of a forked child's. Async-signal-safe once the process has opened a
// center. Out of line.
tidings__thread *tidings__thread_refresh(void) __attribute__((cold));

static inline tidings__thread *tidings__thread_self(void) {
    tidings__thread *thread = &tidings__thread_state;
    // Relaxed: the epoch only changes in a child that has just been forked and has one thread.
    if (__builtin_expect(thread->fork_epoch == atomic_load_explicit(&tidings__fork_epoch, memory_order_relaxed), 1))
        return thread;
    return tidings__thread_refresh();
}

#endif
