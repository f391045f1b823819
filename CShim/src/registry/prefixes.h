// Names that are looked at by how they begin: entries of the name table in a chain of their own. README.md, "Many names
// at once".
#ifndef TIDINGS__PREFIXES_H
#define TIDINGS__PREFIXES_H

#include "registry/name_table.h"

// Does the text, whole words of it padded with 0, begin so? Relaxed: either may be a peer's to change; `length` is its
// bytes.
static inline bool tidings__text_begins(const _Atomic uint64_t *text, uint32_t length, const _Atomic uint64_t *prefix,
                                        uint32_t prefix_length) {
    if (prefix_length > length) return false;
    uint32_t i = 0;
    for (; i < prefix_length / 8; i++)
        if (tidings__relaxed(&text[i]) != tidings__relaxed(&prefix[i])) return false;
    if (prefix_length % 8 == 0) return true;
    // The first bytes of a word are its lowest: every processor that the core is built for is little endian.
    return ((tidings__relaxed(&text[i]) ^ tidings__relaxed(&prefix[i])) << (64 - prefix_length % 8 * 8)) == 0;
}

// A walk along the chain. `begun` is with the first; after it `next` until NONE. Bounded, if a hostile peer has tied
// the chain to a ring.
typedef struct tidings__prefix_walk {
    uint64_t link;
    uint32_t steps;
} tidings__prefix_walk;

static inline tidings__prefix_walk tidings__prefixes(const tidings__segment *s) {
    // Sequentially consistent, as is the look at EV before it where records are counted: who added a prefix before it
    // looked at EV is seen then.
    return (tidings__prefix_walk){atomic_load_explicit(&s->names[TIDINGS__NAME_ALL].next, memory_order_seq_cst),
                                  2 * TIDINGS_PREFIXES_MAX};
}
static inline bool tidings__prefixes_any(const tidings__prefix_walk *walk) {
    return (uint32_t)walk->link != TIDINGS__NAME_NONE;
}
// The next one that somebody looks at, by entry; TIDINGS__NAME_NONE: no more.
uint32_t tidings__prefix_next(tidings__segment *s, tidings__prefix_walk *walk);
// The same, of those that a name begins with.
uint32_t tidings__prefix_next_of(tidings__segment *s, tidings__prefix_walk *walk, const _Atomic uint64_t *name,
                                 uint32_t length);
// Does a name, as of this entry, begin so?
bool tidings__prefix_fits(const tidings__name *entry, const _Atomic uint64_t *name, uint32_t length);

// Before this one is joined. -ENOSPC: there are too many. Those who join at the same time may go a little beyond; walks
// go twice as far.
int tidings__prefix_room(tidings__segment *s, uint32_t participant, const tidings__key *key);
// Leaves it.
void tidings__prefix_leave(tidings__segment *s, uint32_t participant, uint32_t index, uint32_t observer);
// Takes out those that nobody looks at, but for a few: others ask each prefix about their names. How many are left.
uint32_t tidings__prefixes_reclaim(tidings__segment *s, uint32_t participant);

#endif
