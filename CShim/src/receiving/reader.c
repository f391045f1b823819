// Readers: matching and counting without a name entry of their own, and sleeping on name futexes. design/5-access.md.
#include "receiving/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "platform/clock.h"
#include "platform/error.h"
#include "platform/futex.h"
#include "receiving/account.h"
#include "receiving/kind.h"
#include "registry/doorbell.h"
#include "registry/tally.h"

#define LONGEST_SLEEP_NS 1000000000

static bool is_in_use(const tidings__name *name) {
    const uint64_t state = tidings__acquire(&name->state) & 0xf;
    return state == TIDINGS__NAME_LINKED || state == TIDINGS__NAME_LEAVING;
}

static bool has_name(const tidings__name *name, const tidings__key *key) {
    return is_in_use(name) && tidings__name_same(name, key);
}

// Finds the entries of all subscribed names in one walk along the table of names.
static void walk_names(tidings_observer *o, const tidings__table *t) {
    tidings__segment *s = &o->center->segment;
    for (uint32_t i = 0; i < t->count; i++) t->of[i]->present = TIDINGS__NAME_NONE;
    const uint32_t end = tidings__names_end(s);
    // In a table that a peer has damaged, many entries may have the hash of many subscriptions.
    uint64_t left = (uint64_t)end + 4 * (uint64_t)t->count;
    for (uint32_t entry = TIDINGS__NAME_FIRST; entry < end && left > 0; entry++) {
        const tidings__name *name = &s->names[entry];
        tidings__name_ahead(s, entry, end);
        if (!is_in_use(name)) continue;
        const tidings__key sought = {.hash = tidings__relaxed(&name->hash)};
        uint32_t count;
        tidings__subscription *const *of = tidings__table_find(t, tidings__reader_number(&sought), &count);
        left -= count < left ? count : left;
        for (uint32_t i = 0; i < count; i++)
            if (tidings__name_same(name, &of[i]->key)) of[i]->present = entry;
    }
}

// A peer can make each chain 4,096 entries long, and there may be a hundred thousand names to look up.
#define CHAINS_NS 2000000
#define MOVED_MOST 256u

// The present entry of the subscription's name. TIDINGS__NAME_NONE: the table has none. If all names are looked up,
// searches chains for a while, and then the whole table once for all of them.
static uint32_t entry_of(tidings_observer *o, const tidings__subscription *sub) {
    if (o->looking_up && o->chains_until != UINT64_MAX) {
        const uint64_t now = tidings__monotonic_ns();
        if (o->chains_until == 0) o->chains_until = now + CHAINS_NS;
        if (now >= o->chains_until) {
            walk_names(o, o->looking_up);
            o->chains_until = UINT64_MAX;
        }
    }
    tidings__segment *s = &o->center->segment;
    if (!o->looking_up || o->chains_until != UINT64_MAX) return tidings__name_find(s, &sub->key);
    // The walk may have found it long ago, and the entry may have another name since. A peer can change each entry.
    if (sub->present == TIDINGS__NAME_NONE || has_name(&s->names[sub->present], &sub->key)) return sub->present;
    return o->moved++ < MOVED_MOST ? tidings__name_find(s, &sub->key) : TIDINGS__NAME_NONE;
}

static uint32_t resolve_to(tidings__segment *s, tidings__subscription *sub, uint32_t entry) {
    sub->resolved = entry;
    if (sub->resolved != TIDINGS__NAME_NONE) sub->birth = tidings__acquire(&s->names[sub->resolved].birth);
    return sub->resolved;
}

// For a thread that adds the subscription.
static uint32_t resolve_alone(tidings_observer *o, tidings__subscription *sub) {
    tidings__segment *s = &o->center->segment;
    return resolve_to(s, sub, sub->entry == TIDINGS__NAME_ALL ? TIDINGS__NAME_ALL : tidings__name_find(s, &sub->key));
}

