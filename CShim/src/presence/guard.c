// The guard: it sleeps until a participant that it watches dies or leaves, and reports the death. Declared
// and described in guard.h.
#include "presence/guard.h"

#include <errno.h>
#include <stdlib.h>

#include "calls/calls.h"
#include "platform/clock.h"
#include "platform/event.h"
#include "platform/futex.h"
#include "presence/report.h"

// How many participants a guard watches, and how many guards watch each one. If one guard dies together with the
// participant that it watches, the guards that watch the dead guard's participant learn of both deaths.
#define WATCHED 2u
// A participant that reports may be stopped. Another one takes over if the report is unchanged after this time. A post
// that failed is tried again after this time, and then after the double of the time before. It is well below the 5 ms
// in which a death is to be reported.
#define RETRY_FIRST_NS UINT64_C(2000000)
#define RETRY_MOST_NS UINT64_C(1000000000)
// How long a lossless observer may hold back a post of this thread before it looks whether it is to end.
#define HELD_BACK_NS 20000000

// A post takes some 16 KiB; the sanitizers make it several times that.
#define STACK (256u << 10)

#define WORDS 12u

// An unfinished report, and since when it has this value.
typedef struct unfinished {
    uint64_t report, since, wait;  // after `wait` this guard takes over, or tries again
    uint32_t index;
    bool failed;  // this guard's own post has failed
} unfinished;
// More than these wait until earlier ones are finished.
#define UNFINISHED 32u

// What a guard has found in one round, and waits for.
typedef struct waits {
    tidings__futex_value words[WORDS];
    uint32_t count, unfinished_count;
    unfinished unfinished[UNFINISHED];
} waits;

static void add(waits *w, _Atomic uint32_t *word, uint32_t value) {
    if (w->count < WORDS) w->words[w->count++] = (tidings__futex_value){word, value};
}

static unfinished known_of(const waits *before, uint32_t index, uint64_t report, uint64_t now) {
    unfinished u = {.report = report, .since = now, .wait = RETRY_FIRST_NS, .index = index};
    for (uint32_t i = 0; i < before->unfinished_count; i++) {
        if (before->unfinished[i].index != index) continue;
        // The time between tries stays if another participant has taken over: its post may fail for the same reason.
        u.wait = before->unfinished[i].wait;
        if (before->unfinished[i].report == report) u = before->unfinished[i];
    }
    return u;
}

// Reports one dead participant, if it is time.
static void report_one(tidings__guard *guard, uint32_t index, uint64_t report, const waits *before,
                       tidings__report_budget *budget, waits *w) {
    if (w->unfinished_count == UNFINISHED) return;
    tidings__segment *s = &guard->center->segment;
    const uint64_t now = tidings__monotonic_ns();
    unfinished u = known_of(before, index, report, now);
    const bool due = now - u.since >= u.wait;
    if (!u.failed || due) {
        const int error = tidings__report(guard->center, index, due, HELD_BACK_NS, budget);
        if (error == 0) return;
        guard->ended |= error == -ESTALE;
        u.failed = error != -EINPROGRESS;
        if (u.failed && due && u.wait < RETRY_MOST_NS) u.wait *= 2;
        report = tidings__acquire(&s->presence[index].report);
        if (u.failed || report != u.report) u.since = tidings__monotonic_ns();
        u.report = report;
    }
    // Another participant reports: it wakes this thread. After an error of its own, only time helps.
    if (!u.failed && w->count < WORDS - WATCHED) add(w, tidings__report_futex(&s->presence[index]), (uint32_t)report);
    w->unfinished[w->unfinished_count++] = u;
}

// How long to sleep: until the first unfinished report is due. -1: without a timer.
static int64_t until_due(const tidings__guard *guard, const waits *w) {
    if (w->unfinished_count == 0 && guard->tell_at == 0) return -1;
    const uint64_t now = tidings__monotonic_ns();
    uint64_t least = RETRY_MOST_NS;
    if (guard->tell_at) least = guard->tell_at > now ? guard->tell_at - now : 0;
    for (uint32_t i = 0; i < w->unfinished_count; i++) {
        const uint64_t due = w->unfinished[i].since + w->unfinished[i].wait;
        const uint64_t left = due > now ? due - now : 0;
        if (left < least) least = left;
    }
    return (int64_t)least;
}

