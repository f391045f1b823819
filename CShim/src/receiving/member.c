// Members: observers with write access. They are members of name entries, and posters wake them by their doorbells.
// design/3-wake-ups.md.
#include "eviction/name_registration.h"
#include "platform/futex.h"
#include "receiving/account.h"
#include "receiving/kind.h"
#include "registry/doorbell.h"
#include "registry/observers.h"
#include "registry/prefixes.h"

static int member_enter(tidings_observer *o) {
    tidings__segment *s = &o->center->segment;
    int error = tidings__observer_take(s, o->center->participant, &o->index);
    if (error) {
        // All entries are taken, perhaps by dead participants.
        (void)tidings__reclaim_dead(o->center);
        error = tidings__observer_take(s, o->center->participant, &o->index);
    }
    if (!error) o->sleeper.doorbell = tidings__doorbell(s, o->index);
    return error;
}

static void member_exit(tidings_observer *o) { tidings__observer_release(&o->center->segment, o->index); }

static int member_join(tidings_observer *o, tidings__subscription *sub) {
    if (sub->key.name) return tidings__join_name(o->center, &sub->key, o->index, &sub->entry);
    sub->entry = TIDINGS__NAME_ALL;
    return tidings__name_join_all(&o->center->segment, o->index);
}

static void member_leave(tidings_observer *o, const tidings__subscription *sub) {
    tidings__name_leave(&o->center->segment, sub->entry, o->index);
}

static void member_left_prefixes(tidings_observer *o) {
    (void)tidings__prefixes_reclaim(&o->center->segment, o->center->participant);
}

static int member_account(tidings_observer *o, tidings__subscription *sub, bool history) {
    return tidings__account_begin(o, sub, sub->entry, history, &(tidings__account_wait){0});
}

// The observer may sleep although there is something to deliver: a retained value, or a record that it passed before it
// had the new table.
static void member_added(tidings_observer *o, uint64_t since, bool retained) {
    tidings__segment *s = &o->center->segment;
#ifdef MUTANT_NO_RING_FOR_NEW_TABLE  // Found by: interleaving changing
    if (!retained) return;
#endif
    if (retained || (int64_t)(tidings__frontier(s, since) - since) > 0) tidings__doorbell_ring(s, o->index);
}

static void member_lapped(tidings_observer *o, tidings__subscription *sub, uint64_t was, uint64_t gone) {
    (void)was;
    (void)gone;
    tidings__account(&o->center->segment, sub, sub->entry);
}

// A subject has no value of its own.
static uint32_t member_value_entry(const tidings_observer *o, const tidings__subscription *sub) {
    return sub->with_subject ? tidings__name_entry_of(o, sub) : sub->entry;
}

// MARK: Sleeping

// Fills in all words that an observer sleeps on, with their values before its last check. Returns how many.
#define SLEPT_ON_MAX (2 + TIDINGS__GROUP_WAITS)
static uint32_t slept_on(const tidings_observer *o, uint32_t announced, tidings__futex_value words[SLEPT_ON_MAX]) {
    const tidings__segment *s = &o->center->segment;
    uint32_t count = 2;
    words[0] = (tidings__futex_value){tidings__doorbell(s, o->index), announced};
    words[1] = (tidings__futex_value){(_Atomic uint32_t *)&o->sleeper.own_futex, tidings__relaxed(&o->own_heard)};
    for (uint32_t i = 0; i < TIDINGS__GROUP_WAITS; i++) {
        const uint64_t group_wait = tidings__relaxed(&o->group_waits[i]);
#ifndef MUTANT_GROUP_LISTED_NOT_SLEPT_ON  // Found by: interleaving wake_group
        if (group_wait)
            words[count++] = (tidings__futex_value){&s->names[group_wait >> 32].wake_group, (uint32_t)group_wait};
#endif
#ifdef MUTANT_GROUP_FUTEX_READ_AFTER_CHECK  // Found by: interleaving wake_group
        if (group_wait) words[count - 1].value = tidings__acquire(words[count - 1].word);
#endif
    }
    return count;
}

