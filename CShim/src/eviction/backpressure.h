// Backpressure: waiting for a lossless observer that holds a post back.
#ifndef TIDINGS__BACKPRESSURE_H
#define TIDINGS__BACKPRESSURE_H

#include "eviction/evict.h"

// The deadline of a post in monotonic nanoseconds. 0: do not wait; UINT64_MAX: wait without end.
uint64_t tidings__deadline(const tidings_post_options *options);

// Called when lossless observer `holder` (an observer index) holds a post back. Waits for its cursor or its death until
// `deadline` (as above). Returns 0 if the caller shall try again; -EAGAIN, -ETIMEDOUT or -ESTALE with an error line.
int tidings__held_back(tidings_center *center, uint32_t holder, uint64_t deadline, tidings__effort *effort);

#endif
