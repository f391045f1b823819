// Many of everything: processes, names, observers.
#include <pthread.h>

#include "peer.h"

static pipe_pair ready;
static tidings_center *center;

static void takes_part(void) {
    tidings_center *own = join_center(0);
    tidings_publisher *publisher = publisher_of(own, NAME);
    tidings_observer *observer = observer_of(own, "go");
    tell(&ready);
    receive(observer);
    for (uint32_t i = 0; i < 10; i++) post_number(publisher, i);
    // Half of them go without a word.
    if (getpid() % 2) _exit(0);
    tidings_observer_close(observer);
    tidings_close(own);
}

void three_hundred_processes_share_one_center(void) {
    ready = pipe_open();
    center = join_center(4096);
    tidings_observer *observer = observer_of(center, NAME);
    static pid_t pids[300];
    for (int i = 0; i < 300; i++) pids[i] = start(takes_part);
    for (int i = 0; i < 300; i++) told(&ready);
    CHECK(statistics_of(center).participants == 301 && statistics_of(center).observers == 301, "%u",
          statistics_of(center).participants);
    post_number(publisher_of(center, "go"), 0);
    for (int i = 0; i < 3000; i++) receive(observer);
    for (int i = 0; i < 300; i++) ends_well(pids[i]);
    CHECK(tidings_reclaim(center) > 0, "the processes that didn't close");
    CHECK(statistics_of(center).participants == 1 && statistics_of(center).observers == 1 &&
              statistics_of(center).names == 1,
          "all left");
}

static void waits(void) {
    tidings_center *own;
    const int result = tidings_open("scenario", NULL, &own);
    CHECK(result == 0, "%d", result);
    tell(&ready);
    for (;;) pause();
}

// All places taken is an error that says so; a death makes room.
void a_place_of_the_dead_is_taken_by_the_next(void) {
    ready = pipe_open();
    center = join_center_with((tidings_configuration){.slots = 256, .participants = 4, .observers = 4});
    pid_t pids[3];
    for (int i = 0; i < 3; i++) {
        pids[i] = start(waits);
        told(&ready);
    }
    tidings_center *another;
    CHECK(tidings_open("scenario", NULL, &another) == -EUSERS && another == NULL, "full");
    CHECK(strstr(tidings_last_error(), "4") != NULL, "and says how many");
    for (uint32_t round = 0; round < 50; round++) {
        kill_and_reap(pids[round % 3]);
        pids[round % 3] = start(waits);
        told(&ready);
        CHECK(statistics_of(center).participants == 4, "%u", statistics_of(center).participants);
    }
    for (int i = 0; i < 3; i++) kill_and_reap(pids[i]);
}

void a_hundred_thousand_names_are_posted(void) {
    center = join_center(256);
    tidings_observer *all = observer_of(center, NULL);
    char name[32];
    uint64_t received = 0, missed = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        snprintf(name, sizeof name, "name.%u", i);
        tidings_publisher *publisher = publisher_of(center, name);
        post_number(publisher, i);
        tidings_publisher_close(publisher);
        if (i % 300 == 0) {
            const account account = drain(all);
            received += account.received;
            missed += account.missed;
        }
    }
    tidings_delivery delivery;
    int result;
    while ((result = tidings_next(all, 0, &delivery)) == 0) {
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            missed += delivery.missed;
            continue;
        }
        received++;
        snprintf(name, sizeof name, "name.%u", stamp_of(&delivery).number);
        CHECK(strcmp(delivery.name, name) == 0, "%s is called %s", name, delivery.name);
    }
    CHECK(received + missed == 100000, "%lu + %lu", (unsigned long)received, (unsigned long)missed);
    CHECK(statistics_of(center).names == 0, "a name without an observer takes no entry");
}

void ten_thousand_names_are_observed(void) {
    center = join_center(4096);
    const uint32_t count = 10000, observers = 8;
    tidings_observer *of[8];
    char name[32];
    for (uint32_t i = 0; i < observers; i++) of[i] = observer_of_nothing(center);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t subscription;
        snprintf(name, sizeof name, "name.%u", i);
        OK(tidings_observer_add(of[i % observers], name, strlen(name), NULL, 0, 0, &subscription));
    }
    CHECK(statistics_of(center).names == count, "%u", statistics_of(center).names);
    for (uint32_t n = 0; n < 2000; n++) {
        const uint32_t i = (uint32_t)random_below(count);
        snprintf(name, sizeof name, "name.%u", i);
        tidings_publisher *publisher = publisher_of(center, name);
        post_number(publisher, i);
        const tidings_delivery delivery = receive(of[i % observers]);
        CHECK(stamp_of(&delivery).number == i && strcmp(delivery.name, name) == 0, "%s came as %s", name,
              delivery.name);
        tidings_publisher_close(publisher);
    }
    for (uint32_t i = 0; i < observers; i++) {
        CHECK(drain(of[i]).received == 0, "nothing of others");
        tidings_observer_close(of[i]);
    }
    CHECK(statistics_of(center).names == 0, "%u", statistics_of(center).names);
}

