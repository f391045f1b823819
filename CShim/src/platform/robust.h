// A thread's own robust list. The kernel walks it when the thread dies, and marks each word that carries its TID.
#ifndef TIDINGS__ROBUST_H
#define TIDINGS__ROBUST_H

#include <stdint.h>

// The list's head and two nodes. The kernel reads them when the thread ends, so they must outlive it.
typedef struct tidings__robust {
    uintptr_t head[3], nodes[2];
    uint32_t life;  // the value of both words while the thread lives
} tidings__robust;

// Memory for a list, in a shared mapping of its own: the kernel takes a killed process's private memory away early if
// the machine runs out of memory, and then would find no list. A forked child has no such memory. NULL: no memory.
tidings__robust *tidings__robust_new(void);
void tidings__robust_free(tidings__robust *robust);

// Makes the calling thread's death visible in two words, 8 bytes apart: stores its TID with FUTEX_WAITERS in both. When
// the thread dies, the kernel replaces the TID by FUTEX_OWNER_DIED, and wakes one sleeper of each word.
//
// Replaces the robust list that the C library registered for this thread. So the thread must not lock a robust mutex,
// and must not have used `tidings__thread_self` before. 0 or a negative errno.
int tidings__robust_begin(tidings__robust *robust, _Atomic uint32_t *words);

#endif
