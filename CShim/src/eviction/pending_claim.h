// Claims that stay uncommitted: how long to wait for them, and when to revoke them.
#ifndef TIDINGS__PENDING_CLAIM_H
#define TIDINGS__PENDING_CLAIM_H

#include "center/center.h"

// A claimed position that somebody waits for, and since when.
typedef struct tidings__pending_claim {
    uint64_t at, since;
    uint64_t longest;  // is it to be waited for
    uint32_t calls;
    bool over;  // waited for long enough, by who may not revoke
} tidings__pending_claim;

// How long this claim may stay uncommitted before it is revoked, in nanoseconds.
uint64_t tidings__revoke_timeout(tidings__segment *s, uint64_t position);

// A claimed position: waits a moment (without `sleep`: looks a moment) for its poster, a little longer at each call,
// and once 2 ms have gone by since the first, no longer: revokes.
void tidings__wait_claimed(tidings_center *center, tidings__pending_claim *stuck, uint64_t position, bool sleep);

#endif
