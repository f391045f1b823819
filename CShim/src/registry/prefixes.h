// Prefixes: name entries that stand for all names with a common beginning, in a chain of their own. design/4-names.md.
#ifndef TIDINGS__PREFIXES_H
#define TIDINGS__PREFIXES_H

#include <string.h>

#include "registry/name_table.h"

// True if the text (whole words, padded with 0) begins with the prefix; lengths in bytes. Relaxed loads: a peer may
// change either text at any time.
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

// A walk along the chain: begin with `tidings__prefixes`, then call `tidings__prefix_next` until TIDINGS__NAME_NONE.
// The number of steps is bounded: a hostile peer may have closed the chain to a cycle.
#define TIDINGS__PREFIXES_WALKED (2 * TIDINGS_PREFIXES_MAX)
typedef struct tidings__prefix_walk {
    uint64_t link;
    uint32_t steps;
} tidings__prefix_walk;

static inline tidings__prefix_walk tidings__prefixes(const tidings__segment *s) {
    // Sequentially consistent, like the load of EV before it in a count of records. A participant that added a prefix
    // before it read EV is then seen.
    return (tidings__prefix_walk){tidings__seq_cst(&s->names[TIDINGS__NAME_ALL].next), TIDINGS__PREFIXES_WALKED};
}
static inline bool tidings__prefixes_any(const tidings__prefix_walk *walk) {
    return (uint32_t)walk->link != TIDINGS__NAME_NONE;
}
// The index of the next prefix that has members; TIDINGS__NAME_NONE: no more.
uint32_t tidings__prefix_next(tidings__segment *s, tidings__prefix_walk *walk);
// The same, but only prefixes of this name.
uint32_t tidings__prefix_next_of(tidings__segment *s, tidings__prefix_walk *walk, const _Atomic uint64_t *name,
                                 uint32_t length);
// True if the name begins with this entry's prefix.
bool tidings__prefix_fits(const tidings__name *entry, const _Atomic uint64_t *name, uint32_t length);

// Prefixes sorted by their texts, so that those of a name are found in a few comparisons: the longest of them, which
// leads to the others. Numbers begin with 1; 0: none.
typedef struct tidings__ordered_prefix {
    const _Atomic uint64_t *text;  // a peer may change the text of an entry at any time
    uint32_t entry;                // the name entry of the prefix
    // `outer`: the longest other prefix that this one begins with. `jump`: `outer`, or one that `outer` leads to.
    uint32_t outer, jump;
    uint16_t length, depth;
} tidings__ordered_prefix;
typedef struct tidings__prefix_order {
    uint32_t used, common;        // common: so many bytes at the beginning are the same in all, whole words
    tidings__ordered_prefix *of;  // has room for `used` + 1: number 0 is no prefix
} tidings__prefix_order;

// Inserts a prefix. `tidings__prefix_order_link` must follow before a search.
void tidings__prefix_order_insert(tidings__prefix_order *order, tidings__ordered_prefix prefix);
void tidings__prefix_order_link(tidings__prefix_order *order);
// The longest prefix of this name. The others are those that `outer` leads to.
uint32_t tidings__prefix_order_find(const tidings__prefix_order *order, const _Atomic uint64_t *name, uint32_t length);

// All prefixes of the chain.
typedef struct tidings__chain_order {
    uint64_t link;  // the head of the chain when it was read
    tidings__prefix_order order;
    uint16_t marks[TIDINGS__PREFIXES_WALKED + 1];  // of the caller
    tidings__ordered_prefix of[TIDINGS__PREFIXES_WALKED + 1];
} tidings__chain_order;

// So many threads that evict through one center object can have an order. The others compare each prefix.
#define TIDINGS__CHAIN_ORDERS 4u

static inline void tidings__chain_order_begin(tidings__chain_order *chain) {
    chain->link = 0;
    chain->order.used = 0;
}
// Reads the chain, unless its head is as it was. Each change of the chain changes the head (the tag of a link), so the
// order is then as new as the load of the head, which is sequentially consistent. False: there are no prefixes.
bool tidings__chain_order_read(tidings__segment *s, tidings__chain_order *chain);
static inline void tidings__chain_order_clear(tidings__chain_order *chain) {
    memset(chain->marks, 0, (chain->order.used + 1) * sizeof chain->marks[0]);
}

// Call before a prefix is joined: takes out unused prefixes. -ENOSPC with an error line: there are too many.
// Participants that join at the same time may exceed the limit a little; walks go twice as far.
int tidings__prefix_room(tidings__segment *s, uint32_t participant, const tidings__key *key);
// Takes out the prefixes without members, if there are more than a few: posters and evicting threads compare names with
// each prefix. Returns how many are left.
uint32_t tidings__prefixes_reclaim(tidings__segment *s, uint32_t participant);

#endif