static bool member_rung(const tidings_observer *o, uint32_t announced) {
    tidings__futex_value words[SLEPT_ON_MAX];
    for (uint32_t i = slept_on(o, announced, words); i-- > 0;)
        if (tidings__acquire(words[i].word) != words[i].value) return true;
    return false;
}

static void member_sleep(tidings_observer *o, uint32_t announced, int64_t timeout_ns) {
    tidings__futex_value words[SLEPT_ON_MAX];
    tidings__futex_wait_either(words, slept_on(o, announced, words), timeout_ns);
}

// Runs before the announcement: chooses the wake groups to sleep in, and lists them for the posters. Only the first
// SUBSCRIPTIONS_CONSIDERED subscriptions are considered; for other names, posters wake the observer by its doorbell.
#define SUBSCRIPTIONS_CONSIDERED 16u
static void make_group_waits(tidings_observer *o) {
    tidings__segment *s = &o->center->segment;
    uint32_t made = 0, previous = TIDINGS__NAME_NONE;
    if (!s->writers_file && tidings__futex_takes_several()) {
        const tidings__table *table = tidings__table_use(o);
        for (uint32_t i = 0; i < table->count && i < SUBSCRIPTIONS_CONSIDERED && made < TIDINGS__GROUP_WAITS; i++) {
            const uint32_t entry = table->of[i]->entry;
            tidings__name *name = entry == previous ? NULL : tidings__name_at(s, entry);
            previous = entry;
            if (!name || tidings__name_members(name) < TIDINGS__WAKE_GROUP) continue;
            tidings__set_relaxed(&s->observers[o->index].group_waits[made], entry);
            tidings__set_relaxed(&o->group_waits[made++], (uint64_t)entry << 32 | tidings__acquire(&name->wake_group));
        }
        tidings__table_leave(o);
    }
    for (; made < TIDINGS__GROUP_WAITS; made++) {
        tidings__set_relaxed(&s->observers[o->index].group_waits[made], TIDINGS__NAME_NONE);
        tidings__set_relaxed(&o->group_waits[made], 0);
    }
}

static int member_hear(tidings_observer *o, uint32_t *announced) {
    const int place = tidings__center_place(o->center);
    if (place) return place;
    make_group_waits(o);
    *announced = tidings__doorbell_announce(&o->center->segment, o->index);
    return 0;
}

static int member_look(tidings_observer *o, tidings_delivery *d) {
#ifdef MUTANT_NO_CHECK_AFTER_ANNOUNCE  // Found by: interleaving one_post
    return TIDINGS__NOTHING;
#endif
    int result = tidings__look_for(o, tidings__frontier(&o->center->segment, o->cursor), d);
    // Check again that our participant is not declared dead: posters would no longer wake us. The announcement precedes
    // this check, and a peer that declares us dead wakes us once more afterwards.
    if (result == TIDINGS__NOTHING) result = tidings__center_place(o->center);
#ifdef MUTANT_CLAIM_IGNORED_AFTER_ANNOUNCE  // Found by: interleaving one_post
    if (result == TIDINGS__IN_FLIGHT) return TIDINGS__NOTHING;
#endif
    return result;
}

static void member_withdraw(tidings_observer *o) {
    if (tidings__has_place(o->center)) tidings__doorbell_withdraw(&o->center->segment, o->index);
}

const tidings__observer_kind tidings__kind_member = {
    .enter = member_enter,
    .exit = member_exit,
    .join = member_join,
    .leave = member_leave,
    .left_prefixes = member_left_prefixes,
    .account = member_account,
    .added = member_added,
    .match = NULL,
    .lapped = member_lapped,
    .value_entry = member_value_entry,
    .hear = member_hear,
    .look = member_look,
    .withdraw = member_withdraw,
    .rung = member_rung,
    .sleep = member_sleep,
};
