// Waits for descriptors.
#ifndef TIDINGS__EXTENSIONS_WAIT_H
#define TIDINGS__EXTENSIONS_WAIT_H

#include <poll.h>
#include <stdint.h>

// Waits until a descriptor is ready, or the time is over; a negative timeout has no end. Signals interrupt nothing.
// Returns 0 or -ETIMEDOUT.
int tidings__wait_ready(struct pollfd *watched, nfds_t count, int64_t timeout_ns);

#endif
