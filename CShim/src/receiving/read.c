// Advances the cursor: reads the slot status, finds the matching subscriptions, and delivers the record.
#include <errno.h>
#include <stdlib.h>

#include "center/record_name.h"
#include "receiving/copy.h"
#include "receiving/describe.h"
#include "receiving/kind.h"
#include "receiving/reader.h"
#include "registry/prefixes.h"
#include "ring/verdict.h"

// Adds the subscriptions of this entry that a record at this position matches to `o->matched`.
static inline __attribute__((always_inline)) void match(tidings_observer *o, const tidings__table *t, uint32_t entry,
                                                        uint64_t position, uint32_t *matched) {
    if (entry == TIDINGS__NAME_NONE) return;
    if (__builtin_expect(o->matches, 0) && entry != TIDINGS__NAME_ALL) {
        o->kind->match(o, t, entry, position, matched);
        return;
    }
    uint32_t count;
    tidings__subscription *const *of = tidings__table_find(t, entry, &count);
    // `matched` has room for each subscription once, but a hostile record may name the same entry twice.
    for (uint32_t i = 0; i < count; i++) {
#ifndef MUTANT_MATCHES_UNBOUNDED  // Found by: fuzz image
        if (*matched >= o->matched_capacity) break;
#endif
        if (tidings__due(of[i], position)) o->matched[(*matched)++] = of[i];
    }
}

static __attribute__((noinline)) void match_more(tidings_observer *o, const tidings__table *t, uint32_t entry,
                                                 uint64_t position, uint32_t *matched) {
    match(o, t, entry, position, matched);
}

// Matches the subscriptions to all names and to prefixes. False: the record's name can't be read reliably any more.
static __attribute__((noinline)) bool match_many(tidings_observer *o, const tidings__table *t, uint64_t position,
                                                 uint32_t *matched) {
    if (t->all) match(o, t, TIDINGS__NAME_ALL, position, matched);
    if (t->prefixes.used == 0) return true;
    _Atomic uint64_t copy[TIDINGS__NAME_WORDS];
    uint32_t length;
    const _Atomic uint64_t *name = tidings__record_name(&o->center->segment, position, copy, &length);
    uint32_t prefix = name ? tidings__prefix_order_find(&t->prefixes, name, length) : 0;
    for (const tidings__ordered_prefix *of = t->prefixes.of; prefix > 0; prefix = of[prefix].outer)
        match(o, t, of[prefix].entry, position, matched);
    const uint32_t entry = tidings__route_name(tidings__route(tidings__cell_at(&o->center->segment, position)));
    return name && (entry == TIDINGS__NAME_NONE || !tidings__name_at(&o->center->segment, entry) ||
                    tidings__name_was(&o->center->segment, entry, position));
}

// Visits all subscriptions only at a position that one of them has in its history: there may be a hundred thousand.
static __attribute__((noinline)) void match_history(tidings_observer *o, tidings__table *t, uint64_t position,
                                                    uint32_t *matched) {
    if ((int64_t)(position - o->history_from) < 0) return;
    bool retained = false, history = false;
    uint64_t from = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        tidings__subscription *sub = t->of[i];
        retained |= tidings__relaxed(&sub->retained);
        // The position was passed without a match: a peer has made it void. Or it was lapped, and is counted here.
        for (; tidings__history_left(sub) && (int64_t)(position - tidings__history_at(sub)) > 0;
             tidings__history_step(sub))
            sub->missed++, o->telling = true;
        if (!tidings__history_left(sub)) continue;
        const uint64_t at = tidings__history_at(sub);
        if (at == position && *matched < o->matched_capacity) o->matched[(*matched)++] = sub;
        if (!history || (int64_t)(from - at) > 0) from = at;
        history = true;
    }
    o->history_from = history && !retained ? from : 0;
    // From now on no record is looked up in each subscription.
    if (!history && !retained) tidings__set_relaxed(&t->special, 0);
}

