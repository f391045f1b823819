// Eviction: counts the records of the oldest positions per name, and then frees their slots. design/2-eviction.md. Uses
// both the ring (positions, verdicts) and the registry (tallies, retained values).
#include <errno.h>

#include "center/center.h"
#include "center/ends.h"
#include "center/record_name.h"
#include "eviction/evict.h"
#include "platform/clock.h"
#include "platform/error.h"
#include "platform/futex.h"
#include "registry/observers.h"
#include "registry/participants.h"
#include "registry/prefixes.h"
#include "registry/presence.h"
#include "registry/tally.h"
#include "retained/retained.h"
#include "ring/chunk.h"

// How many records a range holds, per name entry. A record counts for at most two entries: its name, and its name with
// subject.
typedef struct tallies {
    uint32_t used, valid, retained, reported;
    struct {
        uint32_t entry, count;
    } of[2 * TIDINGS__EV_LENGTH_MAX];
    uint64_t retained_at[TIDINGS__EV_LENGTH_MAX];
    // Notices of presence and wills: the participant that each is about.
    struct {
        uint64_t position;
        uint32_t participant, kind;
    } reports[TIDINGS__EV_LENGTH_MAX];
} tallies;

static void tally(tallies *t, uint32_t entry, uint32_t more) {
    if (entry < TIDINGS__NAME_FIRST || more == 0) return;
    for (uint32_t i = t->used; i-- > 0;) {
        if (t->of[i].entry == entry) {
            t->of[i].count += more;
            return;
        }
    }
    t->of[t->used].entry = entry;
    t->of[t->used++].count = more;
}

static void tally_run(tallies *t, uint64_t entries, uint32_t run) {
    t->valid += run;
    tally(t, tidings__route_name(entries), run);
    tally(t, tidings__route_name_subject(entries), run);
}

#define REPORTS (TIDINGS__RECORD_NOTICE | TIDINGS__RECORD_WILL)
// The flags of a route word that `evict_range` acts on.
#define SPECIAL ((uint64_t)(TIDINGS__RECORD_RETAIN | REPORTS) << 24)

static __attribute__((noinline, cold)) void note_report(tallies *t, const tidings__cell *cell, uint64_t position,
                                                        uint32_t flags) {
    tidings__record r;
    tidings__record_read(cell, &r);
    t->reports[t->reported].position = position;
    t->reports[t->reported].participant = r.participant;
    t->reports[t->reported++].kind = flags & REPORTS;
}

// Invariant P4: a participant that takes a report over finds each record of it in the ring, or finds the report moved
// on. So the report moves on before EV leaves the range.
static __attribute__((noinline, cold)) int settle_reports(tidings__segment *s, const tallies *t) {
    const int saved = errno;  // a signal handler may post
    int error = 0;
#ifndef MUTANT_EVICTED_NOTICE_FORGOTTEN  // Found by: interleaving deaths_in_a_full_ring
    // Without presence entries no report waits. If they can't be touched, the range must stay.
    if (tidings__acquire(&s->header->presence_used.word) != 0) error = tidings__back_presence(s);
    for (uint32_t i = 0; error == 0 && i < t->reported; i++)
        tidings__presence_posted(s, t->reports[i].participant, t->reports[i].kind, t->reports[i].position);
#else
    (void)s;
    (void)t;
#endif
    errno = saved;
    return error;
}

static int cannot_read(const tidings__segment *s) {
    return tidings__fail(EBADF,
                         "can't go on in center \"%s\": this program closed a file descriptor that isn't its own, and "
                         "what was posted can't be read; open the center again",
                         s->name);
}

#define FINISHED 1  // another thread finished this range

// NULL: all are in use. A thread has no order on its stack: a signal handler may post, and its stack may be small.
static tidings__chain_order *take_order(tidings_center *center) {
    for (uint32_t i = 0; i < TIDINGS__CHAIN_ORDERS; i++)
        if (!(tidings__relaxed(&center->orders_taken) >> i & 1) &&
            !(tidings__fetch_or(&center->orders_taken, UINT32_C(1) << i) >> i & 1))
            return &center->orders[i];
    return NULL;
}

static void return_order(tidings_center *center, const tidings__chain_order *order) {
    if (order) tidings__fetch_and(&center->orders_taken, ~(UINT32_C(1) << (order - center->orders)));
}

