// Posting: claim, write, ring, commit. README.md, "Post".
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "center/center.h"
#include "center/ends.h"
#include "eviction/backpressure.h"
#include "eviction/evict.h"
#include "eviction/name_registration.h"
#include "eviction/pending_claim.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "platform/futex.h"
#include "posting/payload_chunk.h"
#include "posting/publisher.h"
#include "registry/doorbell.h"
#include "registry/prefixes.h"
#include "ring/chunk.h"
#include "ring/verdict.h"

// Those who look at more than this name. After the claim, so that who joined a prefix before G was read is met.
static __attribute__((noinline)) uint32_t ring_others(const tidings_publisher *publisher, uint64_t resolved) {
    tidings__segment *s = &publisher->center->segment;
    uint32_t rung = resolved & TIDINGS__RESOLVED_ALL ? tidings__ring_members(s, &s->names[TIDINGS__NAME_ALL]) : 0,
             entry;
    if (!(resolved & TIDINGS__RESOLVED_PREFIX)) return rung;
    tidings__prefix_walk walk = tidings__prefixes(s);
    while ((entry = tidings__prefix_next_of(s, &walk, tidings__publisher_name(publisher),
                                            publisher->key.name_length)) != TIDINGS__NAME_NONE)
        rung += tidings__ring_members(s, &s->names[entry]);
    return rung;
}

// Rings everybody asleep who looks at what was resolved; how many.
static uint32_t ring(const tidings_publisher *publisher, uint64_t resolved) {
    tidings__segment *s = &publisher->center->segment;
    uint32_t rung = 0;
    tidings__name *name = tidings__name_at(s, (uint32_t)resolved);
    if (name) rung += tidings__ring_members(s, name);
    uint32_t with_subject = tidings__resolved_subject(resolved);
    if (with_subject && (name = tidings__name_at(s, with_subject)) != NULL) rung += tidings__ring_members(s, name);
    if (resolved & (TIDINGS__RESOLVED_ALL | TIDINGS__RESOLVED_PREFIX)) rung += ring_others(publisher, resolved);
    return rung;
}

// Ringing took so long that the first observers awake wait for the commit, asleep on the claim. They look again after
// a step of at most a sixteenth of the revoke timeout; this wakes them sooner. Not in an observable center: readers
// can sleep on the claim in any number, and the poster would wake them all.
#define MANY_RUNG 4
static inline void wake_claim_waiters(const tidings__claim *claim, uint32_t rung) {
    if (__builtin_expect(rung > MANY_RUNG, 0)) tidings__futex_wake(tidings__claim_futex(claim->cell), INT_MAX);
}

#define WATCH_MOST 16u  // positions a post, more than one so that it catches up with what others post
#define WATCH_BEHIND 256u

// Readers can't revoke what its poster doesn't finish, and there may be nobody else to observe: the next who post do it
// for them. Other threads of this process do the same with the same two words; whatever comes of that, a post that is
// revoked too early is posted anew.
static void watch_for_readers(tidings_center *center, uint64_t position) {
    tidings__segment *s = &center->segment;
    uint64_t at = tidings__relaxed(&center->watch);
    if ((int64_t)(position - at) > (int64_t)WATCH_BEHIND || (int64_t)(position - at) < 0)
        at = position > WATCH_BEHIND ? position - WATCH_BEHIND : 0;
    const uint64_t from = at;
    tidings__slot_state finding = TIDINGS__VOID;
    while (at < position && at - from < WATCH_MOST && (finding = tidings__slot_status(s, at)) != TIDINGS__CLAIMED) at++;
    if (at != from) tidings__set_relaxed(&center->watched_since, 0);
    tidings__set_relaxed(&center->watch, at);
    if (at == position || finding != TIDINGS__CLAIMED) return;
    const uint64_t now = tidings__monotonic_ns(), since = tidings__relaxed(&center->watched_since);
    if (since == 0)
        tidings__set_relaxed(&center->watched_since, now);
    else if (now - since > tidings__revoke_timeout(s, at))
        tidings__revoke(s, at);
}