uint32_t tidings__reader_resolve(tidings_observer *o, tidings__subscription *sub) {
    return resolve_to(&o->center->segment, sub, sub->entry == TIDINGS__NAME_ALL ? TIDINGS__NAME_ALL : entry_of(o, sub));
}

uint64_t tidings__reader_resolve_anew(tidings_observer *o, tidings__subscription *sub, uint64_t until) {
    sub->passed = 0;
    uint64_t end = until;
    if (tidings__reader_resolve(o, sub) != TIDINGS__NAME_NONE)
        tidings__tally_read(&o->center->segment.names[sub->resolved].tally, &sub->passed, &end);
    if ((int64_t)(end - until) < 0) end = until;
    sub->accounted = end;
    return end;
}

static void reader_match(tidings_observer *o, const tidings__table *t, uint32_t entry, uint64_t position,
                         uint32_t *matched) {
    tidings__segment *s = &o->center->segment;
    tidings__name *name = tidings__name_at(s, entry);
    if (!name) return;
    // While the ring holds this record, the entry stands for the name that its poster meant.
    const uint64_t birth = tidings__acquire(&name->birth);
    const tidings__key sought = {.hash = tidings__relaxed(&name->hash)};
    uint64_t passed = UINT64_MAX;
    uint32_t count;
    tidings__subscription *const *of = tidings__table_find(t, tidings__reader_number(&sought), &count);
    for (uint32_t i = 0; i < count && *matched < o->matched_capacity; i++) {
        tidings__subscription *sub = of[i];
        if (!tidings__due(sub, position)) continue;
        if (sub->resolved != entry || sub->birth != birth) {
            if (!tidings__name_same(name, &sub->key)) continue;
            if (o->lapped) {
                o->matched[(*matched)++] = sub;
                continue;
            }
            sub->resolved = entry;
            sub->birth = birth;
            if ((int64_t)(birth - position) <= 0) {
                // The entry began to serve this name since the last lookup; otherwise an earlier record of it would
                // have been matched. So no record of it lies before this one.
                passed = 0;
            } else if (passed == UINT64_MAX) {
                // The entry was taken out, and keeps its text and tally while the ring holds this record. Its uses
                // can't be told apart, so its records are counted again: once for all subscriptions to this name, as
                // there may be many.
                passed = tidings__reader_passed(o, sub, position);
            }
            sub->passed = passed;
        }
        o->matched[(*matched)++] = sub;
    }
}

// True if the entry was taken out, and the name has another one since. Its birth then lies beyond the records that
// carry its number, so beyond the cursor.
static bool moved_to_another(tidings_observer *o, const tidings__subscription *sub, uint64_t cursor) {
    if ((int64_t)(sub->birth - cursor) <= 0) return false;
    const uint32_t now = entry_of(o, sub);
    return now != sub->resolved && now != TIDINGS__NAME_NONE;
}

static void reader_lapped(tidings_observer *o, tidings__subscription *sub, uint64_t was, uint64_t gone) {
    if (gone == 0) return;  // otherwise each call would resolve each name again
    tidings__segment *s = &o->center->segment;
    const uint32_t entry = sub->resolved;
    if (entry == TIDINGS__NAME_NONE) {
        // No record of this name lies before the cursor. An entry that was added since counts from 0.
        if (tidings__reader_resolve(o, sub) == TIDINGS__NAME_NONE) return;
        sub->passed = 0;
    } else if (entry != TIDINGS__NAME_ALL &&
               (tidings__acquire(&s->names[entry].birth) != sub->birth || moved_to_another(o, sub, was))) {
        // The table was full, and the entry was taken out or given to another name: its count is lost, or not all.
        // Count the most that can have been missed.
        const uint64_t end = tidings__reader_resolve_anew(o, sub, o->cursor);
        sub->missed += end - o->cursor + gone;
        return;
    }
#ifndef MUTANT_LAPPED_READER_COUNTS_NOTHING  // Found by: fault-injection reading
    tidings__account(s, sub, sub->resolved);
#endif
}