// As `tally_prefixes`, without an order: each name is compared with each prefix.
static __attribute__((noinline, cold)) int tally_each(tidings__segment *s, uint64_t ev, uint64_t start, uint64_t end) {
    tidings__prefix_walk walk = tidings__prefixes(s);
    for (uint32_t entry; (entry = tidings__prefix_next(s, &walk)) != TIDINGS__NAME_NONE;) {
        uint32_t count = 0;
        for (uint64_t position = start; position < end; position++) {
            if (tidings__slot_status(s, position) != TIDINGS__VALID) continue;
            _Atomic uint64_t copy[TIDINGS__NAME_WORDS];
            uint32_t length;
            const _Atomic uint64_t *text = tidings__record_name(s, position, copy, &length);
            if (!text && length == TIDINGS__NAME_UNREADABLE)
                return tidings__acquire(&s->header->eviction.word) != ev ? FINISHED : cannot_read(s);
            count += text && tidings__prefix_fits(&s->names[entry], text, length);
        }
        tidings__fence_acquire();
        if (tidings__acquire(&s->header->eviction.word) != ev) return FINISHED;
        if (count) tidings__tally_add(&s->names[entry].tally, count, end);
    }
    return 0;
}

// Counts the records of the range for each prefix. No record says which prefixes its name has, so the name is looked up
// in the order of the prefixes. Only eviction counts them, once per range. Returns 0, FINISHED or an error.
static __attribute__((noinline)) int tally_prefixes(tidings__segment *s, tidings__chain_order *chain, uint64_t ev,
                                                    uint64_t start, uint64_t end) {
    if (!tidings__chain_order_read(s, chain)) return 0;
    tidings__chain_order_clear(chain);
    const tidings__prefix_order *order = &chain->order;
    uint16_t *marks = chain->marks;
    uint32_t last = TIDINGS__NAME_NONE, fitting = 0;  // consecutive records often have the same name
    for (uint64_t position = start; position < end; position++) {
        if (tidings__slot_status(s, position) != TIDINGS__VALID) continue;
        const uint32_t name = tidings__route_name(tidings__route(tidings__cell_at(s, position)));
        if (name == TIDINGS__NAME_NONE || name != last) {
            _Atomic uint64_t copy[TIDINGS__NAME_WORDS];
            uint32_t length;
            const _Atomic uint64_t *text = tidings__record_name(s, position, copy, &length);
            if (!text && length == TIDINGS__NAME_UNREADABLE)
                return tidings__acquire(&s->header->eviction.word) != ev ? FINISHED : cannot_read(s);
            fitting = text ? tidings__prefix_order_find(order, text, length) : 0;
        }
        last = name;
        marks[fitting]++;
    }
    // Invariant E3, as in `evict_range`. If EV has not moved on, the entries also still serve the same prefixes.
    tidings__fence_acquire();
    if (tidings__acquire(&s->header->eviction.word) != ev) return FINISHED;
#ifndef MUTANT_PREFIX_NOT_COUNTED  // Found by: interleaving prefixes_in_a_full_ring
    for (uint32_t i = order->used; i > 0; i--) {
        if (marks[i] == 0) continue;
        tidings__tally_add(&s->names[order->of[i].entry].tally, marks[i], end);
        marks[order->of[i].outer] += marks[i];
    }
#endif
    return 0;
}

// The first position from `position` on that does not continue a run: most records have the same entries as the record
// before them (`entries`, as in a route word), and are neither retained nor a report. Stops at `end`, and at a lap's
// end.
static inline uint64_t run_end(const tidings__segment *s, uint64_t position, uint64_t end, uint64_t entries) {
    const uint64_t lap_end = (position | s->slot_mask) + 1;
    if (end > lap_end) end = lap_end;
    tidings__cell *cell = tidings__cell_at(s, position);
    while (position < end && tidings__slot_plain(cell, position) &&
           ((tidings__route(cell) ^ entries) & (TIDINGS__ROUTE_ENTRIES | SPECIAL)) == 0)
        position++, cell++;
    return position;
}

