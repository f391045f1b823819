// Delivers retained values, which a subscription gets first: the value of its one name, or of each of its many names.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "receiving/describe.h"
#include "receiving/kind.h"
#include "retained/retained.h"
#include "ring/verdict.h"

typedef struct list {
    tidings__listed_value *of;
    size_t count, room;
    uint64_t *unfinished;
    uint32_t unfinished_count;
} list;

static bool note(list *l, uint32_t entry, uint64_t position) {
    if (l->count == l->room) {
        const size_t room = l->room ? 2 * l->room : 64;
        tidings__listed_value *grown = realloc(l->of, room * sizeof *grown);
        if (!grown) return false;
        l->of = grown;
        l->room = room;
    }
    l->of[l->count++] = (tidings__listed_value){.position = position, .entry = entry};
    return true;
}

// How many unfinished posts are remembered: the first ones. The observer has waited for them, so each is of a poster
// that has stood still for 100 ms. A peer may have written any number.
#define UNFINISHED_MOST 32u

static bool note_unfinished(list *l, uint64_t position) {
    if (l->unfinished_count == UNFINISHED_MOST) return true;
    if (!l->unfinished && !(l->unfinished = malloc(UNFINISHED_MOST * sizeof *l->unfinished))) return false;
    l->unfinished[l->unfinished_count++] = position;
    return true;
}

static int by_position(const void *one, const void *other) {
    const uint64_t a = ((const tidings__listed_value *)one)->position,
                   b = ((const tidings__listed_value *)other)->position;
    return (a > b) - (a < b);
}

// By entry; within one entry the newest first.
static int by_entry(const void *one, const void *other) {
    const uint32_t a = ((const tidings__listed_value *)one)->entry, b = ((const tidings__listed_value *)other)->entry;
    return a != b ? (a > b) - (a < b) : by_position(other, one);
}

// The first position that the ring can have before `since`, whatever EV says.
static uint64_t ring_start(const tidings__segment *s, uint64_t since) {
    const uint64_t oldest = tidings__oldest(s);
    return (int64_t)(since - oldest) > (int64_t)s->shape.slots ? since - s->shape.slots : oldest;
}

// Lists the retained records before `since`, where every position is decided. First those in the ring, then those in
// the entries. A value evicted in between is found twice. Also lists the unfinished posts: a reader can't revoke them,
// and each may still become a value.
static bool list_all(tidings__segment *s, uint64_t since, list *l) {
    for (uint64_t p = ring_start(s, since); (int64_t)(since - p) > 0; p++) {
        const tidings__slot_state status = tidings__slot_status(s, p);
        if (status == TIDINGS__CLAIMED && !note_unfinished(l, p)) return false;
        if (status != TIDINGS__VALID) continue;
        const uint64_t route = tidings__route(tidings__cell_at(s, p));
#ifndef MUTANT_RING_VALUES_NOT_LISTED  // Found by: interleaving values_of_many_names
        if (tidings__route_flags(route) & TIDINGS__RECORD_RETAIN && tidings__slot_valid_after_copy(s, p) &&
            !note(l, tidings__route_name(route), p))
            return false;
#endif
    }
    // Each value has its own chunk. So there are at most as many values as chunks, whatever the shared words say.
    uint32_t chunks = s->geometry.chunk_count, chunk;
#ifdef MUTANT_EVICTED_VALUES_NOT_LISTED  // Found by: interleaving values_of_many_names_evicted
    chunks = 0;
#endif
    const uint32_t names = tidings__names_end(s);
    for (uint32_t entry = TIDINGS__NAME_FIRST; entry < names && chunks > 0; entry++) {
        uint64_t position;
        tidings__name_ahead(s, entry, names);
        if (!tidings__retained_in(s, tidings__acquire(&s->names[entry].retained), &position, &chunk) ||
            (int64_t)(since - position) <= 0)
            continue;
        if (!note(l, entry, position)) return false;
        chunks--;
    }
    return true;
}

