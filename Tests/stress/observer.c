// Observes at random, and writes down everything it is told, in a log that outlives it.
#include "board.h"

#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SUBSCRIPTIONS 6
#define HELD 2  // payloads: few enough that posters find chunks of each size

enum { GO_ON, REOPEN, REOPEN_CENTER, EXECUTE, FINISHED };

typedef struct watch {
    uint32_t number, seat, incarnation;
    bool threaded;
    tidings_center *center;
    chance chance;
    logger log;
    tidings_observer *observer;
    uint32_t subscriptions[SUBSCRIPTIONS];  // their numbers; 0: none
    bool lossless, asked;
    uint8_t end;  // the subscription to the end of the round, which stays
    tidings_held held[HELD];
    uint32_t held_id[HELD];
} watch;

// What was held is what was posted, however long ago.
static void release(watch *w, uint64_t which) {
    stamp stamp;
    if (w->held[which].size && stamp_read(w->held[which].payload, w->held[which].size, &stamp))
        CHECK(stamp.id == w->held_id[which], "payload %u was held, and is payload %u now", w->held_id[which], stamp.id);
    tidings_release(&w->held[which]);
}

static uint8_t slot_of(const watch *w, uint32_t subscription) {
    for (uint8_t i = 0; i < SUBSCRIPTIONS; i++)
        if (w->subscriptions[i] == subscription) return (uint8_t)(1u << i);
    CHECK(false, "it is told of subscription %u, which it doesn't have", subscription);
}

static uint8_t add(watch *w, uint8_t filter, uint32_t flags) {
    uint8_t slot = 0;
    while (slot < SUBSCRIPTIONS && w->subscriptions[slot]) slot++;
    if (slot == SUBSCRIPTIONS) return slot;
    const char *name = filter == EVERYTHING ? NULL : names[filter / SUBJECTS];
    const char *subject = filter == EVERYTHING ? NULL : subjects[filter % SUBJECTS];
    tidings_statistics before, after;
    OK(tidings_statistics_get(w->center, &before));
    uint32_t subscription;
    OK(tidings_observer_add(w->observer, name, name ? strlen(name) : 0, subject, subject ? strlen(subject) : 0, flags,
                            &subscription));
    OK(tidings_statistics_get(w->center, &after));
    w->subscriptions[slot] = subscription;
    w->asked |= (flags & TIDINGS_ADD_RETAINED) != 0;
    const bool history = flags & TIDINGS_ADD_HISTORY;
    const uint64_t low = history ? before.retained_from : before.posted;
    uint64_t high = history ? after.retained_from : after.posted;
    // A lossless observer begins behind the positions that are being evicted, which the statistics still count as
    // retained.
    const uint64_t cursor = tidings_observer_position(w->observer);
    if (history && cursor > high) high = cursor;
    log_event(&w->log, (event){ADDED, (uint8_t)(1u << slot), filter, (uint8_t)flags, (uint32_t)(high - low), low});
    return slot;
}

static uint8_t some_filter(chance *c) {
    if (chance_below(c, 8) == 0) return EVERYTHING;
    if (chance_below(c, 12) == 0) return NOTICES;
    const uint8_t name = (uint8_t)chance_below(c, STATE_B + 1);
    return (uint8_t)(name * SUBJECTS + (chance_below(c, 3) ? 0 : chance_below(c, name >= STATE_A ? 1 : SUBJECTS)));
}

static uint32_t some_flags(chance *c, uint8_t filter) {
    const uint8_t name = filter / SUBJECTS;
    return (name == STATE_A || name == STATE_B) && chance_below(c, 2) ? TIDINGS_ADD_RETAINED : 0;
}

static void begin(watch *w) {
    chance *c = &w->chance;
    const bool witness = w->seat == WITNESS;
    w->lossless = witness || (chance_below(c, 10) == 0 && !seat_reads_only(w->seat));
    memset(w->subscriptions, 0, sizeof w->subscriptions);
    w->asked = false;
    OK(tidings_observer_open(w->center, w->lossless ? TIDINGS_OBSERVE_LOSSLESS : 0, &w->observer));
    if (chance_below(c, 3)) tidings_observer_in_place(w->observer, chance_below(c, 2) ? 0 : 4096);
    if (chance_below(c, 3)) tidings_observer_spin(w->observer, 0);
    log_event(&w->log, (event){.kind = OPENED, .flags = w->lossless ? TIDINGS_OBSERVE_LOSSLESS : 0});
    if (witness) {
        add(w, EVERYTHING, 0);
    } else {
        const bool history = chance_below(c, 5) == 0;
        if (history) OK(tidings_observer_seek(w->observer, 0));
        for (uint64_t i = 0, count = 1 + chance_below(c, 3); i < count; i++) {
            const uint8_t filter = some_filter(c);
            // The first only: it fixes where the others' history would begin.
            add(w, filter, history && i == 0 ? TIDINGS_ADD_HISTORY : some_flags(c, filter));
        }
    }
    w->end = add(w, END * SUBJECTS, 0);
    atomic_store(&w->log.seat->mode, RUNNING);
}

