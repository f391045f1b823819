// Payloads in place: an observer holds a chunk instead of copying from it, and a caller holds payloads for longer.
// design/8-holds.md.
#include <errno.h>
#include <stdlib.h>

#include "center/center.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "receiving/observer.h"
#include "ring/hold.h"

// Takes a free entry of this participant's row, for one thread. TIDINGS__HOLDS: all are in use.
static uint32_t take_entry(tidings_center *center) {
    uint32_t bits = tidings__relaxed(&center->holding);
    while (bits != (UINT32_C(1) << TIDINGS__HOLDS) - 1) {
        const uint32_t entry = (uint32_t)__builtin_ctz(~bits);
        if (tidings__cas(&center->holding, &bits, bits | UINT32_C(1) << entry)) return entry;
    }
    return TIDINGS__HOLDS;
}

static void give_entry(tidings_center *center, uint32_t entry) {
    tidings__fetch_and(&center->holding, ~(UINT32_C(1) << entry));
}
_Static_assert(TIDINGS__HOLDS < 32, "the bits of `holding`");

bool tidings__place_take(tidings_observer *o, uint64_t position, uint32_t chunk) {
    tidings_center *center = o->center;
    tidings__segment *s = &center->segment;
    if (!s->writable || !tidings__has_place(center) || tidings__back_holds(s) != 0) return false;
    const uint32_t entry = take_entry(center);
    if (entry == TIDINGS__HOLDS) return false;
    if (!tidings__hold_take(s, center->participant, entry, chunk, position, tidings__stamp(tidings__thread_self()))) {
        give_entry(center, entry);
        return false;
    }
    uint64_t capacity;
    o->in_place = tidings__chunk_bytes(s, chunk, &capacity) + TIDINGS__CHUNK_HEADER;
    o->hold = tidings__hold_word(chunk, position);
    o->hold_entry = entry;
    return true;
}

void tidings__place_release(tidings_observer *o) {
    o->in_place = NULL;
    if (!tidings__has_place(o->center)) return;
    tidings__hold_leave(&o->center->segment, o->center->participant, o->hold_entry, o->hold);
    give_entry(o->center, o->hold_entry);
}

void tidings_observer_in_place(tidings_observer *o, size_t from) { o->in_place_from = from; }

int tidings_hold(tidings_observer *o, const tidings_delivery *delivery, tidings_held *held) {
    *held = (tidings_held){0};
    const int forked = tidings__observer_own(o);
    if (forked) return forked;
    const void *latest = o->in_place ? o->in_place : o->buffer;
    if (delivery->kind != TIDINGS_DELIVERY_MESSAGE || o->flags & TIDINGS_OBSERVE_BARE || !latest ||
        delivery->payload != latest)
        return tidings__fail(EINVAL,
                             "can't hold a payload of center \"%s\" that isn't the latest delivery's, or is held "
                             "already; hold each payload once, before the next tidings_next",
                             o->center->segment.name);
    *held = (tidings_held){.payload = latest, .size = delivery->size, .center = o->center};
    if (o->in_place) {
        held->instance = o->center->instance;
        held->hold = o->hold;
        held->entry = o->hold_entry;
        o->in_place = NULL;
    } else {
        // The next delivery takes new memory. Lent memory is the caller's already.
        if (!o->lent) held->memory = o->buffer;
        o->buffer = NULL;
        o->capacity = 0;
        o->lent = false;
    }
    return 0;
}

void tidings_release(tidings_held *held) {
    tidings_center *center = held->center;
    free(held->memory);
    // A forked child must not clear its parent's hold: instance or fork epoch differ.
    if (held->hold && tidings__center_joined(center, tidings__thread_self()) && center->instance == held->instance &&
        tidings__has_place(center)) {
        tidings__hold_leave(&center->segment, center->participant, held->entry, held->hold);
        give_entry(center, held->entry);
    }
    *held = (tidings_held){0};
}