void a_thousand_and_twenty_four_observers_and_no_more(void) {
    center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    static tidings_observer *observers[1025];
    for (uint32_t i = 0; i < 1024; i++) observers[i] = observer_of(center, i % 2 ? NAME : "other");
    CHECK(tidings_observer_open(center, 0, &observers[1024]) == -EUSERS && observers[1024] == NULL, "one too many");
    post_number(publisher, 5);
    for (uint32_t i = 0; i < 1024; i++) {
        const account account = drain(observers[i]);
        CHECK(account.received == i % 2, "observer %u: %lu", i, (unsigned long)account.received);
    }
    tidings_observer_close(observers[500]);
    observers[500] = observer_of_nothing(center);
    for (uint32_t i = 0; i < 1024; i++) tidings_observer_close(observers[i]);
    CHECK(statistics_of(center).observers == 0, "%u", statistics_of(center).observers);
}

#define SLEEPERS 1000
#define WAKES ROUNDS(full() ? 12 : 4)
#define SLEEPERS_EACH 50

static void *waits_for_each(void *observer) {
    for (uint32_t i = 0; i < WAKES; i++) {
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == i, "%u instead of %u", stamp_of(&delivery).number, i);
    }
    return NULL;
}

static void sleeps_in_threads(void) {
    tidings_center *own = join_center(0);
    pthread_t threads[SLEEPERS_EACH];
    for (int i = 0; i < SLEEPERS_EACH; i++) {
        tidings_observer *observer = observer_of(own, NAME);
        tidings_observer_spin(observer, 0);
        OK(pthread_create(&threads[i], NULL, waits_for_each, observer));
    }
    for (int i = 0; i < SLEEPERS_EACH; i++) pthread_join(threads[i], NULL);
}

static _Atomic uint32_t posts_returned;

static void *posts_to_all(void *publisher) {
    for (uint32_t i = 0; i < WAKES; i++) {
        while (statistics_of(center).observers_asleep < SLEEPERS) usleep(1000);
        post_number(publisher, i);
        atomic_store(&posts_returned, i + 1);
    }
    return NULL;
}

// Waking all sleepers takes a post longer than the revoke timeout. The post must return all the same, and every sleeper
// must receive it.
void a_thousand_sleepers_hear_of_every_post(void) {
    center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    pid_t pids[SLEEPERS / SLEEPERS_EACH];
    for (int i = 0; i < SLEEPERS / SLEEPERS_EACH; i++) pids[i] = start(sleeps_in_threads);
    pthread_t poster;
    OK(pthread_create(&poster, NULL, posts_to_all, publisher));
    for (uint32_t returned = 0; returned < WAKES;) {
        usleep(1000);
        returned = atomic_load(&posts_returned);
        // A poster may lose its processor now and then, on a busy machine for longer than the revoke timeout (a quarter
        // of a second). But many sleepers do not make revocations more likely.
        const uint64_t revoked = statistics_of(center).revoked;
        CHECK(revoked <= 4 * (returned + 4), "%u posts returned, %lu were revoked", returned, (unsigned long)revoked);
    }
    pthread_join(poster, NULL);
    for (int i = 0; i < SLEEPERS / SLEEPERS_EACH; i++) ends_well(pids[i]);
}

static void posts_in_turn(void) {
    tidings_center *own = join_center(0);
    tidings_publisher *publishers[2] = {publisher_of(own, NAME), publisher_of(own, "other")};
    for (stamp stamp = {.poster = (uint32_t)getpid()}; stamp.number < 20000; stamp.number++)
        OK(tidings_post(publishers[stamp.number % 2], &stamp, sizeof stamp, &(tidings_post_options){.timeout_ns = -1},
                        NULL));
}

static _Atomic uint64_t *digest;
static uint32_t which;

// A hash over sequence, poster and number of everything: it is equal for all observers that see the same order.
static void folds_the_order(void) {
    tidings_center *own = join_center(0);
    tidings_observer *observer = observer_with(own, NULL, TIDINGS_OBSERVE_LOSSLESS, 0);
    if (which % 2) tidings_observer_spin(observer, 0);
    tell(&ready);
    uint64_t fold = 1, last = 0;
    for (uint32_t i = 0; i < 3 * 20000; i++) {
        const tidings_delivery delivery = receive(observer);
        CHECK(i == 0 || delivery.sequence > last, "%lu after %lu", (unsigned long)delivery.sequence,
              (unsigned long)last);
        last = delivery.sequence;
        const stamp stamp = stamp_of(&delivery);
        fold = (fold ^ last ^ (uint64_t)stamp.poster << 32 ^ stamp.number) * UINT64_C(0x9e3779b97f4a7c15);
    }
    atomic_store(&digest[which], fold);
    tidings_observer_close(observer);
}

void all_observers_see_one_order_of_all_posters(void) {
    ready = pipe_open();
    digest = shared_memory(4096);
    center = join_center(256);
    pid_t observers[3], posters[3];
    for (which = 0; which < 3; which++) observers[which] = start(folds_the_order);
    for (int i = 0; i < 3; i++) told(&ready);
    for (int i = 0; i < 3; i++) posters[i] = start(posts_in_turn);
    for (int i = 0; i < 3; i++) ends_well(posters[i]);
    for (int i = 0; i < 3; i++) ends_well(observers[i]);
    CHECK(digest[0] == digest[1] && digest[1] == digest[2], "three observers, more than one order");
}
