// Opens, places and closes observers.
#include "receiving/observer.h"

#include <errno.h>
#include <stdlib.h>

#include "center/ends.h"
#include "platform/error.h"
#include "receiving/kind.h"
#include "registry/observers.h"

int tidings_observer_open(tidings_center *center, uint32_t flags, tidings_observer **result) {
    *result = NULL;
    tidings__clear_error();
    tidings__segment *s = &center->segment;
    int error = tidings__center_check(center, tidings__thread_self());
    if (!error) error = tidings__center_place(center);
    if (error) return error;
    tidings_observer *observer = calloc(1, sizeof *observer);
    tidings__table *table = tidings__table_empty();
    if (!observer || !table) {
        free(observer);
        tidings__table_free(table);
        return tidings__fail(ENOMEM, "can't observe center \"%s\": no memory for the observer", s->name);
    }
    observer->center = center;
    observer->flags = flags;
    observer->kind = s->writable ? &tidings__kind_member : &tidings__kind_reader;
    observer->matches = observer->kind->match != NULL;
    error = observer->kind->enter(observer);
    if (error) {
        free(observer);
        tidings__table_free(table);
        return error;
    }
    observer->fork_epoch = observer->sleeper.fork_epoch = tidings__acquire(&center->fork_epoch);
    observer->spin_ns = TIDINGS__SPIN_ADAPTIVE;
    observer->last_wait_ns = UINT64_MAX;
    observer->pending_claim.at = UINT64_MAX;
    observer->lent_from = observer->in_place_from = SIZE_MAX;
    pthread_mutex_init(&observer->lock, NULL);
    tidings__set_relaxed(&observer->table, table);
    observer->lossless = flags & TIDINGS_OBSERVE_LOSSLESS;
    // A waiting poster that is still awake soon finds room. At most the longest range of one eviction.
    const uint32_t step = s->shape.slots / 16 < TIDINGS__EV_LENGTH_MAX ? s->shape.slots / 16 : TIDINGS__EV_LENGTH_MAX;
    // A reader has no entry.
    observer->publish_step = s->writable ? step + !step : 0;
    (void)(flags & TIDINGS_OBSERVE_BARE &&
           tidings__buffer_begin(observer));  // on failure, the first delivery tries again
    observer->cursor = tidings__frontier(s, tidings__relaxed(&center->hint));
    if (observer->lossless) observer->cursor = tidings__lossless_begin(s, observer->index, observer->cursor);
    tidings__cursor_begin(observer);
    tidings__end_watch(center, &observer->sleeper);
    // Must follow the watch: a later end is reported by the watch.
    if (tidings__end_look(center)) {
        tidings_observer_close(observer);
        return tidings__end_fail(center, "observe");
    }
    *result = observer;
    return 0;
}

void tidings_observer_close(tidings_observer *observer) {
    if (!observer) return;
    bool ours = observer->fork_epoch == tidings__thread_self()->fork_epoch && tidings__has_place(observer->center);
    if (ours) tidings__place_leave(observer);
    tidings__end_unwatch(observer->center, &observer->sleeper);
    tidings__descriptor_close(observer);
    tidings__table *table = tidings__relaxed(&observer->table);
    for (uint32_t i = 0; i < table->count; i++) {
        bool last = i + 1 == table->count || table->of[i + 1]->entry != table->of[i]->entry;
        if (ours && last) observer->kind->leave(observer, table->of[i]);
    }
    if (ours && table->prefixes.used > 0) observer->kind->left_prefixes(observer);
    for (uint32_t i = 0; i < table->count; i++) tidings__subscription_free(table->of[i]);
    tidings__subscriptions_free(observer);
    if (ours) observer->kind->exit(observer);
#ifdef MUTANT_FORKED_CHILD_RELEASES_OBSERVER  // Found by: fuzz image
    if (!ours || observer->kind == &tidings__kind_reader)
        tidings__observer_release(&observer->center->segment,
                                  observer->index + observer->center->segment.shape.observers);
#endif
    tidings__table_free(table);
    tidings__buffer_free(observer);
    free(observer->matched);
    free(observer->matched_ids);
    free(observer->batch);
    pthread_mutex_destroy(&observer->lock);
    free(observer);
}

int tidings__observer_of_parent(const tidings_observer *observer) {
    return tidings__fail(
        ECHILD, "can't use an observer of center \"%s\" that was opened before a fork; open one in this process",
        observer->center->segment.name);
}

// `asked`: the sequence that the caller gave, for the error line.
static int seek(tidings_observer *observer, uint64_t sequence, uint64_t asked) {
    tidings__segment *s = &observer->center->segment;
    const int forked = tidings__observer_own(observer);
    if (forked) return forked;
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
    observer->cursor = cursor;
    tidings__cursor_begin(observer);
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

uint64_t tidings_posted(const tidings_center *center) {
    return tidings__frontier(&center->segment, tidings__relaxed(&center->hint));
}

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
