#include "registry/prefixes.h"

#include <errno.h>

#include "platform/error.h"

bool tidings__prefix_fits(const tidings__name *entry, const _Atomic uint64_t *name, uint32_t length) {
    const uint32_t lengths = tidings__relaxed(&entry->lengths), own = lengths & (TIDINGS__LENGTHS_PREFIX - 1);
    return lengths & TIDINGS__LENGTHS_PREFIX && own <= TIDINGS_NAME_MAX && tidings__text_begins(name, length, entry->key, own);
}

// An entry that was taken out while somebody stands on it still leads on along this chain: its link is frozen, and no other use of it begins before the positions of its
// time have been evicted. Who counts a range, or posts at a position, finds out then that what it did is void.
uint32_t tidings__prefix_next(tidings__segment *s, tidings__prefix_walk *walk) {
    while ((uint32_t)walk->link != TIDINGS__NAME_NONE && walk->steps-- > 0) {
        const uint32_t index = (uint32_t)walk->link;
        tidings__name *entry = tidings__name_at(s, index);
        if (!entry) break;
        walk->link = tidings__acquire(&entry->next);
        if (tidings__name_members(entry) != 0) return index;
    }
    return TIDINGS__NAME_NONE;
}

uint32_t tidings__prefix_next_of(tidings__segment *s, tidings__prefix_walk *walk, const _Atomic uint64_t *name, uint32_t length) {
    uint32_t index;
    do index = tidings__prefix_next(s, walk);
    while (index != TIDINGS__NAME_NONE && !tidings__prefix_fits(&s->names[index], name, length));
    return index;
}

uint32_t tidings__prefixes_tidy(tidings__segment *s, uint32_t participant) {
    uint32_t left = 0;
    tidings__prefix_walk walk = tidings__prefixes(s);
    while ((uint32_t)walk.link != TIDINGS__NAME_NONE && walk.steps-- > 0) {
        const uint32_t index = (uint32_t)walk.link;
        tidings__name *entry = tidings__name_at(s, index);
        if (!entry) break;
        walk.link = tidings__acquire(&entry->next);
        left += tidings__name_members(entry) != 0 || !tidings__name_take_out(s, participant, index);
    }
    return left;
}

int tidings__prefix_room(tidings__segment *s, uint32_t participant, const tidings__key *key) {
    if (tidings__prefixes_tidy(s, participant) < TIDINGS_PREFIXES_MAX || tidings__name_find(s, key) != TIDINGS__NAME_NONE) return 0;
    return tidings__fail(ENOSPC, "can't observe \"%.*s*\" in center \"%s\": %u prefixes are observed there already; observe names, all names, or a shorter prefix",
                         (int)key->name_length, key->name, s->name, TIDINGS_PREFIXES_MAX);
}

void tidings__prefix_leave(tidings__segment *s, uint32_t participant, uint32_t index, uint32_t observer) {
    tidings__name *entry = tidings__name_at(s, index);
    if (!entry) return;
    tidings__name_leave(s, index, observer);
    if (tidings__name_members(entry) == 0) tidings__name_take_out(s, participant, index);
}
