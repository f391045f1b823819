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
    bool over = walk->steps == 0;
#ifdef MUTANT_PREFIX_WALK_BOUND_WRAPS  // Found by: fuzz image
    over = false;
#endif
    const tidings__name *entry = index >= TIDINGS__NAME_FIRST && !over ? tidings__name_at(s, index) : NULL;
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

// True if the name begins with this prefix, or comes after it in the order of texts. Bytes after a text's end are 0,
// and no text has a byte 0. The first byte of a word is its lowest, and it decides the order.
static bool not_before(const _Atomic uint64_t *name, uint32_t length, const tidings__ordered_prefix *prefix,
                       uint32_t from) {
    const uint32_t own = prefix->length, whole = (own < length ? own : length) / 8;
    const _Atomic uint64_t *text = prefix->text;
    uint32_t i = from / 8;
    while (i < whole && tidings__relaxed(&name[i]) == tidings__relaxed(&text[i])) i++;
    if (i * 8 >= own) return true;
    // Bytes beyond the prefix's end do not count.
    const uint32_t unused = own - i * 8 < 8 ? 64 - (own - i * 8) * 8 : 0;
    const uint64_t left = (i * 8 < length ? tidings__relaxed(&name[i]) : 0) << unused;
    return __builtin_bswap64(left) >= __builtin_bswap64(tidings__relaxed(&text[i]) << unused);
}

// The last prefix of the order that the name is not before.
static uint32_t last_before(const tidings__prefix_order *order, const _Atomic uint64_t *name, uint32_t length,
                            uint32_t common) {
    uint32_t first = 0, last = order->used;
    while (first < last) {
        const uint32_t middle = (first + last + 1) / 2;
        if (not_before(name, length, &order->of[middle], common))
            first = middle;
        else
            last = middle - 1;
    }
    return first;
}

static bool fits(const tidings__prefix_order *order, uint32_t prefix, const _Atomic uint64_t *name, uint32_t length) {
    return prefix == 0 || tidings__text_begins(name, length, order->of[prefix].text, order->of[prefix].length);
}

uint32_t tidings__prefix_order_find(const tidings__prefix_order *order, const _Atomic uint64_t *name, uint32_t length) {
    // Every text between a prefix and the name begins with that prefix, if the name does. `outer` and `jump` only lead
    // to lower numbers.
    if (order->used == 0 || !tidings__text_begins(name, length, order->of[1].text, order->common)) return 0;
    uint32_t prefix = last_before(order, name, length, order->common);
    while (!fits(order, prefix, name, length)) {
        const uint32_t jump = order->of[prefix].jump;
        prefix = fits(order, jump, name, length) ? order->of[prefix].outer : jump;
    }
    return prefix;
}

void tidings__prefix_order_insert(tidings__prefix_order *order, tidings__ordered_prefix prefix) {
    const uint32_t at = last_before(order, prefix.text, prefix.length, 0) + 1;
    memmove(&order->of[at + 1], &order->of[at], (++order->used - at) * sizeof prefix);
    order->of[at] = prefix;
}

void tidings__prefix_order_link(tidings__prefix_order *order) {
    // `depth`: how many prefixes `outer` leads to. `jump` of a prefix is `outer`, or leads twice as far as `jump` of
    // `outer`, if that and the next one lead equally far. So a search takes steps in proportion to the logarithm of how
    // many prefixes there are.
    order->common = 0;
    if (order->used == 0) return;
    tidings__ordered_prefix *of = order->of;
    of[0] = (tidings__ordered_prefix){0};
    for (uint32_t i = 1; i <= order->used; i++) {
        uint32_t from = i - 1;
        while (!fits(order, from, of[i].text, of[i].length)) from = of[from].outer;
        const uint32_t over = of[from].jump;
        const int first = of[from].depth - of[over].depth, next = of[over].depth - of[of[over].jump].depth;
        of[i].outer = from;
        of[i].jump = first == next ? of[over].jump : from;
        of[i].depth = (uint16_t)(of[from].depth + 1);
    }
    const tidings__ordered_prefix *first = &of[1], *last = &of[order->used];
    while (order->common + 8 <= first->length && order->common + 8 <= last->length &&
           tidings__relaxed(&first->text[order->common / 8]) == tidings__relaxed(&last->text[order->common / 8]))
        order->common += 8;
}

bool tidings__chain_order_read(tidings__segment *s, tidings__chain_order *chain) {
    tidings__prefix_walk walk = tidings__prefixes(s);
    tidings__prefix_order *order = &chain->order;
    if (walk.link == chain->link) return order->used > 0;
    chain->link = walk.link;
    *order = (tidings__prefix_order){.of = chain->of};
    for (uint32_t index; (index = step(s, &walk)) != TIDINGS__NAME_NONE;) {
        const tidings__name *entry = &s->names[index];
        const uint32_t lengths = tidings__relaxed(&entry->lengths), length = lengths & (TIDINGS__LENGTHS_PREFIX - 1);
        // A peer may have damaged the entry.
        if (!(lengths & TIDINGS__LENGTHS_PREFIX) || length > TIDINGS_NAME_MAX) continue;
        tidings__prefix_order_insert(
            order, (tidings__ordered_prefix){.text = entry->key, .entry = index, .length = (uint16_t)length});
    }
    tidings__prefix_order_link(order);
    tidings__chain_order_clear(chain);
    return order->used > 0;
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
