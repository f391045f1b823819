// A reader: an observer of a center that was opened for reading alone. It has no participant or observer entry and no
// doorbell, so no peer knows of it. design/5-access.md.
#ifndef TIDINGS__READER_H
#define TIDINGS__READER_H

#include "receiving/observer.h"

// Stands for an entry in the table of subscriptions. A name's entry may be reused for another name; the name's hash
// stays.
static inline uint32_t tidings__reader_number(const tidings__key *key) {
    return UINT32_C(0x80000000) | (uint32_t)(key->hash >> 8);
}

// Finds the current entry of the subscription's name, and stores its number and birth. TIDINGS__NAME_NONE: the table
// has no entry for the name.
uint32_t tidings__reader_resolve(tidings_observer *observer, tidings__subscription *subscription);

// Adds the subscriptions that a record of this entry matches to observer->matched.
void tidings__reader_match(tidings_observer *observer, const tidings__table *table, uint32_t entry, uint64_t position,
                           uint32_t *matched);

// After a lap: counts what this subscription has lost, up to the end of its tally. `was`: the cursor before the lap.
void tidings__reader_lapped(tidings_observer *observer, tidings__subscription *subscription, uint64_t was);

// The position at the cursor stays claimed, and a reader can't revoke it. If a later position has been claimed, skips
// this one; `tidings__reader_settle` finds later whether it was lost. False: not skipped. If `sleep`, sleeps for a
// while first.
bool tidings__reader_pass(tidings_observer *observer, bool sleep);
// Checks whether skipped positions have become final. If one was committed after all, counts it as missed.
void tidings__reader_settle(tidings_observer *observer, const tidings__table *table);

// Call before any sleep: reads all name futexes, then checks the positions up to the frontier, as `tidings__announce`
// does. The poster increments a name futex after its claim. So either the check sees the claim, or the futex differs
// from the value read.
int tidings__reader_announce(tidings_observer *observer, tidings_delivery *delivery);
// True if one of these name futexes has changed since.
bool tidings__reader_rung(const tidings_observer *observer);
// Sleeps on the values read. Returns after one second at most: another reader may have moved this sleeper to a futex
// that no poster wakes. FUTEX_REQUEUE needs read access only.
void tidings__reader_sleep(tidings_observer *observer, int64_t timeout_ns);

#endif
