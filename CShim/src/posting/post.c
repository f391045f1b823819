// The post path: claim a position, write the record, wake observers, commit. design/1-ring.md.
#include <errno.h>
#include <string.h>

#include "center/center.h"
#include "center/ends.h"
#include "eviction/backpressure.h"
#include "eviction/evict.h"
#include "eviction/name_registration.h"
#include "eviction/pending_claim.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "posting/notice.h"
#include "posting/payload_chunk.h"
#include "posting/publisher.h"
#include "posting/wake.h"
#include "registry/prefixes.h"
#include "ring/chunk.h"
#include "ring/section.h"
#include "ring/verdict.h"

uint32_t tidings__wake_others(const tidings_publisher *publisher, uint64_t resolved) {
    tidings__segment *s = &publisher->center->segment;
    uint32_t woken = 0, entry = tidings__resolved_subject(resolved);
    tidings__name *name = entry ? tidings__name_at(s, entry) : NULL;
    if (name) woken += tidings__ring_members(s, name);
    if (resolved & TIDINGS__RESOLVED_ALL) woken += tidings__ring_members(s, &s->names[TIDINGS__NAME_ALL]);
    if (!(resolved & TIDINGS__RESOLVED_PREFIX)) return woken;
    // An observer of several prefixes that was woken looks at the ring after this post's claim. A peer could put all
    // observers to sleep again for each prefix.
    tidings__observer_set rung = {0};
    tidings__prefix_walk walk = tidings__prefixes(s);
    while ((entry = tidings__prefix_next_of(s, &walk, tidings__publisher_name(publisher),
                                            publisher->key.name_length)) != TIDINGS__NAME_NONE)
        if (tidings__some_asleep(s, &s->names[entry])) woken += tidings__ring_asleep(s, &s->names[entry], &rung);
    return woken;
}

// Positions that one post checks. More than one, so that this process catches up with the posts of other posters. It
// begins at most WATCH_BEHIND positions behind its own post.
#define WATCH_MOST 16u
#define WATCH_BEHIND 256u

// Readers cannot revoke a claim that its poster does not finish, and there may be no participant that observes. So
// later posters revoke it for the readers. Other threads of this process write the same two words without order. The
// worst result is a revocation that comes too early, and that post claims again.
static void watch_for_readers(tidings_center *center, uint64_t position) {
    tidings__segment *s = &center->segment;
    uint64_t at = tidings__relaxed(&center->watch);
    if ((int64_t)(position - at) > (int64_t)WATCH_BEHIND || (int64_t)(position - at) < 0)
        at = position > WATCH_BEHIND ? position - WATCH_BEHIND : 0;
    const uint64_t from = at;
    tidings__slot_state status = TIDINGS__VOID;
    while (at < position && at - from < WATCH_MOST && (status = tidings__slot_status(s, at)) != TIDINGS__CLAIMED) at++;
    if (at != from) tidings__set_relaxed(&center->watched_since, 0);
    tidings__set_relaxed(&center->watch, at);
    if (at == position || status != TIDINGS__CLAIMED) return;
    const uint64_t now = tidings__monotonic_ns(), since = tidings__relaxed(&center->watched_since);
    if (since == 0)
        tidings__set_relaxed(&center->watched_since, now);
    else if (now - since > tidings__revoke_timeout(s, at))
        tidings__revoke(s, at);
}

// Claiming failed with `error`: evicts positions to make room. Returns 0 if the caller shall try again.
static __attribute__((noinline)) int make_room(tidings_center *center, uint32_t owner, tidings__thread *thread,
                                               uint64_t deadline, int error, tidings__effort *effort) {
    // The pending word may still be set for a claim whose CAS another poster won.
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
    error = tidings__make_room(center, tidings__relaxed(&center->hint), effort, &holder);
    return error == -EAGAIN ? tidings__held_back(center, holder, deadline, effort) : error;
}

// So often the room that this post made may be used by other posts, while it does not wait. A thread that is stopped in
// between finds it used, but not so often.
#define ROUNDS_MOST 256u