// There was nothing to claim (`error` says why): makes room. 0: try again.
static __attribute__((noinline)) int make_room(tidings_center *center, uint32_t owner, tidings__thread *thread,
                                               uint64_t deadline, int error, uint32_t *passed) {
    // It may have been set for a claim that somebody else got.
    if (!(owner & TIDINGS__W_FOREIGN)) tidings__pending_clear(thread);
    if (error == -EBUSY)
        return tidings__fail(EBUSY,
                             "can't post to center \"%s\": each of its %u slots is held by a post that doesn't end; "
                             "let them go on, or remove the center",
                             center->segment.name, center->segment.shape.slots);
    if (error != -EAGAIN)
        return tidings__fail(EBADMSG, "can't post to center \"%s\": its ring contradicts itself; remove the center",
                             center->segment.name);
    uint32_t holder = 0;
    error = tidings__make_room(center, tidings__relaxed(&center->hint), &holder);
    return error == -EAGAIN ? tidings__held_back(center, holder, deadline, passed) : error;
}

// Inlined, as a post is not much more than this.
static inline __attribute__((always_inline)) int claim_position(tidings_center *center, uint32_t owner,
                                                                tidings__thread *thread, uint64_t deadline,
                                                                bool followed, tidings__claim *claim) {
    for (uint32_t held = 0, passed = 0;;) {
        int error = tidings__claim_next(&center->segment, &center->hint, owner, thread, followed, &held, claim);
        if (__builtin_expect(error == 0, 1)) return 0;
        error = make_room(center, owner, thread, deadline, error, &passed);
        if (error) return error;
    }
}

#define WITHOUT_NAME (~(UINT64_C(0xff) << 56))  // a poster word when the name entry has the text

static int begin(tidings_publisher *publisher, tidings__thread *thread, size_t size) {
    tidings_center *center = publisher->center;
    tidings__segment *s = &center->segment;
    int error = tidings__center_check(center, thread);
    if (error) return error;
    if (size > s->shape.maximum_payload)
        return tidings__fail(EMSGSIZE,
                             "can't post %zu bytes under \"%.*s\" to center \"%s\": its maximum is %llu; create it "
                             "with a larger maximum_payload",
                             size, (int)publisher->key.name_length, publisher->key.name, s->name,
                             (unsigned long long)s->shape.maximum_payload);
    if (!s->writable) return tidings__center_read_only(center, "post to");
    if (tidings__end_known(center)) return tidings__end_fail(center, "post to");
    return s->observable ? tidings__publisher_prepare(publisher) : 0;
}

// A name that has to be there once a position is claimed was not: claimed for nothing, and to be added anew. By chance
// seldom twice on end, in a damaged table for ever.
#define ADDED_ANEW 32
static int give_up(const tidings_center *center, tidings__claim *claim, uint32_t owner, tidings__thread *thread,
                   int *times) {
    tidings__abandon(claim, owner, thread);
    if ((*times)++ < ADDED_ANEW) return 0;
    return tidings__fail(
        EBADMSG,
        "can't post to center \"%s\": its table of names is damaged, what is added is not found; remove the center",
        center->segment.name);
}

// What is to be posted, in a cell.
typedef struct posting {
    tidings_publisher *publisher;
    tidings__thread *thread;
    const void *payload;
    size_t size;
    uint64_t deadline, time;
    uint32_t owner;
    uint8_t format;
} posting;

#define AGAIN 1  // revoked, or given up: to be claimed anew

// A post that is stopped for milliseconds is revoked, and posted anew; one that is revoked so often is revoked by a
// peer that is there for that.
#define REVOKED_MOST 1000
static int revoked_again(const tidings_center *center) {
    return tidings__fail(EBUSY,
                         "can't post to center \"%s\": peers revoked this post %d times; see with `tidings stat` which "
                         "processes have the center open, end the faulty one, and remove the center",
                         center->segment.name, REVOKED_MOST);
}

// What an earlier try of the same post has found a name to stand for. In a damaged table looking it up can take so long
// that whoever waits for the claim revokes it, and each further try as well, if the topic can't keep what it found (G
// was set back).
typedef struct resolution {
    bool known;
    uint64_t generation, resolved;
} resolution;

static uint64_t resolved_again(tidings_publisher *publisher, resolution *before) {
    _Atomic uint64_t *word = &publisher->center->segment.header->generation.word;
    const uint64_t generation = tidings__acquire(word);
    if (before->known && before->generation == generation) return before->resolved;
    const uint64_t resolved = tidings__resolved(publisher);
    tidings__fence_acquire();
    *before = (resolution){tidings__acquire(word) == generation, generation, resolved};
    return resolved;
}

