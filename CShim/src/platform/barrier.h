// The heavy half of an asymmetric fence: whoever revokes pays for the store-load fence that posters leave out (README,
// "Revoke").
#ifndef TIDINGS__BARRIER_H
#define TIDINGS__BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Puts this process among those that a heavy barrier of any process reaches. Once per process, at its first open; a
// forked child does it again by itself.
void tidings__barrier_register(void);

extern _Atomic uint32_t tidings__barrier_state;  // 1: registered

// Posters ask this before each post that they want to do without a fence. Relaxed is enough: it says "false" too long
// at worst, and "true" is stored only after the kernel has answered, which it does when every running thread of the
// process is covered.
static inline bool tidings__barrier_registered(void) {
    return atomic_load_explicit(&tidings__barrier_state, memory_order_relaxed) == 1;
}

// After this every store that a registered process made before leaving out its fence is visible here, or its next load
// sees ours. Fences the caller as well. About 1 µs; where the call is forbidden, 2 ms.
void tidings__heavy_barrier(void);

#endif
