// Several posts in one call. design/1-ring.md.
#include "center/ends.h"
#include "eviction/evict.h"
#include "platform/clock.h"
#include "posting/publisher.h"
#include "posting/wake.h"

// The most posts that share one reading of the clock, and one check for the center's end.
#define RUN_MOST 256u

// Rare steps of the loop in `post_run`. They keep the loop's registers, where the compiler can say so.
#if defined(__clang__) && defined(__x86_64__)
#define RARE __attribute__((noinline, cold, preserve_most))
#else
#define RARE __attribute__((noinline, cold))
#endif

// What the posts of a run have in common. The loop reads it in memory, so that its registers are free for the position.
typedef struct run {
    tidings__claimant by;
    tidings_publisher *publisher;
    uint64_t end;  // the position where the run ends
    uint64_t time, pid, inline_limit;
    uint32_t epoch, before, woken;
    uint8_t format;
    // What follows from the resolved name, as of `generation`.
    uint64_t generation, resolved;
    const _Atomic uint64_t *asleep;  // the word of the asleep map that has the members of the name
    uint64_t members;                // in that word
    uint64_t poster, route;          // words of the record's header
    const uint64_t *text;            // what the body has after the payload
    size_t words;
} run;

// Stands for "always ask `tidings__wake`": the members are in several words, or other entries have observers, too.
static const _Atomic uint64_t ask = 1;

static RARE void resolve(run *r) {
    tidings_publisher *publisher = r->publisher;
    tidings_center *center = publisher->center;
    tidings__segment *s = &center->segment;
    r->generation = tidings__acquire(&s->header->generation.word);
    r->resolved = tidings__resolved(publisher);
    r->by.followed = r->resolved != 0;
    const uint32_t entry = tidings__resolved_name(r->resolved);
    // Invariant N3: the record carries the number of its name's entry, and the name's text is left out then.
    const bool named = entry == TIDINGS__NAME_NONE;
    r->poster = center->poster | (named ? publisher->poster : publisher->poster & TIDINGS__WITHOUT_NAME);
    r->route = tidings__route_word(entry, tidings__resolved_subject(r->resolved), 0, r->format);
    r->text = &publisher->text[named ? 0 : publisher->name_words];
    r->words = publisher->subject_words + (named ? publisher->name_words : 0);
    // Invariant N2: a new member moves G on before it reads the frontier. So while G is the same after a claim, the
    // members of the name are these, or fewer.
    const tidings__name *name = tidings__name_at(s, entry);
    const uint32_t words = name ? tidings__member_words(name) : 0;
    if (r->resolved >> 32 != 0 || (words & (words - 1)) != 0) {
        r->asleep = &ask;
        r->members = 1;
    } else {
        const uint32_t word = words ? (uint32_t)__builtin_ctz(words) : 0;
        r->asleep = &s->header->asleep[word];
        r->members = words ? tidings__acquire(&name->members[word]) : 0;
    }
}

// G has moved on since the run began: resolves the name again, for the claim at `position`. G may move on meanwhile, so
// this is the run's last post.
static RARE void resolve_last(run *r, uint64_t position) {
    resolve(r);
    r->end = position + 1;
}

// Observers may sleep on the claim after this (`tidings__wake_claim_waiters`), so the run ends.
static RARE void wake(run *r, uint64_t position) {
    r->woken = tidings__wake(r->publisher, r->resolved);
    if (r->woken > TIDINGS__MANY_WOKEN) r->end = position + 1;
}

