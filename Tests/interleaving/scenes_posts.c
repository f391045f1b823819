// Scenes of posts: records and chunks, laps, and deaths on the way.
#include <errno.h>

#include "center/center.h"
#include "posting/publisher.h"
#include "ring/claim.h"
#include "stage.h"

void two_and_two(void) {
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 2);
    add_watcher("observer X", "n");
    add_watcher("observer Y", "n");
}

void late_stores(void) { two_and_two(); }

void two_names(void) {
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "m", 2);
    add_watcher("observer X", "n");
    add_watcher("observer Y", NULL);
}

void one_post(void) {
    open_center();
    add_poster("poster A", "n", 1);
    add_watcher("observer X", "n");
}

static void post_batch(void *argument) {
    poster *p = argument;
    const int result = board_send_many(p->publisher, p->name, p->posts, &p->options);
    if (result != 0) machine_violation("tidings_post_many: %d", result);
}
// Only in an empty ring is the batch one run.
static void batch_in_a_ring(uint32_t filled) {
    open_center();
    prefill("m", filled);
    poster *a = add_poster("poster A", "n", 3);
    a->fiber->body = post_batch;
    add_watcher("observer X", "n");
    add_newcomer("observer Y", "n", 0);
}
void a_batch(void) { batch_in_a_ring(0); }
void a_batch_beside_a_post(void) {
    batch_in_a_ring(SLOTS - 1);
    add_poster("poster B", "n", 1);
}
void dead_poster_of_a_batch(void) {
    batch_in_a_ring(0);
    add_poster("poster B", "n", 1);
    machine.fibers[0].mortal = true;
}

void turning(void) {
    open_center();
    prefill("n", SLOTS - 1);
    add_poster("poster A", "n", 2);
    add_poster("poster B", "m", 2);
    add_watcher("observer X", "n");
    add_watcher("observer Y", NULL);
}

void one_lap(void) {
    open_center();
    prefill("n", SLOTS);
    add_poster("poster A", "n", SLOTS + 2);
    add_watcher("observer X", "n");
}

void two_hands(void) {
    open_center();
    add_watcher("observer X", "n");
    prefill("n", SLOTS);
    add_poster("poster A", "n", 1);
    add_poster("poster B", "n", 1);
}

void a_slow_hand(void) {
    open_center();
    prefill("n", SLOTS);
    watcher *w = add_watcher("observer X", "k");
    add_poster("poster A", "n", 1);
    poster *b = add_poster("poster B", "m", 6);
    b->rare = publisher(b->fiber->center, "k");
    b->rarely = 3;
    (void)w;
}

void three_laps(void) {
    open_center();
    add_poster("poster A", "n", 6);
    add_poster("poster B", "n", 6);
    add_watcher("observer X", "n");
}

// Four observers make a wake group, which is rung at once. They come first, so that they sleep when a post comes.
static void four_observe(void) {
    open_center();
    add_watcher("observer W", "n");
    add_watcher("observer X", "n");
    add_watcher("observer Y", "n");
    add_watcher("observer Z", "n");
}
void wake_group(void) {
    four_observe();
    add_poster("poster A", "n", 2);
}
void two_ring_a_wake_group(void) {
    four_observe();
    add_poster("poster A", "n", 1);
    add_poster("poster B", "n", 2);
}
void dead_poster_to_a_wake_group(void) {
    two_ring_a_wake_group();
    machine.fibers[4].mortal = true;
}