static inline bool evicted(const tidings__segment *s, uint64_t position) {
    return (int64_t)(tidings__oldest(s) - position) > 0;
}

static bool room_to_match(tidings_observer *o, uint32_t count) {
    if (count <= o->matched_capacity) return true;
    uint32_t capacity = count < 16 ? 16 : 2 * count;
#ifdef MUTANT_MATCHES_UNBOUNDED
    capacity = 1;
#endif
    tidings__subscription **matched = malloc(capacity * sizeof *matched);
    uint32_t *ids = malloc(capacity * sizeof *ids);
    if (!matched || !ids) {
        free(matched);
        free(ids);
        return false;
    }
    free(o->matched);
    free(o->matched_ids);
    o->matched = matched;
    o->matched_ids = ids;
    o->matched_capacity = capacity;
    return true;
}

// Runs at the first use of a table that has new subscriptions. The old table may have been used since they were added,
// so the cursor may lie beyond their beginning. Then the cursor goes back for them alone; `replayed` records that the
// older subscriptions have passed up to here. If the cursor stays, the older subscriptions aren't visited: there may be
// a hundred thousand, and one more with each addition.
static void activate_subscriptions(tidings_observer *o, tidings__table *t) {
    uint64_t from = o->cursor;
    for (uint32_t i = t->fresh_from; i < t->count; i++) {
        if (!tidings__relaxed(&t->of[i]->fresh)) continue;
        if ((int64_t)(from - t->of[i]->since) > 0) from = t->of[i]->since;
    }
    for (uint32_t i = from != o->cursor ? 0 : t->fresh_from; i < t->count; i++) {
        tidings__subscription *sub = t->of[i];
        if (!tidings__relaxed(&sub->fresh) && (int64_t)(o->cursor - sub->replayed) > 0 && from != o->cursor)
            sub->replayed = o->cursor;
        tidings__set_relaxed(&sub->fresh, false);
        if (sub->id > o->youngest) o->youngest = sub->id;
    }
    tidings__set_relaxed(&t->fresh, false);
    // Published from where it goes back to.
    if (from != o->cursor && o->publish_step) o->publish_at = o->take_at = 0;
    o->cursor = from;
}

// A class may have only sixteen chunks, while the ring has thousands of slots. So posters are informed after an eighth
// of a class, and not only when the ring needs it: one of them may be waiting for a chunk.
static void publish_chunk(tidings_observer *o, uint32_t chunk) {
    const tidings__geometry *g = &o->center->segment.geometry;
    uint32_t class = 0;
    while (class + 1 < g->class_count && chunk >= g->classes[class + 1].first) class ++;
    if (++o->chunks_taken < g->classes[class].count / 8) return;
    o->chunks_taken = 0;
    tidings__publish_cursor(o, true);
}

// Finds the subscriptions that the committed record at this position matches. False: it was evicted before its name
// could be read.
static inline __attribute__((always_inline)) bool match_all(tidings_observer *o, tidings__table *t, uint64_t position,
                                                            uint32_t *matched) {
    const tidings__segment *s = &o->center->segment;
    const uint64_t route = tidings__route(tidings__cell_at(s, position));
    match(o, t, tidings__route_name(route), position, matched);
    const uint32_t with_subject = tidings__route_name_subject(route);
    if (with_subject) match_more(o, t, with_subject, position, matched);
    // If the name is unreadable although the record is not evicted, a peer has damaged the name: go on without it.
    if (__builtin_expect(t->many, 0) && !match_many(o, t, position, matched) && evicted(s, position)) return false;
    if (__builtin_expect(tidings__relaxed(&t->special) != 0, 0)) match_history(o, t, position, matched);
    return true;
}