#ifdef MUTANT_POSTERS_SHARE_A_LOCK  // Found by: fault-injection a_small_post
static _Atomic uint64_t *shared_lock(const tidings__segment *s) {
    return (_Atomic uint64_t *)(void *)&s->observers[s->shape.observers - 1].unused[1];
}
#endif

// One try. 0, AGAIN, or why not. Inlined where `observable` is a constant, and where nothing is kept for a second try:
// this is the path that every post takes.
static inline __attribute__((always_inline)) int attempt(const posting p, bool observable, int *anew,
                                                         resolution *before, tidings__claim *claim, uint32_t *rung) {
    tidings_publisher *publisher = p.publisher;
    tidings_center *center = publisher->center;
    // Only what it was last: nothing hangs on it but speed.
    const bool followed = tidings__relaxed(&publisher->resolved) != 0;
    int error = claim_position(center, p.owner, p.thread, p.deadline, followed, claim);
    if (__builtin_expect(error != 0, 0)) return error;
    // The claim was a full barrier: whoever registers after this look at G finds our claim, and begins after it.
    uint64_t resolved = before ? resolved_again(publisher, before) : tidings__resolved(publisher);
    if (observable && !tidings__publisher_registered(publisher, resolved)) {
        error = give_up(center, claim, p.owner, p.thread, anew);
        if (!error) error = tidings__publisher_register(publisher);
        return error ? error : AGAIN;
    }
    uint32_t name = (uint32_t)resolved;
    tidings__cell *cell = claim->cell;
#ifdef MUTANT_COMMIT_BEFORE_RECORD  // Found by: interleaving one_post; fault-injection a_small_post
    tidings__set_release(&cell->commit, tidings__c_of(claim->position, claim->phase));
#endif
    // The claim before the first word: a reader of the previous lap who sees one of our words sees our claim.
    tidings__fence_release();
    tidings__set_relaxed(&cell->time, p.time);
    tidings__set_relaxed(&cell->size_pid, center->pid | p.size);
    tidings__set_relaxed(&cell->route, tidings__route_word(name, tidings__resolved_subject(resolved), 0, p.format));
    _Atomic uint64_t *body = cell->body;
#ifndef MEASURE_WITHOUT_PAYLOAD  // Measured by: Benchmarks/Regressions/without
    tidings__body_write(body, p.payload, p.size);
#endif
    body += tidings__round8(p.size) / 8;
    if (name == TIDINGS__NAME_NONE) {
        tidings__set_relaxed(&cell->poster, center->poster | publisher->poster);
#ifndef MEASURE_WITHOUT_NAME  // Measured by: Benchmarks/Regressions/without
        tidings__text_write(body, publisher->text, publisher->name_words + publisher->subject_words);
#endif
    } else {
        tidings__set_relaxed(&cell->poster, center->poster | (publisher->poster & WITHOUT_NAME));
        tidings__text_write(body, &publisher->text[publisher->name_words], publisher->subject_words);
    }
#ifdef MUTANT_RING_AFTER_COMMIT  // Found by: interleaving dead_poster; fault-injection a_small_post
    const bool committed = tidings__commit(claim, p.owner, p.thread);
    if (resolved) *rung = ring(publisher, resolved);
    return committed ? 0 : AGAIN;
#endif
    // Before the commit: if we die here nobody was promised anything, and after it everybody has been rung.
    if (resolved) *rung = ring(publisher, resolved);
    if (observable) tidings__publisher_wake_readers(publisher);
    return __builtin_expect(tidings__commit(claim, p.owner, p.thread), 1) ? 0 : AGAIN;
}

// As often as it takes: for who was revoked, and in a center that others may read.
static __attribute__((noinline)) int post_anew(const posting *p, uint64_t *sequence) {
    tidings_publisher *publisher = p->publisher;
    tidings_center *center = publisher->center;
    const bool observable = center->segment.observable;
    tidings__claim claim;
    uint32_t rung = 0;
    resolution before = {0};
    int anew = 0, result = AGAIN;
    for (int tries = 0; result == AGAIN && tries < REVOKED_MOST; tries++)
        result = attempt(*p, observable, &anew, &before, &claim, &rung);
    if (result == AGAIN) result = revoked_again(center);
    tidings__fence_compiler();
    p->thread->inside--;
    if (result) return result;
    if (observable)
        watch_for_readers(center, claim.position);
    else
        wake_claim_waiters(&claim, rung);
    if (sequence) *sequence = claim.position;
    return 0;
}

