// Order, sizes, exact loss: what the ring promises while everybody lives.
#include <pthread.h>

#include "scenario.h"

void sizes(void) {
    tidings_center *center = center_open(512);
    tidings_topic *topic = topic_open(center, NAME);
    tidings_observer *observer = observer_open(center, NAME, 0, 0);
    size_t most = 16 << 20;
    uint8_t *bytes = malloc(most + 1);
    for (size_t i = 0; i <= most; i++) bytes[i] = (uint8_t)(i * 31 + (i >> 9));
    const size_t sizes[] = {0, 1, 7, 8, 9, 15, 16, 17, 64, 175, 176, 177, 199, 200, 201, 400, 1000, 4096, 8192, 65536, 1 << 20, 5 << 20, 16 << 20};
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            uint64_t sequence;
            OK(tidings_post(topic, bytes, sizes[i], &(tidings_post_options){.format = 3}, &sequence));
            tidings_delivery delivery;
            OK(tidings_next(observer, -1, &delivery));
            CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE && delivery.size == sizes[i] && delivery.sequence == sequence && delivery.format == 3,
                  "%zu bytes came as %zu", sizes[i], delivery.size);
            CHECK(memcmp(delivery.payload, bytes, sizes[i]) == 0, "%zu bytes came damaged", sizes[i]);
            CHECK(strcmp(delivery.name, NAME) == 0 && delivery.pid == getpid() && delivery.flags == TIDINGS_DELIVERY_OWN, "envelope");
        }
    }
    CHECK(tidings_post(topic, bytes, most + 1, NULL, NULL) == -EMSGSIZE, "over the maximum");
    // A reservation grows, and is what arrives.
    tidings_reservation reservation;
    OK(tidings_reserve(center, 100, &reservation));
    memcpy(reservation.bytes, bytes, 100);
    OK(tidings_reserve_more(center, &reservation, 100, 300000));
    memcpy((uint8_t *)reservation.bytes + 100, bytes + 100, 300000 - 100);
    OK(tidings_post_reserved(topic, &reservation, 300000, NULL, NULL));
    tidings_delivery delivery;
    OK(tidings_next(observer, -1, &delivery));
    CHECK(delivery.size == 300000 && memcmp(delivery.payload, bytes, 300000) == 0, "reserved");
    CHECK(tidings_next(observer, 0, &delivery) == -EAGAIN, "nothing more");
    tidings_observer_close(observer);
    tidings_topic_close(topic);
    free(bytes);
    tidings_close(center);
}

// Everything there is: how many delivered, how many missed.
static void drain(tidings_observer *observer, uint64_t *delivered, uint64_t *missed) {
    tidings_delivery delivery;
    int result;
    *delivered = *missed = 0;
    while ((result = tidings_next(observer, 0, &delivery)) == 0) {
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) *missed += delivery.missed;
        else ++*delivered;
    }
    CHECK(result == -EAGAIN, "result %d", result);
}

