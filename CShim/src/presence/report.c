// Reports that a participant has left or died: once, whichever participants report it, and wherever they stop or die.
// Declared and described in report.h.
#include "presence/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eviction/pending_claim.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "posting/publisher.h"
#include "presence/guard.h"
#include "presence/notice.h"
#include "ring/verdict.h"
#include "segment/names.h"

// Changes of a report that one call follows. Each change but those of a hostile peer leads to a later state or to
// another reporter.
#define TURNS 8

// MARK: Posting

static tidings__notice notice_of(const tidings__segment *s, uint32_t index, uint64_t expected, uint8_t flags) {
    const tidings__presence *entry = &s->presence[index];
    const uint64_t process = tidings__acquire(&entry->process);
    return (tidings__notice){.report = &entry->report,
                             .expected = expected,
                             .poster = process >> 32 | (uint64_t)index << 32,
                             .pid = process << 32,
                             .flags = flags};
}

static void describe(const tidings__segment *s, uint32_t index, int32_t event, tidings_presence *presence) {
    const tidings__presence *entry = &s->presence[index];
    const uint64_t process = tidings__acquire(&entry->process);
    memset(presence, 0, sizeof *presence);
    presence->event = event;
    presence->pid = (int32_t)(uint32_t)process;
    presence->uid = (uint32_t)(process >> 32);
    presence->participant = index;
    presence->id = tidings__presence_id(entry);
    uint64_t text[sizeof entry->program / 8];
    for (size_t i = 0; i < sizeof entry->program / 8; i++) text[i] = tidings__relaxed(&entry->program[i]);
    memcpy(presence->executable, text, TIDINGS_EXECUTABLE_MAX);
    for (size_t i = 0; i < sizeof entry->role / 8; i++) text[i] = tidings__relaxed(&entry->role[i]);
    const uint16_t size = (uint16_t)tidings__relaxed(&entry->role_size);
    memcpy(presence->role, text, size < TIDINGS_ROLE_MAX ? size : TIDINGS_ROLE_MAX);
}

int tidings__notice_post(tidings_center *center, uint32_t index, int32_t event, uint64_t expected, int64_t timeout_ns,
                         uint64_t *position) {
    tidings__segment *s = &center->segment;
    _Alignas(8) uint8_t memory[TIDINGS_PUBLISHER_SIZE_MAX];
    tidings__publisher_prepare_at(memory, center, TIDINGS_PRESENCE_NAME, sizeof TIDINGS_PRESENCE_NAME - 1, NULL, 0);
    tidings_presence presence;
    describe(s, index, event, &presence);
    uint8_t bytes[TIDINGS__NOTICE_MAX];
    const size_t size = tidings__notice_write(&presence, bytes);
    const tidings__notice notice = notice_of(s, index, expected, TIDINGS__RECORD_NOTICE);
    const tidings_post_options options = {.format = TIDINGS_FORMAT_CBOR, .timeout_ns = timeout_ns};
    return tidings__post_notice((tidings_publisher *)(void *)memory, bytes, size, &options, &notice, position);
}