static bool is_of(tidings__segment *s, const tidings__subscription *sub, uint32_t entry) {
    char name[TIDINGS_NAME_MAX + 1];
    uint32_t length;
    return !sub->prefix || (tidings__name_text(s, entry, name, &length, NULL, NULL) && length >= sub->name_length &&
                            memcmp(name, sub->name, sub->name_length) == 0);
}

// True if the history lists this position. A record evicted before the history was listed is not in it, though it lies
// after the cursor.
static bool in_history(const tidings__subscription *sub, uint64_t position) {
    size_t low = 0, high = sub->history_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sub->history[middle] == position) return true;
        if ((int64_t)(sub->history[middle] - position) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static bool begin_many(tidings_observer *o, tidings__subscription *sub) {
    tidings__segment *s = &o->center->segment;
    list l = {0};
    if (!list_all(s, sub->since, &l)) {
        free(l.of);
        free(l.unfinished);
        return false;
    }
    sub->unfinished = l.unfinished;
    sub->unfinished_count = l.unfinished_count;
    size_t left = 0;
    if (l.count > 0) qsort(l.of, l.count, sizeof l.of[0], by_entry);
    for (size_t i = 0; i < l.count; i++) {
        if (i > 0 && l.of[i].entry == l.of[i - 1].entry) continue;
        if (in_history(sub, l.of[i].position)) continue;
        if (is_of(s, sub, l.of[i].entry)) l.of[left++] = l.of[i];
    }
    if (left > 0) qsort(l.of, left, sizeof l.of[0], by_position);
    sub->listed = l.of;
    sub->listed_count = (uint32_t)left;
    tidings__set_relaxed(&sub->retained, left > 0);
    return true;
}

uint32_t tidings__name_entry_of(const tidings_observer *o, const tidings__subscription *sub) {
    tidings__key plain;
    tidings__key_make(&plain, sub->name, sub->name_length, NULL, 0);
    return tidings__name_find(&o->center->segment, &plain);
}

bool tidings__values_begin(tidings_observer *o, tidings__subscription *sub) {
    if (sub->many) return begin_many(o, sub);
    const uint32_t entry = o->kind->value_entry(o, sub);
    tidings__record r;
    uint64_t position;
    uint32_t chunk;
    tidings__segment *s = &o->center->segment;
    if (!entry || !tidings__retained_find(s, entry, 0, sub->since, &position, &chunk, &r) || in_history(sub, position))
        return true;
    // Listed, so that no delivery searches the ring for it: there may be very many subscriptions.
    list l = {0};
    bool noted = true;
    uint64_t p = ring_start(s, sub->since);
    if ((int64_t)(position + 1 - p) > 0) p = position + 1;
    for (; !s->writable && noted && (int64_t)(sub->since - p) > 0; p++)
        if (tidings__slot_status(s, p) == TIDINGS__CLAIMED) noted = note_unfinished(&l, p);
    sub->unfinished = l.unfinished;
    sub->unfinished_count = l.unfinished_count;
    sub->listed = noted ? malloc(sizeof *sub->listed) : NULL;
    if (!sub->listed) return false;
    *sub->listed = (tidings__listed_value){.position = position, .entry = entry};
    sub->listed_count = 1;
    tidings__set_relaxed(&sub->retained, true);
    return true;
}

// Delivers the newest value of an entry at `from` or later and before `limit`. Returns TIDINGS__DELIVERED or
// TIDINGS__NOTHING. -ENOMEM: the value will be reported as missed.
static int deliver(tidings_observer *o, tidings__subscription *sub, uint32_t entry, uint64_t from, uint64_t limit,
                   tidings_delivery *d) {
    uint64_t last = UINT64_MAX;
    // Searches again after a failed copy: the value may have been replaced by a newer one that is still before `limit`.
    for (int tries = 0; entry && tries < 100; tries++) {
        tidings__record r;
        uint64_t position;
        uint32_t chunk;
        if (!tidings__retained_find(&o->center->segment, entry, from, limit, &position, &chunk, &r))
            return TIDINGS__NOTHING;
        if (!tidings__record_copy(o, position, &r)) {
            if (o->without_memory) {
                o->without_memory = false;
                sub->missed++;
                o->telling = true;
                return -ENOMEM;
            }
            // The value was not replaced while it was copied, so the record is invalid.
            if (position == last) return TIDINGS__NOTHING;
            last = position;
            continue;
        }
        o->matched[0] = sub;
        o->matched_ids[0] = sub->id;
        // The entry may serve another name by now, unless the observer is a member of it.
        const bool there = tidings__describe_text(o, &r, position, d);
        const bool of_name = sub->many ||
                             (d->name_length == sub->name_length && memcmp(d->name, sub->name, sub->name_length) == 0);
        const bool of_subject = !sub->with_subject || (d->subject_length == sub->subject_length &&
                                                       memcmp(d->subject, sub->subject, sub->subject_length) == 0);
        if (!there || !of_name || !of_subject) {
            tidings__place_leave(o);
            return TIDINGS__NOTHING;
        }
        tidings__describe_record(o->center, r, position, o->matched_ids, 1, tidings__payload_of(o),
                                 TIDINGS_DELIVERY_RETAINED, d);
        tidings__describe_place(o, r.flags, d);
        if (r.flags & TIDINGS__RECORD_SECTIONS) tidings__describe_sections(o, &r, d);
        return TIDINGS__DELIVERED;
    }
    return TIDINGS__NOTHING;
}

// The position of the value that is delivered in place of the one listed: a newer one before `since`, if its post was
// unfinished when the list was made. Reads the ring first, then the entry: what is evicted in between is in the entry.
static uint64_t newest_of(const tidings_observer *o, const tidings__subscription *sub,
                          const tidings__listed_value *value) {
    tidings__segment *s = &o->center->segment;
    uint64_t newest = value->position, at;
    if (sub->unfinished_count == 0) return newest;
    for (uint32_t i = 0; i < sub->unfinished_count; i++) {
        at = sub->unfinished[i];
        if ((int64_t)(at - newest) <= 0 || tidings__slot_status(s, at) != TIDINGS__VALID) continue;
        const uint64_t route = tidings__route(tidings__cell_at(s, at));
        if (tidings__route_name(route) == value->entry && tidings__route_flags(route) & TIDINGS__RECORD_RETAIN &&
            tidings__slot_valid_after_copy(s, at))
            newest = at;
    }
    uint32_t chunk;
    tidings__name *entry = tidings__name_at(s, value->entry);
    if (entry && tidings__retained_in(s, tidings__acquire(&entry->retained), &at, &chunk) &&
        (int64_t)(at - newest) > 0 && (int64_t)(sub->since - at) > 0)
        newest = at;
    return newest;
}

// Delivers a listed value, or the newer one that has taken its place, perhaps meanwhile.
static int deliver_listed(tidings_observer *o, tidings__subscription *sub, const tidings__listed_value *value,
                          tidings_delivery *d) {
    uint64_t at = newest_of(o, sub, value);
    for (uint32_t tries = 0; tries <= sub->unfinished_count; tries++) {
        const int result = deliver(o, sub, value->entry, at, at + 1, d);
        if (result != TIDINGS__NOTHING) return result;
        const uint64_t later = newest_of(o, sub, value);
        if ((int64_t)(later - at) <= 0) break;
        at = later;
    }
    return TIDINGS__NOTHING;
}

int tidings__values_deliver(tidings_observer *o, const tidings__table *t, tidings_delivery *d) {
    for (uint32_t i = 0; i < t->count; i++) {
        tidings__subscription *sub = t->of[i];
        if (!tidings__relaxed(&sub->retained)) continue;
        // If the value was replaced since it was listed, the newer one is delivered as it was posted.
        while (sub->listed_next < sub->listed_count) {
            const int result = deliver_listed(o, sub, &sub->listed[sub->listed_next++], d);
            if (result != TIDINGS__NOTHING) return result;
        }
        tidings__set_relaxed(&sub->retained, false);
    }
    return TIDINGS__NOTHING;
}
