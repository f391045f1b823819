// Killed, or stopped for three laps of the ring, after any number of instructions: a debugger's single steps put the moment wherever it is wanted,
// so that no window is too short to be hit.
#include <sched.h>

#include "center/observer.h"
#include "peer.h"
#include "platform/clock.h"
#include "platform/futex.h"
#include "registry/doorbell.h"

#define KILLS 120

// What the traced child does. Everything it needs is made before its section.
typedef struct act {
    size_t size;
    uint8_t flags;
    bool full;  // the ring: it has to evict first
} act;
static act what;
static _Atomic uint32_t *returned;  // shared: the section's work is done

static tidings_center *own_center;
static uint8_t bytes[4096];

static void posts_once(void) {
    tidings_center *center = join_center(0);
    tidings_topic *topic = topic_of(center, NAME);
    const stamp stamp = {.poster = 1};
    memcpy(bytes, &stamp, sizeof stamp);
    const tidings_post_options options = {.flags = what.flags};
    // Once before, so that everything lazy is done.
    OK(tidings_post(topic_of(center, "warm-up"), bytes, what.size, &options, NULL));
    tidings_topic *filler = topic_of(center, "filler");
    while (what.full && statistics_of(center).posted - statistics_of(center).retained_from < 256) post_number(filler, 0);
    section_begin();
    const int result = tidings_post(topic, bytes, what.size, &options, NULL);
    atomic_store(returned, 1);
    section_end();
    OK(result);
    for (;;) pause();
}

static uint64_t length_of(void (*body)(void)) {
    atomic_store(returned, 0);
    const pid_t pid = start_traced(body);
    const uint64_t length = step(pid, UINT64_MAX, false);
    CHECK(atomic_load(returned), "the section ended early");
    kill_and_reap(pid);
    return length;
}

static void nothing_is_left(tidings_center *center, tidings_topic *topic, uint32_t observers, uint32_t chunks) {
    CHECK(tidings_tidy(center) >= 0, "tidy");
    for (uint32_t i = 0; i < 3 * 256; i++) post_number(topic, i);
    CHECK(tidings_tidy(center) == 0, "nobody died since");
    const tidings_statistics statistics = statistics_of(center);
    CHECK(statistics.participants == 1, "%u participants", statistics.participants);
    CHECK(statistics.observers == observers, "%u observers", statistics.observers);
    CHECK(statistics.chunks_used <= chunks, "%u chunks in use", statistics.chunks_used);
    CHECK(statistics.observers_asleep == 0, "%u asleep", statistics.observers_asleep);
}

// A post that is killed anywhere is there as a whole or not at all, holds up nobody, and leaves nothing behind.
static void killed_in(act act) {
    what = act;
    returned = shared_memory(4096);
    own_center = join_center(256);
    tidings_topic *topic = topic_of(own_center, NAME);
    tidings_observer *observer = observer_of(own_center, NAME), *bystander = observer_of(own_center, act.full ? NAME : NULL);
    const uint64_t length = length_of(posts_once);
    const uint32_t kills = moments(act.full ? KILLS / 3 : KILLS, length);  // an eviction is ten times as long
    uint64_t delivered_anyway = 0;
    CHECK(drain(observer).received == 1, "the one that wasn't killed");
    for (uint32_t kill = 0; kill < kills; kill++) {
        atomic_store(returned, 0);
        const pid_t pid = start_traced(posts_once);
        const uint64_t at = step(pid, moment(kill, kills, length), false);
        const bool was_returned = atomic_load(returned);
        kill_and_reap(pid);
        post_number(topic, kill);
        tidings_delivery delivery = receive(observer);
        bool seen = false;
        if (stamp_of(&delivery).poster == 1) {
            CHECK(delivery.size == act.size && !memcmp((const char *)delivery.payload + sizeof(stamp), bytes + sizeof(stamp), act.size - sizeof(stamp)),
                  "killed after %lu of %lu instructions: %zu bytes came", (unsigned long)at, (unsigned long)length, delivery.size);
            seen = true;
            delivery = receive(observer);
        }
        CHECK(stamp_of(&delivery).poster == 0 && stamp_of(&delivery).number == kill, "killed after %lu of %lu instructions: %u.%u", (unsigned long)at,
              (unsigned long)length, stamp_of(&delivery).poster, stamp_of(&delivery).number);
        CHECK(seen || !was_returned, "killed after %lu of %lu instructions: it returned, and nothing came", (unsigned long)at, (unsigned long)length);
        CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN, "killed after %lu of %lu instructions: something came twice", (unsigned long)at,
              (unsigned long)length);
        delivered_anyway += seen;
        if (act.flags & TIDINGS_POST_RETAIN) {
            size_t size = 0;
            const int result = tidings_state_get(topic, NULL, &size, NULL, NULL);
            CHECK(!seen || result == -ENOBUFS, "killed after %lu of %lu instructions: delivered, but not retained", (unsigned long)at, (unsigned long)length);
        }
    }
    CHECK(delivered_anyway < kills, "every one came: none was killed before its commit");
    // Who looks at all names, and has been lapped, counts the same, to the last one.
    const account seen = drain(bystander);
    const uint64_t expected = (act.full ? kills + 1 : 2 * kills + 2) + delivered_anyway;
    CHECK(seen.received + seen.missed == expected, "%lu + %lu of %lu", (unsigned long)seen.received, (unsigned long)seen.missed, (unsigned long)expected);
    nothing_is_left(own_center, topic, 2, 2);
}