// Evicts the range in `ev`, or finds that another thread did so.
static int evict_range(tidings_center *center, uint64_t ev) {
    tidings__segment *s = &center->segment;
    uint64_t start = tidings__ev_start(ev), end = start + tidings__ev_length(ev);
#ifndef MUTANT_EVICTION_LENGTH_UNCHECKED  // Found by: fuzz image
    // Clamp: the shared word is untrusted, `tallies` holds EV_LENGTH_MAX.
    if (end - start > TIDINGS__EV_LENGTH_MAX) end = start + TIDINGS__EV_LENGTH_MAX;
#endif
#ifdef MEASURE_WITHOUT_EVICTION_COUNT  // Measured by: Benchmarks/Regressions/without
    start = end;
#endif
    tallies t;
    t.used = t.valid = t.retained = t.reported = 0;
    uint64_t entries = 0;  // of the current run
    uint32_t run = 0;
    bool revoked = false;
    for (uint64_t position = start;; position++) {
        const uint64_t ended = run_end(s, position, end, entries);
        run += (uint32_t)(ended - position);
        position = ended;
        if (position >= end) break;
        const tidings__cell *cell = tidings__cell_at(s, position);
        tidings__slot_state status = tidings__slot_status(s, position);
        if (status == TIDINGS__CLAIMED) {
            // Invariant E2: revokes all claims of the range, once, so each outcome is final. A position that is still
            // claimed after that is damaged, and is not counted.
            if (!revoked) tidings__revoke_all(s, position, end);
            revoked = true;
            status = tidings__slot_status(s, position);
        }
        if (status == TIDINGS__UNDECIDED || status == TIDINGS__LAPPED) {
            // The position is evicted already, or not yet decided: another thread has finished this range, or EV is
            // damaged.
            if (tidings__acquire(&s->header->eviction.word) != ev) return 0;
            return tidings__fail(
                EBADMSG, "can't go on in center \"%s\": its ring contradicts itself; remove the center", s->name);
        }
        if (status != TIDINGS__VALID) continue;
        const uint64_t route = tidings__route(cell);
        if ((route & TIDINGS__ROUTE_ENTRIES) != entries) {
            tally_run(&t, entries, run);
            entries = route & TIDINGS__ROUTE_ENTRIES;
            run = 0;
        }
        const uint32_t flags = tidings__route_flags(route);
        if (flags & TIDINGS__RECORD_RETAIN) t.retained_at[t.retained++] = position;
        if (flags & REPORTS) note_report(&t, cell, position, flags);
        run++;
    }
    tally_run(&t, entries, run);
    // Invariant E3: slots of the range are not used again before EV has moved on. If EV is unchanged, all records above
    // were read from this lap.
    tidings__fence_acquire();
#ifndef MUTANT_NO_EV_CHECK_BEFORE_COUNTING  // Found by: interleaving a_slow_hand
    if (tidings__seq_cst(&s->header->eviction.word) != ev) return 0;
#endif
    // Invariant E7: this load follows the load of EV in the single order of sequentially consistent operations. A
    // participant that added a prefix and then read EV (`tidings__join_name`) has seen this range, or its prefix is
    // seen here.
    const tidings__prefix_walk prefixes = tidings__prefixes(s);
    if (__builtin_expect(tidings__prefixes_any(&prefixes), 0)) {
        // A signal handler may post, so errno is restored.
        const int saved = errno;
        tidings__chain_order *order = take_order(center);
        const int error = order ? tally_prefixes(s, order, ev, start, end) : tally_each(s, ev, start, end);
        return_order(center, order);
        errno = saved;
        if (error) return error == FINISHED ? 0 : error;
    }
    // Invariant E5: each valid record of the range counts for its entries. All helpers find the same ones.
    for (uint32_t i = 0; i < t.used; i++) {
        tidings__name *name = tidings__name_at(s, t.of[i].entry);
#ifndef MUTANT_EVICTION_COUNTS_NOTHING  // Found by: interleaving turning
        if (name) tidings__tally_add(&name->tally, t.of[i].count, end);
#endif
    }
    if (t.valid) tidings__tally_add(&s->names[TIDINGS__NAME_ALL].tally, t.valid, end);
#ifndef MUTANT_VALUE_NOT_PROMOTED  // Found by: interleaving values_evicted
    // Invariant E8: promoted before EV leaves the range.
    for (uint32_t i = 0; i < t.retained; i++) tidings__retained_promote(s, t.retained_at[i]);
#endif
    if (__builtin_expect(t.reported != 0, 0)) {
        const int error = settle_reports(s, &t);
        if (error) return error;
    }
    tidings__cas(&s->header->eviction.word, &ev, tidings__ev_idle(end, 0));
    return 0;
}