// `effort`: NULL for the first try of a post.
static __attribute__((noinline)) int claim_position(tidings_center *center, tidings__thread *thread, uint32_t owner,
                                                    bool followed, uint64_t deadline, tidings__effort *effort,
                                                    tidings__claim *claim) {
    const tidings__claimant by = {&center->segment, thread, &center->hint, owner, followed};
    tidings__effort own = {0};
    if (!effort) effort = &own;
    for (uint32_t held = 0;;) {
        int error = tidings__claim_next(&by, &held, claim);
        if (__builtin_expect(error == 0, 1)) return 0;
        error = make_room(center, owner, thread, deadline, error, effort);
        if (error) return error;
        if (tidings__effort_over(effort, ROUNDS_MOST))
            return tidings__fail(EBUSY,
                                 "can't post to center \"%s\": other processes use all room that this post makes; try "
                                 "again, or let them post less",
                                 center->segment.name);
    }
}

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

// How often a post has abandoned its position, and its thread's processor time at the first time.
typedef struct abandoned {
    int times;
    uint64_t since;
} abandoned;

// A name entry that must exist after the claim is missing: abandons the position, and the caller adds the entry again.
// In a full table, posters of names that no process observes take each other's entries, perhaps many times in a row. In
// a damaged table it would never end. To add an entry may take a walk along the whole table.
#define ADDED_ANEW_LEAST 4
#define ADDED_ANEW_NS 5000000
static int give_up(const tidings_center *center, tidings__claim *claim, uint32_t owner, tidings__thread *thread,
                   abandoned *abandoned) {
    tidings__abandon(claim, owner, thread);
    const uint64_t now = tidings__thread_ns();
    if (abandoned->times == 0) abandoned->since = now;
    if (abandoned->times++ < ADDED_ANEW_LEAST || now - abandoned->since < ADDED_ANEW_NS) return 0;
    return tidings__fail(
        EBADMSG,
        "can't post to center \"%s\": what is added to its table of names is gone at once: the table is full and other "
        "posts take each entry, or it is damaged; use fewer names, or create the center anew with more",
        center->segment.name);
}

// The arguments of a post.
typedef struct posting {
    tidings_publisher *publisher;
    tidings__thread *thread;
    const void *payload;
    uint8_t *chunk_bytes;  // the chunk that holds payload and text, if the post has one
    size_t size;
    const tidings_post_options *options;  // or NULL
    uint64_t time;
    uint32_t owner;
    uint32_t chunk;  // TIDINGS__NO_CHUNK: the payload goes into the cell
    uint8_t flags;
    const tidings__notice *notice;  // NULL: the post is about no participant
} posting;

// The claim was revoked or abandoned: the caller claims another position.
#define AGAIN 1

// A post that is stopped for milliseconds is revoked, and claims again. So many revocations of one post mean a hostile
// peer. A try takes microseconds, but a peer can make each wake all observers for hundreds of prefixes.
#define REVOKED_MOST 1000
#define REVOKED_LEAST 7          // however long they take; the timeout of a revocation doubles five times
#define REVOKED_MOST_NS 5000000  // of processor time
static int revoked_again(const tidings_center *center, int times) {
    return tidings__fail(EBUSY,
                         "can't post to center \"%s\": peers revoked this post %d times; see with `tidings stat` which "
                         "processes have the center open, end the faulty one, and remove the center",
                         center->segment.name, times);
}

// What an earlier try of the same post resolved the name to. In a damaged table, resolving can take so long that a
// waiting thread revokes the claim. Without this, each further try would be revoked too if the publisher cannot store
// its result (G was set back).
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
    return (_Atomic uint64_t *)(void *)&s->observers[s->shape.observers - 1].progress;
}
#endif

// What the tries of one post pass on. `entry`: of a retained record, the entry that it needs.
typedef struct progress {
    tidings__claim claim;
    uint64_t deadline;
    uint32_t woken, entry;
    abandoned abandoned;
    tidings__effort effort;
    resolution before;
} progress;