// A participant died before all this, with a lossless observer, a chunk and a name. The one that reclaims after it may
// die meanwhile.
static void reclaim(void *argument) {
    int result = tidings_reclaim(argument);
    if (result < 0) machine_violation("tidings_reclaim: %d", result);
}
void dead_reclaimer(void) {
    open_center();
    tidings_center *dead = handle(), *first = handle(), *second = handle();
    tidings_observer *observer;
    uint32_t subscription;
    tidings_reservation reservation;
    if (tidings_observer_open(dead, TIDINGS_OBSERVE_LOSSLESS, &observer) != 0 ||
        tidings_observer_add(observer, "n", 1, NULL, 0, 0, &subscription) != 0 ||
        tidings_reserve(dead, 100, &reservation) != 0)
        machine_violation("%s", tidings_last_error());
    machine.holders[dead->participant] = 0;
    machine_fiber("reclaimer A", first, reclaim, first)->mortal = true;
    machine_fiber("reclaimer B", second, reclaim, second);
    add_poster("poster C", "n", SLOTS + 1);
    add_watcher("observer X", "n");
}

// The same, of a poster that the kernel knows nothing of. Its slot is passed over meanwhile.
void dead_foreign_poster(void) {
    open_center();
    tidings_center *dead = handle(), *reclaimer = handle();
    _Atomic uint64_t hint = 0;
    tidings__claim claim;
    const tidings__claimant by = {&dead->segment, NULL, &hint, (uint32_t)TIDINGS__W_FOREIGN | dead->participant, false};
    if (tidings__claim_next(&by, &(uint32_t){0}, &claim) != 0) machine_violation("no position can be claimed");
    machine.holders[dead->participant] = 0;
    machine_fiber("reclaimer A", reclaimer, reclaim, reclaimer);
    add_poster("poster B", "n", SLOTS + 1);
    add_watcher("observer X", "n");
}

// Encoders fill chunks, and think better of it.
static void fill_and_post(void *argument) {
    poster *p = argument;
    for (uint32_t i = 0; i < p->posts; i++) {
        tidings_reservation reservation;
        int result = tidings_reserve(p->publisher->center, p->size, &reservation);
        if (result == -EAGAIN) continue;
        if (result == 0 && i % 2 == 0)
            tidings_abandon(p->publisher->center, &reservation);
        else if (result == 0)
            result = board_send_reserved(p->publisher, p->name, p->size, &reservation);
        if (result != 0) machine_violation("a reservation: %d", result);
    }
}
void reserving(void) {
    open_center();
    poster *a = add_poster("poster A", "n", 3), *b = add_poster("poster B", "n", 4);
    a->size = b->size = 320;
    a->fiber->body = b->fiber->body = fill_and_post;
    add_watcher("observer X", "n");
}
void dead_filler(void) {
    reserving();
    machine.fibers[0].mortal = true;
}

void dead_poster(void) {
    open_center();
    prefill("m", 1);
    add_poster("poster A", "n", 2);
    machine.fibers[0].mortal = true;
    add_poster("poster B", "n", 3);
    add_watcher("observer X", "n");
    add_watcher("observer Y", NULL);
}

void dead_observer(void) {
    open_center();
    add_poster("poster A", "n", 2);
    add_poster("poster B", "n", 1);
    add_watcher("observer X", "n");
    machine.fibers[2].mortal = true;
    add_watcher("observer Y", "n");
}

void foreign_poster(void) {
    dead_poster();
    machine.fibers[0].thread.pending = NULL;  // the kernel knows nothing of its claims
}

void foreign_poster_reclaimed(void) {
    open_center();
    add_poster("poster A", "n", 1);
    machine.fibers[0].mortal = true;
    machine.fibers[0].thread.pending = NULL;
    tidings_center *reclaimer = handle();
    machine_fiber("reclaimer B", reclaimer, reclaim, reclaimer);
    add_poster("poster C", "n", SLOTS + 1);
}

void without_barrier(void) {
    machine.registered = false;
    two_and_two();
    poster_count = 0;
}

void large(void) {
    open_center();
    add_poster("poster A", "n", 3)->size = 320;
    add_poster("poster B", "n", 3)->size = 240;
    add_watcher("observer X", "n");
}

void dead_large_poster(void) {
    large();
    machine.fibers[0].mortal = true;
}
