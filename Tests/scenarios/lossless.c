// Lossless observers: posters wait for them, and for no other process.
#include <pthread.h>

#include "peer.h"

#define NUMBERS 20000

static pipe_pair ready;
static tidings_center *own_center;

static void posts_numbers(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    stamp stamp = {.poster = (uint32_t)getpid()};
    for (stamp.number = 0; stamp.number < NUMBERS; stamp.number++)
        OK(tidings_post(publisher, &stamp, sizeof stamp, &(tidings_post_options){.timeout_ns = -1}, NULL));
}

// Two posters at full speed, a ring of 256, an observer that is slow at times: nothing is lost, everything is in order.
void nothing_is_lost_at_full_speed(void) {
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    const pid_t posters[2] = {start(posts_numbers), start(posts_numbers)};
    uint32_t next[2] = {0};
    for (uint32_t i = 0; i < 2 * NUMBERS; i++) {
        const tidings_delivery delivery = receive(observer);
        const stamp stamp = stamp_of(&delivery);
        const int which = stamp.poster == (uint32_t)posters[1];
        CHECK(stamp.number == next[which]++, "poster %d: %u instead of %u", which, stamp.number, next[which] - 1);
        if (random_below(2000) == 0) spin_cycles(3000000);
    }
    ends_well(posters[0]);
    ends_well(posters[1]);
    CHECK(drain(observer).received == 0, "more than was posted");
}

static void never_reads(void) {
    tidings_center *center = join_center(0);
    observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    tell(&ready);
    for (;;) pause();
}

static void fill(tidings_publisher *publisher) {
    int result, posted = 0;
    while ((result = tidings_post(publisher, &posted, sizeof posted, NULL, NULL)) == 0) posted++;
    CHECK(result == -EAGAIN && posted <= 256, "%d after %d", result, posted);
}

static void by_this_process(void) {
    tidings_holder holder;
    OK(tidings_last_error_holder(&holder));
    CHECK(holder.own && holder.pid == getpid(), "by process %d", (int)holder.pid);
}

void held_back_posts_are_told_so_and_post_nothing(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    fill(publisher);
    const uint64_t posted = statistics_of(center).posted;
    static uint8_t large[100000];
    CHECK(tidings_post(publisher, "x", 1, NULL, NULL) == -EAGAIN, "at once");
    by_this_process();
    CHECK(tidings_post(publisher, "x", 1, &(tidings_post_options){.timeout_ns = 2000000}, NULL) == -ETIMEDOUT,
          "by a deadline");
    by_this_process();
    CHECK(tidings_post(publisher_of(center, "other"), "x", 1, NULL, NULL) == -EAGAIN,
          "whatever the name: what would have to go is the observer's");
    CHECK(tidings_post(publisher, large, sizeof large, NULL, NULL) == -EAGAIN, "large, at once");
    by_this_process();
    CHECK(tidings_post(publisher, large, sizeof large, &(tidings_post_options){.timeout_ns = 2000000}, NULL) ==
              -ETIMEDOUT,
          "large, by a deadline");
    CHECK(tidings_post(publisher, "x", 1, &(tidings_post_options){.flags = TIDINGS_POST_RETAIN}, NULL) == -EAGAIN,
          "retained");
    size_t size = 0;
    CHECK(tidings_state_get(publisher, NULL, &size, NULL, NULL) == -ENOENT, "nothing is retained");
    tidings_holder holder;
    CHECK(tidings_last_error_holder(&holder) == -ENOENT && holder.pid == 0, "this failure has no holder");
    CHECK(statistics_of(center).posted == posted && statistics_of(center).chunks_used == 0,
          "nothing was posted, no chunk is taken");
    const account account = drain(observer);
    CHECK(account.missed == 0 && account.received == posted, "%lu", (unsigned long)account.received);
    OK(tidings_post(publisher, "x", 1, NULL, NULL));
}

static _Atomic uint32_t *progress;

static void posts_without_deadline(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (uint32_t i = 0; i < 1000; i++) {
        OK(tidings_post(publisher, "x", 1, &(tidings_post_options){.timeout_ns = -1}, NULL));
        atomic_fetch_add(progress, 1);
    }
}