// Copies a will out of its chunk. NULL with `*error` 0: there is none, or a peer has spoiled it. NULL with an error:
// the will stays for another try, or for a participant that can read it.
static uint8_t *copy_will(tidings_center *center, uint32_t index, tidings__record *record, int *error) {
    tidings__segment *s = &center->segment;
    const uint64_t will = tidings__acquire(&s->presence[index].will);
    const uint64_t word = tidings__will_word(tidings__acquire(&s->presence[index].announcement), index);
    *error = 0;
    if (will == 0 || will > s->geometry.chunk_count) return NULL;
    const uint32_t chunk = (uint32_t)will - 1;
    uint64_t capacity = 0;
    const uint8_t *from = tidings__chunk_bytes(s, chunk, &capacity);
    if (tidings__acquire(&s->chunk_words[chunk]) != word) return NULL;
    if ((*error = tidings__back_chunk(s, chunk, TIDINGS__CHUNK_HEADER)) != 0) return NULL;
    if (!tidings__chunk_record(s, chunk, record)) return NULL;
    const uint64_t size = tidings__round8(record->size) + tidings__round8(record->name_length) +
                          tidings__round8(record->subject_length);
    if (TIDINGS__CHUNK_HEADER + size > capacity || record->size > s->shape.maximum_payload) return NULL;
    if ((*error = tidings__back_chunk(s, chunk, TIDINGS__CHUNK_HEADER + size)) != 0) return NULL;
    uint8_t *bytes = malloc(size + 8);
    if (!bytes) {
        *error = tidings__fail(ENOMEM, "can't post a last will to center \"%s\": no memory to copy it", s->name);
        return NULL;
    }
    tidings__bytes_read(bytes, from + TIDINGS__CHUNK_HEADER, size);
    tidings__fence_acquire();
    const char *name = (const char *)bytes + tidings__round8(record->size),
               *subject = name + tidings__round8(record->name_length);
    if (tidings__acquire(&s->chunk_words[chunk]) == word && !tidings__name_reserved(name, record->name_length) &&
        tidings__check_text("notification name", name, record->name_length, 1, TIDINGS_NAME_MAX) == 0 &&
        tidings__check_text("subject", subject, record->subject_length, 0, TIDINGS_SUBJECT_MAX) == 0)
        return bytes;
    free(bytes);
    return NULL;
}

static int post_will(tidings_center *center, uint32_t index, uint64_t expected, int64_t timeout_ns,
                     uint64_t *position) {
    tidings__segment *s = &center->segment;
    tidings__record record;
    int error;
    uint8_t *bytes = copy_will(center, index, &record, &error);
    if (!bytes) {
        // There is nothing to post: as if it had been.
        const uint64_t oldest = tidings__oldest(s);
        *position = oldest - (uint64_t)tidings__report_distance(expected, oldest);
        return error;
    }
    _Alignas(8) uint8_t memory[TIDINGS_PUBLISHER_SIZE_MAX];
    const char *name = (const char *)bytes + tidings__round8(record.size);
    tidings__publisher_prepare_at(memory, center, name, record.name_length,
                                  record.subject_length ? name + tidings__round8(record.name_length) : NULL,
                                  record.subject_length);
    const tidings__notice notice = notice_of(s, index, expected, TIDINGS__RECORD_WILL);
    tidings_post_options options = {.format = record.format, .timeout_ns = timeout_ns};
    if (record.flags & TIDINGS__RECORD_RETAIN && !record.subject_length) options.flags |= TIDINGS_POST_RETAIN;
    if (record.flags & TIDINGS__RECORD_IMMEDIATE) options.flags |= TIDINGS_POST_IMMEDIATE;
    error = tidings__post_notice((tidings_publisher *)(void *)memory, bytes, record.size, &options, &notice, position);
    free(bytes);
    return error;
}

// MARK: Taking over

// True if this participant no longer reports: it is known to be dead.
static bool reporter_gone(tidings__segment *s, uint32_t reporter) {
    if (reporter >= s->shape.participants) return true;
    const uint64_t instance = tidings__acquire(&s->participants[reporter].instance);
    if (!(instance & 1)) return true;
    if (reporter >= tidings__presence_end(s)) return false;
    const tidings__presence *entry = &s->presence[reporter];
    return tidings__presence_alive_in(tidings__report_state(tidings__acquire(&entry->report))) &&
           tidings__acquire(&entry->announcement) == instance && tidings__presence_dead(s, reporter);
}

uint64_t tidings__report_span(const tidings_center *center, uint64_t report, uint64_t *at) {
    const tidings__segment *s = &center->segment;
    const uint64_t oldest = tidings__oldest(s), end = tidings__frontier(s, tidings__relaxed(&center->hint));
    const int64_t passed = tidings__report_distance(report, oldest);
    *at = passed < 0 ? oldest - (uint64_t)passed : oldest;
    // Clamp: both words are untrusted.
    if ((int64_t)(end - *at) < 0) *at = end;
    if (end - *at > s->shape.slots) *at = end - s->shape.slots;
    return end;
}

bool tidings__record_about(const tidings__segment *s, uint32_t index, uint32_t kind, uint64_t position) {
    if (tidings__slot_status(s, position) != TIDINGS__VALID) return false;
    tidings__record record;
    tidings__record_read(tidings__cell_at(s, position), &record);
    return record.flags & kind && record.participant == index && tidings__slot_valid_after_copy(s, position);
}