void killed_anywhere_in_a_small_post(void) { killed_in((act){.size = 64}); }
void killed_anywhere_in_a_chunk_post(void) { killed_in((act){.size = 300}); }
void killed_anywhere_in_a_retained_post(void) { killed_in((act){.size = 64, .flags = TIDINGS_POST_RETAIN}); }

void killed_anywhere_while_evicting(void) { killed_in((act){.size = 64, .full = true}); }

// MARK: Stopped

// The number a stopped poster posts, and what comes of it while others turn the ring three times, and after it goes on.
static void stopped_in(act act) {
    what = act;
    returned = shared_memory(4096);
    own_center = join_center(256);
    tidings_topic *topic = topic_of(own_center, NAME);
    tidings_observer *observer = observer_of(own_center, NAME), *sluggish = observer_of(own_center, NAME);
    const uint64_t length = length_of(posts_once);
    uint64_t total = drain(observer).received;
    const uint32_t stops = moments(act.full ? KILLS / 8 : KILLS / 3, length);
    for (uint32_t stop = 0; stop < stops; stop++) {
        atomic_store(returned, 0);
        const pid_t pid = start_traced(posts_once);
        const uint64_t at = step(pid, moment(stop, stops, length), false);
        uint32_t came = 0;
        // While it stands still, others post and are received: nothing here waits for it.
        for (uint32_t number = 0; number < 3 * 256; number++, total++) {
            post_number(topic, number);
            if (number % 64 != 63) continue;
            for (uint32_t expected = number - 63; expected <= number;) {
                const tidings_delivery delivery = receive(observer);
                if (stamp_of(&delivery).poster == 1) {
                    came++;
                    continue;
                }
                CHECK(stamp_of(&delivery).number == expected, "stopped after %lu of %lu instructions: %u instead of %u", (unsigned long)at,
                      (unsigned long)length, stamp_of(&delivery).number, expected);
                expected++;
            }
        }
        let_go(pid);
        while (!atomic_load(returned)) usleep(50);
        kill_and_reap(pid);
        came += (uint32_t)drain(observer).received;
        total++;
        CHECK(came == 1, "stopped after %lu of %lu instructions: it came %u times", (unsigned long)at, (unsigned long)length, came);
    }
    // Who read nothing all the time is told exactly how much that was.
    const account account = drain(sluggish);
    CHECK(account.received + account.missed == total, "%lu + %lu of %lu", (unsigned long)account.received, (unsigned long)account.missed, (unsigned long)total);
    nothing_is_left(own_center, topic, 2, 2);
}

void stopped_anywhere_in_a_small_post(void) { stopped_in((act){.size = 64}); }
void stopped_anywhere_in_a_chunk_post(void) { stopped_in((act){.size = 300}); }
void stopped_anywhere_in_a_retained_post(void) { stopped_in((act){.size = 64, .flags = TIDINGS_POST_RETAIN}); }

void stopped_anywhere_while_evicting(void) { stopped_in((act){.size = 300, .flags = TIDINGS_POST_RETAIN, .full = true}); }

