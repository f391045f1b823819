// A reader: an observer of a center that was opened for reading alone. It has no participant or observer entry and no
// doorbell, so no peer knows of it. design/5-access.md. Other files call its functions through `tidings__kind_reader`
// (kind.h), and those below directly.
#ifndef TIDINGS__READER_H
#define TIDINGS__READER_H

#include "receiving/observer.h"

// Stands for an entry in the table of subscriptions. A name's entry may be reused for another name; the name's hash
// stays.
static inline uint32_t tidings__reader_number(const tidings__key *key) {
    return UINT32_C(0x80000000) | (uint32_t)(key->hash >> 8);
}

// Finds the current entry of the subscription's name, and stores its number and birth. TIDINGS__NAME_NONE: the table
// has no entry for the name. For the thread in `tidings_next`.
uint32_t tidings__reader_resolve(tidings_observer *observer, tidings__subscription *subscription);
// The name's entry was given to another name: finds the name's present entry, if it has one, and counts as passed what
// its tally counts. Returns the position up to which that accounts for all records: `until`, or the tally's end, which
// is later during an eviction. The caller reports what lies before it as missed.
uint64_t tidings__reader_resolve_anew(tidings_observer *observer, tidings__subscription *subscription, uint64_t until);

// Reads the name futexes of all its names, to sleep on their values.
void tidings__reader_hear(tidings_observer *observer);
// Sleeps on the values read. Returns after one second at most: another reader may have moved this sleeper to a futex
// that no poster wakes. FUTEX_REQUEUE needs read access only.
void tidings__reader_sleep(tidings_observer *observer, int64_t timeout_ns);

// reader_skipped.c. The position at the cursor stays claimed, and a reader can't revoke it. If a later position has
// been claimed, skips this one; `tidings__reader_settle` finds later whether it was lost. False: not skipped. If
// `sleep`, sleeps for a while first.
bool tidings__reader_pass(tidings_observer *observer, bool sleep);
// How many records of the subscription's entry lie before this position, which the ring holds: as the entry's tally
// would count them.
uint64_t tidings__reader_passed(const tidings_observer *observer, const tidings__subscription *subscription,
                                uint64_t position);
// Checks whether skipped positions have become final. If one was committed after all, counts it as missed.
void tidings__reader_settle(tidings_observer *observer, const tidings__table *table);

#endif
