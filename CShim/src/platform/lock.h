// Proof of life: an open file description lock on one byte of the center's file. The kernel drops it with the last copy
// of the descriptor. Byte TIDINGS__LOCK_FIRST + index lies beyond the end of any center, so no read or write overlaps
// it.
#ifndef TIDINGS__LOCK_H
#define TIDINGS__LOCK_H

#include <stdbool.h>
#include <stdint.h>

// Equals TIDINGS__LOCK_BASE of layout.h. This layer is below the layout; open.c asserts that they agree.
#define TIDINGS__LOCK_FIRST (INT64_C(1) << 40)
// Not a participant's: held while a file is created, removed or checked for staleness.
#define TIDINGS__LOCK_REMOVAL UINT32_MAX

// Takes the lock: 0, -EAGAIN (another descriptor holds it), or another negative errno. A lock that this descriptor
// already holds is granted again, so the caller keeps its own count. Without write access it is a shared lock, which
// keeps writers off, but not other readers.
int tidings__lock_try(int fd, uint32_t index, bool writable);

int tidings__lock_release(int fd, uint32_t index);

// 1: another descriptor, of this process or of another, holds the lock. 0: no descriptor, or this one. Or a negative
// errno.
int tidings__lock_held(int fd, uint32_t index);

#endif