// Posts payloads at the positions from `first` on, as long as each payload fits its cell and its position can be
// claimed in the usual way. Returns how many.
static __attribute__((noinline)) size_t post_run(run *r, uint64_t first, const tidings_payload *payload, size_t count) {
    const tidings__segment *s = r->by.segment;
    tidings__header *header = s->header;
    // Invariant R5: E may grow during the run. The run ends before this E + N. It ends with the lap, too.
    const uint64_t ahead = first - tidings__oldest(s), in_lap = first & s->slot_mask;
    if (ahead > s->slot_mask) return 0;
    const uint64_t room = s->shape.slots - (ahead > in_lap ? ahead : in_lap);
    r->end = first + (count < room ? count : room);
    r->before = (uint32_t)(first >> s->slot_shift << 1);
    tidings__cell *cell = tidings__cell_at(s, first);
    uint64_t position = first;
    for (; position < r->end; position++, cell++, payload++) {
        // Without this, clang keeps two pointers per array and spills one.
        __asm__("" : "+r"(cell), "+r"(position), "+r"(payload));
        const uint32_t owner = r->by.owner;
        if (owner & TIDINGS__W_FOREIGN) __builtin_unreachable();  // `begin_run` has checked it
        const size_t size = payload->size;
        // A defence only: a child that was forked in a signal handler must not return from the handler.
        if (size >= r->inline_limit || r->epoch != tidings__relaxed(&tidings__fork_epoch)) break;
        tidings__claim claim;
        if (!tidings__claim_free(&r->by, owner, cell, position, r->before, &claim)) break;
#ifdef MUTANT_BATCH_TELLS_ONE_WORD  // Found by: interleaving dead_poster_of_a_batch
        tidings__pending_set(r->by.thread, &tidings__cell_at(s, first)->claim);
#endif
        // Invariant N2: as in `attempt`. While G is the same, the name is resolved to the same entries.
#ifndef MUTANT_BATCH_KEEPS_ITS_RESOLUTION  // Found by: interleaving a_batch
        if (__builtin_expect(tidings__acquire(&header->generation.word) != r->generation, 0)) resolve_last(r, position);
#endif
        tidings__fence_release();  // as in `attempt`
        tidings__header_write(cell, (tidings__record_header){r->time, r->pid | size, r->poster, r->route});
        tidings__body_write(cell->body, payload->bytes, size);
        tidings__text_write(cell->body + tidings__round8(size) / 8, r->text, r->words);
        // Invariants W1 and W2. Relaxed: the claim's full barrier orders the load.
#ifdef MUTANT_BATCH_CHECKS_FOR_SLEEPERS_ONCE  // Found by: interleaving a_batch
        if (position == first)
#endif
            if (__builtin_expect((tidings__relaxed(r->asleep) & r->members) != 0, 0)) wake(r, position);
        if (__builtin_expect(!tidings__commit_pending(&claim), 0)) break;
    }
    // Invariant R9: until here, the word points to a claim of this run that is committed, or to one that failed.
    tidings__pending_clear(r->by.thread);
    if (position == first) return 0;
    tidings__claim_noted(&r->by, first, position - 1);
    tidings__wake_claim_waiters(cell - 1, r->woken);
    return position - first;
}

// Makes room for a run, and posts it. Returns how many; 0: the first payload has to be posted alone.
static size_t begin_run(run *r, tidings__thread *thread, const tidings_payload *payload, size_t count,
                        uint64_t *sequences) {
    tidings_center *center = r->publisher->center;
    const tidings__segment *s = &center->segment;
    r->by.thread = thread;
    r->by.owner = tidings__owner(center, thread);
    if (r->by.owner & TIDINGS__W_FOREIGN) return 0;
    uint32_t holder;
    const uint64_t first = tidings__relaxed(&center->hint);
    if (first - tidings__oldest(s) >= s->shape.slots &&
        tidings__make_room(center, first, &(tidings__effort){0}, &holder) != 0)
        return 0;
    r->epoch = thread->fork_epoch;
    r->woken = 0;
    resolve(r);
    const size_t done = post_run(r, first, payload, count < RUN_MOST ? count : RUN_MOST);
    for (size_t i = 0; sequences && i < done; i++) sequences[i] = first + i;
    return done;
}

int tidings_post_many(tidings_publisher *publisher, const tidings_payload *payloads, size_t count,
                      const tidings_post_options *options, size_t *posted, uint64_t *sequences) {
    tidings_center *center = publisher->center;
    run r = {.by = {.segment = &center->segment, .hint = &center->hint},
             .publisher = publisher,
             .inline_limit = options && options->flags ? 0 : publisher->inline_limit,
             .pid = center->pid,
             .format = options ? options->format : 0};
    size_t done = 0;
    int error = 0;
    while (done < count) {
        const tidings_payload *payload = &payloads[done];
        uint64_t *sequence = sequences ? &sequences[done] : NULL;
        tidings__thread *thread = tidings__thread_self();
        if (payload->size < r.inline_limit && tidings__center_joined(center, thread)) {
            r.time = tidings__stamp(thread);
            if (tidings__end_due(center, thread) && (error = tidings__end_ask(center, thread)) != 0) break;
            thread->inside++;
            tidings__fence_compiler();
            const size_t run = begin_run(&r, thread, payload, count - done, sequence);
            tidings__fence_compiler();
            thread->inside--;
            done += run;
            if (run != 0) continue;
        }
        // Posted alone: a payload that fits no cell, a revoked position, one that cannot be claimed in the usual way.
        if ((error = tidings_post(publisher, payload->bytes, payload->size, options, sequence)) != 0) break;
        done++;
    }
    if (posted) *posted = done;
    return error;
}