void exact_loss(void) {
    tidings_center *center = center_open(256);
    tidings_topic *chatty = topic_open(center, "chatty"), *rare = topic_open(center, "rare"), *subject, *other_subject;
    OK(tidings_topic_open(center, "chatty", 6, "one", 3, &subject));
    OK(tidings_topic_open(center, "chatty", 6, "two", 3, &other_subject));
    for (int round = 0; round < 50; round++) {
        tidings_observer *of_chatty = observer_open(center, "chatty", 0, 0), *of_rare = observer_open(center, "rare", 0, 0);
        tidings_observer *of_all = observer_open(center, NULL, 0, 0), *of_subject;
        uint32_t interest;
        OK(tidings_observer_open(center, 0, &of_subject));
        OK(tidings_observer_add(of_subject, "chatty", 6, "one", 3, 0, &interest));
        uint64_t posts = random_next() % 3000, chatty_posts = 0, rare_posts = 0, subject_posts = 0, delivered, missed;
        for (uint64_t i = 0; i < posts; i++) {
            switch (random_next() % 100) {
            case 0:
                OK(tidings_post(rare, &i, 8, NULL, NULL));
                rare_posts++;
                break;
            case 1:
                OK(tidings_post(subject, &i, 8, NULL, NULL));
                chatty_posts++, subject_posts++;
                break;
            case 2:
                OK(tidings_post(other_subject, &i, 8, NULL, NULL));
                chatty_posts++;
                break;
            default:
                OK(tidings_post(chatty, &i, 8, NULL, NULL));
                chatty_posts++;
            }
        }
        drain(of_chatty, &delivered, &missed);
        CHECK(delivered + missed == chatty_posts, "chatty: %lu + %lu of %lu", delivered, missed, chatty_posts);
        drain(of_rare, &delivered, &missed);
        CHECK(delivered + missed == rare_posts, "rare: %lu + %lu of %lu", delivered, missed, rare_posts);
        drain(of_subject, &delivered, &missed);
        CHECK(delivered + missed == subject_posts, "subject: %lu + %lu of %lu", delivered, missed, subject_posts);
        drain(of_all, &delivered, &missed);
        CHECK(delivered + missed == posts, "all: %lu + %lu of %lu", delivered, missed, posts);
        // Lapped by a neighbour, without a loss of its own: hears of none.
        for (int i = 0; i < 1000; i++) OK(tidings_post(chatty, &i, 4, NULL, NULL));
        drain(of_rare, &delivered, &missed);
        CHECK(delivered == 0 && missed == 0, "rare heard of %lu and %lu", delivered, missed);
        tidings_observer_close(of_chatty);
        tidings_observer_close(of_rare);
        tidings_observer_close(of_all);
        tidings_observer_close(of_subject);
    }
    tidings_topic *topics[] = {chatty, rare, subject, other_subject};
    for (int i = 0; i < 4; i++) tidings_topic_close(topics[i]);
    tidings_close(center);
}

#define THREADS 4
#define EACH 20000

static void *post_many(void *argument) {
    static _Atomic uint32_t number;
    stamp stamp = {.poster = ++number};
    for (stamp.number = 0; stamp.number < EACH; stamp.number++) OK(tidings_post(argument, &stamp, sizeof stamp, &(tidings_post_options){.deadline_ns = -1}, NULL));
    return NULL;
}

// Four threads post through one handle and one topic, a lossless observer of the same process sees each in its order.
void threads(void) {
    tidings_center *center = center_open(1024);
    tidings_topic *topic = topic_open(center, NAME);
    tidings_observer *observer = observer_open(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    pthread_t posters[THREADS];
    for (int i = 0; i < THREADS; i++) OK(pthread_create(&posters[i], NULL, post_many, topic));
    uint32_t next[THREADS + 1] = {0};
    for (int i = 0; i < THREADS * EACH; i++) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
        CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE, "missed %lu", delivery.missed);
        stamp stamp;
        memcpy(&stamp, delivery.payload, sizeof stamp);
        CHECK(stamp.number == next[stamp.poster]++, "poster %u: %u", stamp.poster, stamp.number);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(posters[i], NULL);
    tidings_observer_close(observer);
    tidings_topic_close(topic);
    tidings_close(center);
}

static void *add_and_remove(void *argument) {
    char name[32];
    for (int i = 0; i < 400; i++) {
        uint32_t interest;
        snprintf(name, sizeof name, "churn.%d", i % 37);
        OK(tidings_observer_add(argument, name, strlen(name), NULL, 0, 0, &interest));
        OK(tidings_observer_remove(argument, interest));
    }
    return NULL;
}

// Names come and go, from another thread, while the observer receives: its own name's account stays exact.
void churn(void) {
    tidings_center *center = center_open(1024);
    tidings_topic *topic = topic_open(center, NAME);
    tidings_observer *observer = observer_open(center, NAME, 0, 0);
    pthread_t poster, changer;
    OK(pthread_create(&poster, NULL, post_many, topic));
    OK(pthread_create(&changer, NULL, add_and_remove, observer));
    for (uint64_t i = 0; i < EACH; i++) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            CHECK(strcmp(delivery.name, NAME) == 0, "missed %lu of %s", delivery.missed, delivery.name);
            i += delivery.missed - 1;
            continue;
        }
        stamp stamp;
        memcpy(&stamp, delivery.payload, sizeof stamp);
        CHECK(stamp.number == i, "%u at %lu", stamp.number, i);
    }
    pthread_join(poster, NULL);
    pthread_join(changer, NULL);
    tidings_observer_close(observer);
    tidings_topic_close(topic);
    tidings_close(center);
}