// Invariant N8: a record that needs its entry is committed only if the entry is still the name's after the claim. If it
// is not, abandons the position, adds the entry again, and returns AGAIN. A retained record needs the entry that
// eviction moves its value to; in an observable center each record needs the entry that counts it.
static __attribute__((noinline)) int keep_entries(const posting *p, progress *at, uint64_t *resolved) {
    tidings_publisher *publisher = p->publisher;
    tidings_center *center = publisher->center;
    tidings__segment *s = &center->segment;
    const bool retain = p->flags & TIDINGS__RECORD_RETAIN;
    if (!retain || tidings__name_stays(s, at->entry, &publisher->key)) {
        if (retain) *resolved = (*resolved & ~UINT64_C(0xffffffff)) | at->entry;
        if (!s->observable || tidings__publisher_registered(publisher, *resolved)) return 0;
    }
    int error = give_up(center, &at->claim, p->owner, p->thread, &at->abandoned);
    if (!error && retain) error = tidings__join_name(center, &publisher->key, TIDINGS__TO_RETAIN, &at->entry);
    if (!error && s->observable) error = tidings__publisher_register(publisher);
    return error ? error : AGAIN;
}

// Writes the header's copy into the chunk, and gives the chunk its position. The caller has written payload and text.
static void fill_chunk(const posting *p, const tidings__claim *claim, const tidings__record_header *header) {
    tidings_center *center = p->publisher->center;
    tidings__set_relaxed(&claim->cell->body[0], p->chunk);
    memcpy(p->chunk_bytes, header, sizeof *header);
    if (TIDINGS__RESERVED) memset(p->chunk_bytes + sizeof *header, 0xa5, TIDINGS__CHUNK_HEADER - sizeof *header);
    tidings__chunk_claimed(&center->segment, center->participant, p->chunk, claim->position);
}