// Passes this position for the subscriptions that matched. If `lost`, counts it as missed for each.
static inline __attribute__((always_inline)) void pass(tidings_observer *o, uint64_t position, uint32_t matched,
                                                       bool lost) {
    o->cursor++;
    for (uint32_t i = 0; i < matched; i++) {
        tidings__subscription *sub = o->matched[i];
        o->matched_ids[i] = sub->id;
        if ((int64_t)(position - sub->since) >= 0)
            sub->passed++;
        else
            tidings__history_step(sub);
        if (lost) sub->missed++, o->telling = true;
    }
}

// The record was evicted while it was read.
static __attribute__((noinline, cold)) int not_taken(tidings_observer *o) {
    tidings__place_leave(o);
    return TIDINGS__NOTHING;
}

// Delivers the committed record at the cursor: TIDINGS__DELIVERED, or an error. TIDINGS__NOTHING: the cursor is beyond
// it, or `*gone` is set: it was evicted while it was read.
static inline __attribute__((always_inline)) int take(tidings_observer *o, tidings__table *t, tidings_delivery *d,
                                                      bool *gone) {
    tidings__segment *s = &o->center->segment;
    const uint64_t position = o->cursor;
    uint32_t matched = 0;
    *gone = true;
    if (!match_all(o, t, position, &matched)) return TIDINGS__NOTHING;
    if (matched == 0) {
        if (!tidings__slot_valid_after_copy(s, position)) return TIDINGS__NOTHING;
        *gone = false;
        o->cursor++;
        return TIDINGS__NOTHING;
    }
    tidings__record r;
    tidings__record_read(tidings__cell_at(s, position), &r);
    const bool copied = tidings__record_copy_of(o, position, r);
    const bool with_text = o->matched[0]->many || r.subject_length != 0;
    const bool named = __builtin_expect(!with_text || !copied, 1) || tidings__describe_text(o, &r, position, d);
#ifndef MUTANT_NO_LAP_CHECK_AFTER_COPY  // Found by: interleaving turning
    if (!tidings__slot_valid_after_copy(s, position)) return not_taken(o);
#endif
    if ((!named || (!copied && r.flags & TIDINGS__RECORD_CHUNK)) && evicted(s, position)) return not_taken(o);
    *gone = false;
    // Not copied: there was no memory, or the record is invalid (from a hostile peer). The position is valid, so it
    // counts as missed.
    pass(o, position, matched, !copied);
    if (!copied) {
        if (!o->without_memory) return tidings__tell_missed(o, t, d) ? TIDINGS__DELIVERED : TIDINGS__NOTHING;
        o->without_memory = false;
        return -ENOMEM;
    }
    tidings__describe_record(o->center, r, position, o->matched_ids, matched, tidings__payload_of(o), 0, d);
    if (__builtin_expect(!with_text, 1)) tidings__describe_name(o->matched[0], d);
    if (r.flags & TIDINGS__RECORD_CHUNK) tidings__describe_place(o, r.flags, d);
    if (__builtin_expect(r.flags & TIDINGS__RECORD_SECTIONS, 0)) {
        const tidings__record in_memory = r;
        tidings__describe_sections(o, &in_memory, d);
    }
    if (o->cursor >= o->take_at) {
        if (o->lossless && r.flags & TIDINGS__RECORD_CHUNK)
            publish_chunk(o, r.chunk);
        else if (o->cursor >= o->publish_at)
            tidings__publish_cursor(o, false);
    }
    return TIDINGS__DELIVERED;
}

// The next records are most likely committed too, by another core: fetches the lines of a record ahead. (At the ring's
// end the prefetch is in vain.) A macro: an inlined function costs the loop of `tidings__advance` a register, and eight
// instructions for each record it passes.
#define PREFETCH_AHEAD(cell)                                                                                           \
    do {                                                                                                               \
        const char *ahead = (const char *)(cell) + 8 * sizeof(tidings__cell);                                          \
        __builtin_prefetch(ahead);                                                                                     \
        __builtin_prefetch(ahead + TIDINGS__LINE);                                                                     \
    } while (0)