static bool is_to_end(const tidings__report_budget *budget) {
    const tidings__guard *guard = budget->guard;
    return guard && tidings__acquire(&guard->state) == TIDINGS__GUARD_ENDS;
}

// Searches the ring for a record of this report. Call after the report was changed: each earlier reporter has claimed
// before the frontier that is read here, or finds the change after its claim (invariant P3). What was evicted has moved
// the report on (P4). True: it is at `*position`.
static bool find_record(tidings_center *center, uint32_t index, uint64_t report, tidings__report_budget *budget,
                        uint64_t *position) {
    tidings__segment *s = &center->segment;
    const uint32_t kind = tidings__report_state(report) == TIDINGS__PRESENCE_WILL ? TIDINGS__RECORD_WILL
                                                                                  : TIDINGS__RECORD_NOTICE;
    uint64_t at;
    const uint64_t end = tidings__report_span(center, report, &at);
    bool revoked = false;
    for (; at < end; at++) {
        if (!revoked && tidings__slot_status(s, at) == TIDINGS__CLAIMED) {
            // A post takes microseconds. So waiting once for its end usually spares a revocation.
            tidings__pending_claim claim = {.at = UINT64_MAX};
            for (; budget->checks > 0 && !is_to_end(budget); budget->checks--) {
                if (tidings__slot_status(s, at) != TIDINGS__CLAIMED) break;
                tidings__wait_claimed(center, &claim, at, true);
            }
            tidings__revoke_all(s, at, end);
            revoked = true;
        }
        if (!tidings__record_about(s, index, kind, at)) continue;
        *position = at;
        return true;
    }
    return false;
}

// Makes this participant the reporter (invariant P2). The barrier orders the search of the ring after the change.
static bool take(tidings__segment *s, uint32_t index, uint64_t *report, uint64_t to) {
    if (!tidings__report_move(s, index, *report, to)) return false;
    tidings__barrier_after_rmw();
    *report = to;
    return true;
}

// True in the states in which the entry's participant acts, as long as it lives.
static bool says_alive(uint32_t state) {
    return state == TIDINGS__PRESENCE_PREPARING || tidings__presence_alive_in(state);
}

bool tidings__to_report(const tidings__segment *s, uint32_t index) {
    const uint32_t state = tidings__report_state(tidings__acquire(&s->presence[index].report));
    return state == TIDINGS__PRESENCE_DYING || state == TIDINGS__PRESENCE_WILL ||
           (says_alive(state) && tidings__presence_dead(s, index));
}

#define AGAIN 1
#define GO_ON 2

// The record of `report` lies at `position`.
static int move_on(tidings__segment *s, uint32_t index, uint64_t report, uint64_t position) {
    const bool will = tidings__report_state(report) == TIDINGS__PRESENCE_WILL;
    tidings__presence_posted(s, index, will ? TIDINGS__RECORD_WILL : TIDINGS__RECORD_NOTICE, position);
    // A peer may have written a report that `tidings__presence_posted` does not move on. End that report, so that the
    // same record is not posted twice.
    (void)tidings__report_move(s, index, report,
                               tidings__report_next(report, 0, tidings__report_owner(report), TIDINGS__PRESENCE_LEFT));
    return GO_ON;
}

