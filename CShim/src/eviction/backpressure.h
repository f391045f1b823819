// Posters that a lossless observer holds back.
#ifndef TIDINGS__BACKPRESSURE_H
#define TIDINGS__BACKPRESSURE_H

#include "center/center.h"

// Monotonic nanoseconds: 0 not at all, UINT64_MAX without end.
uint64_t tidings__deadline(const tidings_post_options *options);

// A lossless observer holds us back: waits for it, or for its death, within the deadline (monotonic ns; 0: not at all;
// UINT64_MAX: without end). 0: try again. -EAGAIN, -ETIMEDOUT with the line written. `*passed`, 0 at first: how many
// dead ones this post has passed by.
int tidings__held_back(tidings_center *center, uint32_t holder, uint64_t deadline, uint32_t *passed);

#endif
