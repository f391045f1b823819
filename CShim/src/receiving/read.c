// Advances the cursor: reads the slot status, finds the matching subscriptions, and copies the record.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "center/record_name.h"
#include "receiving/observer.h"
#include "receiving/reader.h"
#include "registry/observers.h"
#include "registry/prefixes.h"
#include "registry/tally.h"
#include "ring/chunk.h"
#include "ring/verdict.h"

#define BUFFER_STEP 4096u

void tidings__buffer_free(tidings_observer *o) {
    if (!o->lent) free(o->buffer);
    o->buffer = NULL;
    o->capacity = 0;
    o->lent = false;
}

static bool room_for(tidings_observer *o, size_t size) {
    if (size <= o->capacity) return true;
    size_t capacity = TIDINGS__BUFFER_LEAST;
    while (capacity < size && capacity < BUFFER_STEP) capacity *= 2;
    // A payload's buffer is at most 12 % and a page larger than the payload. A sixteenth more than asked, so that
    // slowly growing payloads don't need a new buffer each.
    if (capacity < size) capacity = (size + size / 16 + BUFFER_STEP - 1) & ~((size_t)BUFFER_STEP - 1);
    // The old buffer holds nothing that is still needed. It is freed first, so that two never exist at a time.
    tidings__buffer_free(o);
    o->buffer = aligned_alloc(64, capacity);
    if (!o->buffer) {
        o->without_memory = true;
        return false;
    }
    o->capacity = capacity;
    return true;
}

// Memory of the program for one payload and its text (`tidings_observer_lend`).
static bool lend(tidings_observer *o, size_t size) {
    tidings__buffer_free(o);
    o->buffer = o->allocate(o->allocate_context, size);
    o->lent = o->buffer != NULL;
    o->without_memory |= !o->lent;
    return o->lent;
}

bool tidings__buffer_begin(tidings_observer *o) { return room_for(o, TIDINGS__BUFFER_LEAST); }

// Offset of the text in the buffer: after the payload. A bare observer doesn't copy the payload.
static uint64_t text_at(const tidings_observer *o, const tidings__record *r) {
    return o->flags & TIDINGS_OBSERVE_BARE ? 0 : tidings__round8(r->size);
}

static __attribute__((noinline)) bool chunk_copy(tidings_observer *o, uint64_t position, const tidings__record *r,
                                                 uint64_t total, uint64_t skipped) {
    tidings__segment *s = &o->center->segment;
    uint64_t capacity;
    const uint8_t *bytes = tidings__chunk_bytes(s, r->chunk, &capacity);
    if (!bytes) return false;
    uint64_t end = total + TIDINGS__CHUNK_HEADER;
#ifdef MUTANT_CHUNK_SIZE_UNCHECKED  // Found by: fuzz image
    end = TIDINGS__CHUNK_HEADER;
#endif
    if (end > capacity) return false;
    if (!tidings__chunk_holds(s, r->chunk, position)) return false;
    // Without its payload a record is small, whatever its `size` is, so no memory is lent for it.
    const bool lends = r->size >= o->lent_from && skipped == 0;
    if (!(lends ? lend(o, total) : room_for(o, total - skipped + 8)) || tidings__back_chunk(s, r->chunk, end) != 0)
        return false;
    tidings__bytes_read(o->buffer, bytes + TIDINGS__CHUNK_HEADER + skipped, total - skipped);
#ifdef MUTANT_CHUNK_NOT_CHECKED_AFTER_COPY  // Found by: interleaving large
    return true;
#endif
    return tidings__chunk_holds(s, r->chunk, position);
}