// True if the guard of an entry that is not to be reported watches. `life`: one of its life words. The guard of a
// process that exits watches until the process ends, though its participant has left (invariant P5).
static bool is_watching(uint32_t state, uint32_t life) {
#ifndef MUTANT_EXITING_GUARD_IS_NOT_WATCHED  // Found by: interleaving a_death_beside_an_exit
    if (state == TIDINGS__PRESENCE_LEFT) return life != 0 && !(life & TIDINGS__LIFE_DIED);
#endif
    return tidings__presence_alive_in(state);
}

// Goes round the table from the guard's own entry on, until it has found two participants that live. Reports each dead
// one on the way.
static void look_round(tidings__guard *guard, const waits *before, waits *w) {
    tidings__segment *s = &guard->center->segment;
    const uint32_t own = guard->center->participant, end = tidings__presence_end(s);
    uint32_t found = 0;
    tidings__report_budget budget = tidings__report_budget_of(s);
    budget.guard = guard;
    budget.settlements = UINT32_MAX;
    budget.tells = TIDINGS__TELLS_ALL;
    for (uint32_t n = 1; n < end && found < WATCHED && !guard->ended; n++) {
        const uint32_t i = (own + n) % end;
        const uint64_t report = tidings__acquire(&s->presence[i].report);
        const uint32_t state = tidings__report_state(report);
        // Read before the check, so that the kernel compares with a value at which the participant lived.
        _Atomic uint32_t *life = &tidings__presence_line_at(s, i)->life[2 * found];
        const uint32_t value = tidings__acquire(life);
        if (!tidings__to_report(s, i)) {
            if (state == TIDINGS__PRESENCE_LEFT) tidings__will_free(s, i, report);
            if (!is_watching(state, value)) continue;
            add(w, life, value);
            found++;
            continue;
        }
        if (tidings__acquire(&guard->state) == TIDINGS__GUARD_ENDS) return;
        report_one(guard, i, report, before, &budget, w);
    }
}

// Tells the servers of calls that this participant has cancelled, if `tidings_call_cancel` could not.
static void tell_cancelled(tidings__guard *guard, uint32_t untold) {
    if (untold == guard->told) return;
    if (guard->tell_at == 0) guard->tell_wait = RETRY_FIRST_NS;
    if (tidings__monotonic_ns() < guard->tell_at) return;
    const int error = tidings__calls_tell_cancelled(guard->center);
    guard->ended |= error == -ESTALE;
    if (error == 0 || guard->ended) {
        guard->told = untold;
        guard->tell_at = 0;
        return;
    }
    guard->tell_at = tidings__monotonic_ns() + guard->tell_wait;
    if (guard->tell_wait < RETRY_MOST_NS) guard->tell_wait *= 2;
}

// Wakes the guards that sleep on the life words of a dead participant. The kernel wakes one sleeper of each word. That
// may be a guard that was poked and has not run since: it still sleeps on the words that it watched before, and two
// participants may have joined in between. So each guard that was woken looks at the whole table (invariant P5).
static void pass_on(tidings__segment *s) {
    const uint32_t end = tidings__presence_end(s);
    for (uint32_t i = 0; i < end; i++) {
        tidings__presence_line *line = tidings__presence_line_at(s, i);
        // Also after the report: this guard may have reported the death in this round, or the process has exited. A
        // guard that slept on would watch one participant less. No guard goes to sleep on a marked word.
        const bool marked = (tidings__acquire(&line->life[0]) | tidings__acquire(&line->life[2])) & TIDINGS__LIFE_DIED;
        if (!marked && !tidings__to_report(s, i)) continue;
        for (uint32_t k = 0; k < 2 * WATCHED; k += 2) tidings__futex_wake(&line->life[k], TIDINGS__LIFE_WAKES);
    }
}

void tidings__guard_set_life(const tidings__guard *guard, uint32_t life) {
    tidings__presence_line *line = tidings__presence_line_at(&guard->center->segment, guard->center->participant);
    for (uint32_t i = 0; i < 4; i += 2) {
        // By CAS: if peers took this participant for dead, these words may be another participant's.
        uint32_t own = guard->life;
        if (tidings__cas(&line->life[i], &own, life)) tidings__futex_wake(&line->life[i], TIDINGS__LIFE_WAKES);
    }
}