// One try to post: claim, write, wake, commit. Returns 0, AGAIN or an error. Inlined twice. With a constant `plain` it
// is the path of most posts: into a cell, without flags, in a center that is not observable.
static inline __attribute__((always_inline)) int attempt(const posting *p, bool plain, progress *at) {
    tidings_publisher *publisher = p->publisher;
    tidings_center *center = publisher->center;
    tidings__claim *claim = &at->claim;
    tidings__segment *s = &center->segment;
    const bool in_chunk = !plain && p->chunk != TIDINGS__NO_CHUNK;
    // `resolved` is loaded relaxed, and possibly stale: used only as a prefetch hint.
    const tidings__claimant by = {.segment = s,
                                  .thread = p->thread,
                                  .hint = &center->hint,
                                  .owner = p->owner,
                                  .followed = tidings__relaxed(&publisher->resolved) != 0};
    int error = 0;
    if (__builtin_expect(!tidings__claim_usual(&by, tidings__oldest(s), claim), 0)) {
        tidings__claim searched;  // only its address is taken: `claim` can stay in registers
        error = claim_position(center, p->thread, p->owner, by.followed,
                               plain ? tidings__deadline(p->options) : at->deadline, plain ? NULL : &at->effort,
                               &searched);
        if (error) return error;
        *claim = searched;
    }
    if (in_chunk && (claim->position & TIDINGS__CHUNK_NOWHERE) == TIDINGS__CHUNK_NOWHERE) {
        // In a chunk word this position reads "not claimed yet", and the chunk would never be free again. Happens once
        // in 2^48 positions.
        tidings__abandon(claim, p->owner, p->thread);
        return AGAIN;
    }
    // Invariant P3: the claim was a full barrier. A participant that takes the report over changes it first and reads
    // the ring afterwards. So it finds this claim, or this load finds its change.
    const tidings__notice *notice = plain ? NULL : p->notice;
#ifndef MUTANT_REPORT_UNCHECKED_AFTER_CLAIM  // Found by: interleaving a_report_taken_over
    if (notice && tidings__acquire(notice->report) != notice->expected) {
        tidings__abandon(claim, p->owner, p->thread);
        return -ECANCELED;
    }
#endif
    // Invariant N2: the claim was a full barrier. An observer that registers after this load of G finds our claim, and
    // begins after it.
    uint64_t resolved = plain ? tidings__resolved(publisher) : resolved_again(publisher, &at->before);
    if (!plain && (p->flags & TIDINGS__RECORD_RETAIN || s->observable) && (error = keep_entries(p, at, &resolved)) != 0)
        return error;
    const uint32_t name = tidings__resolved_name(resolved);
    tidings__cell *cell = claim->cell;
#ifdef MUTANT_COMMIT_BEFORE_RECORD  // Found by: interleaving one_post; fault-injection a_small_post
    tidings__set_release(&cell->commit, tidings__c_of(claim->position, claim->phase));
#endif
    // Release fence: orders the claim before the record's first word. A reader of the previous lap that sees one of our
    // words also sees our claim.
    tidings__fence_release();
    // Invariant N3: the record carries the number of its name's entry. The name's text is left out then; a chunk always
    // has it.
    const bool named = in_chunk || name == TIDINGS__NAME_NONE;
    const tidings__record_header header = {p->time, (notice ? notice->pid : center->pid) | p->size,
                                           (notice ? notice->poster : center->poster) |
                                               (named ? publisher->poster : publisher->poster & TIDINGS__WITHOUT_NAME),
                                           tidings__route_word(name, tidings__resolved_subject(resolved),
                                                               plain ? 0 : p->flags,
                                                               p->options ? p->options->format : 0)};
    tidings__header_write(cell, header);
    if (in_chunk) {
        fill_chunk(p, claim, &header);
    } else {
        _Atomic uint64_t *body = cell->body;
#ifndef MEASURE_WITHOUT_PAYLOAD  // Measured by: Benchmarks/Regressions/without
        tidings__body_write(body, p->payload, p->size);
#endif
        body += tidings__round8(p->size) / 8;
        if (named) {
#ifndef MEASURE_WITHOUT_NAME  // Measured by: Benchmarks/Regressions/without
            tidings__text_write(body, publisher->text, publisher->name_words + publisher->subject_words);
#endif
        } else {
            tidings__text_write(body, &publisher->text[publisher->name_words], publisher->subject_words);
        }
        if (!plain && p->flags & TIDINGS__RECORD_SECTIONS)
            tidings__sections_write(body + (named ? publisher->name_words : 0) + publisher->subject_words, p->options);
    }
#ifdef MUTANT_RING_AFTER_COMMIT  // Found by: interleaving dead_poster; fault-injection a_small_post
    const bool committed = tidings__commit(claim, p->owner, p->thread);
    if (resolved) at->woken = tidings__wake(publisher, resolved);
    return committed ? 0 : AGAIN;
#endif
    // Invariant W2: wakes before the commit. If this poster dies before its commit, no record is owed; if it dies after
    // it, all observers have been woken.
    if (resolved) at->woken = tidings__wake(publisher, resolved);
    if (!plain && s->observable) tidings__publisher_wake_readers(publisher);
    return __builtin_expect(tidings__commit(claim, p->owner, p->thread), 1) ? 0 : AGAIN;
}

// Claims again until the post is committed, or was revoked too often. For revoked posts, and for all posts that are
// not plain. `entry`: see `progress`.
static __attribute__((noinline)) int post_anew(const posting *p, uint32_t entry, uint64_t *sequence) {
    tidings_center *center = p->publisher->center;
    progress at = {.entry = entry, .deadline = tidings__deadline(p->options)};
    int result = attempt(p, false, &at), tries = 1;
    if (result == AGAIN) {
        const uint64_t begun = tidings__thread_ns();
        for (; result == AGAIN && tries < REVOKED_MOST; tries++) {
            if (tries >= REVOKED_LEAST && tidings__thread_ns() - begun >= REVOKED_MOST_NS) break;
            result = attempt(p, false, &at);
        }
        if (result == AGAIN) result = revoked_again(center, tries);
    }
    tidings__fence_compiler();
    p->thread->inside--;
    if (result) return result;
    if (p->chunk != TIDINGS__NO_CHUNK)
        tidings__chunk_publish(&center->segment, center->participant, p->chunk, at.claim.position);
    if (center->segment.observable)
        watch_for_readers(center, at.claim.position);
    else
        tidings__wake_claim_waiters(at.claim.cell, at.woken);
    if (sequence) *sequence = at.claim.position;
    return 0;
}