// Invariant E6: true if a lossless observer still needs the record at `position`; `*holder` is its index. Such an
// observer is alive, has not passed the position, and is a member of the record's name. An observer that sleeps on
// other names holds no post back: it finds itself lapped when it wakes up, with no record missed. An observer that
// began after `living` was read has changed EV's tag, so the caller's CAS fails.
static bool needed(const tidings__segment *s, const tidings__observer_set *living, tidings__name *name,
                   uint64_t position, uint32_t *holder) {
    for (uint32_t word = 0; name && word < TIDINGS__MAP_WORDS; word++) {
        if (!living->words[word]) continue;
        uint64_t bits = tidings__acquire(&name->members[word]) & living->words[word] &
                        tidings__acquire(&s->header->lossless[word]);
        for (; bits; bits &= bits - 1) {
            uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if ((int64_t)(tidings__acquire(&s->observers[index].cursor) - position) > 0 ||
                !tidings__observer_alive(s, index))
                continue;
            *holder = index;
            return true;
        }
    }
    return false;
}

static bool has_members(const tidings__observer_set *living, const tidings__name *name) {
    uint64_t found = 0;
    for (uint32_t word = 0; word < TIDINGS__MAP_WORDS; word++)
        if (living->words[word]) found |= tidings__acquire(&name->members[word]) & living->words[word];
    return found != 0;
}

// The same for the prefixes of the record's name. EV is idle and only changes to new values. So if the caller's CAS of
// EV succeeds, all that is read here was of this lap. A prefix is marked if it has no members in `living`, and if all
// that it begins with have none.
static bool needed_by_prefix(tidings_center *center, const tidings__observer_set *living, tidings__chain_order **taken,
                             uint64_t position, uint32_t *holder) {
    tidings__segment *s = &center->segment;
    tidings__prefix_walk walk = tidings__prefixes(s);
    if (__builtin_expect(!tidings__prefixes_any(&walk), 1)) return false;
    const bool is_first = *taken == NULL;
    if (is_first) *taken = take_order(center);
    tidings__chain_order *chain = *taken;
    if (chain && !tidings__chain_order_read(s, chain)) return false;
    if (chain && is_first) tidings__chain_order_clear(chain);
    _Atomic uint64_t copy[TIDINGS__NAME_WORDS];
    uint32_t length;
    const _Atomic uint64_t *name = tidings__record_name(s, position, copy, &length);
    // If the name cannot be read, the record may have any prefix: assume all.
    if (!name && length != TIDINGS__NAME_UNREADABLE) return false;
    if (!name || !chain) {
        uint32_t entry;
        while ((entry = name ? tidings__prefix_next_of(s, &walk, name, length) : tidings__prefix_next(s, &walk)) !=
               TIDINGS__NAME_NONE)
            if (needed(s, living, &s->names[entry], position, holder)) return true;
        return false;
    }
    const tidings__ordered_prefix *of = chain->of;
    uint16_t *marks = chain->marks;
    const uint32_t last = tidings__prefix_order_find(&chain->order, name, length);
    bool members = false;
    for (uint32_t i = last; i > 0 && !marks[i]; i = of[i].outer) {
        tidings__name *prefix = &s->names[of[i].entry];
        if (needed(s, living, prefix, position, holder)) return true;
        members |= has_members(living, prefix);
    }
    for (uint32_t i = last; !members && i > 0 && !marks[i]; i = of[i].outer) marks[i] = 1;
    return false;
}

// How many positions of a range can be evicted before a lossless observer would lose a record. If fewer than `length`,
// `*holder` is the index of the observer that needs the next one.
static uint64_t allowed(tidings_center *center, uint64_t start, uint64_t length, uint32_t *holder) {
    tidings__segment *s = &center->segment;
    tidings__observer_set living;
    uint64_t history, least = tidings__lossless_least(s, &living, &history, holder);
    if (least == UINT64_MAX) return length;
    if (history != UINT64_MAX && (int64_t)(start + length - history) > 0)
        length = (int64_t)(history - start) > 0 ? history - start : 0;
    tidings__observer_set here;
    tidings__chain_order *order = NULL;
    uint64_t next = 0, end = start + length;
    bool revoked = false;
    for (uint64_t position = (int64_t)(least - start) > 0 ? least : start; (int64_t)(end - position) > 0; position++) {
        if (position >= next) {
            next = tidings__lossless_at(s, &living, position, &here);
            if (order) tidings__chain_order_clear(order);
        }
        const tidings__cell *cell = tidings__cell_at(s, position);
        tidings__slot_state status = tidings__slot_status(s, position);
        if (status == TIDINGS__CLAIMED) {
            if (!revoked) tidings__revoke_all(s, position, start + length);
            revoked = true;
            status = tidings__slot_status(s, position);
        }
        if (status != TIDINGS__VALID) continue;
        const uint64_t route = tidings__route(cell);
        if (needed(s, &here, tidings__name_at(s, tidings__route_name(route)), position, holder) ||
            needed(s, &here, tidings__name_at(s, tidings__route_name_subject(route)), position, holder) ||
            needed(s, &here, &s->names[TIDINGS__NAME_ALL], position, holder) ||
            needed_by_prefix(center, &here, &order, position, holder))
            end = position;
    }
    return_order(center, order);
    return end - start;
}

