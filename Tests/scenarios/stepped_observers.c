// Observers, and participants that revoke, ring or reclaim for others, killed or stopped after any number of
// instructions.
#include <sched.h>

#include "by_hand.h"
#include "eviction/evict.h"
#include "platform/clock.h"
#include "platform/futex.h"
#include "receiving/observer.h"
#include "registry/doorbell.h"
#include "steps.h"

static tidings_center *own_center;

static void receives_and_sleeps(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_observer_spin(observer, 0);
    tidings_delivery delivery;
    // Once through everything, also through the sleep.
    CHECK(tidings_next(observer, 1, &delivery) == -ETIMEDOUT, "nothing was posted");
    section_begin();
    const int result = tidings_next(observer, -1, &delivery);
    atomic_store(returned, result == 0 ? 1 : 2);
    section_end();
}

// Stopped anywhere on its way into sleep while one notification is posted: it wakes up, or does not go to sleep.
void stopped_anywhere_before_sleeping(void) {
    returned = shared_memory(4096);
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    pid_t pid = start_traced(receives_and_sleeps);
    const uint64_t length = step(pid, UINT64_MAX, true);
    CHECK(length > 100, "only %lu instructions", (unsigned long)length);
    kill_and_reap(pid);
    const uint32_t stops = moments(KILLS * 2 / 3, length), last = full() ? 1 : ROUNDS(KILLS / 3);
    for (uint32_t stop = 0; stop < stops + last; stop++) {
        atomic_store(returned, 0);
        pid = start_traced(receives_and_sleeps);
        // The last ones just before the futex, and in it.
        step(pid, stop < stops ? moment(stop, stops, length) : length - (stops + last - 1 - stop), true);
        post_number(publisher, stop);
        let_go(pid);
        ends_well(pid);
        CHECK(atomic_load(returned) == 1, "received");
    }
    CHECK(tidings_reclaim(center) >= 0, "reclaim");
    CHECK(statistics_of(center).observers == 0, "%u observers are left", statistics_of(center).observers);
}

#define BEFORE 600u  // posts: more than the ring holds, so that the observer has fallen behind
#define WHILE 900u   // while it stands

static void counts_what_it_missed(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, NAME);
    section_begin();
    tidings_delivery delivery;
    const int result = tidings_next(observer, 0, &delivery);
    section_end();
    OK(result);
    CHECK(delivery.kind == TIDINGS_DELIVERY_MISSED, "it missed nothing");
    const account account = drain(observer);
    const uint64_t missed = delivery.missed + account.missed;
    CHECK(account.received + missed == BEFORE + WHILE, "%lu + %lu", (unsigned long)account.received,
          (unsigned long)missed);
}

// It has fallen behind, in a center of its own: positions begin at 0 there, and how many it can have missed is known by
// them.
static pid_t start_behind(tidings_center **center, tidings_publisher **publisher) {
    *center = join_center(256);
    *publisher = publisher_of(*center, NAME);
    const pid_t pid = start_traced(counts_what_it_missed);
    for (uint32_t i = 0; i < BEFORE; i++) post_number(*publisher, i);
    return pid;
}

// Stopped anywhere while it finds out what it missed, and the ring goes round several times meanwhile: whatever it read
// before and after, it is told the exact number.
void stopped_anywhere_while_it_counts_what_it_missed(void) {
    uint64_t length = 0;
    uint32_t stops = 1;
    for (uint32_t stop = 0; stop <= stops; stop++) {
        tidings_center *center;
        tidings_publisher *publisher;
        const pid_t pid = start_behind(&center, &publisher);
        if (stop == 0) {
            length = step(pid, UINT64_MAX, false);
            stops = moments(KILLS, length);
            kill_and_reap(pid);
        } else {
            step(pid, moment(stop - 1, stops, length), false);
            for (uint32_t i = 0; i < WHILE; i++) post_number(publisher, i);
            let_go(pid);
            ends_well(pid);
        }
        OK(tidings_remove("scenario", NULL));
        tidings_publisher_close(publisher);
        tidings_close(center);
    }
}

static pipe_pair registered, woken, onward;

static bool in_a_wake_group;

// Asleep as `tidings_next` is, but once awake it waits to be told to go on: a stepped poster is so slow that a waiting
// observer would revoke it.
static void sleeps_again_and_again(void) {
    tidings_center *center = join_center(0);
    tidings__segment *s = &center->segment;
    tidings_observer *observer = observer_of(center, NAME);
    tidings__observer_entry *own = &s->observers[observer->index];
    const uint32_t entry = tidings__relaxed(&observer->table)->of[0]->entry;
    tell(&registered);
    for (;;) {
        _Atomic uint32_t unused = 0;
        tidings__futex_value words[3] = {{&own->doorbell, 0},
                                         {&unused, 0},
                                         {&s->names[entry].wake_group, tidings__acquire(&s->names[entry].wake_group)}};
        if (in_a_wake_group) tidings__set_relaxed(&own->group_waits[0], entry);
        words[0].value = tidings__doorbell_announce(s, observer->index);
        const uint32_t count = in_a_wake_group ? 3 : 2;
        while (tidings__acquire(words[0].word) == words[0].value &&
               tidings__acquire(words[count - 1].word) == words[count - 1].value)
            tidings__futex_wait_either(words, count, -1);
        tidings__doorbell_withdraw(s, observer->index);
        tell(&woken);
        told(&onward);
        drain(observer);
    }
}

