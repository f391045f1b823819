// Accounts: where a subscription begins, and how many records of its entry lie before.
#ifndef TIDINGS__ACCOUNT_H
#define TIDINGS__ACCOUNT_H

#include "receiving/observer.h"

// How long one `tidings_observer_add` has waited for unfinished posts: since when (monotonic ns; 0: not yet), and how
// often.
typedef struct tidings__account_wait {
    uint64_t begun;
    uint32_t turns;
} tidings__account_wait;

// Sets where this subscription begins, and how many records of its entry lie before: the account that makes losses
// countable. With history, also lists the positions from the cursor on that have its name. Passes the ring once at
// most, however fast peers post; with history a few times, if peers post a whole ring meanwhile. The tally contains
// what is evicted during the pass. The tally is read last, so a record seen before its eviction is not counted twice.
// `number`: the name entry that the records carry; TIDINGS__NAME_NONE: a reader's name has none yet.
int tidings__account_begin(tidings_observer *observer, tidings__subscription *subscription, uint32_t number,
                           bool history, tidings__account_wait *wait);

#endif