// So many positions may be examined in vain, beside two rings of them.
#define WASTED_MOST 65536u

// True if a hostile peer changes EV while this post evicts. In a sound center E never moves back, and each round moves
// E to its range's end, or finds that another thread changed EV meanwhile. That happens about once a range, and if a
// lossless observer begins.
static bool in_vain(const tidings__segment *s, tidings__effort *effort, uint64_t start, uint64_t length) {
    const uint64_t moved = start - effort->reached;
    if ((int64_t)moved < 0) return true;
    if (moved < effort->length) effort->wasted += moved ? effort->length - moved : TIDINGS__EV_LENGTH_MAX;
    effort->reached = start;
    effort->length = length;
    return effort->wasted > 2 * (uint64_t)s->shape.slots + WASTED_MOST;
}

#define ROUNDS_NS 5000000

bool tidings__effort_over(tidings__effort *effort, uint32_t most) {
    if (++effort->rounds < 2) return false;
    if (effort->begun == 0) effort->begun = tidings__thread_ns();
    return effort->rounds > most && tidings__thread_ns() - effort->begun >= ROUNDS_NS;
}

static int set_back(const tidings__segment *s) {
    return tidings__fail(EBADMSG,
                         "can't go on in center \"%s\": a process sets the center's oldest position back; see with "
                         "`tidings stat` which processes have it open, end the faulty one, and remove the center",
                         s->name);
}

// Starts (or helps) evicting one more range, not beyond `limit`. Returns 0 if the caller shall check EV again, -EAGAIN
// if a lossless observer (`*holder`) needs the first position, or an error.
static int evict_some(tidings_center *center, uint64_t limit, tidings__effort *effort, uint32_t *holder) {
    tidings__segment *s = &center->segment;
    _Atomic uint64_t *word = &s->header->eviction.word;
    uint64_t ev = tidings__acquire(word);
    uint64_t start = tidings__ev_start(ev), length = tidings__ev_length(ev);
    if (length == 0) {
        if ((int64_t)(limit - start) <= 0) return 0;
        length = limit - start;
        if (length > TIDINGS__EV_LENGTH_MAX) length = TIDINGS__EV_LENGTH_MAX;
#ifndef MUTANT_EVICTION_IGNORES_LOSSLESS  // Found by: interleaving lossless
        length = allowed(center, start, length, holder);
#endif
        if (length == 0) return -EAGAIN;
        // Invariant E1: the range begins at E.
        uint64_t evicting = tidings__ev_evicting(start, (uint32_t)length);
        if (!tidings__cas(word, &ev, evicting)) return in_vain(s, effort, start, length) ? set_back(s) : 0;
        ev = evicting;
    }
    return in_vain(s, effort, start, length) ? set_back(s) : evict_range(center, ev);
}

int tidings__evict_to(tidings_center *center, uint64_t end, tidings__effort *effort, uint32_t *holder) {
    int error = 0;
    while (!error && (int64_t)(end - tidings__oldest(&center->segment)) > 0)
        error = evict_some(center, end, effort, holder);
    return error;
}

void tidings__evict_finish(tidings_center *center) {
    const uint64_t ev = tidings__acquire(&center->segment.header->eviction.word);
    if (tidings__ev_length(ev) != 0) (void)evict_range(center, ev);
}

int tidings__make_room(tidings_center *center, uint64_t position, tidings__effort *effort, uint32_t *holder) {
    const uint64_t slots = center->segment.shape.slots;
    // Evicts more than the one slot that is needed, so that the next posts share the cost. At most a quarter of a small
    // ring.
    const uint64_t more = slots / 4 < TIDINGS__EV_LENGTH_MAX ? slots / 4 : TIDINGS__EV_LENGTH_MAX;
    int error = 0;
    // Signed: other threads may have evicted far beyond the position of this call.
    while (!error && (int64_t)(position - tidings__oldest(&center->segment)) >= (int64_t)slots)
        error = evict_some(center, position - slots + more, effort, holder);
    return error;
}