// The record is passed by value, here and in `describe`, so that the caller's variable stays in registers.
static inline __attribute__((always_inline)) bool record_copy(tidings_observer *o, uint64_t position,
                                                              const tidings__record r) {
    tidings__segment *s = &o->center->segment;
    if (r.size > s->shape.maximum_payload) return false;
    uint64_t total = tidings__round8(r.size);
#ifndef MUTANT_RECORD_TEXT_BEYOND_BODY  // Found by: fuzz image
    total += tidings__round8(r.name_length);
    total += tidings__round8(r.subject_length);
#endif
    const uint64_t skipped = text_at(o, &r) == 0 ? tidings__round8(r.size) : 0;
    if (__builtin_expect(r.flags & TIDINGS__RECORD_CHUNK, 0)) {
        const tidings__record in_memory = r;
        return chunk_copy(o, position, &in_memory, total, skipped);
    }
#ifndef MUTANT_RECORD_SIZE_UNCHECKED  // Found by: fuzz image
    if (total > TIDINGS__BODY_SIZE) return false;
#endif
    if (!room_for(o, TIDINGS__BODY_SIZE + 16)) return false;
#ifdef MUTANT_RECORD_SIZE_READ_TWICE  // Found by: fuzz image
    tidings__record again;
    tidings__record_read(tidings__cell_at(s, position), &again);
    total = tidings__round8(again.size) + tidings__round8(again.name_length) + tidings__round8(again.subject_length);
#endif
    tidings__body_read(tidings__cell_at(s, position)->body + skipped / 8, o->buffer, total - skipped);
    return true;
}

bool tidings__record_copy(tidings_observer *o, uint64_t position, const tidings__record *r) {
    return record_copy(o, position, *r);
}

bool tidings__record_text(tidings_observer *o, const tidings__record *r, uint32_t *name_length,
                          uint32_t *subject_length) {
    const uint8_t *text = o->buffer + text_at(o, r);
    *name_length = r->name_length;
    if (r->name_length == 0) {
        if (!tidings__name_text(&o->center->segment, r->name, o->name, name_length, NULL, NULL)) return false;
    } else {
        memcpy(o->name, text, r->name_length);
        o->name[r->name_length] = 0;
        text += tidings__round8(r->name_length);
    }
    *subject_length = r->subject_length;
    memcpy(o->subject, text, r->subject_length);
    o->subject[r->subject_length] = 0;
    return true;
}

void tidings__account(const tidings__segment *s, tidings__subscription *in, uint32_t entry) {
    uint64_t count, end;
    tidings__tally_read(&s->names[entry].tally, &count, &end);
    // Invariant E9: what was evicted and not passed is missed. If the count is no greater than `passed`, nothing is
    // lost. The tally may not yet include all records that this subscription has read.
    if ((int64_t)(count - in->passed) <= 0) return;
    in->missed += count - in->passed;
    in->passed = count;
#ifndef MUTANT_JUMP_FORGETS_COUNTED_END  // Found by: interleaving one_lap
    in->accounted = end;
#endif
}

// The slot of the cursor is in use by a later lap. Continues at the oldest position, and counts the records between as
// missed for each subscription, exactly. False: EV contradicts the lap.
static bool lapped(tidings_observer *o, const tidings__table *t) {
    tidings__segment *s = &o->center->segment;
    uint64_t oldest = tidings__oldest(s), was = o->cursor;
    bool evicted = (int64_t)(oldest - o->cursor) > 0;
    if (evicted) {
        o->cursor = oldest;
    } else {
        // An honest ring evicts a position before its slot is reused. This one is damaged: continue at its apparent
        // end.
        uint64_t frontier = tidings__frontier(s, oldest);
        o->cursor = (int64_t)(frontier - o->cursor) > 0 ? frontier : o->cursor + 1;
    }
    // The tally also counts the positions that a reader skipped.
    if (evicted) o->skipped_count = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        tidings__subscription *in = t->of[i];
        if (!o->reader)
            tidings__account(s, in, in->entry);
        else if (evicted)
            tidings__reader_lapped(o, in, was);  // only then: otherwise each call would resolve each name again
        // An unfinished eviction may already have counted records beyond the cursor, up to `accounted`. History before
        // that is counted as missed here. Otherwise the later loss would be reported before the older history is
        // delivered.
        uint64_t gone = (int64_t)(in->accounted - o->cursor) > 0 ? in->accounted : o->cursor;
        for (; tidings__history_left(in) && (int64_t)(gone - tidings__history_at(in)) > 0; tidings__history_step(in))
            in->missed++;
        o->telling |= in->missed > 0;
    }
    return evicted;
}

