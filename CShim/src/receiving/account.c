// Where a subscription begins, and how many records of its entry lie before. design/2-eviction.md.
#include "receiving/account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "center/record_name.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "registry/observers.h"
#include "registry/prefixes.h"
#include "registry/tally.h"
#include "ring/verdict.h"

// True if the subscription's tally counts the record at this position.
static bool is_of(tidings_observer *observer, const tidings__subscription *subscription, uint32_t number,
                  uint64_t position) {
    tidings__segment *s = &observer->center->segment;
    if (!subscription->prefix) return tidings__route_includes(tidings__route(tidings__cell_at(s, position)), number);
    _Atomic uint64_t copy[TIDINGS__NAME_WORDS];
    uint32_t length;
    const _Atomic uint64_t *name = tidings__record_name(s, position, copy, &length);
    return name &&
           tidings__text_begins(name, length, tidings__subscription_name(subscription), subscription->name_length);
}

// True if the record at a position before `since` has this name (and subject), compared by text. The record may have
// been posted before the name had an entry.
static bool same_text(tidings_observer *observer, const tidings__subscription *subscription, uint32_t number,
                      uint64_t position) {
    if (subscription->many) return is_of(observer, subscription, number, position);
    tidings__record record;
    tidings__record_read(tidings__cell_at(&observer->center->segment, position), &record);
    uint32_t name_length, subject_length;
    if (!tidings__record_copy(observer, position, &record) ||
        !tidings__record_text(observer, &record, position, &name_length, &subject_length))
        return false;
    return name_length == subscription->name_length && memcmp(observer->name, subscription->name, name_length) == 0 &&
           (!subscription->with_subject || (subject_length == subscription->subject_length &&
                                            memcmp(observer->subject, subscription->subject, subject_length) == 0));
}

typedef struct positions {
    uint64_t *of;
    size_t count, room;
} positions;

static bool note(positions *list, uint64_t position) {
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        uint64_t *grown = realloc(list->of, room * sizeof *grown);
        if (!grown) return false;
        list->of = grown;
        list->room = room;
    }
    list->of[list->count++] = position;
    return true;
}

#define ACCOUNT_NAP_NS 1000000
#define REVOKED_AT_ONCE 4096u       // positions revoked by one system call
#define ACCOUNT_WAIT_NS 100000000u  // for all unfinished posts in the ring together; then they are revoked
#define ACCOUNT_TURNS                                                                                                  \
    250u  // after so many waits, each further one also naps: a peer that changes the claim can end each sleep at once

int tidings__account_begin(tidings_observer *observer, tidings__subscription *subscription, uint32_t number,
                           bool history, tidings__account_wait *wait) {
    tidings__segment *s = &observer->center->segment;
    tidings__name *entry = number == TIDINGS__NAME_NONE ? NULL : &s->names[number];
    tidings__pending_claim claim = {.at = UINT64_MAX};
    positions found = {0}, listed = {0};
    bool memory = true, timed_out = false;
    uint64_t revoked = 0;
    // Must follow the membership and the generation's increment: a record claimed from here on carries the entry's
    // number.
    tidings__barrier_after_rmw();
    uint64_t since = tidings__frontier(s, tidings__relaxed(&observer->center->hint));
#ifdef MUTANT_START_BEFORE_MEMBERSHIP  // Found by: interleaving registering
    since = observer->cursor;
#endif
    uint64_t count = 0, end = 0, from = tidings__oldest(s);
    // Records before the entry's birth are not of this name. A prefix has no such bound, as no record carries its
    // number: its tally begins at the oldest position (`tidings__join_name`), and its records from there on count.
    uint64_t birth = subscription->many || !entry ? from : tidings__acquire(&entry->birth);
    if (!history && (int64_t)(birth - from) > 0) from = birth;
    if ((int64_t)(since - from) > (int64_t)s->shape.slots) from = since - s->shape.slots;
    for (uint64_t p = from; (int64_t)(since - p) > 0 && memory; p++) {
        tidings__slot_state status;
        while ((status = tidings__slot_status(s, p)) == TIDINGS__CLAIMED && !timed_out) {
            if (wait->begun == 0) wait->begun = tidings__monotonic_ns();
            tidings__wait_claimed(observer->center, &claim, p, true);
            // If the wait is `over`, `tidings__wait_claimed` returns to a reader at once each time.
            if (claim.over || wait->turns++ >= ACCOUNT_TURNS) tidings__nap(ACCOUNT_NAP_NS);
            timed_out = tidings__monotonic_ns() - wait->begun > ACCOUNT_WAIT_NS;
        }
        if (status == TIDINGS__CLAIMED && s->writable) {
            // Each position is revoked once. If it still reads as claimed afterwards, a peer has damaged it.
            if ((int64_t)(p - revoked) >= 0) {
                revoked = since - p < REVOKED_AT_ONCE ? since : p + REVOKED_AT_ONCE;
                tidings__revoke_all(s, p, revoked);
            }
            status = tidings__slot_status(s, p);
        }
        if (status == TIDINGS__VALID) {
            bool is = (int64_t)(p - birth) >= 0 && is_of(observer, subscription, number, p);
            bool old = history && (int64_t)(p - observer->cursor) >= 0 &&
                       (is || same_text(observer, subscription, number, p));
            // A record that does not carry the entry's number is compared by its text. That is reliable only while the
            // position is not evicted: then its chunk may hold another record, and its entry another name.
            const bool by_text = subscription->prefix || (history && !is);
            if (tidings__slot_valid_after_copy(s, p) && !(by_text && (int64_t)(tidings__oldest(s) - p) > 0)) {
                if (is) memory = note(&found, p);
                if (old && memory) memory = note(&listed, p);
            } else {
                status = TIDINGS__LAPPED;
            }
        }
        if (status == TIDINGS__LAPPED) {
            // The subscription begins behind what was evicted during this walk: a history with a gap would hide a loss.
            listed.count = 0;
            uint64_t oldest = tidings__oldest(s);
            if ((int64_t)(oldest - p) > 0) p = oldest - 1;
        }
    }
    if (entry) tidings__tally_read(&entry->tally, &count, &end);
    if (entry && (int64_t)(end - since) > 0) {
        // The whole range was evicted during the pass. Begin where the tally ends: every position claimed after our
        // return lies at or after it.
        uint64_t now = tidings__frontier(s, tidings__oldest(s));
        since = (int64_t)(end - now) > 0 ? now : end;
    } else {
        for (size_t i = 0; entry && i < found.count; i++) count += (int64_t)(found.of[i] - end) >= 0;
    }
    free(found.of);
    if (!memory) {
        free(listed.of);
        return tidings__fail(ENOMEM, "can't observe \"%s\": no memory for its history", subscription->name);
    }
    subscription->since = since;
    tidings__set_relaxed(&subscription->fresh, true);
    subscription->passed = count;
    subscription->history = listed.of;
    subscription->history_count = listed.count;
    if (observer->lossless && history) tidings__lossless_history(s, observer->index, since);
    return 0;
}