// The name and subject of a delivery, as a number.
static uint8_t publisher_of(const tidings_delivery *d) {
    for (uint8_t i = 0; i < PUBLISHERS; i++) {
        const char *subject = subjects[i % SUBJECTS] ? subjects[i % SUBJECTS] : "";
        if (strcmp(d->name, names[i / SUBJECTS]) == 0 && strcmp(d->subject, subject) == 0) return i;
    }
    CHECK(false, "\"%s\" with subject \"%s\" came: it is never posted", d->name, d->subject);
}

// True: it was the end of this round.
static bool note(watch *w, const tidings_delivery *d) {
    event e = {.sequence = d->sequence};
    for (size_t i = 0; i < d->subscription_count; i++) e.mask |= slot_of(w, d->subscriptions[i]);
    if (d->kind == TIDINGS_DELIVERY_MISSED) {
        e.kind = MISSED;
        e.id = (uint32_t)d->missed;
        CHECK(d->missed > 0, "none was missed, it says");
        log_event(&w->log, e);
        return false;
    }
    e.kind = d->flags & TIDINGS_DELIVERY_RETAINED ? KEPT : MESSAGE;
    if (d->flags & TIDINGS_DELIVERY_PRESENCE) {
        presence_note(d, w->seat == WITNESS, &e);
        log_event(&w->log, e);
        return false;
    }
    e.publisher = publisher_of(d);
    stamp stamp;
    if (d->size > sizeof stamp && plant_is("alter")) ((uint8_t *)(uintptr_t)d->payload)[d->size - 1] ^= 1;
    if (stamp_read(d->payload, d->size, &stamp)) {
        e.id = stamp.id;
        section_read(d, &stamp);
        if (stamp.round != all->round) e.flags = OF_OLD;
        if (e.kind == MESSAGE) presence_note_will(d, w->seat == WITNESS, &stamp);
        if (e.kind == KEPT && all->witnessed && plant_is("stale")) e.sequence--;
        if (chance_below(&w->chance, d->size > 200 ? 4 : 100) == 0) {
            const uint64_t which = chance_below(&w->chance, HELD);
            release(w, which);
            OK(tidings_hold(w->observer, d, &w->held[which]));
            w->held_id[which] = stamp.id;
        }
    } else {
        e.id = (uint32_t)d->pid;
        e.flags = EMPTY;
    }
    log_event(&w->log, e);
    if (e.kind == MESSAGE && w->asked) {
        w->asked = false;
        tidings_statistics now;
        OK(tidings_statistics_get(w->center, &now));
        log_event(&w->log, (event){.kind = LOOKED, .sequence = now.posted});
    }
    return e.publisher == END * SUBJECTS && !(e.flags & OF_OLD);
}