// Limits `missed`, whatever a hostile writer has made of a tally. False: nothing is left to report.
// Each missed notification has its own position, which was counted as evicted. So it lies before the oldest position,
// or in the range that is being evicted. The cursor alone is no bound: EV may have moved between our reading of EV and
// of the tally. All that is ever reported for one subscription stays below 2^53, so a caller's sum can't overflow.
// Not inlined: it runs after a loss only. Without it, `tidings_next` of posted records takes 0.7 % fewer instructions.
static __attribute__((noinline)) bool bound_missed(const tidings_observer *o, tidings__subscription *in) {
    const uint64_t oldest = tidings__oldest(&o->center->segment),
                   end = (oldest > o->cursor ? oldest : o->cursor) + TIDINGS__EV_LENGTH_MAX;
    const uint64_t most = end > in->told ? end - in->told : 0;
    if (in->missed > most) in->missed = most;
    in->told += in->missed;
    return in->missed != 0;
}

static void describe_missed(const tidings_observer *o, tidings__subscription *in, tidings_delivery *d) {
    memset(d, 0, sizeof *d);
    d->kind = TIDINGS_DELIVERY_MISSED;
    d->sequence = o->cursor;
    d->missed = in->missed;
    d->subscriptions = &in->id;
    d->subscription_count = 1;
    d->name = in->name;
    d->name_length = in->name_length;
    d->subject = in->subject;
    d->subject_length = in->subject_length;
    d->payload = "";
    in->missed = 0;
}

static bool tell_missed(tidings_observer *o, const tidings__table *t, tidings_delivery *d) {
    // Continue after the subscription reported last, as there may be a hundred thousand. Then once from the beginning,
    // as earlier ones may have missed something since.
    for (int rounds = o->telling_at ? 2 : 1; rounds > 0; rounds--, o->telling_at = 0) {
        for (; o->telling_at < t->count; o->telling_at++) {
            if (t->of[o->telling_at]->missed == 0 || !bound_missed(o, t->of[o->telling_at])) continue;
            describe_missed(o, t->of[o->telling_at], d);
            return true;
        }
    }
    o->telling = false;
    return false;
}

