// Opens and closes observers, and adds and removes their subscriptions.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "center/ends.h"
#include "center/record_name.h"
#include "eviction/name_registration.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "receiving/observer.h"
#include "receiving/reader.h"
#include "registry/doorbell.h"
#include "registry/observers.h"
#include "registry/prefixes.h"
#include "registry/tally.h"
#include "ring/verdict.h"
#include "segment/names.h"

int tidings_observer_open(tidings_center *center, uint32_t flags, tidings_observer **result) {
    *result = NULL;
    tidings__clear_error();
    tidings__segment *s = &center->segment;
    int error = tidings__center_check(center, tidings__thread_self());
    if (!error) error = tidings__center_place(center);
    if (error) return error;
    if (!s->writable && flags & TIDINGS_OBSERVE_LOSSLESS)
        return tidings__center_read_only(center, "observe without loss (which holds posters back)");
    if (!s->writable && !s->observable)
        return tidings__fail(EACCES,
                             "can't observe center \"%s\" read-only: it was made for those who may post, and its "
                             "posters wake nobody else; create it with mode 0640 or 0644",
                             s->name);
    tidings_observer *observer = calloc(1, sizeof *observer);
    tidings__table *table = tidings__table_empty();
    if (!observer || !table) {
        free(observer);
        tidings__table_free(table);
        return tidings__fail(ENOMEM, "can't observe center \"%s\": no memory for the observer", s->name);
    }
    observer->reader = !s->writable;
    if (!observer->reader) error = tidings__observer_take(s, center->participant, &observer->index);
    if (error) {
        // All entries are taken, perhaps by dead participants.
        (void)tidings__reclaim_dead(center);
        error = tidings__observer_take(s, center->participant, &observer->index);
        if (error) {
            free(observer);
            tidings__table_free(table);
            return error;
        }
    }
    observer->center = center;
    observer->flags = flags;
    observer->fork_epoch = observer->sleeper.fork_epoch = center->fork_epoch;
    observer->sleeper.doorbell = observer->reader ? NULL : tidings__doorbell(s, observer->index);
    observer->spin_ns = TIDINGS__SPIN_ADAPTIVE;
    observer->last_wait_ns = UINT64_MAX;
    observer->stuck.at = UINT64_MAX;
    observer->lent_from = SIZE_MAX;
    pthread_mutex_init(&observer->lock, NULL);
    tidings__set_relaxed(&observer->table, table);
    observer->lossless = flags & TIDINGS_OBSERVE_LOSSLESS;
    (void)(flags & TIDINGS_OBSERVE_BARE &&
           tidings__buffer_begin(observer));  // on failure, the first delivery tries again
    observer->cursor = tidings__frontier(s, tidings__relaxed(&center->hint));
    if (observer->lossless) observer->cursor = tidings__lossless_begin(s, observer->index, observer->cursor);
    observer->published = observer->cursor;
    tidings__end_watch(center, &observer->sleeper);
    // Must follow the watch: a later end is reported by the watch.
    if (tidings__end_look(center)) {
        tidings_observer_close(observer);
        return tidings__end_fail(center, "observe");
    }
    *result = observer;
    return 0;
}

static void leave(const tidings_observer *observer, const tidings__subscription *subscription) {
    tidings__segment *s = &observer->center->segment;
    if (subscription->prefix)
        tidings__prefix_leave(s, observer->center->participant, subscription->entry, observer->index);
    else
        tidings__name_leave(s, subscription->entry, observer->index);
}

