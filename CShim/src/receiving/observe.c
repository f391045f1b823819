// Adds and removes the subscriptions of an observer.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "center/ends.h"
#include "platform/error.h"
#include "receiving/kind.h"
#include "registry/observers.h"
#include "segment/names.h"

int tidings_observer_add(tidings_observer *observer, const char *name, size_t name_length, const char *subject,
                         size_t subject_length, uint32_t flags, uint32_t *id) {
    tidings__clear_error();
    tidings_center *center = observer->center;
    tidings__segment *s = &center->segment;
    int error = tidings__observer_own(observer);
    if (!error && name) error = tidings__check_text("notification name", name, name_length, 1, TIDINGS_NAME_MAX);
    if (!error && subject) error = tidings__check_text("subject", subject, subject_length, 0, TIDINGS_SUBJECT_MAX);
    if (!error) error = tidings__center_place(center);
    if (!error && tidings__end_known(center)) error = tidings__end_fail(center, "observe");
    if (error) return error;
    const bool prefix = flags & TIDINGS_ADD_PREFIX && name;
    if (subject && (!name || prefix))
        return tidings__fail(EINVAL, "can't observe %s by subject; name one, or look at the subject in the delivery",
                             name ? "many names" : "all names");
    if (!name) name_length = 0;
    // A post without a subject has an empty one, and no entry of its own for it.
    bool with_subject = subject && subject_length > 0;
    if (!with_subject) subject_length = 0;
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
    // The first `tidings_next` takes the lock too: from then on its thread uses the observer's buffer.
    if (tidings__relaxed(&observer->started) && (flags & TIDINGS_ADD_HISTORY || observer->lossless)) {
        tidings__subscription_free(subscription);
        pthread_mutex_unlock(&observer->lock);
        return tidings__fail(EBUSY, "can't add %s of center \"%s\" that has begun; open another one for it",
                             flags & TIDINGS_ADD_HISTORY ? "history to an observer" : "a name to a lossless observer",
                             s->name);
    }
    const uint64_t history_before = observer->lossless ? tidings__relaxed(&s->observers[observer->index].history) : 0;
    if (observer->lossless && flags & TIDINGS_ADD_HISTORY) {
        // Prevents eviction from the cursor on while the history is listed. The lossless cursor is set anew, so that no
        // eviction decided before can follow.
        tidings__lossless_history(s, observer->index, UINT64_MAX);
        observer->cursor = tidings__lossless_begin(s, observer->index, observer->cursor);
        tidings__cursor_begin(observer);
    }
    if (name) {
        tidings__key_make(&subscription->key, subscription->name, name_length, NULL, 0);
        subscription->name_futex = tidings__name_futex_of(&subscription->key);
        tidings__key_make(&subscription->key, subscription->name, name_length,
                          with_subject ? subscription->subject : NULL, subject_length);
        subscription->key.prefix = prefix;
    }
    error = observer->kind->join(observer, subscription);
    if (!error) error = observer->kind->account(observer, subscription, flags & TIDINGS_ADD_HISTORY);
    tidings__table *old = tidings__relaxed(&observer->table), *table = NULL;
    if (!error && flags & TIDINGS_ADD_RETAINED && !tidings__values_begin(observer, subscription))
        error = tidings__fail(ENOMEM, "can't observe \"%s\": no memory for the list of retained values",
                              subscription->name);
    if (!error) {
        subscription->id = ++observer->next_id;
        table = tidings__table_with(old, subscription);
        if (!table) error = tidings__fail(ENOMEM, "can't observe \"%s\": no memory for one more", subscription->name);
    }
    if (error) {
        if (observer->lossless && flags & TIDINGS_ADD_HISTORY)
            tidings__lossless_history(s, observer->index, history_before);
        uint32_t others = 0;
        if (subscription->entry) tidings__table_find(old, subscription->entry, &others);
        if (subscription->entry && others == 0) observer->kind->leave(observer, subscription);
        if (subscription->entry && prefix) observer->kind->left_prefixes(observer);
        tidings__subscription_free(subscription);
        pthread_mutex_unlock(&observer->lock);
        return error;
    }
    bool retained = tidings__relaxed(&subscription->retained);
    uint64_t since = subscription->since;
    *id = subscription->id;
    tidings__table_swap(observer, table);
    pthread_mutex_unlock(&observer->lock);
    observer->kind->added(observer, since, retained);
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
    // The table is swapped first: after `leave`, an entry may serve another name, and no tally of it may be read here.
    tidings__table_swap(observer, table);
    const bool ours = tidings__has_place(observer->center);
    bool prefixes = false;
    for (uint32_t i = 0; i < count; i++) {
        // Subscriptions of one entry are adjacent. With the last one of an entry, the observer's membership ends.
        const bool last = i + 1 == count || gone[i + 1]->entry != gone[i]->entry;
        uint32_t others = 0;
        if (last) tidings__table_find(table, gone[i]->entry, &others);
        if (last && others == 0 && ours) observer->kind->leave(observer, gone[i]);
        prefixes |= gone[i]->prefix;
    }
    if (prefixes && ours) observer->kind->left_prefixes(observer);
    for (uint32_t i = 0; i < count; i++) tidings__subscription_retire(observer, gone[i]);
    pthread_mutex_unlock(&observer->lock);
    return 0;
}

int tidings_observer_remove(tidings_observer *observer, uint32_t id) {
    tidings__clear_error();
    tidings__subscription *gone;
    const int error = tidings__observer_own(observer);
    return error ? error : remove_all(observer, &id, 1, &gone);
}

static int ascending(const void *one, const void *other) {
    const uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

int tidings_observer_remove_many(tidings_observer *observer, const uint32_t *ids, size_t count) {
    tidings__clear_error();
    int error = tidings__observer_own(observer);
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
