// The heavy half of an asymmetric fence: the revoking thread pays for the store-load fence that posters leave out.
// design/1-ring.md.
#ifndef TIDINGS__BARRIER_H
#define TIDINGS__BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/atomics.h"

// Registers this process, so that a heavy barrier of any process reaches it. Called once per process, at its first
// open. A forked child registers again by itself.
void tidings__barrier_register(void);

// 0: not tried; 1: registered; 2: the kernel refused. Hidden: posts read it without the table for other libraries.
extern __attribute__((visibility("hidden"))) _Atomic uint32_t tidings__barrier_state;

// Posters check this in each post to decide whether they may leave out the fence. A relaxed load suffices: at worst it
// reads "false" too long. "True" is stored only after the kernel has answered, and the kernel answers once every
// running thread of the process is covered.
static inline bool tidings__barrier_registered(void) { return tidings__relaxed(&tidings__barrier_state) == 1; }

// After this call, for each thread of a registered process: either its store before the omitted fence is visible here,
// or its load after that fence sees what the caller stored before. Also a full fence for the caller. Takes about 1 µs;
// where the call is forbidden, 2 ms.
void tidings__heavy_barrier(void);

#endif