void tidings_observer_close(tidings_observer *observer) {
    if (!observer) return;
    tidings__segment *s = &observer->center->segment;
    bool ours = !observer->reader && observer->fork_epoch == tidings__thread_self()->fork_epoch &&
                tidings__has_place(observer->center);
    tidings__end_unwatch(observer->center, &observer->sleeper);
    tidings__descriptor_close(observer);
    tidings__table *table = tidings__relaxed(&observer->table);
    for (uint32_t i = 0; i < table->count; i++) {
        bool last = i + 1 == table->count || table->of[i + 1]->entry != table->of[i]->entry;
        if (ours && last) leave(observer, table->of[i]);
    }
    for (uint32_t i = 0; i < table->count; i++) tidings__subscription_free(table->of[i]);
    tidings__subscriptions_free(observer);
    if (ours) tidings__observer_release(s, observer->index);
#ifdef MUTANT_FORKED_CHILD_RELEASES_OBSERVER  // Found by: fuzz image
    if (!ours) tidings__observer_release(s, observer->index + s->shape.observers);
#endif
    tidings__table_free(table);
    tidings__buffer_free(observer);
    free(observer->matched);
    free(observer->matched_ids);
    pthread_mutex_destroy(&observer->lock);
    free(observer);
}

static int check_own(const tidings_observer *observer) {
    if (observer->fork_epoch == tidings__thread_self()->fork_epoch) return 0;
    return tidings__fail(
        ECHILD, "can't use an observer of center \"%s\" that was opened before a fork; open one in this process",
        observer->center->segment.name);
}

// `asked`: the sequence that the caller gave, for the error line.
static int seek(tidings_observer *observer, uint64_t sequence, uint64_t asked) {
    tidings__segment *s = &observer->center->segment;
    const int error = check_own(observer);
    if (error) return error;
    if (tidings__relaxed(&observer->started) || tidings__relaxed(&observer->table)->count > 0)
        return tidings__fail(
            EBUSY, "can't seek an observer of center \"%s\" that looks at names already; seek before adding", s->name);
    uint64_t end = tidings__frontier(s, tidings__relaxed(&observer->center->hint));
    uint64_t oldest = tidings__oldest(s);
    if (sequence != UINT64_MAX && sequence > end)
        return tidings__fail(ERANGE,
                             "can't seek an observer of center \"%s\" to sequence %llu: the next one here will be "
                             "%llu; start at the end (UINT64_MAX) or at the oldest (0)",
                             s->name, (unsigned long long)asked, (unsigned long long)end);
    uint64_t cursor = sequence > end ? end : sequence;
    if ((int64_t)(cursor - oldest) < 0) cursor = oldest;
    if (observer->lossless) cursor = tidings__lossless_begin(s, observer->index, cursor);
    observer->cursor = observer->published = cursor;
    return 0;
}

int tidings_observer_seek(tidings_observer *observer, uint64_t sequence) {
    tidings__clear_error();
    return seek(observer, sequence, sequence);
}

int tidings_observer_seek_after(tidings_observer *observer, uint64_t incarnation, uint64_t sequence) {
    tidings__clear_error();
    const tidings__segment *s = &observer->center->segment;
    if (incarnation != s->instance)
        return tidings__fail(ESTALE,
                             "can't seek an observer of center \"%s\" after sequence %llu of incarnation %016llx: this "
                             "is incarnation %016llx; start at the end (UINT64_MAX) or at the oldest (0)",
                             s->name, (unsigned long long)sequence, (unsigned long long)incarnation,
                             (unsigned long long)s->instance);
    if (sequence >= UINT64_MAX - 1)
        return tidings__fail(ERANGE,
                             "can't seek an observer of center \"%s\" after sequence %llu: its order is shorter; start "
                             "at the end (UINT64_MAX) or at the oldest (0)",
                             s->name, (unsigned long long)sequence);
    return seek(observer, sequence + 1, sequence);
}

// True if the subscription's tally counts the record at this position.
static bool is_of(tidings_observer *observer, const tidings__subscription *subscription, uint64_t position) {
    tidings__segment *s = &observer->center->segment;
    if (!subscription->prefix)
        return tidings__route_includes(tidings__relaxed(&tidings__cell_at(s, position)->route),
                                       observer->reader ? subscription->resolved : subscription->entry);
    _Atomic uint64_t copy[TIDINGS__NAME_WORDS];
    uint32_t length;
    const _Atomic uint64_t *name = tidings__record_name(s, position, copy, &length);
    return name &&
           tidings__text_begins(name, length, tidings__subscription_name(subscription), subscription->name_length);
}

