// The watching thread: it sleeps until a participant that it watches dies or leaves, and reports the death. Declared
// and described in guard.h.
#include "presence/guard.h"

#include <errno.h>
#include <stdlib.h>

#include "platform/event.h"
#include "platform/futex.h"
#include "presence/report.h"

// How many participants a guard watches, and how many watch each one. One watcher may die together with the
// participant. Then the watcher's watchers learn of both.
#define WATCHED 2u
// A participant that reports may be stopped. Another one takes over after this time, and retries a post that failed
// after the double of the time before. It is well below the 5 ms in which a death is to be reported.
#define RETRY_FIRST_NS 2000000
#define RETRY_MOST_NS 1000000000
// How long a lossless observer may hold back a post of this thread before it looks whether it is to end.
#define HELD_BACK_NS 20000000

#define WORDS 12u

// What a guard waits for.
typedef struct waits {
    tidings__futex_value words[WORDS];
    uint32_t count;
    bool unfinished;  // a report is unfinished: look again after a time
    bool ended;       // the center has ended: there is nothing left to watch
} waits;

static void add(waits *w, _Atomic uint32_t *word, uint32_t value) {
    if (w->count < WORDS) w->words[w->count++] = (tidings__futex_value){word, value};
}

// Goes round the table from the guard's own entry on, until it has found two participants that live. Reports each dead
// one on the way.
static void look_round(tidings__guard *guard, bool take_over, waits *w) {
    tidings__segment *s = &guard->center->segment;
    const uint32_t own = guard->center->participant, end = tidings__presence_end(s);
    uint32_t found = 0;
    uint64_t budget = TIDINGS__REPORT_BUDGET(s);
    for (uint32_t n = 1; n < end && found < WATCHED && !w->ended; n++) {
        const uint32_t i = (own + n) % end;
        const uint64_t report = tidings__acquire(&s->presence[i].report);
        const uint32_t state = tidings__report_state(report);
        // Read before the check, so that the kernel compares with a value at which the participant lived.
        _Atomic uint32_t *life = &tidings__presence_line_at(s, i)->life[2 * found];
        const uint32_t value = tidings__acquire(life);
        if (!tidings__to_report(s, i)) {
            if (state == TIDINGS__PRESENCE_LEFT) tidings__will_free(s, i, report);
            if (!tidings__presence_alive_in(state)) continue;
            add(w, life, value);
            found++;
            continue;
        }
        if (tidings__acquire(&guard->state) == TIDINGS__GUARD_ENDS) return;
        const int error = tidings__report(guard->center, i, take_over, HELD_BACK_NS, &budget);
        if (error == 0) continue;
        w->ended |= error == -ESTALE;
        w->unfinished = true;
        // Another participant reports: it wakes this thread. After an error of its own, only time helps.
        if (error == -EINPROGRESS && w->count < WORDS - WATCHED) {
            _Atomic uint32_t *futex = tidings__report_futex(&s->presence[i]);
            add(w, futex, tidings__acquire(futex));
        }
    }
}

void tidings__guard_run(tidings__guard *guard) {
    tidings_center *center = guard->center;
    tidings__presence_line *line = tidings__presence_line_at(&center->segment, center->participant);
    int64_t retry = RETRY_FIRST_NS;
    bool late = false;
    waits w = {.ended = false};
    uint32_t state;
    while ((state = tidings__acquire(&guard->state)) != TIDINGS__GUARD_ENDS) {
        w.count = 0;
        w.unfinished = false;
        // Its own memory: a peer could move the sleeper off every other word (FUTEX_REQUEUE).
        add(&w, &guard->state, state);
        // Invariant P5: read before the round. A participant that announces itself changes it afterwards.
        add(&w, &line->poke, tidings__acquire(&line->poke));
        if (state == TIDINGS__GUARD_WATCHES && !w.ended) look_round(guard, late, &w);
        if (w.ended || state != TIDINGS__GUARD_WATCHES) {
            w.count = 1;
            w.unfinished = false;
        }
        if (!w.unfinished) retry = RETRY_FIRST_NS;
        late = tidings__futex_wait_any(w.words, w.count, w.unfinished ? retry : -1) == -ETIMEDOUT && w.unfinished;
        if (late && retry < RETRY_MOST_NS) retry *= 2;
    }
}

static void *body(void *argument) {
    tidings__guard *guard = argument;
    tidings__presence_line *line = tidings__presence_line_at(&guard->center->segment, guard->center->participant);
    guard->error = tidings__robust_begin(&guard->robust, line->life);
    tidings__set_release(&guard->state, guard->error ? TIDINGS__GUARD_REFUSED : TIDINGS__GUARD_READY);
    tidings__futex_wake(&guard->state, 1);
    if (!guard->error) tidings__guard_run(guard);
    return NULL;
}

int tidings__guard_start(tidings__guard *guard, tidings_center *center) {
    guard->center = center;
    const int error = tidings__thread_start(&guard->thread, body, guard);
    if (error) return -error;
    uint32_t state;
    while ((state = tidings__acquire(&guard->state)) == TIDINGS__GUARD_STARTING)
        tidings__futex_wait(&guard->state, state, -1);
    if (state != TIDINGS__GUARD_REFUSED) return 0;
    pthread_join(guard->thread, NULL);
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
}

void tidings__guard_poke(tidings__segment *s, uint32_t index) {
    // Invariant P5: the entry is visible. A guard that read the table before reads another value of its poke word when
    // it goes to sleep.
    const uint32_t end = tidings__presence_end(s);
    uint32_t found = 0;
    for (uint32_t n = 1; n < end && found < WATCHED; n++) {
        const uint32_t i = (index + end - n) % end;
        if (!tidings__presence_alive_in(tidings__report_state(tidings__acquire(&s->presence[i].report))) ||
            tidings__presence_dead(s, i))
            continue;
        found++;
#ifndef MUTANT_NO_POKE  // Found by: interleaving a_death_beside_a_joining
        _Atomic uint32_t *poke = &tidings__presence_line_at(s, i)->poke;
        tidings__fetch_add(poke, 1);
        tidings__futex_wake(poke, 1);
#endif
    }
}
