// What differs between the two kinds of observers. A *member* has write access: it has an observer entry, is a member
// of name entries, and posters wake it by its doorbell. A *reader* has no write access, and no peer knows of it. The
// kind is chosen once, when the observer is opened. All other code of receiving/ is the same for both.
#ifndef TIDINGS__KIND_H
#define TIDINGS__KIND_H

#include "receiving/observer.h"

struct tidings__observer_kind {
    // Begins and ends the observer's part in the center. `enter` returns 0, or an error, with an error line.
    int (*enter)(tidings_observer *observer);
    void (*exit)(tidings_observer *observer);

    // Prepares a subscription whose `key` is set: sets `entry`, and makes posters count and wake for it. Returns 0 or
    // an error. `leave` undoes that; call it when the observer's last subscription of this entry goes.
    int (*join)(tidings_observer *observer, tidings__subscription *subscription);
    void (*leave)(tidings_observer *observer, const tidings__subscription *subscription);
    // Call after `leave` for some subscriptions, if one of them was to a prefix.
    void (*left_prefixes)(tidings_observer *observer);
    // Sets where the subscription begins, and lists its history if asked. Returns 0 or an error.
    int (*account)(tidings_observer *observer, tidings__subscription *subscription, bool history);
    // A new table is in use: wakes the observer's thread if the subscription has something to deliver, or other words
    // to sleep on.
    void (*added)(tidings_observer *observer, uint64_t since, bool retained);

    // Adds the subscriptions that a record of this entry matches to observer->matched. NULL: the table's subscriptions
    // of the entry, found without a call. (That is the hot path of a member.)
    void (*match)(tidings_observer *observer, const tidings__table *table, uint32_t entry, uint64_t position,
                  uint32_t *matched);
    // After laps: counts what the subscription has lost. `was`, `gone`: as for `tidings__account_lap`. `gone` is 0 if
    // EV contradicts the lap.
    void (*lapped)(tidings_observer *observer, tidings__subscription *subscription, uint64_t was, uint64_t gone);

    // The entry that holds the retained value of a subscription to one name; TIDINGS__NAME_NONE: none.
    uint32_t (*value_entry)(const tidings_observer *observer, const tidings__subscription *subscription);

    // Before any sleep: `hear` reads the words to sleep on and announces the sleep, or returns an error. `look` checks
    // the positions up to the frontier. `withdraw` follows. `rung`: true if one of these words has changed since. See
    // `tidings__announce`.
    int (*hear)(tidings_observer *observer, uint32_t *announced);
    int (*look)(tidings_observer *observer, tidings_delivery *delivery);
    void (*withdraw)(tidings_observer *observer);
    bool (*rung)(const tidings_observer *observer, uint32_t announced);
    void (*sleep)(tidings_observer *observer, uint32_t announced, int64_t timeout_ns);
};

extern const tidings__observer_kind tidings__kind_member, tidings__kind_reader;

#endif