// One step of a report. 0: done. AGAIN: look at the report again. GO_ON: likewise, and this call is its reporter.
static int step(tidings_center *center, uint32_t index, bool take_over, int64_t timeout_ns,
                tidings__report_budget *budget) {
    tidings__segment *s = &center->segment;
    const uint32_t own = center->participant;
    uint64_t report = tidings__acquire(&s->presence[index].report), position = 0;
    const uint32_t state = tidings__report_state(report), reporter = tidings__report_owner(report);
    const uint64_t left = tidings__report_next(report, 0, own, TIDINGS__PRESENCE_LEFT);
#ifndef MUTANT_SUCCESSOR_REPORTED  // Found by: interleaving a_will_of_a_successor
    // After the report was read: a participant that has announced itself at this index meanwhile lives. If the CAS
    // below succeeds, the words that say that it is dead were of this announcement.
    if (says_alive(state) && !tidings__presence_dead(s, index)) return 0;
#endif
#ifndef MUTANT_SETTLED_AFTER_REPORT  // Found by: interleaving a_settlement_taken_over
    // Before the report says that the death is being reported: until then, each guard that finds the participant dead
    // settles its calls (invariant C2).
    if (says_alive(state) && (report != budget->settled || index != budget->settled_index)) {
        if (budget->settlements == 0) return -EINPROGRESS;
        budget->settlements--;
        tidings__ended ended = tidings__ended_alone(index, report);
        const int unsettled = tidings__calls_settle(center, &ended, &budget->tells);
        // If the time was not enough, the calls are settled, but some servers are not told.
        if (unsettled && unsettled != -EINPROGRESS) return unsettled;
        budget->settled_index = index;
        budget->settled = report;
    }
#endif
    switch (state) {
        case TIDINGS__PRESENCE_PREPARING:
        case TIDINGS__PRESENCE_WATCHING: (void)tidings__report_move(s, index, report, left); return AGAIN;
        case TIDINGS__PRESENCE_PRESENT: {
            const uint64_t frontier = tidings__frontier(s, tidings__relaxed(&center->hint));
            if (!take(s, index, &report, tidings__report_next(report, frontier, own, TIDINGS__PRESENCE_DYING)))
                return AGAIN;
#ifdef MUTANT_SETTLED_AFTER_REPORT
            tidings__ended ended = tidings__ended_alone(index, report);
            (void)tidings__calls_settle(center, &ended, &budget->tells);
#endif
            break;
        }
        case TIDINGS__PRESENCE_JOINING:
        case TIDINGS__PRESENCE_LEAVING:
        case TIDINGS__PRESENCE_DYING:
        case TIDINGS__PRESENCE_WILL: {
            // A call whose post has failed, or its next one, tries again. A guard does so when it is time.
            const bool own_again = reporter == own && !budget->guard;
            if (reporter != index && !own_again && !take_over && !reporter_gone(s, reporter)) return -EINPROGRESS;
            const uint64_t end = tidings__report_span(center, report, &position), searched = end - position;
            if (searched > budget->positions) return -EINPROGRESS;
            budget->positions -= searched;
            // The position stays: records of earlier reporters lie at or after it. A position ahead of the frontier is
            // a peer's. The record that is posted would lie before it, and would not move the report on.
            const uint64_t from = tidings__report_distance(report, end) < 0 ? end : report >> 24;
            if (!take(s, index, &report, tidings__report_next(report, from, own, state))) return AGAIN;
#ifndef MUTANT_REPORT_TAKEN_OVER_UNSEARCHED  // Found by: interleaving a_report_taken_over
            if (find_record(center, index, report, budget, &position)) return move_on(s, index, report, position);
            // Invariant P4: what was evicted during the search has moved the report on.
            const uint64_t now = tidings__acquire(&s->presence[index].report);
            if (now != report) return tidings__report_owner(now) == own ? GO_ON : AGAIN;
#endif
            if (state != TIDINGS__PRESENCE_JOINING) break;
            // Invariant P1: no observer knows that it joined.
            (void)tidings__report_move(s, index, report, tidings__report_next(report, 0, own, TIDINGS__PRESENCE_LEFT));
            return AGAIN;
        }
        default: tidings__will_free(s, index, report); return 0;
    }
    const bool will = state == TIDINGS__PRESENCE_WILL;
    const int32_t event = state == TIDINGS__PRESENCE_LEAVING ? TIDINGS_PRESENCE_CLOSED : TIDINGS_PRESENCE_DIED;
    const int error = will ? post_will(center, index, report, timeout_ns, &position)
                           : tidings__notice_post(center, index, event, report, timeout_ns, &position);
    // Another participant has taken over. It posts the record, unless it is cancelled in turn.
    if (error == -ECANCELED) return -EINPROGRESS;
    return error ? error : move_on(s, index, report, position);
}

