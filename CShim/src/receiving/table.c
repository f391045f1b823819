// The table of an observer's subscriptions, indexed by entry. A change makes a new table and swaps it in as a whole.
#include <stdlib.h>
#include <string.h>

#include "platform/barrier.h"
#include "platform/clock.h"
#include "receiving/observer.h"

static size_t size_with(uint32_t prefixes) {
    return sizeof(tidings__table) + (prefixes + 1) * sizeof(tidings__ordered_prefix);
}

static tidings__table *make(uint32_t room, uint32_t prefixes) {
    uint32_t slots = 4;
    while (slots < 2 * room) slots *= 2;
    tidings__table *t = calloc(1, size_with(prefixes));
    tidings__subscription **of = t ? calloc(1, room * sizeof *of + slots * sizeof *t->map) : NULL;
    if (!of) {
        free(t);
        return NULL;
    }
    t->prefixes.of = t->ordered;
    t->room = room;
    t->map_mask = slots - 1;
    t->of = of;
    t->map = (_Atomic uint32_t *)&of[room];
    return t;
}

tidings__table *tidings__table_empty(void) { return make(1, 0); }

void tidings__table_free(tidings__table *table) {
    if (table) free(table->of);
    free(table);
}

// Adds the subscription at `i`, the last one so far, to the map.
static void index_last(tidings__table *t, uint32_t i) {
    const tidings__subscription *subscription = t->of[i];
    t->all |= subscription->entry == TIDINGS__NAME_ALL;
    t->many |= subscription->many;
    t->name_futexes |= subscription->entry == TIDINGS__NAME_ALL ? UINT32_MAX : UINT32_C(1) << subscription->name_futex;
    const bool again = i > 0 && t->of[i - 1]->entry == subscription->entry;
    // A peer may have made a prefix of the entry of a name, so that one entry has subscriptions of both kinds. Then,
    // too, a removal never makes the order longer.
    if (subscription->prefix && !(again && t->of[i - 1]->prefix))
        tidings__prefix_order_insert(&t->prefixes,
                                     (tidings__ordered_prefix){.text = tidings__subscription_name(subscription),
                                                               .entry = subscription->entry,
                                                               .length = (uint16_t)subscription->name_length});
    if (again) return;
    uint32_t slot = tidings__table_slot(subscription->entry);
    while (tidings__relaxed(&t->map[slot & t->map_mask]) != 0) slot++;
    tidings__set_release(&t->map[slot & t->map_mask], i + 1);
}

// The new table's `fresh_from`: the old one's if that is smaller, otherwise `otherwise`.
static uint32_t fresh_from(const tidings__table *old, uint32_t otherwise) {
    return tidings__relaxed(&old->fresh) && old->fresh_from < otherwise ? old->fresh_from : otherwise;
}

tidings__table *tidings__table_with(const tidings__table *old, tidings__subscription *more) {
    uint32_t same;
    tidings__subscription *const *of = tidings__table_find(old, more->entry, &same);
    // Subscriptions of one entry are adjacent: after the last one of the same entry, or at the end.
    const uint32_t at = of ? (uint32_t)(of - old->of) + same : old->count;
    tidings__table *t;
    if (!of && old->count < old->room) {
        // The usual case shares the old allocation, so that adding n names does not take n² steps.
        t = malloc(size_with(old->prefixes.used + more->prefix));
        if (!t) return NULL;
        *t = (tidings__table){
            .count = old->count + 1,
            .map_mask = old->map_mask,
            .all = old->all,
            .many = old->many,
            .name_futexes = old->name_futexes,
            .special = tidings__relaxed(&old->special),
            .room = old->room,
            .of = old->of,
            .map = old->map,
            .prefixes = {.used = old->prefixes.used, .common = old->prefixes.common, .of = t->ordered}};
        memcpy(t->ordered, old->ordered, (old->prefixes.used + 1) * sizeof t->ordered[0]);
        t->of[old->count] = more;
        index_last(t, old->count);
        if (more->prefix) tidings__prefix_order_link(&t->prefixes);
    } else {
        t = make(old->count + 1 + old->count / 2, old->prefixes.used + more->prefix);
        if (!t) return NULL;
        if (at > 0) memcpy(t->of, old->of, at * sizeof t->of[0]);
        t->of[at] = more;
        if (old->count > at) memcpy(&t->of[at + 1], &old->of[at], (old->count - at) * sizeof t->of[0]);
        t->count = old->count + 1;
        for (uint32_t i = 0; i < t->count; i++) index_last(t, i);
        tidings__prefix_order_link(&t->prefixes);
        tidings__set_relaxed(&t->special, tidings__relaxed(&old->special));
    }
    tidings__set_relaxed(&t->fresh, true);
    t->fresh_from = fresh_from(old, at);
    if (tidings__relaxed(&more->retained) || more->history_count > 0)
        tidings__set_relaxed(&t->special, tidings__relaxed(&t->special) + 1);
    return t;
}

