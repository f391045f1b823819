// Proof of life: a lock on one byte of the center's file, which the kernel drops with the last copy of the descriptor
// (open file description lock). Byte TIDINGS__LOCK_FIRST + index lies beyond the end of any center, so no reading or
// writing ever meets it.
#ifndef TIDINGS__LOCK_H
#define TIDINGS__LOCK_H

#include <stdbool.h>
#include <stdint.h>

#define TIDINGS__LOCK_FIRST                                                                                            \
    (INT64_C(1) << 40)  // layout.h's TIDINGS__LOCK_BASE: this layer is below it, open.c asserts that they agree
#define TIDINGS__LOCK_REMOVAL UINT32_MAX  // not a participant's: who removes a center holds it

// 0, -EAGAIN (another descriptor holds it), or another negative errno. A lock that this descriptor holds already is
// granted again: the caller keeps count of its own. Without write access it is a shared lock, which keeps writers off,
// but not other readers.
int tidings__lock_try(int fd, uint32_t index, bool writable);

int tidings__lock_release(int fd, uint32_t index);

// 1: another descriptor holds it (of this process or of another). 0: nobody, or this descriptor. Or a negative errno.
int tidings__lock_held(int fd, uint32_t index);

#endif
