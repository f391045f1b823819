// Adds name entries to a table that may be full: reclaims dead participants and evicts history to free entries.
#include "eviction/name_registration.h"

#include <errno.h>

#include "eviction/evict.h"
#include "platform/barrier.h"
#include "registry/observers.h"
#include "registry/prefixes.h"
#include "registry/tally.h"
#include "ring/verdict.h"

// How many comparisons of a record with a prefix one call makes when it evicts history to free name entries. Without
// prefixes this covers a whole ring of up to 2^19 slots; with TIDINGS_PREFIXES_MAX prefixes, half of the default ring.
#define COMPARED (UINT64_C(1) << 19)
static uint64_t history_end(tidings__segment *s) {
    tidings__prefix_walk walk = tidings__prefixes(s);
    uint64_t prefixes = 1;
    while (tidings__prefix_next(s, &walk) != TIDINGS__NAME_NONE) prefixes++;
    const uint64_t oldest = tidings__oldest(s), end = tidings__frontier(s, oldest), most = oldest + COMPARED / prefixes;
    return (int64_t)(end - most) > 0 ? most : end;
}

int tidings__join_name(tidings_center *center, const tidings__key *key, uint32_t observer, uint32_t *entry) {
    tidings__segment *s = &center->segment;
    int error = key->prefix ? tidings__prefix_room(s, center->participant, key) : 0;
    // All TIDINGS_PREFIXES_MAX prefixes are observed, perhaps by dead participants.
    if (error == -ENOSPC && tidings__reclaim_dead(center) > 0)
        error = tidings__prefix_room(s, center->participant, key);
    if (error) return error;
    error = tidings__name_join(s, center->participant, key, observer, entry);
    uint32_t holder;
    if (error == -ENOSPC && tidings__evict_to(center, history_end(s), &(tidings__effort){0}, &holder) == 0)
        error = tidings__name_join(s, center->participant, key, observer, entry);
    // Invariant E7. Of the helpers of the current range, some may have seen the new prefix, and some not. So this call
    // finishes that range; all helpers of the next one see the prefix. With `end` at the oldest position, a helper that
    // saw it earlier adds nothing late.
    if (!error && key->prefix) {
        tidings__barrier_after_rmw();
#ifndef MUTANT_PREFIX_JOIN_DURING_EVICTION  // Found by: interleaving prefixes_in_a_full_ring
        tidings__evict_finish(center);
#endif
        tidings__tally_add(&s->names[*entry].tally, 0, tidings__oldest(s));
    }
    return error;
}