// True if the ascending `ids` include this one.
static bool includes(const uint32_t *ids, uint32_t count, uint32_t id) {
    uint32_t from = 0;
    while (count > 1) {
        const uint32_t half = count / 2;
        if (ids[from + half] <= id) from += half;
        count -= half;
    }
    return ids[from] == id;
}

uint32_t tidings__table_select(const tidings__table *table, const uint32_t *ids, uint32_t count,
                               tidings__subscription **selected) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < table->count; i++)
        if (includes(ids, count, table->of[i]->id)) selected[found++] = table->of[i];
    return found;
}

tidings__table *tidings__table_without(const tidings__table *old, tidings__subscription *const *gone, uint32_t count) {
    tidings__table *t = make(old->count - count + 1, old->prefixes.used);
    if (!t) return NULL;
    // Subscriptions that were new in the old table, and not activated yet, stay new in this one.
    const uint32_t fresh = fresh_from(old, old->count);
    uint32_t left_out = 0;
    t->fresh_from = fresh;
    for (uint32_t i = 0; i < old->count; i++) {
        if (left_out < count && old->of[i] == gone[left_out]) {
            left_out++;
            if (i < fresh) t->fresh_from--;
            continue;
        }
        t->of[t->count++] = old->of[i];
        index_last(t, t->count - 1);
    }
    tidings__prefix_order_link(&t->prefixes);
    tidings__set_relaxed(&t->fresh, t->fresh_from < t->count);
    tidings__set_relaxed(&t->special, tidings__relaxed(&old->special));
    return t;
}

void tidings__table_swap(tidings_observer *observer, tidings__table *table) {
    tidings__table *old = tidings__relaxed(&observer->table);
    tidings__set_release(&observer->table, table);
    // The thread that uses a table sets `in_next` by a relaxed store, without a processor fence; this barrier replaces
    // that fence. After it, either this thread sees that store, or the other thread loads `table` later and sees the
    // new table.
#ifndef MUTANT_TABLE_FREED_IN_USE  // Found by: interleaving changing
    tidings__heavy_barrier();
#endif
    while (tidings__acquire(&observer->in_next)) tidings__yield();
    if (old->of != table->of) free(old->of);
    free(old);
}

void tidings__subscription_free(tidings__subscription *subscription) {
    if (!subscription) return;
    free(subscription->history);
    free(subscription->listed);
    free(subscription->unfinished);
    free(subscription);
}

void tidings__subscription_retire(tidings_observer *observer, tidings__subscription *subscription) {
    tidings__subscription *first = tidings__relaxed(&observer->removed);
    do subscription->next_removed = first;
    while (!tidings__cas(&observer->removed, &first, subscription));
}

void tidings__subscriptions_free(tidings_observer *observer) {
    tidings__subscription *subscription = tidings__exchange(&observer->removed, NULL);
    while (subscription) {
        tidings__subscription *next = subscription->next_removed;
        tidings__subscription_free(subscription);
        subscription = next;
    }
}