static inline posting begun(tidings_publisher *publisher, tidings__thread *thread, const void *payload, size_t size,
                            const tidings_post_options *options, uint64_t time) {
    tidings_center *center = publisher->center;
    const uint64_t deadline = options && options->deadline_ns ? tidings__deadline(options) : 0;
    thread->inside++;
    tidings__fence_compiler();
    return (posting){publisher,
                     thread,
                     payload,
                     size,
                     deadline,
                     time,
                     tidings__owner(center, thread),
                     options ? options->format : 0};
}

// What doesn't go the straight way: it may be too large for a cell, or for anything, or somewhere where nothing can be
// posted.
static __attribute__((noinline)) int post_otherwise(tidings_publisher *publisher, const void *payload, size_t size,
                                                    const tidings_post_options *options, uint64_t *sequence) {
    tidings__thread *thread = tidings__thread_self();
    tidings_center *center = publisher->center;
    int error = begin(publisher, thread, size);
    if (error) return error;
    if (tidings__fits_cell(publisher, size) && !(options && options->flags)) {
        const uint64_t time = tidings__stamp(thread);
        if (tidings__end_due(center, thread) && (error = tidings__end_ask(center, thread)) != 0) return error;
        const posting p = begun(publisher, thread, payload, size, options, time);
        return post_anew(&p, sequence);
    }
    // Clearing a value takes no place, or there would be no way out when kept values have taken all there are.
    if (options && options->flags & TIDINGS__POST_CLEAR && size == 0 && tidings__fits_cell(publisher, 0))
        return tidings__post_chunk(publisher, TIDINGS__NO_CHUNK, 0, options, sequence);
    uint32_t chunk;
    error = tidings__take_chunk(center, TIDINGS__CHUNK_HEADER + tidings__round8(size) + tidings__text_size(publisher),
                                tidings__deadline(options), &chunk);
    if (error) return error;
    uint64_t capacity;
    if (size) memcpy(tidings__chunk_bytes(&center->segment, chunk, &capacity) + TIDINGS__CHUNK_HEADER, payload, size);
    return tidings__post_chunk(publisher, chunk, size, options, sequence);
}

int tidings_post(tidings_publisher *publisher, const void *payload, size_t size, const tidings_post_options *options,
                 uint64_t *sequence) {
#ifdef MUTANT_SLOW_POST  // Found by: instructions post_64
    for (volatile int turns = 0; turns < 6; turns++) {}
#endif
    if (__builtin_expect(size >= publisher->inline_limit || (options && options->flags), 0))
        return post_otherwise(publisher, payload, size, options, sequence);
    tidings__thread *thread = tidings__thread_self();
    tidings_center *center = publisher->center;
    int error = tidings__center_check(center, thread);
    if (__builtin_expect(error != 0, 0)) return error;
    uint64_t time = tidings__stamp(thread);
    if (__builtin_expect(tidings__end_due(center, thread), 0) && (error = tidings__end_ask(center, thread)) != 0)
        return error;
    const posting p = begun(publisher, thread, payload, size, options, time);
    tidings__claim claim = {0};
    uint32_t rung = 0;
#ifdef MUTANT_POSTERS_SHARE_A_LOCK
    for (uint64_t free = 0; !tidings__cas(shared_lock(&center->segment), &free, 1); free = 0) {}
#endif
    error = attempt(p, false, NULL, NULL, &claim, &rung);
#ifdef MUTANT_POSTERS_SHARE_A_LOCK
    tidings__set_release(shared_lock(&center->segment), 0);
#endif
    if (__builtin_expect(error == AGAIN, 0)) {
        const posting again = p;  // only this one has an address
        return post_anew(&again, sequence);
    }
    tidings__fence_compiler();
    thread->inside--;
    if (__builtin_expect(error != 0, 0)) return error;
    wake_claim_waiters(&claim, rung);
    if (sequence) *sequence = claim.position;
    return 0;
}