// Adds the subscriptions of this entry that a record at this position matches to `o->matched`.
static inline __attribute__((always_inline)) void match(tidings_observer *o, const tidings__table *t, uint32_t entry,
                                                        uint64_t position, uint32_t *matched) {
    if (entry == TIDINGS__NAME_NONE) return;
    if (__builtin_expect(o->reader, 0) && entry != TIDINGS__NAME_ALL) {
        tidings__reader_match(o, t, entry, position, matched);
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
    if (t->prefix_count == 0) return true;
    _Atomic uint64_t copy[TIDINGS__NAME_WORDS];
    uint32_t length;
    const _Atomic uint64_t *name = tidings__record_name(&o->center->segment, position, copy, &length);
    for (uint32_t i = 0; name && i < t->prefix_count && *matched < o->matched_capacity; i++) {
        tidings__subscription *in = t->prefixes[i];
        if (tidings__due(in, position) &&
            tidings__text_begins(name, length, tidings__subscription_name(in), in->name_length))
            o->matched[(*matched)++] = in;
    }
    const uint32_t entry = tidings__route_name(tidings__route(tidings__cell_at(&o->center->segment, position)));
    return name && (entry == TIDINGS__NAME_NONE || !tidings__name_at(&o->center->segment, entry) ||
                    tidings__name_was(&o->center->segment, entry, position));
}

static void match_history(tidings_observer *o, const tidings__table *t, uint64_t position, uint32_t *matched) {
    for (uint32_t i = 0; i < t->count && *matched < o->matched_capacity; i++) {
        tidings__subscription *in = t->of[i];
        if (tidings__history_left(in) && tidings__history_at(in) == position) o->matched[(*matched)++] = in;
    }
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

static inline bool evicted(const tidings__segment *s, uint64_t position) {
    return (int64_t)(tidings__oldest(s) - position) > 0;
}

// For a subscription to many names, or a record with a subject.
__attribute__((noinline)) bool tidings__describe_text(tidings_observer *o, const tidings__record *r, uint64_t position,
                                                      tidings_delivery *d) {
    uint32_t name_length = 0, subject_length = 0;
    const bool there = tidings__record_text(o, r, &name_length, &subject_length);
    if (!there) o->name[0] = o->subject[0] = 0, name_length = subject_length = 0;
    d->name = o->name;
    d->name_length = name_length;
    d->subject = o->subject;
    d->subject_length = subject_length;
    return there && (r->name_length != 0 || tidings__name_was(&o->center->segment, r->name, position));
}

// Converts the two record flags that observers see.
static inline uint32_t flags_told(uint32_t flags) {
    return (flags & TIDINGS__RECORD_IMMEDIATE ? TIDINGS_DELIVERY_IMMEDIATE : 0) |
           (flags & TIDINGS__RECORD_CLEAR ? TIDINGS_DELIVERY_CLEARED : 0);
}

// Sets all fields but the text.
static inline __attribute__((always_inline)) void describe(tidings_observer *o, const tidings__record r,
                                                           uint64_t position, uint32_t matched, uint32_t flags,
                                                           tidings_delivery *d) {
    tidings_center *center = o->center;
    d->kind = TIDINGS_DELIVERY_MESSAGE;
    d->flags = flags | flags_told(r.flags);
    if (r.participant == (uint16_t)center->participant && r.pid == (uint32_t)(center->pid >> 32))
        d->flags |= TIDINGS_DELIVERY_OWN;
    d->sequence = position;
    d->missed = 0;
    d->subscriptions = o->matched_ids;
    d->subscription_count = matched;
    d->payload = o->flags & TIDINGS_OBSERVE_BARE ? (const uint8_t *)"" : o->buffer;
    d->size = r.size;
    d->posted_at_ns = r.time;
    d->pid = (int32_t)r.pid;
    d->uid = r.uid;
    d->participant = r.participant;
    d->format = r.format;
}

void tidings__describe(tidings_observer *o, const tidings__record *r, uint64_t position, uint32_t flags,
                       tidings_delivery *d) {
    describe(o, *r, position, 1, flags, d);
}

// The usual case: the subscription's own copy of the name suffices.
static inline __attribute__((always_inline)) void describe_name(const tidings__subscription *in, tidings_delivery *d) {
    d->name = in->name;
    d->name_length = in->name_length;
    d->subject = "";
    d->subject_length = 0;
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
        tidings__subscription *in = t->of[i];
        if (!tidings__relaxed(&in->fresh) && (int64_t)(o->cursor - in->replayed) > 0 && from != o->cursor)
            in->replayed = o->cursor;
        tidings__set_relaxed(&in->fresh, false);
        if (in->id > o->youngest) o->youngest = in->id;
    }
    tidings__set_relaxed(&t->fresh, false);
    o->cursor = from;
}

// A size may have only sixteen chunks, where the ring has thousands of slots. So posters are informed of taken chunks
// before the chunks have run out; a poster may already be waiting.
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
static inline __attribute__((always_inline)) bool match_all(tidings_observer *o, const tidings__table *t,
                                                            uint64_t position, uint32_t *matched) {
    const tidings__segment *s = &o->center->segment;
    const uint64_t route = tidings__route(tidings__cell_at(s, position));
    match(o, t, tidings__route_name(route), position, matched);
    const uint32_t with_subject = tidings__route_name_subject(route);
    if (with_subject) match_more(o, t, with_subject, position, matched);
    // If the name is unreadable although the record is not evicted, a peer has damaged the name: go on without it.
    if (__builtin_expect(t->many, 0) && !match_many(o, t, position, matched) && evicted(s, position)) return false;
    if (__builtin_expect(t->special != 0, 0)) match_history(o, t, position, matched);
    return true;
}

// Passes this position for the subscriptions that matched. If `lost`, counts it as missed for each.
static inline __attribute__((always_inline)) void pass(tidings_observer *o, uint64_t position, uint32_t matched,
                                                       bool lost) {
    o->cursor++;
    for (uint32_t i = 0; i < matched; i++) {
        tidings__subscription *in = o->matched[i];
        o->matched_ids[i] = in->id;
        if ((int64_t)(position - in->since) >= 0)
            in->passed++;
        else
            tidings__history_step(in);
        if (lost) in->missed++, o->telling = true;
    }
}

// Delivers the committed record at the cursor: TIDINGS__DELIVERED, or an error. TIDINGS__NOTHING: the cursor is beyond
// it, or `*gone` is set: it was evicted while it was read.
static inline __attribute__((always_inline)) int take(tidings_observer *o, tidings__table *t, uint64_t step,
                                                      tidings_delivery *d, bool *gone) {
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
    const bool copied = record_copy(o, position, r);
    const bool with_text = o->matched[0]->many || r.subject_length != 0;
    const bool named = __builtin_expect(!with_text || !copied, 1) || tidings__describe_text(o, &r, position, d);
#ifndef MUTANT_NO_LAP_CHECK_AFTER_COPY  // Found by: interleaving turning
    if (!tidings__slot_valid_after_copy(s, position)) return TIDINGS__NOTHING;
#endif
    if ((!named || (!copied && r.flags & TIDINGS__RECORD_CHUNK)) && evicted(s, position)) return TIDINGS__NOTHING;
    *gone = false;
    // Not copied: there was no memory, or the record is invalid (from a hostile peer). The position counted, so it is
    // reported as missed.
    pass(o, position, matched, !copied);
    if (!copied) {
        if (!o->without_memory) return tell_missed(o, t, d) ? TIDINGS__DELIVERED : TIDINGS__NOTHING;
        o->without_memory = false;
        return -ENOMEM;
    }
    describe(o, r, position, matched, 0, d);
    if (__builtin_expect(!with_text, 1)) describe_name(o->matched[0], d);
    if (o->lossless && r.flags & TIDINGS__RECORD_CHUNK)
        publish_chunk(o, r.chunk);
    else if (o->lossless && o->cursor - o->published >= step)
        tidings__publish_cursor(o, false);
    return TIDINGS__DELIVERED;
}

int tidings__advance(tidings_observer *o, tidings__table *t, uint64_t limit, tidings_delivery *d) {
    tidings__segment *s = &o->center->segment;
    if (!room_to_match(o, t->count + 1)) return -ENOMEM;
    if (__builtin_expect(o->skipped_count != 0, 0)) tidings__reader_settle(o, t);
    if (__builtin_expect(o->telling, 0) && tell_missed(o, t, d)) return TIDINGS__DELIVERED;
    const int kept = __builtin_expect(t->special != 0, 0) ? tidings__kept_deliver(o, t, d) : TIDINGS__NOTHING;
    if (__builtin_expect(kept != TIDINGS__NOTHING, 0)) return kept;
    if (__builtin_expect(tidings__relaxed(&t->fresh), 0)) activate_subscriptions(o, t);
    // How often the cursor is published: a waiting poster that is still awake soon finds room. At most the longest
    // range of one eviction.
    const uint64_t step = s->shape.slots / 16 < TIDINGS__EV_LENGTH_MAX ? s->shape.slots / 16 : TIDINGS__EV_LENGTH_MAX;
    // Never beyond the ring's end as EV has it, whatever the cells say.
    uint64_t reach = tidings__oldest(s) + s->shape.slots;
    uint32_t contradictions = 0;
    for (int rounds = 0;;) {
        if ((int64_t)(limit - o->cursor) <= 0) break;
        if ((int64_t)(reach - o->cursor) <= 0) {
            uint64_t further = tidings__oldest(s) + s->shape.slots;
            if (further == reach || ++rounds > 64) break;
            reach = further;
            continue;
        }
        const uint64_t position = o->cursor;
        tidings__slot_state finding = tidings__slot_status(s, position);
        if (__builtin_expect(finding == TIDINGS__VALID, 1)) {
            // The next records are most likely committed too, by another core: prefetch their lines.
            char *ahead = (char *)tidings__cell_at(s, position + 8);
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + TIDINGS__LINE);
            bool gone;
            const int taken = take(o, t, step, d, &gone);
            if (taken != TIDINGS__NOTHING) return taken;
            if (gone) finding = TIDINGS__LAPPED;
        }
        if (finding == TIDINGS__VOID) o->cursor++;
        // The observer is so far behind that the wrapped lap numbers read as future laps.
        if (finding == TIDINGS__UNDECIDED && (int64_t)(tidings__oldest(s) - position) > 0) finding = TIDINGS__LAPPED;
        if (finding == TIDINGS__LAPPED) {
            // A few contradictions may be transient. Give up after 64: a hostile peer could extend the walk without
            // end.
            if (!lapped(o, t) && ++contradictions > 64) return TIDINGS__NOTHING;
            if (o->telling && tell_missed(o, t, d)) return TIDINGS__DELIVERED;
        }
        if (finding == TIDINGS__UNDECIDED) return TIDINGS__NOTHING;
        if (finding == TIDINGS__CLAIMED) return TIDINGS__IN_FLIGHT;
        if (o->lossless && o->cursor - o->published >= step) tidings__publish_cursor(o, false);
    }
    return TIDINGS__NOTHING;
}