// The arguments of a post without a chunk and flags. From here on, this thread is inside a post.
static inline posting begun(tidings_publisher *publisher, tidings__thread *thread, const void *payload, size_t size,
                            const tidings_post_options *options, uint64_t time) {
    thread->inside++;
    tidings__fence_compiler();
    return (posting){.publisher = publisher,
                     .thread = thread,
                     .payload = payload,
                     .size = size,
                     .options = options,
                     .time = time,
                     .owner = tidings__owner(publisher->center, thread),
                     .chunk = TIDINGS__NO_CHUNK};
}

static int post_chunk(tidings_publisher *publisher, uint32_t chunk, size_t size, const tidings_post_options *options,
                      const tidings__notice *notice, uint64_t *sequence);

// Slow path: payloads in chunks, options, notices, read-only or observable centers, and errors.
static __attribute__((noinline)) int post_otherwise(tidings_publisher *publisher, const void *payload, size_t size,
                                                    const tidings_post_options *options, const tidings__notice *notice,
                                                    uint64_t *sequence) {
    tidings__thread *thread = tidings__thread_self();
    tidings_center *center = publisher->center;
    int error = begin(publisher, thread, size);
    uint64_t sections = 0;
    if (!error) error = tidings__sections_size(options, &sections);
    if (error) return error;
    if (tidings__fits_cell(publisher, tidings__round8(size) + sections) &&
        !(options && options->flags & ~TIDINGS__POST_OF_SECTIONS)) {
        const uint64_t time = tidings__stamp(thread);
        if (tidings__end_due(center, thread) && (error = tidings__end_ask(center, thread)) != 0) return error;
        posting p = begun(publisher, thread, payload, size, options, time);
        p.notice = notice;
        p.flags = notice ? notice->flags : tidings__sections_flags(options);
        return post_anew(&p, TIDINGS__NAME_NONE, sequence);
    }
    // If the name fits a cell, clearing a value takes no chunk. Otherwise no value could be cleared once retained
    // values fill all chunks.
    if (options && options->flags & TIDINGS__POST_CLEAR && size == 0 && tidings__fits_cell(publisher, sections))
        return post_chunk(publisher, TIDINGS__NO_CHUNK, 0, options, notice, sequence);
    uint32_t chunk;
    error = tidings__take_chunk(
        center, TIDINGS__CHUNK_HEADER + tidings__round8(size) + tidings__text_size(publisher) + sections,
        tidings__deadline(options), &chunk);
    if (sections && tidings__sections_optional(options) && (error == -EAGAIN || error == -ENOSPC)) {
        tidings_post_options without = *options;
        without.flags &= (uint8_t)~TIDINGS_POST_SECTIONS;
        return post_otherwise(publisher, payload, size, &without, notice, sequence);
    }
    if (error) return error;
    uint64_t capacity;
    if (size) memcpy(tidings__chunk_bytes(&center->segment, chunk, &capacity) + TIDINGS__CHUNK_HEADER, payload, size);
    return post_chunk(publisher, chunk, size, options, notice, sequence);
}

int tidings__post_notice(tidings_publisher *publisher, const void *payload, size_t size,
                         const tidings_post_options *options, const tidings__notice *notice, uint64_t *sequence) {
    return post_otherwise(publisher, payload, size, options, notice, sequence);
}