// A forked child can't use it, and is told so. What it releases, its parent still holds.
static void fork_and_try(watch *w) {
    atomic_fetch_add(&all->forks, 1);
    const pid_t child = fork();
    CHECK(child >= 0, "fork: %s", strerror(errno));
    tidings_delivery d;
    if (child == 0) {
        for (uint64_t i = 0; i < HELD; i++) tidings_release(&w->held[i]);
        _exit(tidings_next(w->observer, 0, &d) == -ECHILD ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "a forked child that asks an observer: %x", (unsigned)status);
}

static int act(watch *w) {
    chance *c = &w->chance;
    switch (chance_below(c, 12)) {
        case 0: return REOPEN;
        case 1: return w->threaded ? REOPEN : REOPEN_CENTER;
        case 2: fork_and_try(w); return GO_ON;
        case 3: return w->threaded || chance_below(c, 3) ? GO_ON : EXECUTE;
        case 4:
        case 5:
        case 6: {
            const uint8_t slot = (uint8_t)chance_below(c, SUBSCRIPTIONS);
            if (w->subscriptions[slot] == 0 || slot == w->end) return GO_ON;
            OK(tidings_observer_remove(w->observer, w->subscriptions[slot]));
            w->subscriptions[slot] = 0;
            atomic_fetch_add(&all->cancelled, 1);
            log_event(&w->log, (event){.kind = REMOVED, .mask = (uint8_t)(1u << slot)});
            return GO_ON;
        }
        case 7:
        case 8:
            // An announcement may wait without limit for the lossless observers, of which this thread's own would be
            // one.
            if (!w->threaded && !w->lossless && !seat_reads_only(w->seat))
                presence_change(POSTERS + w->number, w->center, c);
            return GO_ON;
        default: {
            if (w->lossless) return GO_ON;
            const uint8_t filter = some_filter(c);
            add(w, filter, some_flags(c, filter));
            return GO_ON;
        }
    }
}

static int receive_somehow(watch *w, uint64_t way, int descriptor, tidings_delivery *d) {
    const bool calm = atomic_load(&all->calm);
    while (calm && plant_is("hang")) pause();
    if (descriptor >= 0) {
        int result;
        while ((result = tidings_next(w->observer, 0, d)) == -EAGAIN) {
            struct pollfd readable = {descriptor, POLLIN, 0};
            CHECK(poll(&readable, 1, -1) == 1, "poll: %s", strerror(errno));
        }
        return result;
    }
    return tidings_next(w->observer, calm || way > 2 ? -1 : way == 1 ? 0 : 3000000, d);
}

static int receive(watch *w, uint64_t way, int descriptor, tidings_delivery *d) {
    atomic_store(&w->log.seat->receives, true);
    const int result = receive_somehow(w, way, descriptor, d);
    atomic_store(&w->log.seat->receives, false);
    return result;
}

static int observe(watch *w) {
    chance *c = &w->chance;
    begin(w);
    const uint64_t way = w->seat == WITNESS ? 9 : chance_below(c, 8), lazy = chance_below(c, 3);
    int descriptor = -1, what = GO_ON;
    if (way == 0) OK(tidings_observer_descriptor(w->observer, &descriptor));
    while (what == GO_ON) {
        tidings_delivery d;
        const int result = receive(w, way, descriptor, &d);
        // If several of them only yield, they keep every other process and the kernel's own threads off the processors
        // for two minutes (Linux 6.18).
        if (result == -EAGAIN) usleep(20);
        if (result == -EAGAIN || result == -ETIMEDOUT) continue;
        OK(result);
        if (note(w, &d) || log_full(&w->log)) what = FINISHED;
        if (what == FINISHED || w->seat == WITNESS || atomic_load(&all->calm)) continue;
        if (lazy == 0 && chance_below(c, 400) == 0) usleep((useconds_t)chance_below(c, 3000));
        if (chance_below(c, 1500) == 0) what = act(w);
    }
    // Until it is open again, the director must not take it for asleep.
    atomic_store(&w->log.seat->mode, STARTING);
    tidings_observer_close(w->observer);
    log_event(&w->log, (event){.kind = CLOSED});
    // What is held may outlive the observer, and not the center's handle.
    for (uint64_t i = 0; i < HELD; i++)
        if (what == FINISHED || what == REOPEN_CENTER || chance_below(c, 2)) release(w, i);
    if (what != FINISHED) atomic_fetch_add(&all->reopened, 1);
    return what;
}

static void *watches(void *argument) {
    watch *w = argument;
    w->log.seat = &all->seats[w->seat];
    atomic_store(&w->log.seat->thread, (int32_t)syscall(SYS_gettid));
    for (;;) {
        const int what = observe(w);
        if (what == FINISHED) break;
        if (what == REOPEN_CENTER) {
            presence_close(w->center);
            w->center = center_join(seat_reads_only(w->seat));
            if (!seat_reads_only(w->seat)) presence_begin(POSTERS + w->number, w->center, &w->chance);
        }
        if (what == EXECUTE) {
            atomic_fetch_add(&all->execs, 1);
            self_exec("--observer", w->number, w->incarnation + 1000);
        }
    }
    atomic_store(&w->log.seat->mode, ENDED);
    return NULL;
}

void observer_main(uint32_t number, uint32_t incarnation) {
    watch watch_of[2];
    tidings_center *center = center_join(seat_reads_only(number == OBSERVERS ? WITNESS : number));
    const bool threaded = number % 4 == 0 && number < OBSERVERS;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t seat = number == OBSERVERS ? WITNESS : i == 0 ? number : OBSERVERS + number / 4;
        watch_of[i] =
            (watch){.number = number, .seat = seat, .incarnation = incarnation, .threaded = threaded, .center = center};
        watch_of[i].chance = chance_of(all->seed + 71, all->round * 100000u + incarnation, seat);
    }
    if (number < OBSERVERS && !seat_reads_only(number)) presence_begin(POSTERS + number, center, &watch_of[0].chance);
    pthread_t second;
    if (threaded) CHECK(pthread_create(&second, NULL, watches, &watch_of[1]) == 0, "no thread");
    watches(&watch_of[0]);
    if (threaded) pthread_join(second, NULL);
    if (chance_below(&watch_of[0].chance, 2)) presence_close(watch_of[0].center);
    _exit(0);
}

void witness_rest(tidings_center *center, uint64_t from) {
    watch w = {.seat = WITNESS, .center = center, .log.seat = &all->seats[WITNESS]};
    OK(tidings_observer_open(center, TIDINGS_OBSERVE_LOSSLESS, &w.observer));
    OK(tidings_observer_seek(w.observer, from));
    log_event(&w.log, (event){.kind = OPENED, .flags = TIDINGS_OBSERVE_LOSSLESS});
    add(&w, EVERYTHING, TIDINGS_ADD_HISTORY);
    for (tidings_delivery d; tidings_next(w.observer, 0, &d) == 0;) note(&w, &d);
    tidings_observer_close(w.observer);
    log_event(&w.log, (event){.kind = CLOSED});
}