void tidings__guard_run(tidings__guard *guard) {
    tidings_center *center = guard->center;
    tidings__presence_line *line = tidings__presence_line_at(&center->segment, center->participant);
    waits rounds[2] = {{.count = 0}, {.count = 0}};
    waits *w = &rounds[0], *before = &rounds[1];
    uint32_t state;
    while ((state = tidings__acquire(&guard->state)) != TIDINGS__GUARD_ENDS) {
        w->count = w->unfinished_count = 0;
        // Its own memory: a peer could move the sleeper off every other word (FUTEX_REQUEUE).
        add(w, &guard->state, state);
        const uint32_t untold = tidings__acquire(&center->untold);
        add(w, &center->untold, untold);
        // Invariant P5: read before the round. A participant that announces itself changes it afterwards.
        add(w, &line->poke, tidings__acquire(&line->poke));
        if (state == TIDINGS__GUARD_WATCHES && !guard->ended && !tidings__may_report(center)) {
            // As if this participant had died: others watch what it watched, and report.
            tidings__guard_set_life(guard, TIDINGS__LIFE_DIED);
            guard->ended = true;
        }
        if (state == TIDINGS__GUARD_WATCHES && !guard->ended) {
            look_round(guard, before, w);
            pass_on(&center->segment);
            tell_cancelled(guard, untold);
        }
        if (guard->ended || state != TIDINGS__GUARD_WATCHES) {
            w->count = 1;
            w->unfinished_count = 0;
            guard->tell_at = 0;
        }
        (void)tidings__futex_wait_any(w->words, w->count, until_due(guard, w));
        waits *const last = before;
        before = w;
        w = last;
    }
    pass_on(&center->segment);
}

static void *body(void *argument) {
    tidings__guard *guard = argument;
    tidings__presence_line *line = tidings__presence_line_at(&guard->center->segment, guard->center->participant);
    guard->error = tidings__robust_begin(guard->robust, line->life);
    guard->life = guard->robust->life;
    tidings__set_release(&guard->state, guard->error ? TIDINGS__GUARD_REFUSED : TIDINGS__GUARD_READY);
    tidings__futex_wake(&guard->state, 1);
    if (!guard->error) tidings__guard_run(guard);
    return NULL;
}

int tidings__guard_start(tidings__guard *guard, tidings_center *center) {
    guard->center = center;
    guard->robust = tidings__robust_new();
    if (!guard->robust) return -ENOMEM;
    const int error = tidings__thread_start(&guard->thread, body, guard, STACK);
    if (error) {
        tidings__robust_free(guard->robust);
        return -error;
    }
    uint32_t state;
    while ((state = tidings__acquire(&guard->state)) == TIDINGS__GUARD_STARTING)
        tidings__futex_wait(&guard->state, state, -1);
    if (state != TIDINGS__GUARD_REFUSED) return 0;
    pthread_join(guard->thread, NULL);
    tidings__robust_free(guard->robust);
    return guard->error;
}

static void tell(tidings__guard *guard, uint32_t state) {
    tidings__set_release(&guard->state, state);
    tidings__futex_wake(&guard->state, 1);
}

void tidings__guard_watch(tidings__guard *guard) { tell(guard, TIDINGS__GUARD_WATCHES); }

void tidings__guard_stop(tidings__guard *guard) {
    tell(guard, TIDINGS__GUARD_ENDS);
    pthread_join(guard->thread, NULL);
    tidings__robust_free(guard->robust);
}

void tidings__guard_poke(tidings__segment *s, uint32_t index) {
    // Invariant P5: the entry is visible. A guard that read the table before reads another value of its poke word when
    // it goes to sleep.
    const uint32_t end = tidings__presence_end(s);
    uint32_t found = 0;
    for (uint32_t n = 1; n < end && found < WATCHED; n++) {
        const uint32_t i = (index + end - n) % end;
        const uint32_t state = tidings__report_state(tidings__acquire(&s->presence[i].report));
        tidings__presence_line *line = tidings__presence_line_at(s, i);
        if (!is_watching(state, tidings__acquire(&line->life[0])) || tidings__presence_dead(s, i)) continue;
        found++;
#ifndef MUTANT_NO_POKE  // Found by: interleaving a_death_beside_a_joining
        tidings__fetch_add(&line->poke, 1);
        tidings__futex_wake(&line->poke, 1);
#endif
    }
}