static int reader_enter(tidings_observer *o) {
    const tidings__segment *s = &o->center->segment;
    if (o->flags & TIDINGS_OBSERVE_LOSSLESS)
        return tidings__center_read_only(o->center, "observe without loss (which holds posters back)");
    if (s->observable) return 0;
    return tidings__fail(
        EACCES,
        "can't observe center \"%s\" read-only: its mode admits no readers, so its posters wake none; create it "
        "with mode 0640 or 0644",
        s->name);
}

static void reader_exit(tidings_observer *o) { (void)o; }

static int reader_join(tidings_observer *o, tidings__subscription *sub) {
    if (sub->prefix)
        return tidings__fail(
            EACCES,
            "can't observe \"%s*\" in center \"%s\", which may only be read: no process would count what is missed; "
            "observe all names",
            sub->name, o->center->segment.name);
    sub->entry = sub->key.name ? tidings__reader_number(&sub->key) : TIDINGS__NAME_ALL;
    return 0;
}

static void reader_leave(tidings_observer *o, const tidings__subscription *sub) {
    (void)o;
    (void)sub;
}
static void reader_left_prefixes(tidings_observer *o) { (void)o; }

// A reader becomes a member of no entry; it only looks the name up. It looks the name up again after the pass over the
// ring: if it still has no entry, no record of it lies before `since`. A name that is added meanwhile takes a second
// round. In a full table an entry may go at any time, and its name gets another one. So these are at least so many
// rounds, more while they take little processor time, and at most so many.
#define ACCOUNT_ROUNDS_LEAST 4
#define ACCOUNT_NS 10000000
#define ACCOUNT_ROUNDS 1000
static int reader_account(tidings_observer *observer, tidings__subscription *subscription, bool history) {
    tidings__segment *s = &observer->center->segment;
    tidings__account_wait wait = {0};
    const uint64_t begun = tidings__thread_ns();
    for (int round = 0; round < ACCOUNT_ROUNDS; round++) {
        if (round >= ACCOUNT_ROUNDS_LEAST && tidings__thread_ns() - begun >= ACCOUNT_NS) break;
        resolve_alone(observer, subscription);
        const uint32_t resolved = subscription->resolved;
        const uint64_t birth = subscription->birth;
        free(subscription->history);
        subscription->history = NULL;
        const int error = tidings__account_begin(observer, subscription, resolved, history, &wait);
        if (error) return error;
        if (resolve_alone(observer, subscription) == resolved &&
            (resolved == TIDINGS__NAME_NONE || subscription->birth == birth))
            return 0;
    }
    return tidings__fail(EBADMSG,
                         "can't observe \"%s\" in center \"%s\": its table of names is damaged; remove the center",
                         subscription->name, s->name);
}

// The observer may be asleep without listening to this name's futex.
static void reader_added(tidings_observer *o, uint64_t since, bool retained) {
    (void)since;
    (void)retained;
    tidings__nudge(&o->sleeper);
}

static uint32_t reader_value_entry(const tidings_observer *o, const tidings__subscription *sub) {
    return tidings__name_entry_of(o, sub);
}

// Reads the name futexes of the subscribed names.
void tidings__reader_hear(tidings_observer *o) {
    const tidings__segment *s = &o->center->segment;
    const uint32_t name_futexes = tidings__table_use(o)->name_futexes;
    tidings__table_leave(o);
    for (uint32_t left = name_futexes; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        tidings__set_relaxed(&o->heard[i], tidings__acquire(&s->header->name_futexes[i].word));
    }
    tidings__set_relaxed(&o->heard_name_futexes, name_futexes);
}

// MARK: Sleeping

static int reader_hear(tidings_observer *o, uint32_t *announced) {
    (void)announced;
    tidings__reader_hear(o);
    return 0;
}

// The poster increments a name futex after its claim. So either this check sees the claim, or the futex differs from
// the value read.
static int reader_look(tidings_observer *o, tidings_delivery *d) {
    return tidings__look_for(o, tidings__frontier(&o->center->segment, o->cursor), d);
}