int tidings__report(tidings_center *center, uint32_t index, bool take_over, int64_t timeout_ns,
                    tidings__report_budget *budget) {
    // After AGAIN another participant has changed the report: it goes on, and is not taken over at once.
    int result = take_over ? GO_ON : AGAIN;
    for (int turn = 0; turn < TURNS && result > 0 && !is_to_end(budget); turn++)
        result = step(center, index, result == GO_ON, timeout_ns, budget);
    return result > 0 ? -EINPROGRESS : result;
}

bool tidings__may_report(const tidings_center *center) {
    const tidings__segment *s = &center->segment;
    return s->writable && tidings__has_place(center) && tidings__segment_descriptor(s) >= 0 &&
           tidings__segment_locks(s) >= 0;
}

// Reports one participant for `tidings__report_all`. False: the time is over.
static bool report_in_time(tidings_center *center, uint32_t index, tidings__report_budget *budget) {
    const uint64_t begun = tidings__thread_ns();
    (void)tidings__report(center, index, false, 0, budget);
    tidings__spend(&budget->posts, begun);
    return budget->posts > 0;
}

// In other states a guard does not watch yet, or may be about to end.
static bool a_guard_lives(tidings__segment *s) {
    const uint32_t end = tidings__presence_end(s);
    for (uint32_t i = 0; i < end; i++) {
        const uint32_t state = tidings__report_state(tidings__acquire(&s->presence[i].report));
        if ((state == TIDINGS__PRESENCE_PRESENT || state == TIDINGS__PRESENCE_WATCHING) &&
            !tidings__presence_dead(s, i))
            return true;
    }
    return false;
}

// Reports deaths among `count` participants from `first` on, in turn from index `from` on. False: the time is over.
static bool report_some(tidings_center *center, uint32_t first, uint32_t count, uint32_t from,
                        tidings__report_budget *budget) {
    tidings__segment *s = &center->segment;
    tidings__ended ended = {.first = first, .count = count};
    bool found = false;
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t i = (from + n) % count;
        // Invariant C8: read before the participant is found dead.
        const uint64_t report = tidings__acquire(&s->presence[first + i].report);
        if (tidings__report_state(report) == TIDINGS__PRESENCE_LEFT) {
            tidings__will_free(s, first + i, report);
        } else if (says_alive(tidings__report_state(report)) && tidings__presence_dead(s, first + i)) {
            ended.reports[i] = report;
            found = true;
        } else if (tidings__to_report(s, first + i) && !report_in_time(center, first + i, budget)) {
            return false;
        }
    }
    if (!found) return true;
    // If a post fails, a guard or a later call settles and reports them. If the time was not enough for all servers, a
    // guard tells the others, unless there is none.
    const int error = tidings__calls_settle(center, &ended, &budget->tells);
    const bool to_guards = error == -EINPROGRESS && a_guard_lives(s);
    // A death that shows by a free lock has woken no guard. Neighbours that are dead have the same guards.
    for (uint32_t i = 0; to_guards && i < count; i++)
        if (ended.reports[i] && (i == 0 || !ended.reports[i - 1])) tidings__guard_poke(s, first + i);
    if (to_guards || (error && error != -EINPROGRESS)) return true;
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t i = (from + n) % count;
        if (!ended.reports[i]) continue;
        budget->settled_index = first + i;
        budget->settled = ended.reports[i];
        if (!report_in_time(center, first + i, budget)) return false;
    }
    return true;
}

void tidings__report_all(tidings_center *center, tidings__report_budget *budget) {
    if (!tidings__may_report(center)) return;
    const uint32_t end = tidings__presence_end(&center->segment);
    const uint32_t batches = (end + TIDINGS__ENDED_MAX - 1) / TIDINGS__ENDED_MAX;
    // From another one each time: if reports that take long can't be posted, the others have their turn.
    const uint64_t from = tidings__monotonic_ns();
    for (uint32_t n = 0; n < batches; n++) {
        const uint32_t first = (uint32_t)((from + n) % batches) * TIDINGS__ENDED_MAX;
        const uint32_t count = end - first < TIDINGS__ENDED_MAX ? end - first : TIDINGS__ENDED_MAX;
        if (!report_some(center, first, count, (uint32_t)(from % count), budget)) return;
    }
}
