#include <stdlib.h>
#include <string.h>

#include "center/observer.h"
#include "platform/barrier.h"
#include "platform/clock.h"

static tidings__table *make(uint32_t count) {
    uint32_t slots = 4;
    while (slots < 2 * count) slots *= 2;
    tidings__table *t = calloc(1, sizeof *t + count * sizeof t->of[0] + slots * sizeof t->map[0]);
    if (!t) return NULL;
    t->count = count;
    t->map_mask = slots - 1;
    t->map = (uint32_t *)&t->of[count];
    return t;
}

static void index_entries(tidings__table *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        const tidings__interest *interest = t->of[i];
        t->all |= interest->entry == TIDINGS__NAME_ALL;
        t->bells |= interest->entry == TIDINGS__NAME_ALL ? UINT32_MAX : UINT32_C(1) << interest->bell;
        if (i > 0 && t->of[i - 1]->entry == interest->entry) continue;
        uint32_t slot = interest->entry * 0x9e3779b1u;
        for (slot ^= slot >> 15; t->map[slot & t->map_mask] != 0;) slot++;
        t->map[slot & t->map_mask] = i + 1;
    }
}

tidings__table *tidings__table_with(const tidings__table *old, tidings__interest *more) {
    uint32_t count = old ? old->count : 0;
    tidings__table *t = make(count + 1);
    if (!t) return NULL;
    // Those of one entry side by side: after the last of its own, or at the end.
    uint32_t at = count;
    for (uint32_t i = 0; i < count; i++)
        if (old->of[i]->entry == more->entry) at = i + 1;
    if (at > 0) memcpy(t->of, old->of, at * sizeof t->of[0]);
    t->of[at] = more;
    if (count > at) memcpy(&t->of[at + 1], &old->of[at], (count - at) * sizeof t->of[0]);
    index_entries(t);
    t->fresh = true;
    t->special = (old ? old->special : 0) + (more->retained || more->history_count > 0);
    return t;
}

tidings__table *tidings__table_without(const tidings__table *old, uint32_t id, tidings__interest **gone) {
    *gone = NULL;
    for (uint32_t i = 0; old && i < old->count; i++)
        if (old->of[i]->id == id) *gone = old->of[i];
    if (!*gone) return NULL;
    tidings__table *t = make(old->count - 1);
    if (!t) return NULL;
    uint32_t to = 0;
    for (uint32_t i = 0; i < old->count; i++)
        if (old->of[i] != *gone) t->of[to++] = old->of[i];
    index_entries(t);
    // What the old table promised to look at may still be to be looked at.
    t->fresh = true;
    t->special = old->special;
    return t;
}

void tidings__table_swap(tidings_observer *observer, tidings__table *table) {
    tidings__table *old = tidings__relaxed(&observer->table);
    tidings__set_release(&observer->table, table);
    // The user of a table says so by a plain store and pays for no fence; this is the other half: after it, either we see the store, or
    // the user's look at `table` comes later and sees ours.
    tidings__heavy_barrier();
    while (tidings__acquire(&observer->in_next)) tidings__yield();
    free(old);
}

void tidings__interest_bury(tidings_observer *observer, tidings__interest *interest) {
    tidings__interest *first = tidings__relaxed(&observer->removed);
    do interest->next_removed = first;
    while (!tidings__cas(&observer->removed, &first, interest));
}

void tidings__interests_free(tidings_observer *observer) {
    tidings__interest *interest = atomic_exchange(&observer->removed, NULL);
    while (interest) {
        tidings__interest *next = interest->next_removed;
        free(interest->history);
        free(interest);
        interest = next;
    }
}