static void reader_withdraw(tidings_observer *o) { (void)o; }

static bool reader_rung(const tidings_observer *o, uint32_t announced) {
    (void)announced;
    if (tidings__acquire(&o->sleeper.own_futex) != tidings__relaxed(&o->own_heard)) return true;
    const tidings__segment *s = &o->center->segment;
    for (uint32_t name_futexes = tidings__relaxed(&o->heard_name_futexes); name_futexes;
         name_futexes &= name_futexes - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(name_futexes);
        if (tidings__acquire(&s->header->name_futexes[i].word) != tidings__relaxed(&o->heard[i])) return true;
    }
    return false;
}

// Wakes the next sleepers of a name futex, if it has changed since this reader read `heard`. A reader that sleeps on an
// older value fell asleep before the change. So a wake-up that finds fewer sleepers than it may wake leaves none of
// these asleep, in any process. `emptied` then makes the other readers of this process skip the call. Two exceptions,
// with sleeps of a second at most: the futex has wrapped round 2^32, or a hostile reader moved sleepers away and back.
static void pass_on(tidings_center *center, uint32_t name_futex, uint32_t heard) {
    _Atomic uint32_t *word = &center->segment.header->name_futexes[name_futex].word,
                     *emptied = &center->emptied[name_futex];
    const uint32_t now = tidings__acquire(word);
    if (now == heard || now == tidings__acquire(emptied)) return;
    const int woken = tidings__futex_wake(word, TIDINGS__NAME_FUTEX_PASSES);
    if (woken >= 0 && woken < TIDINGS__NAME_FUTEX_PASSES) tidings__set_release(emptied, now);
}

void tidings__reader_sleep(tidings_observer *o, int64_t timeout_ns) {
    tidings__segment *s = &o->center->segment;
    tidings__futex_value values[TIDINGS__NAME_FUTEXES + 1];
    const uint32_t name_futexes = tidings__relaxed(&o->heard_name_futexes);
    uint32_t count = 0;
    for (uint32_t left = name_futexes; left; left &= left - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(left);
        values[count++] = (tidings__futex_value){&s->header->name_futexes[i].word, tidings__relaxed(&o->heard[i])};
#ifdef MUTANT_NAME_FUTEX_READ_AFTER_CHECK  // Found by: interleaving one_reader
        values[count - 1].value = tidings__acquire(values[count - 1].word);
#endif
    }
    values[count++] = (tidings__futex_value){&o->sleeper.own_futex, tidings__relaxed(&o->own_heard)};
#ifdef MUTANT_OWN_FUTEX_READ_AFTER_CHECK  // Found by: interleaving one_reader_changing
    values[count - 1].value = tidings__acquire(values[count - 1].word);
#endif
    tidings__futex_wait_any(values, count,
                            timeout_ns >= 0 && timeout_ns < LONGEST_SLEEP_NS ? timeout_ns : LONGEST_SLEEP_NS);
    // Invariant W9: a poster wakes a bounded number of sleepers, so this reader wakes the next ones. It does so
    // whatever has ended its own sleep: the poster's wake-up may have been spent on it.
    for (uint32_t left = name_futexes, i = 0; left; left &= left - 1)
        pass_on(o->center, (uint32_t)__builtin_ctz(left), values[i++].value);
}

static void reader_sleep(tidings_observer *o, uint32_t announced, int64_t timeout_ns) {
    (void)announced;
    tidings__reader_sleep(o, timeout_ns);
}

const tidings__observer_kind tidings__kind_reader = {
    .enter = reader_enter,
    .exit = reader_exit,
    .join = reader_join,
    .leave = reader_leave,
    .left_prefixes = reader_left_prefixes,
    .account = reader_account,
    .added = reader_added,
    .match = reader_match,
    .lapped = reader_lapped,
    .value_entry = reader_value_entry,
    .hear = reader_hear,
    .look = reader_look,
    .withdraw = reader_withdraw,
    .rung = reader_rung,
    .sleep = reader_sleep,
};
