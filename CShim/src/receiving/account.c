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
    const bool text = tidings__record_copy(observer, position, &record) &&
                      tidings__record_text(observer, &record, position, &name_length, &subject_length);
    tidings__place_leave(observer);
    if (!text) return false;
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

#define ACCOUNT_WALKS 8u  // then a history begins where the tally ends, although peers evict further and further

// A walk over what the ring holds: the records of the subscription's entry (`found`), and its history (`listed`).
typedef struct walk {
    tidings_observer *observer;
    const tidings__subscription *subscription;
    tidings__account_wait *wait;
    uint32_t number;
    bool history, memory, timed_out;
    uint64_t birth, revoked;
    tidings__pending_claim claim;
    positions found, listed;
} walk;

static void walk_over(walk *w, uint64_t from, uint64_t since) {
    tidings_observer *observer = w->observer;
    tidings__segment *s = &observer->center->segment;
    for (uint64_t p = from; (int64_t)(since - p) > 0 && w->memory; p++) {
        tidings__slot_state status;
        while ((status = tidings__slot_status(s, p)) == TIDINGS__CLAIMED && !w->timed_out) {
            if (w->wait->begun == 0) w->wait->begun = tidings__monotonic_ns();
            tidings__wait_claimed(observer->center, &w->claim, p, true);
            // If the wait is `over`, `tidings__wait_claimed` returns to a reader at once each time.
            if (w->claim.over || w->wait->turns++ >= ACCOUNT_TURNS) tidings__nap(ACCOUNT_NAP_NS);
            w->timed_out = tidings__monotonic_ns() - w->wait->begun > ACCOUNT_WAIT_NS;
        }
        if (status == TIDINGS__CLAIMED && s->writable) {
            // Each position is revoked once. If it still reads as claimed afterwards, a peer has damaged it.
            if ((int64_t)(p - w->revoked) >= 0) {
                w->revoked = since - p < REVOKED_AT_ONCE ? since : p + REVOKED_AT_ONCE;
                tidings__revoke_all(s, p, w->revoked);
            }
            status = tidings__slot_status(s, p);
        }
        if (status == TIDINGS__VALID) {
            bool is = (int64_t)(p - w->birth) >= 0 && is_of(observer, w->subscription, w->number, p);
            bool old = w->history && (int64_t)(p - observer->cursor) >= 0 &&
                       (is || same_text(observer, w->subscription, w->number, p));
            // A record that does not carry the entry's number is compared by its text. That is reliable only while the
            // position is not evicted: then its chunk may hold another record, and its entry another name.
            const bool by_text = w->subscription->prefix || (w->history && !is);
            if (tidings__slot_valid_after_copy(s, p) && !(by_text && (int64_t)(tidings__oldest(s) - p) > 0)) {
                if (is) w->memory = note(&w->found, p);
                if (old && w->memory) w->memory = note(&w->listed, p);
            } else {
                status = TIDINGS__LAPPED;
            }
        }
        if (status == TIDINGS__LAPPED) {
            // The subscription begins behind what was evicted during this walk: a history with a gap would hide a loss.
            w->listed.count = 0;
            uint64_t oldest = tidings__oldest(s);
            if ((int64_t)(oldest - p) > 0) p = oldest - 1;
        }
    }
}

int tidings__account_begin(tidings_observer *observer, tidings__subscription *subscription, uint32_t number,
                           bool history, tidings__account_wait *wait) {
    tidings__segment *s = &observer->center->segment;
    tidings__name *entry = number == TIDINGS__NAME_NONE ? NULL : &s->names[number];
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
    walk w = {.observer = observer,
              .subscription = subscription,
              .wait = wait,
              .number = number,
              .history = history,
              .memory = true,
              .birth = birth,
              .claim = {.at = UINT64_MAX}};
    for (uint32_t walks = 0;;) {
        if ((int64_t)(since - from) > (int64_t)s->shape.slots) {
            from = since - s->shape.slots;
            w.listed.count = 0;
        }
        walk_over(&w, from, since);
        if (!entry || !w.memory) break;
        tidings__tally_read(&entry->tally, &count, &end);
        if ((int64_t)(end - since) <= 0) break;
        // The whole range was evicted during the walk, or is being evicted. Begin where the tally ends: every position
        // claimed after our return lies at or after it. While an eviction is under way, the tally ends behind the
        // oldest position. What the ring holds before that end is history: walk on to there.
        const uint64_t now = tidings__frontier(s, tidings__oldest(s));
        from = since;
        since = (int64_t)(end - now) > 0 ? now : end;
        if (history && ++walks < ACCOUNT_WALKS) continue;
        w.listed.count = 0;
        break;
    }
    for (size_t i = 0; entry && i < w.found.count; i++) count += (int64_t)(w.found.of[i] - end) >= 0;
    free(w.found.of);
    if (!w.memory) {
        free(w.listed.of);
        return tidings__fail(ENOMEM, "can't observe \"%s\": no memory for its history", subscription->name);
    }
    subscription->since = since;
    tidings__set_relaxed(&subscription->fresh, true);
    subscription->passed = count;
    subscription->history = w.listed.of;
    subscription->history_count = w.listed.count;
    if (observer->lossless && history) tidings__lossless_history(s, observer->index, since);
    return 0;
}
