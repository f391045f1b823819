// Several threads of one process on one handle.
#include <pthread.h>

#include "peer.h"

#define THREADS 4

static uint32_t each;
static _Atomic uint32_t poster_number;

static void *posts_numbers(void *publisher) {
    stamp stamp = {.poster = atomic_fetch_add(&poster_number, 1)};
    for (stamp.number = 0; stamp.number < each; stamp.number++)
        OK(tidings_post(publisher, &stamp, sizeof stamp, &(tidings_post_options){.timeout_ns = -1}, NULL));
    return NULL;
}

void threads_that_share_a_publisher_post_each_in_its_order(void) {
    each = ROUNDS(20000);
    tidings_center *center = join_center(1024);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    pthread_t posters[THREADS];
    for (int i = 0; i < THREADS; i++) OK(pthread_create(&posters[i], NULL, posts_numbers, publisher));
    uint32_t next[THREADS] = {0};
    for (uint32_t i = 0; i < THREADS * each; i++) {
        const tidings_delivery delivery = receive(observer);
        const stamp stamp = stamp_of(&delivery);
        CHECK(stamp.poster < THREADS && stamp.number == next[stamp.poster]++, "poster %u: number %u", stamp.poster,
              stamp.number);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(posters[i], NULL);
    CHECK(drain(observer).received == 0, "more than was posted");
}

static void *adds_and_removes(void *observer) {
    char name[32];
    for (uint32_t i = 0; i < ROUNDS(400); i++) {
        uint32_t subscription;
        snprintf(name, sizeof name, "churn.%u", i % 37);
        OK(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscription));
        if (i % 2)
            OK(tidings_observer_remove(observer, subscription));
        else
            OK(tidings_observer_remove_many(observer, &subscription, 1));
    }
    return NULL;
}

// Names come and go in another thread while it receives: the account of the name that stays is exact.
void names_added_and_removed_meanwhile_disturb_no_account(void) {
    each = ROUNDS(20000);
    tidings_center *center = join_center(1024);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tidings_observer *observer = observer_of(center, NAME);
    pthread_t poster, changer;
    OK(pthread_create(&poster, NULL, posts_numbers, publisher));
    OK(pthread_create(&changer, NULL, adds_and_removes, observer));
    for (uint64_t i = 0; i < each;) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
        CHECK(strcmp(delivery.name, NAME) == 0, "of %s", delivery.name);
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            i += delivery.missed;
            continue;
        }
        CHECK(stamp_of(&delivery).number == i, "%u instead of %lu", stamp_of(&delivery).number, (unsigned long)i);
        i++;
    }
    pthread_join(poster, NULL);
    pthread_join(changer, NULL);
    CHECK(statistics_of(center).names == 1, "%u names", statistics_of(center).names);
}