// MARK: Observers

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
    tidings_topic *topic = topic_of(center, NAME);
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
        post_number(topic, stop);
        let_go(pid);
        ends_well(pid);
        CHECK(atomic_load(returned) == 1, "received");
    }
    CHECK(tidings_tidy(center) >= 0, "tidy");
    CHECK(statistics_of(center).observers == 0, "%u observers are left", statistics_of(center).observers);
}

static pipe_pair registered, woken, onward;

// Asleep as `tidings_next` is, but once awake it waits to be told to go on: a poster that is stepped is slow enough to be revoked by whoever waits for it.
static void sleeps_again_and_again(void) {
    tidings_center *center = join_center(0);
    tidings__segment *s = &center->segment;
    tidings_observer *observer = observer_of(center, NAME);
    tell(&registered);
    for (;;) {
        const uint32_t announced = tidings__doorbell_announce(s, observer->index);
        while (tidings__acquire(&s->observers[observer->index].doorbell) == announced)
            tidings__futex_wait(&s->observers[observer->index].doorbell, announced, -1);
        tidings__doorbell_withdraw(s, observer->index);
        tell(&woken);
        told(&onward);
        drain(observer);
    }
}

// A poster killed anywhere on its way through ringing: what it committed wakes the sleeper, without help from anybody else. What it didn't commit may
// have woken it or not; if not, the next post does.
void killed_anywhere_while_ringing(void) {
    what = (act){.size = 8};
    returned = shared_memory(4096);
    registered = pipe_open();
    woken = pipe_open();
    onward = pipe_open();
    tidings_center *center = join_center(256);
    tidings_topic *topic = topic_of(center, NAME);
    tidings_observer *witness = observer_of(center, NAME);
    const pid_t sleeper = start(sleeps_again_and_again);
    told(&registered);
    until_asleep(sleeper, center, 1);
    const uint64_t length = length_of(posts_once);
    told(&woken);
    tell(&onward);
    receive(witness);
    uint32_t committed = 0;
    const uint32_t kills = moments(KILLS, length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        until_asleep(sleeper, center, 1);
        const pid_t pid = start_traced(posts_once);
        step(pid, kill + 1 < kills ? moment(kill, kills, length) : UINT64_MAX, false);  // the last one when its post has returned
        kill_and_reap(pid);
        tidings_delivery delivery;
        const int result = tidings_next(witness, 0, &delivery);
        if (result == -EAGAIN) {
            post_number(topic, kill);
            receive(witness);
        } else {
            OK(result);
            committed++;
        }
        told(&woken);  // for ever, if the wake-up was lost
        tell(&onward);
    }
    CHECK(committed > 0 && committed < kills, "%u of %u were committed", committed, kills);
    kill_and_reap(sleeper);
}

static void registers_and_leaves(void) {
    tidings_center *center = join_center(0);
    tidings_topic *topic = topic_of(center, NAME);
    tidings_observer *other = observer_of(center, "other");
    tidings_observer_close(observer_of(center, "warm-up"));
    section_begin();
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, TIDINGS_ADD_RETAINED | TIDINGS_ADD_HISTORY);
    uint32_t interest;
    OK(tidings_observer_add(observer, "brand-new", 9, "subject", 7, 0, &interest));
    OK(tidings_post(topic, "x", 1, NULL, NULL));
    tidings_delivery delivery;
    while (tidings_next(observer, 0, &delivery) == 0) {}
    OK(tidings_observer_remove(observer, interest));
    tidings_observer_close(observer);
    atomic_store(returned, 1);
    section_end();
    tidings_observer_close(other);
    for (;;) pause();
}

// An observer killed anywhere between registering and leaving holds up no poster and leaves no place taken.
void killed_anywhere_while_observing(void) {
    returned = shared_memory(4096);
    own_center = join_center_with((tidings_configuration){.slots = 256, .participants = 8, .observers = 8, .names = 64});
    tidings_topic *topic = topic_of(own_center, NAME);
    const uint32_t names = statistics_of(own_center).names;
    const uint64_t length = length_of(registers_and_leaves);
    const uint32_t kills = moments(40, length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        const pid_t pid = start_traced(registers_and_leaves);
        step(pid, moment(kill, kills, length), false);
        kill_and_reap(pid);
        // Its lossless observer, half made or not, is no reason to wait: full speed, once around.
        for (uint32_t i = 0; i < 300; i++) post_number(topic, i);
    }
    nothing_is_left(own_center, topic, 0, 0);
    CHECK(statistics_of(own_center).names == names, "%u names", statistics_of(own_center).names);
    CHECK(statistics_of(own_center).observers_lossless == 0, "%u lossless observers", statistics_of(own_center).observers_lossless);
    for (uint32_t i = 0; i < 2000; i++) {
        // And all the entries serve other names.
        char name[32];
        snprintf(name, sizeof name, "later.%u", i);
        tidings_observer_close(observer_of(own_center, name));
    }
}