// What plain records of one call have in common.
typedef struct plain {
    const tidings_center *center;
    tidings__table *table;
    // The route word, without the format, of records that `subscription` alone receives. NO_ROUTE: not known.
    uint64_t route;
    tidings__subscription *subscription;
    uint64_t lap;   // of all positions
    uint32_t most;  // bytes of a payload
    bool bare;
} plain;

#define FORMAT (UINT64_C(0xff) << 56)
#define NO_ROUTE UINT64_MAX  // equals no route word without its format

static inline __attribute__((always_inline)) plain plain_from(const tidings_observer *o, tidings__table *t) {
    const tidings__segment *s = &o->center->segment;
    const uint64_t most = s->shape.maximum_payload;
    tidings__subscription *sub = t->recent;
    // A subscription that is due at the cursor is due at every later position.
    return (plain){.center = o->center,
                   .table = t,
                   .route = sub && tidings__due(sub, o->cursor) ? t->recent_entry : NO_ROUTE,
                   .subscription = sub,
                   .lap = tidings__lap_at(s, o->cursor),
                   .most = most < TIDINGS__BODY_SIZE ? (uint32_t)most : TIDINGS__BODY_SIZE,
                   .bare = o->flags & TIDINGS_OBSERVE_BARE};
}

// Finds the only subscription of records with this route word. False: there are several or none, the record at
// `position` is not due for it, or has a subject or flags.
static __attribute__((noinline)) bool find_plain(plain *p, uint64_t route, uint64_t position) {
    const uint32_t entry = tidings__route_name(route);
    uint32_t count;
    if (entry == TIDINGS__NAME_NONE || (route & ~FORMAT) != entry) return false;
    tidings__subscription *const *of = tidings__table_find(p->table, entry, &count);
    if (count != 1 || !tidings__due(of[0], position)) return false;
    p->table->recent_entry = entry;
    p->table->recent = p->subscription = of[0];
    p->route = entry;
    return true;
}

// Delivers the record at `position`, of `cell`, if it is *plain*: copies the payload to `to`. Most records are, and
// `take` needs twice as many instructions. The caller moves the cursor. Unless it delivers, it changes only `to` and
// what `find_plain` remembers.
static inline __attribute__((always_inline)) bool take_plain(plain *p, const tidings__cell *cell, uint64_t position,
                                                             uint8_t *to, tidings_delivery *d) {
    if (!tidings__slot_plain(cell, position)) return false;
    PREFETCH_AHEAD(cell);
    tidings__record r;
    tidings__record_read(cell, &r);
    const uint64_t route = tidings__route(cell);
    if ((r.name_length | r.subject_length) != 0) return false;
    if (__builtin_expect((route & ~FORMAT) != p->route, 0) && !find_plain(p, route, position)) return false;
    // Known from here on, so the functions below need not ask.
    r.flags = r.name_length = r.subject_length = 0;
#ifndef MUTANT_RECORD_SIZE_UNCHECKED
    if (r.size > p->most) return false;
#endif
    if (!p->bare) tidings__body_read(cell->body, to, r.size);
#ifndef MUTANT_NO_LAP_CHECK_AFTER_COPY
    if (!tidings__slot_has_lap(cell, p->lap)) return false;
#endif
    tidings__subscription *sub = p->subscription;
    sub->passed++;
    tidings__describe_record(p->center, r, position, &sub->id, 1, p->bare ? tidings__no_payload : to, 0, d);
    tidings__describe_name(sub, d);
    return true;
}

// True if only records can be due: no retained value, no subscription to many names or that is not active yet.
static inline bool only_records(const tidings__table *t) {
    return tidings__relaxed(&t->special) == 0 && !t->many && !tidings__relaxed(&t->fresh);
}

// How many positions from the cursor on are before the ring's end, computed from EV.
static inline int64_t positions_left(const tidings_observer *o) {
    const tidings__segment *s = &o->center->segment;
    return (int64_t)(tidings__oldest(s) + s->shape.slots - o->cursor);
}