// A poster is killed anywhere while it rings. What it committed wakes the sleepers, without help from another process.
// What it didn't commit may have woken them or not; if not, the next post does.
static void killed_while_ringing(uint32_t sleepers) {
    what = (act){.size = 8};
    returned = shared_memory(4096);
    registered = pipe_open();
    woken = pipe_open();
    onward = pipe_open();
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *witness = observer_of(center, NAME);
    pid_t sleeper[8];
    for (uint32_t i = 0; i < sleepers; i++) {
        sleeper[i] = start(sleeps_again_and_again);
        told(&registered);
    }
    for (uint32_t i = 0; i < sleepers; i++) until_asleep(sleeper[i], center, sleepers);
    const uint64_t length = length_of(posts_once);
    for (uint32_t i = 0; i < sleepers; i++) told(&woken);
    for (uint32_t i = 0; i < sleepers; i++) tell(&onward);
    receive(witness);
    uint32_t committed = 0;
    const uint32_t kills = moments(KILLS, length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        for (uint32_t i = 0; i < sleepers; i++) until_asleep(sleeper[i], center, sleepers);
        const pid_t pid = start_traced(posts_once);
        step(pid, kill + 1 < kills ? moment(kill, kills, length) : UINT64_MAX,
             false);  // the last one when its post has returned
        kill_and_reap(pid);
        tidings_delivery delivery;
        const int result = tidings_next(witness, 0, &delivery);
        if (result == -EAGAIN) {
            post_number(publisher, kill);
            receive(witness);
        } else {
            OK(result);
            committed++;
        }
        for (uint32_t i = 0; i < sleepers; i++) told(&woken);  // for ever, if a wake-up was lost
        for (uint32_t i = 0; i < sleepers; i++) tell(&onward);
    }
    CHECK(committed > 0 && committed < kills, "%u of %u were committed", committed, kills);
    for (uint32_t i = 0; i < sleepers; i++) kill_and_reap(sleeper[i]);
}

void killed_anywhere_while_ringing(void) { killed_while_ringing(1); }

// Many are rung on their name's own word, by one call; their doorbells' flags come down one by one.
void killed_anywhere_while_ringing_a_wake_group(void) {
    in_a_wake_group = true;
    killed_while_ringing(6);
}

static void registers_and_leaves(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *other = observer_of(center, "other");
    tidings_observer_close(observer_of(center, "warm-up"));
    section_begin();
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS,
                                               TIDINGS_ADD_RETAINED | TIDINGS_ADD_HISTORY);
    uint32_t subscription;
    OK(tidings_observer_add(observer, "brand-new", 9, "subject", 7, 0, &subscription));
    OK(tidings_post(publisher, "x", 1, NULL, NULL));
    tidings_delivery delivery;
    while (tidings_next(observer, 0, &delivery) == 0) {}
    OK(tidings_observer_remove(observer, subscription));
    tidings_observer_close(observer);
    atomic_store(returned, 1);
    section_end();
    tidings_observer_close(other);
    for (;;) pause();
}

// An observer killed anywhere between registering and leaving holds up no poster and leaves no place taken.
void killed_anywhere_while_observing(void) {
    returned = shared_memory(4096);
    own_center = join_center_with(
        (tidings_configuration){.slots = 256, .participants = 8, .observers = 8, .names = 64, .maximum_payload = 1000});
    tidings_publisher *publisher = publisher_of(own_center, NAME);
    const uint32_t names = statistics_of(own_center).names;
    const uint64_t length = length_of(registers_and_leaves);
    const uint32_t kills = moments(40, length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        const pid_t pid = start_traced(registers_and_leaves);
        step(pid, moment(kill, kills, length), false);
        kill_and_reap(pid);
        // Its lossless observer, half made or not, is no reason to wait: full speed, once around.
        for (uint32_t i = 0; i < 300; i++) post_number(publisher, i);
    }
    nothing_is_left(own_center, publisher, 0, 0);
    CHECK(statistics_of(own_center).names == names, "%u names", statistics_of(own_center).names);
    CHECK(statistics_of(own_center).observers_lossless == 0, "%u lossless observers",
          statistics_of(own_center).observers_lossless);
    for (uint32_t i = 0; i < 2000; i++) {
        // And all the entries serve other names.
        char name[32];
        snprintf(name, sizeof name, "later.%u", i);
        tidings_observer_close(observer_of(own_center, name));
    }
}