// Killed while posters wait for it, or stopped first and then killed: they go on.
void the_death_of_a_lossless_observer_releases_posters(void) {
    progress = shared_memory(4096);
    ready = pipe_open();
    tidings_center *center = join_center(256);
    for (int round = 0; round < 6; round++) {
        const pid_t observer = start(never_reads);
        told(&ready);
        atomic_store(progress, 0);
        const pid_t posters[2] = {start(posts_without_deadline), start(posts_without_deadline)};
        // Until they stand: the number no longer moves and both sleep.
        while (atomic_load(progress) < 190) usleep(100);
        if (round % 2) CHECK(kill(observer, SIGSTOP) == 0, "%s", strerror(errno));
        CHECK(atomic_load(progress) <= 256, "%u posts went through", atomic_load(progress));
        kill_and_reap(observer);
        ends_well(posters[0]);
        ends_well(posters[1]);
    }
    CHECK(tidings_reclaim(center) >= 0 && statistics_of(center).observers == 0, "left");
}

static pthread_barrier_t together;

static void *posts_at_once(void *argument) {
    pthread_barrier_wait(&together);
    return (void *)(intptr_t)tidings_post(argument, "x", 1, NULL, NULL);
}

// Several threads meet a dead lossless observer at the same moment: none of them is told to wait for it.
void a_dead_lossless_observer_holds_back_none_of_several_threads(void) {
    ready = pipe_open();
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    OK(pthread_barrier_init(&together, NULL, 3));
    for (int round = 0; round < 60; round++) {
        const pid_t observer = start(never_reads);
        told(&ready);
        fill(publisher);
        kill_and_reap(observer);
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) OK(pthread_create(&threads[i], NULL, posts_at_once, publisher));
        for (int i = 0; i < 3; i++) {
            void *result;
            pthread_join(threads[i], &result);
            CHECK(result == NULL, "round %d, thread %d: %d, though the observer is dead", round, i,
                  (int)(intptr_t)result);
        }
    }
}

static void *waits_for_one(void *observer) {
    receive(observer);
    return NULL;
}

// While the observer sleeps on one name, another thread can't add a name to it. The refusal changes nothing for it or
// for any other process.
void a_sleeping_lossless_observer_can_be_given_no_name_and_holds_no_poster_back(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *a = publisher_of(center, "a"), *b = publisher_of(center, "b"), *c = publisher_of(center, "c");
    tidings_observer *other = observer_of(center, "b");  // so that records of "b" carry its number
    tidings_observer *observer = observer_with(center, "a", TIDINGS_OBSERVE_LOSSLESS, 0);
    tidings_observer_spin(observer, 0);
    pthread_t sleeper;
    OK(pthread_create(&sleeper, NULL, waits_for_one, observer));
    while (statistics_of(center).observers_asleep < 1) usleep(100);
    for (uint32_t i = 0; i < 240; i++) post_number(b, i);
    uint32_t subscription;
    CHECK(tidings_observer_add(observer, "b", 1, NULL, 0, 0, &subscription) == -EBUSY, "a name is added");
    for (uint32_t i = 0; i < 600; i++) {
        const int result = tidings_post(i == 599 ? a
                                        : i % 2  ? b
                                                 : c,
                                        "12345678", 8, &(tidings_post_options){.timeout_ns = -1}, NULL);
        CHECK(result == 0, "post %u is held back: %d", i, result);
    }
    pthread_join(sleeper, NULL);
    tidings_observer_close(other);
}

static _Atomic bool ending;

static void *posts_until_told(void *publisher) {
    for (uint32_t i = 0; !atomic_load(&ending); i++) {
        const int result = tidings_post(publisher, &(stamp){.number = i}, sizeof(stamp),
                                        &(tidings_post_options){.timeout_ns = 1000000}, NULL);
        CHECK(result == 0 || result == -ETIMEDOUT, "%d", result);
    }
    return NULL;
}

