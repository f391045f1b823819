// Waking the observers of a post. design/3-wake-ups.md.
#ifndef TIDINGS__WAKE_H
#define TIDINGS__WAKE_H

#include <limits.h>

#include "platform/futex.h"
#include "posting/publisher.h"
#include "registry/doorbell.h"
#include "ring/claim.h"

// Wakes observers of the name with its subject, of all names, and of prefixes. Must follow the claim: an observer that
// joined a prefix before G was read is then found.
uint32_t tidings__wake_others(const tidings_publisher *publisher, uint64_t resolved);

// Wakes all sleeping observers that the result `resolved` names. Returns how many sleeping members it found.
static inline __attribute__((always_inline)) uint32_t tidings__wake(const tidings_publisher *publisher,
                                                                    uint64_t resolved) {
    tidings__segment *s = &publisher->center->segment;
    tidings__name *name = tidings__name_at(s, (uint32_t)resolved);
    uint32_t woken = name ? tidings__ring_members(s, name) : 0;
    if (__builtin_expect(resolved >> 32 != 0, 0)) woken += tidings__wake_others(publisher, resolved);
    return woken;
}

// After many wake-ups, the observers that were woken first sleep on the claim until the commit. They check the slot
// again after at most a sixteenth of the revoke timeout; this wake-up is sooner. Callers do not call this in an
// observable center: any number of readers can sleep on the claim, and the poster would wake them all.
#define TIDINGS__MANY_WOKEN 4  // observers
static inline void tidings__wake_claim_waiters(tidings__cell *cell, uint32_t woken) {
    if (__builtin_expect(woken > TIDINGS__MANY_WOKEN, 0)) tidings__futex_wake(tidings__claim_futex(cell), INT_MAX);
}

#endif
