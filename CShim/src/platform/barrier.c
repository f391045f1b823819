// The membarrier system call: registration of this process, and the heavy barrier.
#include "platform/barrier.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/clock.h"
#include "platform/process.h"

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

// From <linux/membarrier.h> (4.16). Defined here because older headers lack them.
#define COMMAND_GLOBAL_EXPEDITED (1 << 1)
#define COMMAND_REGISTER_GLOBAL_EXPEDITED (1 << 2)

// A store leaves the store buffer within microseconds, even if its processor is then interrupted. This is a thousand
// times as long.
#define DRAIN_NS 2000000

_Atomic uint32_t tidings__barrier_state;

static bool membarrier(int command) {
    const int saved = errno;
    const bool done = syscall(SYS_membarrier, command, 0, 0) == 0;
    errno = saved;
    return done;
}

static void enlist(void) {
    const bool done = membarrier(COMMAND_REGISTER_GLOBAL_EXPEDITED);
    tidings__set_relaxed(&tidings__barrier_state, done ? 1 : 2);
}

void tidings__barrier_register(void) {
    tidings__at_fork_child(enlist);
    if (tidings__relaxed(&tidings__barrier_state) == 0) enlist();
}

#if __has_include(<sys/single_threaded.h>)
// In a process with several threads, the registration waits for a grace period of the kernel (5 to 18 ms measured).
// With one thread it takes under 3 µs. So a process that has one thread when this code is loaded registers then; others
// register at their first open.
__attribute__((constructor)) static void enlist_early(void) {
    if (__libc_single_threaded) enlist();
}
#endif

void tidings__heavy_barrier(void) {
    tidings__fence_full();
    if (membarrier(COMMAND_GLOBAL_EXPEDITED)) return;
    tidings__nap(DRAIN_NS);
    tidings__fence_full();
}
