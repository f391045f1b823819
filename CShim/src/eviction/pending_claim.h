// Claims that stay uncommitted: how long to wait for them, and when to revoke them.
#ifndef TIDINGS__PENDING_CLAIM_H
#define TIDINGS__PENDING_CLAIM_H

#include "center/center.h"

// A claimed position that a thread waits for, and since when (monotonic ns).
typedef struct tidings__pending_claim {
    uint64_t at, since;
    uint64_t timeout;  // its revoke timeout in ns, as last computed
    uint32_t calls;
    bool over;  // a reader, which may not revoke, has waited long enough
} tidings__pending_claim;

// How long this claim may stay uncommitted before it is revoked, in nanoseconds.
uint64_t tidings__revoke_timeout(tidings__segment *s, uint64_t position);

// Waits for the poster of the claimed `position`, a little longer at each call. Without `sleep` it only polls and
// yields.
// After the revoke timeout (2 ms or more since the first call for this position) a participant revokes the claim. A
// reader sets `over` after twenty times that (at most 2.5 s) and 100 calls.
void tidings__wait_claimed(tidings_center *center, tidings__pending_claim *claim, uint64_t position, bool sleep);

#endif