static inline void pass_plain(tidings_observer *o, size_t count) {
    o->cursor += count;
    if (o->cursor >= o->publish_at) tidings__publish_cursor(o, false);
}

bool tidings__take_plain(tidings_observer *o, tidings__table *t, tidings_delivery *d) {
    if (!only_records(t) || positions_left(o) <= 0 || !tidings__buffer_room(o, TIDINGS__BODY_SIZE + 16)) return false;
    plain p = plain_from(o, t);
    if (!take_plain(&p, tidings__cell_at(&o->center->segment, o->cursor), o->cursor, o->buffer, d)) return false;
    pass_plain(o, 1);
    return true;
}

size_t tidings__take_more(tidings_observer *o, tidings__table *t, tidings_delivery *d, size_t count) {
    const tidings__segment *s = &o->center->segment;
    const int64_t left = positions_left(o);
    if (!only_records(t) || left <= 0) return 0;
    // At most up to the end of the lap.
    const uint64_t in_lap = s->shape.slots - (o->cursor & s->slot_mask);
    size_t most = in_lap < (uint64_t)left ? in_lap : (uint64_t)left;
    if (most > count) most = count;
    plain p = plain_from(o, t);
    const tidings__cell *cell = tidings__cell_at(s, o->cursor);
    uint8_t *to = o->batch;
    uint64_t position = o->cursor;
    const uint64_t end = position + most;
    for (; position < end && take_plain(&p, cell, position, to, d); position++, cell++, d++) {
        to += TIDINGS__PLAIN_SIZE;
        __asm__("" : "+r"(cell), "+r"(position), "+r"(to), "+r"(d));
    }
    const size_t taken = position - o->cursor;
    pass_plain(o, taken);
    return taken;
}

// True if the committed record at this position is for a subscription.
static bool matches(tidings_observer *o, tidings__table *t, uint64_t position) {
    uint32_t matched = 0;
    return match_all(o, t, position, &matched) && matched > 0;
}

// The slot's status, and LAPPED if its claim says so, whatever its commit says: a peer may have committed each slot,
// and claimed none. Then no payload is copied for it.
static tidings__slot_state status_of(const tidings__segment *s, uint64_t position) {
    const tidings__slot_state status = tidings__slot_status(s, position);
    // The observer is at least 2^30 laps behind: the slot's later lap reads as an earlier one.
    if (status == TIDINGS__UNDECIDED && evicted(s, position)) return TIDINGS__LAPPED;
    if (status == TIDINGS__VALID && !tidings__slot_valid_after_copy(s, position)) return TIDINGS__LAPPED;
    return status;
}