// A lossless observer asks for history while other processes post at full speed: from its first notification on, none
// is missing.
void a_lossless_observer_loses_nothing_of_the_history_it_asked_for(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *entry_holder = observer_of(center, NAME);
    atomic_store(&ending, false);
    pthread_t poster;
    OK(pthread_create(&poster, NULL, posts_until_told, publisher));
    uint64_t lost = 0;
    for (int round = 0; round < 300; round++) {
        tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, TIDINGS_ADD_HISTORY);
        for (int i = 0; i < 400; i++) {
            tidings_delivery delivery;
            if (tidings_next(observer, 0, &delivery) != 0) continue;
            if (delivery.kind == TIDINGS_DELIVERY_MISSED) lost += delivery.missed;
        }
        tidings_observer_close(observer);
    }
    atomic_store(&ending, true);
    pthread_join(poster, NULL);
    CHECK(lost == 0, "%lu were lost to lossless observers", (unsigned long)lost);
    tidings_observer_close(entry_holder);
}

// The observer's process is stopped: posters with a deadline keep to it. Posters without one go on when the process
// does.
static void counts_to_a_thousand(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    tell(&ready);
    for (uint32_t i = 0; i < 1000; i++) {
        const tidings_delivery delivery = receive(observer);
        CHECK(stamp_of(&delivery).number == i, "%u instead of %u", stamp_of(&delivery).number, i);
    }
}

void a_stopped_lossless_observer_holds_until_the_deadline(void) {
    ready = pipe_open();
    own_center = join_center(256);
    tidings_publisher *publisher = publisher_of(own_center, NAME);
    const pid_t observer = start(counts_to_a_thousand);
    told(&ready);
    CHECK(kill(observer, SIGSTOP) == 0 && waitpid(observer, NULL, WUNTRACED) == observer, "%s", strerror(errno));
    uint32_t number = 0;
    int result;
    while ((result = tidings_post(publisher, &(stamp){.number = number}, sizeof(stamp),
                                  &(tidings_post_options){.timeout_ns = 3000000}, NULL)) == 0)
        number++;
    CHECK(result == -ETIMEDOUT && number <= 256, "%d after %u", result, number);
    CHECK(kill(observer, SIGCONT) == 0, "%s", strerror(errno));
    for (; number < 1000; number++)
        OK(tidings_post(publisher, &(stamp){.number = number}, sizeof(stamp), &(tidings_post_options){.timeout_ns = -1},
                        NULL));
    ends_well(observer);
}

// There are few chunks for large payloads (64 of this size), far fewer than slots. An observer that has taken all of
// them and is busy elsewhere holds no poster back.
void an_observer_that_took_every_large_payload_holds_no_poster_back(void) {
    tidings_center *center = join_center(4096);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    static uint8_t large[60000];
    const tidings_post_options patiently = {.timeout_ns = 5000000000};
    for (uint32_t i = 0; i < 60; i++) OK(tidings_post(publisher, large, sizeof large, &patiently, NULL));
    for (uint32_t i = 0; i < 60; i++) (void)receive(observer);
    for (uint32_t i = 0; i < 50; i++) OK(tidings_post(publisher, large, sizeof large, &patiently, NULL));
}

// A lossless observer asks for the history of one more name, for which the center has no room.
void a_name_that_could_not_be_added_holds_no_poster_back(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, TIDINGS_ADD_HISTORY);
    tidings_observer *other = observer_of_nothing(center);
    uint32_t subscription;
    int result = 0;
    for (uint32_t i = 0; result == 0; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        result = tidings_observer_add(other, name, strlen(name), NULL, 0, 0, &subscription);
    }
    CHECK(result == -ENOSPC, "%d", result);
    result = tidings_observer_add(observer, "more", 4, NULL, 0, TIDINGS_ADD_HISTORY, &subscription);
    CHECK(result == -ENOSPC, "%d", result);
    tidings_delivery delivery;
    CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN, "something is there");
    tidings_publisher *publisher = publisher_of(center, "never observed");
    for (uint32_t i = 0; i < 2000; i++) post_number(publisher, i);
}