static void tidies(void) {
    tidings_center *center = join_center(0);
    section_begin();
    OK(tidings_tidy(center) < 0 ? 1 : 0);
    atomic_store(returned, 1);
    section_end();
    for (;;) pause();
}

static void leaves_remains(void) {
    tidings_center *center = join_center(0);
    observer_of(center, NAME);
    observer_with(center, "remains", TIDINGS_OBSERVE_LOSSLESS, 0);
    tidings_reservation reservation;
    OK(tidings_reserve(center, 100, &reservation));
    kill(getpid(), SIGKILL);
}

// Killed while it tidies up after another: the next one tidies up after both.
void killed_anywhere_while_tidying(void) {
    returned = shared_memory(4096);
    own_center = join_center_with((tidings_configuration){.slots = 256, .participants = 8, .observers = 8, .names = 64});
    tidings_topic *topic = topic_of(own_center, NAME);
    int status;
    waitpid(start(leaves_remains), &status, 0);
    const uint64_t length = length_of(tidies);
    const uint32_t kills = moments(8, length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        waitpid(start(leaves_remains), &status, 0);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "remains: status %x", (unsigned)status);
        const pid_t pid = start_traced(tidies);
        step(pid, moment(kill, kills, length), false);
        kill_and_reap(pid);
        CHECK(tidings_tidy(own_center) >= 1, "one at least");
        const tidings_statistics statistics = statistics_of(own_center);
        CHECK(statistics.participants == 1 && statistics.observers == 0 && statistics.chunks_used == 0 && statistics.names == 0,
              "%u participants, %u observers, %u chunks, %u names after %u kills", statistics.participants, statistics.observers, statistics.chunks_used,
              statistics.names, kill + 1);
    }
    nothing_is_left(own_center, topic, 0, 0);
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
    tidings_topic *topic = topic_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME), *sluggish = observer_of(center, NAME);
    uint64_t length = 0;
    uint32_t kills = 1;
    for (uint32_t kill = 0; kill <= kills; kill++) {
        const pid_t pid = start_traced(revokes);
        const uint64_t position = statistics_of(center).posted;
        uint32_t holder;
        OK(tidings__make_room(center, position, &holder));
        tidings__cell *cell = tidings__cell_at(s, position);
        tidings__set_release(&cell->claim, tidings__lap_at(s, position) << TIDINGS__W_LAP_SHIFT | (~tidings__relaxed(&cell->commit) & 1) << 32 |
                                               TIDINGS__W_FOREIGN | 77);
        post_number(topic, kill);
        const uint64_t at = step(pid, kill == 0 ? UINT64_MAX : moment(kill - 1, kills, length), false);
        if (kill == 0) {
            length = at;
            kills = moments(60, length);
        }
        kill_and_reap(pid);
        const tidings_delivery delivery = receive(observer);
        CHECK(delivery.sequence == position + 1 && stamp_of(&delivery).number == kill, "killed after %lu of %lu: sequence %lu", (unsigned long)at,
              (unsigned long)length, (unsigned long)delivery.sequence);
        CHECK(tidings__look(s, position) == TIDINGS__VOID, "killed after %lu of %lu: no verdict", (unsigned long)at, (unsigned long)length);
        tidings__claims_tidy(s, 77);
    }
    for (uint32_t i = 0; i < 600; i++) post_number(topic, i);
    const account account = drain(sluggish);
    CHECK(account.received + account.missed == 600 + kills + 1, "%lu + %lu", (unsigned long)account.received, (unsigned long)account.missed);
    CHECK(tidings_tidy(center) >= 1 && statistics_of(center).observers == 2, "left");
}