int tidings_post(tidings_publisher *publisher, const void *payload, size_t size, const tidings_post_options *options,
                 uint64_t *sequence) {
#ifdef MUTANT_SLOW_POST  // Found by: instructions post_64
    for (volatile int turns = 0; turns < 6; turns++) {}
#endif
    if (__builtin_expect(size >= publisher->inline_limit || (options && options->flags), 0))
        return post_otherwise(publisher, payload, size, options, NULL, sequence);
    tidings__thread *thread = tidings__thread_self();
    tidings_center *center = publisher->center;
    int error = tidings__center_check(center, thread);
    if (__builtin_expect(error != 0, 0)) return error;
    uint64_t time = tidings__stamp(thread);
    if (__builtin_expect(tidings__end_due(center, thread), 0) && (error = tidings__end_ask(center, thread)) != 0)
        return error;
    const posting p = begun(publisher, thread, payload, size, options, time);
    progress at;
    at.woken = 0;
    at.claim = (tidings__claim){0};
#ifdef MUTANT_POSTERS_SHARE_A_LOCK
    for (uint64_t free = 0; !tidings__cas(shared_lock(&center->segment), &free, 1); free = 0) {}
#endif
    error = attempt(&p, true, &at);
#ifdef MUTANT_POSTERS_SHARE_A_LOCK
    tidings__set_release(shared_lock(&center->segment), 0);
#endif
    if (__builtin_expect(error == AGAIN, 0)) {
        // Only this copy has its address taken: `p` can stay in registers.
        const posting again = p;
        return post_anew(&again, TIDINGS__NAME_NONE, sequence);
    }
    tidings__fence_compiler();
    thread->inside--;
    if (__builtin_expect(error != 0, 0)) return error;
    tidings__wake_claim_waiters(at.claim.cell, at.woken);
    if (sequence) *sequence = at.claim.position;
    return 0;
}

static int post_chunk(tidings_publisher *publisher, uint32_t chunk, size_t size, const tidings_post_options *options,
                      const tidings__notice *notice, uint64_t *sequence) {
    tidings_center *center = publisher->center;
    tidings__segment *s = &center->segment;
    tidings__thread *thread = tidings__thread_self();
    const bool in_chunk = chunk != TIDINGS__NO_CHUNK;
    uint8_t flags = (in_chunk ? TIDINGS__RECORD_CHUNK : 0) | tidings__sections_flags(options);
    if (options && options->flags & TIDINGS_POST_IMMEDIATE) flags |= TIDINGS__RECORD_IMMEDIATE;
    uint32_t entry = TIDINGS__NAME_NONE;
    int error = 0;
    if (options && options->flags & TIDINGS_POST_RETAIN) {
        flags |= TIDINGS__RECORD_RETAIN | (options->flags & TIDINGS__POST_CLEAR ? TIDINGS__RECORD_CLEAR : 0);
        // The name entry must exist before the record: eviction moves the value to it.
        error = publisher->subject_words ? tidings__state_subject(publisher)
                                         : tidings__join_name(center, &publisher->key, TIDINGS__TO_RETAIN, &entry);
    } else if (s->observable) {
        error = tidings__publisher_prepare(publisher);
    }
    const uint64_t time = tidings__stamp(thread);
    if (tidings__end_due(center, thread) && !error) error = tidings__end_ask(center, thread);
    if (!error) {
        posting p = begun(publisher, thread, "", size, options, time);
        p.chunk = chunk;
        p.flags = flags | (notice ? notice->flags : 0);
        p.notice = notice;
        uint64_t capacity;
        if (in_chunk) {
            p.chunk_bytes = tidings__chunk_bytes(s, chunk, &capacity);
            uint8_t *text = p.chunk_bytes + TIDINGS__CHUNK_HEADER + tidings__round8(size);
            memcpy(text, publisher->text, tidings__text_size(publisher));
            if (tidings__sections_given(options))
                tidings__sections_write((_Atomic uint64_t *)(void *)(text + tidings__text_size(publisher)), options);
        }
        error = post_anew(&p, entry, sequence);
    }
    if (error && in_chunk) tidings__chunk_release(s, center->participant, chunk);
    return error;
}

int tidings__post_chunk(tidings_publisher *publisher, uint32_t chunk, size_t size, const tidings_post_options *options,
                        uint64_t *sequence) {
    return post_chunk(publisher, chunk, size, options, NULL, sequence);
}