// Continues where the cursor was lapped. A visit of a hundred thousand subscriptions takes longer than a lap of a busy
// ring. So the laps are accounted for together, before a record that is for one of them, or at the end. Losses are
// reported before that record.
static __attribute__((noinline, cold)) int catch_up(tidings_observer *o, tidings__table *t, uint64_t limit,
                                                    tidings_delivery *d) {
    tidings__segment *s = &o->center->segment;
    uint64_t was = o->cursor, gone_by = tidings__leave_lap(o), reach = tidings__oldest(s) + s->shape.slots;
    uint32_t contradictions = gone_by == 0, rounds = 0, visits = 0;
    o->lapped = true;
    if (o->cursor >= o->publish_at) tidings__publish_cursor(o, false);
    int result = TIDINGS__NOTHING;
    while ((int64_t)(limit - o->cursor) > 0) {
        if ((int64_t)(reach - o->cursor) <= 0) {
            const uint64_t further = tidings__oldest(s) + s->shape.slots;
            if (further == reach || ++rounds > 64) break;
            reach = further;
            continue;
        }
        tidings__slot_state status = status_of(s, o->cursor);
        if (status == TIDINGS__VALID && o->lapped && matches(o, t, o->cursor)) {
            if (++visits > 4) break;
            tidings__account_lap(o, t, was, gone_by);
            o->lapped = false;
            gone_by = 0;
            if (o->telling && tidings__tell_missed(o, t, d)) return TIDINGS__DELIVERED;
            continue;
        }
        if (status == TIDINGS__VALID) {
            bool gone;
            const int taken = take(o, t, d, &gone);
            if (taken != TIDINGS__NOTHING) {
                o->lapped = false;  // set only if a peer changes the record meanwhile
                return taken;
            }
            if (gone) status = TIDINGS__LAPPED;
        }
        if (status == TIDINGS__VOID) o->cursor++;
        if (status == TIDINGS__LAPPED) {
            if (!o->lapped) was = o->cursor;
            o->lapped = true;
            const uint64_t passed_over = tidings__leave_lap(o);
            gone_by += passed_over;
            // A few contradictions may be transient. Give up after 64: a hostile peer could extend the walk without
            // end.
            if (passed_over == 0 && ++contradictions > 64) break;
        }
        if (status == TIDINGS__CLAIMED) result = TIDINGS__IN_FLIGHT;
        if (status == TIDINGS__CLAIMED || status == TIDINGS__UNDECIDED) break;
        if (o->cursor >= o->publish_at) tidings__publish_cursor(o, false);
    }
    if (o->lapped) tidings__account_lap(o, t, was, gone_by);
    o->lapped = false;
    return o->telling && tidings__tell_missed(o, t, d) ? TIDINGS__DELIVERED : result;
}

int tidings__advance(tidings_observer *o, tidings__table *t, uint64_t limit, tidings_delivery *d) {
    tidings__segment *s = &o->center->segment;
    if (!room_to_match(o, t->count + 1)) return -ENOMEM;
    if (__builtin_expect(o->skipped_count != 0, 0)) tidings__reader_settle(o, t);
    if (__builtin_expect(o->telling, 0) && tidings__tell_missed(o, t, d)) return TIDINGS__DELIVERED;
    const int value = __builtin_expect(tidings__relaxed(&t->special) != 0, 0) ? tidings__values_deliver(o, t, d)
                                                                              : TIDINGS__NOTHING;
    if (__builtin_expect(value != TIDINGS__NOTHING, 0)) return value;
    if (__builtin_expect(tidings__relaxed(&t->fresh), 0)) activate_subscriptions(o, t);
    // Never beyond the ring's end, computed from EV, whatever the cells say.
    uint64_t reach = tidings__oldest(s) + s->shape.slots;
    for (int rounds = 0;;) {
        if ((int64_t)(limit - o->cursor) <= 0) break;
        if ((int64_t)(reach - o->cursor) <= 0) {
            uint64_t further = tidings__oldest(s) + s->shape.slots;
            if (further == reach || ++rounds > 64) break;
            reach = further;
            continue;
        }
        const uint64_t position = o->cursor;
        tidings__slot_state status = tidings__slot_status(s, position);
        if (__builtin_expect(status == TIDINGS__VALID, 1)) {
            PREFETCH_AHEAD(tidings__cell_at(s, position));
            bool gone;
            const int taken = take(o, t, d, &gone);
            if (taken != TIDINGS__NOTHING) return taken;
            if (gone) status = TIDINGS__LAPPED;
        }
        if (status == TIDINGS__VOID) o->cursor++;
        // The observer is at least 2^30 laps behind: the slot's later lap reads as an earlier one.
        if (status == TIDINGS__UNDECIDED && (int64_t)(tidings__oldest(s) - position) > 0) status = TIDINGS__LAPPED;
        if (status == TIDINGS__LAPPED) return catch_up(o, t, limit, d);
        if (status == TIDINGS__UNDECIDED) return TIDINGS__NOTHING;
        if (status == TIDINGS__CLAIMED) return TIDINGS__IN_FLIGHT;
        if (o->cursor >= o->publish_at) tidings__publish_cursor(o, false);
    }
    return TIDINGS__NOTHING;
}