int tidings__post_chunk(tidings_publisher *publisher, uint32_t chunk, size_t size, const tidings_post_options *options,
                        uint64_t *sequence) {
    tidings_center *center = publisher->center;
    tidings__segment *s = &center->segment;
    tidings__thread *thread = tidings__thread_self();
    const bool in_chunk = chunk != TIDINGS__NO_CHUNK;
    uint8_t flags = in_chunk ? TIDINGS__RECORD_CHUNK : 0;
    if (options && options->flags & TIDINGS_POST_IMMEDIATE) flags |= TIDINGS__RECORD_IMMEDIATE;
    uint32_t entry = TIDINGS__NAME_NONE;
    int error = 0;
    if (options && options->flags & TIDINGS_POST_RETAIN) {
        flags |= TIDINGS__RECORD_RETAIN | (options->flags & TIDINGS__POST_CLEAR ? TIDINGS__RECORD_CLEAR : 0);
        // The entry must be there before the record is: eviction moves the value to it.
        error = publisher->subject_words ? tidings__state_subject(publisher)
                                         : tidings__join_name(center, &publisher->key, TIDINGS__TO_RETAIN, &entry);
    } else if (s->observable) {
        error = tidings__publisher_prepare(publisher);
    }
    uint64_t deadline = tidings__deadline(options);
    uint64_t time = tidings__stamp(thread);
    if (tidings__end_due(center, thread) && !error) error = tidings__end_ask(center, thread);
    uint64_t capacity;
    uint8_t *bytes = in_chunk ? tidings__chunk_bytes(s, chunk, &capacity) : NULL;
    if (in_chunk)
        memcpy(bytes + TIDINGS__CHUNK_HEADER + tidings__round8(size), publisher->text, tidings__text_size(publisher));

    thread->inside++;
    tidings__fence_compiler();
    uint32_t owner = tidings__owner(center, thread);
    tidings__claim claim;
    resolution before = {0};
    uint32_t rung = 0;
    bool done = false;
    for (int anew = 0, tries = 0; !error && !done; tries++) {
        if (tries == REVOKED_MOST) error = revoked_again(center);
        if (error) break;
        error = claim_position(center, owner, thread, deadline, true, &claim);
        if (error) break;
        if ((claim.position & TIDINGS__CHUNK_NOWHERE) == TIDINGS__CHUNK_NOWHERE) {
            // In a chunk's word this position reads "not claimed yet", and the chunk would never be free again. Once in
            // 2^48 positions.
            tidings__abandon(&claim, owner, thread);
            continue;
        }
        uint64_t resolved = resolved_again(publisher, &before);
        if (flags & TIDINGS__RECORD_RETAIN) {
            if (!tidings__name_stays(s, entry, &publisher->key)) {
                // Taken out of a full table between joining and claiming: a value without an entry would be lost with
                // its eviction.
                error = give_up(center, &claim, owner, thread, &anew);
                if (!error) error = tidings__join_name(center, &publisher->key, TIDINGS__TO_RETAIN, &entry);
                continue;
            }
            resolved = (resolved & ~UINT64_C(0xffffffff)) | entry;
        }
        if (s->observable && !tidings__publisher_registered(publisher, resolved)) {
            error = give_up(center, &claim, owner, thread, &anew);
            if (!error) error = tidings__publisher_register(publisher);
            continue;
        }
        tidings__cell *cell = claim.cell;
        tidings__fence_release();
        uint64_t header[4] = {time, center->pid | size,
                              center->poster | (in_chunk ? publisher->poster : publisher->poster & WITHOUT_NAME),
                              tidings__route_word((uint32_t)resolved, tidings__resolved_subject(resolved), flags,
                                                  options ? options->format : 0)};
        tidings__set_relaxed(&cell->time, header[0]);
        tidings__set_relaxed(&cell->size_pid, header[1]);
        tidings__set_relaxed(&cell->poster, header[2]);
        tidings__set_relaxed(&cell->route, header[3]);
        if (in_chunk) {
            tidings__set_relaxed(&cell->body[0], chunk);
            memcpy(bytes, header, sizeof header);
            tidings__chunk_claimed(s, center->participant, chunk, claim.position);
        } else {
            tidings__text_write(cell->body, &publisher->text[publisher->name_words], publisher->subject_words);
        }
        if (resolved) rung = ring(publisher, resolved);
        if (s->observable) tidings__publisher_wake_readers(publisher);
        done = tidings__commit(&claim, owner, thread);
    }
    tidings__fence_compiler();
    thread->inside--;
    if (error) {
        if (in_chunk) tidings__chunk_release(s, center->participant, chunk);
        return error;
    }
    if (in_chunk) tidings__chunk_publish(s, center->participant, chunk, claim.position);
    if (s->observable)
        watch_for_readers(center, claim.position);
    else
        wake_claim_waiters(&claim, rung);
    if (sequence) *sequence = claim.position;
    return 0;
}