// True if the record at a position before `since` has this name (and subject), compared by text. The record may have
// been posted before the name had an entry.
static bool same_text(tidings_observer *observer, const tidings__subscription *subscription, uint64_t position) {
    if (subscription->many) return is_of(observer, subscription, position);
    tidings__record record;
    tidings__record_read(tidings__cell_at(&observer->center->segment, position), &record);
    uint32_t name_length, subject_length;
    if (!tidings__record_copy(observer, position, &record) ||
        !tidings__record_text(observer, &record, &name_length, &subject_length))
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
    250u  // waits after which each further one naps: a peer that changes the claim can end every sleep at once

// Limits how long one `tidings_observer_add` waits for unfinished posts.
typedef struct account_wait {
    uint64_t begun;
    uint32_t turns;
} account_wait;

// Sets where this subscription begins, and how many records of its entry lie before: the account that makes losses
// countable. With history, also lists the positions from the cursor on that have its name. Passes the ring once at
// most, however fast peers post. The tally contains what is evicted during the pass. The tally is read last, so a
// record seen before its eviction is not counted twice.
static int begin_account(tidings_observer *observer, tidings__subscription *subscription, bool history,
                         account_wait *wait) {
    tidings__segment *s = &observer->center->segment;
    // For a reader, the name may have no entry yet.
    const uint32_t number = observer->reader ? subscription->resolved : subscription->entry;
    tidings__name *entry = number == TIDINGS__NAME_NONE ? NULL : &s->names[number];
    tidings__pending_claim stuck = {.at = UINT64_MAX};
    positions found = {0}, listed = {0};
    bool memory = true, impatient = false;
    uint64_t revoked = 0;
    // Must follow the membership and the generation's increment: a record claimed from here on carries the entry's
    // number.
    tidings__barrier_after_rmw();
    uint64_t since = tidings__frontier(s, tidings__relaxed(&observer->center->hint));
#ifdef MUTANT_START_BEFORE_MEMBERSHIP  // Found by: interleaving registering
    since = observer->cursor;
#endif
    uint64_t count = 0, end = 0, from = tidings__oldest(s);
    // Before a prefix's birth, no evicting thread counts its records (`tidings__join_name`). From the oldest position
    // on, all its records are counted here.
    uint64_t birth = subscription->many || !entry ? from : tidings__acquire(&entry->birth);
    if (!history && (int64_t)(birth - from) > 0) from = birth;
    if ((int64_t)(since - from) > (int64_t)s->shape.slots) from = since - s->shape.slots;
    for (uint64_t p = from; (int64_t)(since - p) > 0 && memory; p++) {
        tidings__slot_state finding;
        while ((finding = tidings__slot_status(s, p)) == TIDINGS__CLAIMED && !impatient) {
            if (wait->begun == 0) wait->begun = tidings__monotonic_ns();
            tidings__wait_claimed(observer->center, &stuck, p, true);
            // If the wait is `over`, `tidings__wait_claimed` returns to a reader at once each time.
            if (stuck.over || wait->turns++ >= ACCOUNT_TURNS) tidings__nap(ACCOUNT_NAP_NS);
            impatient = tidings__monotonic_ns() - wait->begun > ACCOUNT_WAIT_NS;
        }
        if (finding == TIDINGS__CLAIMED && !observer->reader) {
            // Each position is revoked once. If it still reads as claimed afterwards, a peer has damaged it.
            if ((int64_t)(p - revoked) >= 0) {
                revoked = since - p < REVOKED_AT_ONCE ? since : p + REVOKED_AT_ONCE;
                tidings__revoke_all(s, p, revoked);
            }
            finding = tidings__slot_status(s, p);
        }
        if (finding == TIDINGS__VALID) {
            bool is = (int64_t)(p - birth) >= 0 && is_of(observer, subscription, p);
            bool old = history && (int64_t)(p - observer->cursor) >= 0 && (is || same_text(observer, subscription, p));
            if (tidings__slot_valid_after_copy(s, p) &&
                !(subscription->prefix && (int64_t)(tidings__oldest(s) - p) > 0)) {
                if (is) memory = note(&found, p);
                if (old && memory) memory = note(&listed, p);
            } else {
                finding = TIDINGS__LAPPED;
            }
        }
        if (finding == TIDINGS__LAPPED) {
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
    subscription->fresh = true;
    subscription->passed = count;
    subscription->history = listed.of;
    subscription->history_count = listed.count;
    if (observer->lossless && history) tidings__lossless_history(s, observer->index, since);
    return 0;
}

// A reader becomes a member of no entry; it only looks the name up. It looks again after the pass over the ring: an
// entry that is still missing then has no record up to here.
static int begin_reading(tidings_observer *observer, tidings__subscription *subscription, bool history) {
    tidings__segment *s = &observer->center->segment;
    account_wait wait = {0};
    for (int round = 0; round < 100; round++) {
        tidings__reader_resolve(observer, subscription);
        const uint32_t resolved = subscription->resolved;
        const uint64_t birth = subscription->birth;
        free(subscription->history);
        subscription->history = NULL;
        const int error = begin_account(observer, subscription, history, &wait);
        if (error) return error;
        if (tidings__reader_resolve(observer, subscription) == resolved &&
            (resolved == TIDINGS__NAME_NONE || subscription->birth == birth))
            return 0;
    }
    return tidings__fail(EBADMSG,
                         "can't observe \"%s\" in center \"%s\": its table of names is damaged; remove the center",
                         subscription->name, s->name);
}

int tidings_observer_add(tidings_observer *observer, const char *name, size_t name_length, const char *subject,
                         size_t subject_length, uint32_t flags, uint32_t *id) {
    tidings__clear_error();
    tidings_center *center = observer->center;
    tidings__segment *s = &center->segment;
    int error = check_own(observer);
    if (!error && name) error = tidings__check_text("notification name", name, name_length, 1, TIDINGS_NAME_MAX);
    if (!error && subject) error = tidings__check_text("subject", subject, subject_length, 0, TIDINGS_SUBJECT_MAX);
    if (!error) error = tidings__center_place(center);
    if (!error && tidings__end_known(center)) error = tidings__end_fail(center, "observe");
    if (error) return error;
    const bool prefix = flags & TIDINGS_ADD_PREFIX && name;
    if (subject && (!name || prefix))
        return tidings__fail(EINVAL, "can't observe %s by subject; name one, or look at the subject in the delivery",
                             name ? "many names" : "all names");
    if (prefix && observer->reader)
        return tidings__fail(EACCES,
                             "can't observe \"%.*s*\" in center \"%s\", which may only be read: nobody would count "
                             "what is missed; observe all names",
                             (int)name_length, name, s->name);
    if (!name) name_length = 0;
    // A post without a subject has an empty one, and no entry of its own for it.
    bool with_subject = subject && subject_length > 0;
    if (!with_subject) subject_length = 0;
    if (flags & TIDINGS_ADD_HISTORY && tidings__relaxed(&observer->started))
        return tidings__fail(
            EBUSY, "can't add history to an observer of center \"%s\" that has begun; open another one for it",
            s->name);
    if (observer->lossless && tidings__relaxed(&observer->started))
        return tidings__fail(
            EBUSY, "can't add a name to a lossless observer of center \"%s\" that has begun; open another one for it",
            s->name);
    const size_t name_room = tidings__round8(name_length + 1);
    tidings__subscription *subscription = calloc(1, sizeof *subscription + name_room + subject_length + 1);
    if (!subscription) return tidings__fail(ENOMEM, "can't observe a name in center \"%s\": no memory", s->name);
    subscription->name = (char *)(subscription + 1);
    subscription->subject = subscription->name + name_room;
    subscription->name_length = (uint32_t)name_length;
    subscription->subject_length = (uint32_t)subject_length;
    subscription->with_subject = with_subject;
    subscription->prefix = prefix;
    subscription->many = prefix || !name;
    if (name) memcpy(subscription->name, name, name_length);
    if (with_subject) memcpy(subscription->subject, subject, subject_length);

    pthread_mutex_lock(&observer->lock);
    if (observer->lossless && flags & TIDINGS_ADD_HISTORY) {
        // Prevents eviction from the cursor on while the history is listed. The lossless cursor is set anew, so that no
        // eviction decided before can follow.
        tidings__lossless_history(s, observer->index, UINT64_MAX);
        observer->cursor = observer->published = tidings__lossless_begin(s, observer->index, observer->cursor);
    }
    tidings__key key;
    if (name) {
        tidings__key_make(&key, subscription->name, name_length, NULL, 0);
        subscription->name_futex = tidings__name_futex_of(&key);
        tidings__key_make(&key, subscription->name, name_length, with_subject ? subscription->subject : NULL,
                          subject_length);
        key.prefix = prefix;
        subscription->key = key;
        if (observer->reader)
            subscription->entry = tidings__reader_number(&key);
        else
            error = tidings__join_name(center, &key, observer->index, &subscription->entry);
    } else {
        subscription->entry = TIDINGS__NAME_ALL;
        if (!observer->reader) error = tidings__name_join_all(s, observer->index);
    }
    const bool history = flags & TIDINGS_ADD_HISTORY;
    if (!error && observer->reader)
        error = begin_reading(observer, subscription, history);
    else if (!error)
        error = begin_account(observer, subscription, history, &(account_wait){0});
    tidings__table *old = tidings__relaxed(&observer->table), *table = NULL;
    if (!error && flags & TIDINGS_ADD_RETAINED && !tidings__kept_begin(observer, subscription))
        error = tidings__fail(ENOMEM, "can't observe \"%s\": no memory for the list of kept values",
                              subscription->name);
    if (!error) {
        subscription->id = ++observer->next_id;
        table = tidings__table_with(old, subscription);
        if (!table) error = tidings__fail(ENOMEM, "can't observe \"%s\": no memory for one more", subscription->name);
    }
    if (error) {
        uint32_t others = 0;
        if (subscription->entry) tidings__table_find(old, subscription->entry, &others);
        if (subscription->entry && others == 0 && !observer->reader) leave(observer, subscription);
        tidings__subscription_free(subscription);
        pthread_mutex_unlock(&observer->lock);
        return error;
    }
    bool retained = subscription->retained;
    uint64_t since = subscription->since;
    *id = subscription->id;
    tidings__table_swap(observer, table);
    pthread_mutex_unlock(&observer->lock);
    // The observer may be asleep with something to deliver: a retained value, or a record that it passed before it had
    // the new table. A reader may also be asleep without listening to this name's futex.
    if (observer->reader) tidings__nudge(&observer->sleeper);
#ifdef MUTANT_NO_RING_FOR_NEW_TABLE  // Found by: interleaving changing
    else if (!retained)
        return 0;
#endif
    else if (retained || (int64_t)(tidings__frontier(s, since) - since) > 0)
        tidings__doorbell_ring(s, observer->index);
    return 0;
}

// Removes all of these subscriptions or none. The ids ascend. `gone` has room for `count`.
static int remove_all(tidings_observer *observer, const uint32_t *ids, uint32_t count, tidings__subscription **gone) {
    tidings__segment *s = &observer->center->segment;
    pthread_mutex_lock(&observer->lock);
    const tidings__table *old = tidings__relaxed(&observer->table);
    const bool found = tidings__table_select(old, ids, count, gone) == count;
    tidings__table *table = found ? tidings__table_without(old, gone, count) : NULL;
    if (!table) {
        pthread_mutex_unlock(&observer->lock);
        if (found) return tidings__fail(ENOMEM, "can't stop observing \"%s\": no memory for the change", gone[0]->name);
        return count == 1
                   ? tidings__fail(ENOENT,
                                   "can't remove subscription %u of an observer of center \"%s\": it has none of "
                                   "that number",
                                   ids[0], s->name)
                   : tidings__fail(ENOENT,
                                   "can't remove %u subscriptions of an observer of center \"%s\": at least one "
                                   "of the numbers is none of its own, or given twice",
                                   count, s->name);
    }
    // The table first: after `leave`, an entry may serve another name, and no tally of it may be read here.
    tidings__table_swap(observer, table);
    const bool ours = !observer->reader && tidings__has_place(observer->center);
    for (uint32_t i = 0; i < count; i++) {
        // Subscriptions of one entry are adjacent. The last one that goes takes the membership along.
        const bool last = i + 1 == count || gone[i + 1]->entry != gone[i]->entry;
        uint32_t others = 0;
        if (last) tidings__table_find(table, gone[i]->entry, &others);
        if (last && others == 0 && ours) leave(observer, gone[i]);
    }
    for (uint32_t i = 0; i < count; i++) tidings__subscription_retire(observer, gone[i]);
    pthread_mutex_unlock(&observer->lock);
    return 0;
}

int tidings_observer_remove(tidings_observer *observer, uint32_t id) {
    tidings__clear_error();
    tidings__subscription *gone;
    const int error = check_own(observer);
    return error ? error : remove_all(observer, &id, 1, &gone);
}

static int ascending(const void *one, const void *other) {
    const uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

int tidings_observer_remove_many(tidings_observer *observer, const uint32_t *ids, size_t count) {
    tidings__clear_error();
    int error = check_own(observer);
    if (error || count == 0) return error;
    const char *name = observer->center->segment.name;
    if (count > UINT32_MAX)
        return tidings__fail(ENOENT,
                             "can't remove %zu subscriptions of an observer of center \"%s\": it never had as many",
                             count, name);
    uint32_t *sorted = malloc(count * sizeof *sorted);
    tidings__subscription **gone = malloc(count * sizeof *gone);
    if (sorted && gone) {
        memcpy(sorted, ids, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, ascending);
        error = remove_all(observer, sorted, (uint32_t)count, gone);
    } else {
        error = tidings__fail(ENOMEM, "can't remove %zu subscriptions of an observer of center \"%s\": no memory",
                              count, name);
    }
    free(sorted);
    free(gone);
    return error;
}

int tidings_observer_lend(tidings_observer *observer, size_t from, tidings_allocate allocate, void *context) {
    // A payload that fits a slot is copied without checking this limit.
    if (allocate && from < TIDINGS_LEND_MIN)
        return tidings__fail(EINVAL,
                             "can't lend an observer of center \"%s\" memory for payloads of %zu bytes: it takes "
                             "memory for %u bytes or more",
                             observer->center->segment.name, from, TIDINGS_LEND_MIN);
    observer->lent_from = allocate ? from : SIZE_MAX;
    observer->allocate = allocate;
    observer->allocate_context = context;
    return 0;
}

uint64_t tidings_observer_position(const tidings_observer *observer) { return observer->cursor; }

bool tidings_nothing_since(const tidings_center *center, uint64_t sequence) {
    const tidings__segment *s = &center->segment;
    return tidings__lap_ahead(tidings__acquire(&tidings__cell_at(s, sequence)->claim), tidings__lap_at(s, sequence)) <
           0;
}

void tidings_observer_interrupt(tidings_observer *observer) {
    tidings__fetch_or(&observer->interrupted, 1);
    tidings__nudge(&observer->sleeper);
}

void tidings_observer_spin(tidings_observer *observer, uint32_t nanoseconds) { observer->spin_ns = nanoseconds; }
