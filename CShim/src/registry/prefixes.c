// Prefix entries: walks along their chain, makes room for a new one, and takes unused ones out.
#include "registry/prefixes.h"

#include <errno.h>

#include "platform/error.h"

bool tidings__prefix_fits(const tidings__name *entry, const _Atomic uint64_t *name, uint32_t length) {
    const uint32_t lengths = tidings__relaxed(&entry->lengths), own = lengths & (TIDINGS__LENGTHS_PREFIX - 1);
    return lengths & TIDINGS__LENGTHS_PREFIX && own <= TIDINGS_NAME_MAX &&
           tidings__text_begins(name, length, entry->key, own);
}

// The next entry of the chain. A walk that has come to its end or bound stays there: further calls return
// TIDINGS__NAME_NONE.
static uint32_t step(tidings__segment *s, tidings__prefix_walk *walk) {
    const uint32_t index = (uint32_t)walk->link;
    const tidings__name *entry = index >= TIDINGS__NAME_FIRST && walk->steps > 0 ? tidings__name_at(s, index) : NULL;
#ifdef MUTANT_PREFIX_WALK_BOUND_WRAPS  // Found by: fuzz image
    if (!entry && index >= TIDINGS__NAME_FIRST) walk->steps--;
#endif
    if (!entry) return TIDINGS__NAME_NONE;
    walk->steps--;
    walk->link = tidings__acquire(&entry->next);
    return index;
}

// If an entry is taken out while the walk of a thread is at it, the walk still goes on along this chain. Its link stays
// as it was, and it serves no other name before the positions of its time have been evicted. By then EV or the thread's
// own claim says that its count or its post is void.
uint32_t tidings__prefix_next(tidings__segment *s, tidings__prefix_walk *walk) {
    for (uint32_t index; (index = step(s, walk)) != TIDINGS__NAME_NONE;)
        if (tidings__name_observed(&s->names[index])) return index;
    return TIDINGS__NAME_NONE;
}

uint32_t tidings__prefix_next_of(tidings__segment *s, tidings__prefix_walk *walk, const _Atomic uint64_t *name,
                                 uint32_t length) {
    uint32_t index;
    do index = tidings__prefix_next(s, walk);
    while (index != TIDINGS__NAME_NONE && !tidings__prefix_fits(&s->names[index], name, length));
    return index;
}

// Walks along the chain. Counts the prefixes without members in `*unused`, or, with `take_out`, takes them out. Returns
// how many prefixes are left.
static uint32_t walk_all(tidings__segment *s, uint32_t participant, bool take_out, uint32_t *unused) {
    uint32_t left = 0;
    *unused = 0;
    uint64_t budget = tidings__name_budget(s);
    tidings__prefix_walk walk = tidings__prefixes(s);
    for (uint32_t index; (index = step(s, &walk)) != TIDINGS__NAME_NONE;) {
        const bool is_unused = tidings__name_members(&s->names[index]) == 0;
        if (is_unused && take_out && tidings__name_take_out(s, participant, index, &budget)) continue;
        *unused += is_unused;
        left++;
    }
    return left;
}

// An entry that was taken out serves no other name until a whole ring of posts has come and gone. So a program that is
// started again and again would use up the table of a quiet center. So a few unused prefixes stay, for observers that
// use them again. If there are more, all unused ones go.
#define UNUSED_KEPT 8u

uint32_t tidings__prefixes_reclaim(tidings__segment *s, uint32_t participant) {
    uint32_t unused, left = walk_all(s, participant, false, &unused);
    if (unused > UNUSED_KEPT || left >= TIDINGS_PREFIXES_MAX) left = walk_all(s, participant, true, &unused);
    return left;
}

int tidings__prefix_room(tidings__segment *s, uint32_t participant, const tidings__key *key) {
    if (tidings__prefixes_reclaim(s, participant) < TIDINGS_PREFIXES_MAX ||
        tidings__name_find(s, key) != TIDINGS__NAME_NONE)
        return 0;
    return tidings__fail(ENOSPC,
                         "can't observe \"%.*s*\" in center \"%s\": %u prefixes are observed there already; observe "
                         "names, all names, or a shorter prefix",
                         (int)key->name_length, key->name, s->name, TIDINGS_PREFIXES_MAX);
}