static void reclaims(void) {
    tidings_center *center = join_center(0);
    section_begin();
    OK(tidings_reclaim(center) < 0 ? 1 : 0);
    atomic_store(returned, 1);
    section_end();
    for (;;) pause();
}

static void leaves_orphans(void) {
    tidings_center *center = join_center(0);
    observer_of(center, NAME);
    observer_with(center, "remains", TIDINGS_OBSERVE_LOSSLESS, 0);
    tidings_reservation reservation;
    OK(tidings_reserve(center, 100, &reservation));
    kill(getpid(), SIGKILL);
}

// Killed while it reclaims after a dead participant: the next reclaimer reclaims after both.
void killed_anywhere_while_reclaiming(void) {
    returned = shared_memory(4096);
    own_center = join_center_with(
        (tidings_configuration){.slots = 256, .participants = 8, .observers = 8, .names = 64, .maximum_payload = 1000});
    tidings_publisher *publisher = publisher_of(own_center, NAME);
    int status;
    waitpid(start(leaves_orphans), &status, 0);
    const uint64_t length = length_of(reclaims);
    const uint32_t kills = moments(8, length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        waitpid(start(leaves_orphans), &status, 0);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "remains: status %x", (unsigned)status);
        const pid_t pid = start_traced(reclaims);
        step(pid, moment(kill, kills, length), false);
        kill_and_reap(pid);
        CHECK(tidings_reclaim(own_center) >= 1, "one at least");
        const tidings_statistics statistics = statistics_of(own_center);
        CHECK(statistics.participants == 1 && statistics.observers == 0 && statistics.chunks_used == 0 &&
                  statistics.names == 0,
              "%u participants, %u observers, %u chunks, %u names after %u kills", statistics.participants,
              statistics.observers, statistics.chunks_used, statistics.names, kill + 1);
    }
    nothing_is_left(own_center, publisher, 0, 0);
}

static void revokes(void) {
    // On one processor it doesn't look 200 times before it goes on.
    cpu_set_t one;
    CHECK(sched_getaffinity(0, sizeof one, &one) == 0, "%s", strerror(errno));
    for (int processor = 0, found = 0; processor < CPU_SETSIZE; processor++)
        if (CPU_ISSET(processor, &one) && found++) CPU_CLR(processor, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0, "%s", strerror(errno));
    tidings__processors_refresh();
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_delivery delivery;
    CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN, "nothing yet");
    section_begin();
    const int result = tidings_next(observer, -1, &delivery);
    section_end();
    OK(result);
    for (;;) pause();
}

// Killed while it revokes what a stopped poster claimed: the next one comes to a verdict, and all to the same.
void killed_anywhere_while_revoking(void) {
    tidings_center *center = join_center(256);
    tidings__segment *s = &center->segment;
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME), *sluggish = observer_of(center, NAME);
    uint64_t length = 0;
    uint32_t kills = 1;
    for (uint32_t kill = 0; kill <= kills; kill++) {
        const pid_t pid = start_traced(revokes);
        const uint64_t position = statistics_of(center).posted;
        uint32_t holder;
        OK(tidings__make_room(center, position, &(tidings__effort){0}, &holder));
        tidings__cell *cell = tidings__cell_at(s, position);
        tidings__set_release(&cell->claim, tidings__lap_at(s, position) << TIDINGS__W_LAP_SHIFT |
                                               (~tidings__relaxed(&cell->commit) & 1) << 32 | TIDINGS__W_FOREIGN | 77);
        post_number(publisher, kill);
        const uint64_t at = step(pid, kill == 0 ? UINT64_MAX : moment(kill - 1, kills, length), false);
        if (kill == 0) {
            length = at;
            kills = moments(60, length);
        }
        kill_and_reap(pid);
        const tidings_delivery delivery = receive(observer);
        CHECK(delivery.sequence == position + 1 && stamp_of(&delivery).number == kill,
              "killed after %lu of %lu: sequence %lu", (unsigned long)at, (unsigned long)length,
              (unsigned long)delivery.sequence);
        CHECK(tidings__slot_status(s, position) == TIDINGS__VOID, "killed after %lu of %lu: no verdict",
              (unsigned long)at, (unsigned long)length);
        claims_of_the_dead(s, 77);
    }
    for (uint32_t i = 0; i < 600; i++) post_number(publisher, i);
    const account account = drain(sluggish);
    CHECK(account.received + account.missed == 600 + kills + 1, "%lu + %lu", (unsigned long)account.received,
          (unsigned long)account.missed);
    CHECK(tidings_reclaim(center) >= 1 && statistics_of(center).observers == 2, "left");
}
