// An observer of a center that was opened for reading alone: no place, no entry in tables, no doorbell; nobody knows of
// it. README.md, "Access".
#ifndef TIDINGS__READER_H
#define TIDINGS__READER_H

#include "receiving/observer.h"

// What stands for an entry in the table of interests: a name's entry may come and go, its hash doesn't.
static inline uint32_t tidings__reader_number(const tidings__key *key) {
    return UINT32_C(0x80000000) | (uint32_t)(key->hash >> 8);
}

// Finds the entry that the interest's name has now, and notes which one it is. TIDINGS__NAME_NONE: nothing was posted
// under it lately.
uint32_t tidings__reader_resolve(tidings_observer *observer, tidings__subscription *subscription);

// The interests that a record of this entry matches, added to observer->matched.
void tidings__reader_match(tidings_observer *observer, const tidings__table *table, uint32_t entry, uint64_t position,
                           uint32_t *matched);

// Lapped: what this interest has lost, up to where its tally reaches. The cursor was at `was`.
void tidings__reader_lapped(tidings_observer *observer, tidings__subscription *subscription, uint64_t was);

// The position of the cursor is claimed, and stays so. Who can't revoke goes on without it, if there is something to go
// on to; whether it was lost shows later. False: stays, after a while of sleep if it may `sleep`.
bool tidings__reader_pass(tidings_observer *observer, bool sleep);
// Has something that was passed been decided since? If it counts, it is told as missed.
void tidings__reader_settle(tidings_observer *observer, const tidings__table *table);

// Before any sleep: hears all bells, then looks up to the frontier, as `tidings__announce`. The poster counts a bell up
// after its claim: either the look sees the claim, or the bell has another value than what was heard.
int tidings__reader_announce(tidings_observer *observer, tidings_delivery *delivery);
// Has one of these bells been rung since?
bool tidings__reader_rung(const tidings_observer *observer);
// Sleeps on what was heard. Also returns when a second has gone by: another reader may have moved us to where no bell
// is heard (FUTEX_REQUEUE needs no more than to read).
void tidings__reader_sleep(tidings_observer *observer, int64_t timeout_ns);

#endif
