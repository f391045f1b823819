// An observer that falls behind is told exactly how much it missed, per name, whichever processes post.
#include <pthread.h>

#include "peer.h"
#include "registry/name_table.h"

#define COLLIDING 6

// Names that share a bucket of the smallest table, by brute force.
static void colliding_names(char names[COLLIDING][32], uint32_t buckets) {
    uint32_t found = 0;
    uint64_t bucket = 0;
    for (uint32_t i = 0; found < COLLIDING; i++) {
        char name[32];
        const int length = snprintf(name, sizeof name, "bucket.%u", i);
        tidings__key key;
        tidings__key_make(&key, name, (size_t)length, NULL, 0);
        if (found == 0) bucket = key.hash & (buckets - 1);
        if ((key.hash & (buckets - 1)) != bucket) continue;
        memcpy(names[found++], name, sizeof name);
    }
}

typedef struct poster {
    tidings_center *center;
    const char *name, *subject;
    uint32_t count;
} poster;

static void *posts(void *argument) {
    const poster *poster = argument;
    tidings_publisher *publisher = publisher_with(poster->center, poster->name, poster->subject);
    for (uint32_t i = 0; i < poster->count; i++) post_number(publisher, i);
    tidings_publisher_close(publisher);
    return NULL;
}

// Six names of one bucket, two subjects, posted by several threads at once; observers that read now and then.
void several_names_of_one_bucket_are_counted_apart(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    char names[COLLIDING][32];
    colliding_names(names, 512);
    tidings_observer *of_name[COLLIDING], *of_subject, *of_all = observer_of(center, NULL);
    for (int i = 0; i < COLLIDING; i++) of_name[i] = observer_of(center, names[i]);
    uint32_t subscription;
    of_subject = observer_of_nothing(center);
    OK(tidings_observer_add(of_subject, names[0], strlen(names[0]), "one", 3, 0, &subscription));
    uint64_t posted[COLLIDING] = {0}, with_subject = 0, all = 0;
    account seen[COLLIDING] = {0}, of_one = {0}, of_every = {0};
    for (int round = 0; round < 60; round++) {
        poster posters[3];
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) {
            const uint32_t which = (uint32_t)random_below(COLLIDING);
            const char *subject = (const char *[]){NULL, "one", "two"}[random_below(3)];
            posters[i] = (poster){center, names[which], subject, (uint32_t)random_below(700)};
            posted[which] += posters[i].count;
            all += posters[i].count;
            if (which == 0 && subject && strcmp(subject, "one") == 0) with_subject += posters[i].count;
            OK(pthread_create(&threads[i], NULL, posts, &posters[i]));
        }
        for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i < COLLIDING; i++) {
            if (random_below(3) != 0 && round < 59) continue;
            const account account = drain(of_name[i]);
            seen[i].received += account.received;
            seen[i].missed += account.missed;
            CHECK(seen[i].received + seen[i].missed == posted[i], "round %d, %s: %lu + %lu of %lu", round, names[i],
                  (unsigned long)seen[i].received, (unsigned long)seen[i].missed, (unsigned long)posted[i]);
        }
        account account = drain(of_subject);
        of_one.received += account.received;
        of_one.missed += account.missed;
        CHECK(of_one.received + of_one.missed == with_subject, "round %d, subject: %lu + %lu of %lu", round,
              (unsigned long)of_one.received, (unsigned long)of_one.missed, (unsigned long)with_subject);
        account = drain(of_all);
        of_every.received += account.received;
        of_every.missed += account.missed;
        CHECK(of_every.received + of_every.missed == all, "round %d, all names: %lu + %lu of %lu", round,
              (unsigned long)of_every.received, (unsigned long)of_every.missed, (unsigned long)all);
    }
}

// One observer with several subscriptions: each is told its own losses, and their sum is right when subscriptions
// overlap.
void subscriptions_of_one_observer_are_counted_apart(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *a = publisher_of(center, "a"), *b = publisher_of(center, "b"),
                      *a_with_x = publisher_with(center, "a", "x"), *neighbour = publisher_of(center, "n");
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t of_a, of_b, of_a_again, of_a_with_x;
    OK(tidings_observer_add(observer, "a", 1, NULL, 0, 0, &of_a));
    OK(tidings_observer_add(observer, "b", 1, NULL, 0, 0, &of_b));
    OK(tidings_observer_add(observer, "a", 1, "x", 1, 0, &of_a_with_x));
    uint64_t posted[5] = {0}, seen[5] = {0};
    for (int round = 0; round < 300; round++) {
        if (round == 100) {
            const account before = drain(observer);  // whatever it was, it isn't of_a_again's
            (void)before;
            memset(posted, 0, sizeof posted);
            memset(seen, 0, sizeof seen);
            OK(tidings_observer_add(observer, "a", 1, NULL, 0, 0, &of_a_again));
        }
        for (uint64_t n = random_below(200); n > 0; n--) {
            switch (random_below(4)) {
                case 0: post_number(a, 0), posted[of_a]++, posted[4]++; break;
                case 1: post_number(b, 0), posted[of_b]++; break;
                case 2: post_number(a_with_x, 0), posted[of_a]++, posted[4]++, posted[of_a_with_x]++; break;
                default: post_number(neighbour, 0); break;
            }
        }
        if (random_below(4) != 0) continue;
        tidings_delivery delivery;
        while (tidings_next(observer, 0, &delivery) == 0) {
            for (size_t i = 0; i < delivery.subscription_count; i++)
                seen[delivery.subscriptions[i]] += delivery.kind == TIDINGS_DELIVERY_MISSED ? delivery.missed : 1;
        }
        for (int i = 1; i <= (round >= 100 ? 4 : 3); i++)
            CHECK(seen[i] == posted[i], "round %d, subscription %d: %lu of %lu", round, i, (unsigned long)seen[i],
                  (unsigned long)posted[i]);
    }
}

// A rare name's observer that its neighbours lap again and again hears of nothing, and gets every one of its own that
// is still there.
void a_rare_name_beside_a_chatty_one_loses_nothing_unsaid(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *rare = publisher_of(center, "rare"), *chatty = publisher_of(center, "chatty");
    tidings_observer *observer = observer_of(center, "rare");
    for (uint32_t round = 0; round < 300; round++) {
        for (uint64_t n = 256 + random_below(600); n > 0; n--) post_number(chatty, 0);
        const bool before = random_below(2);
        if (before) post_number(rare, round);
        for (uint64_t n = random_below(100); n > 0; n--) post_number(chatty, 0);
        const account account = drain(observer);
        CHECK(account.missed == 0 && account.received == before, "round %u: %lu + %lu of %d", round,
              (unsigned long)account.received, (unsigned long)account.missed, before);
    }
}

static _Atomic bool ending;

static void *posts_numbers(void *argument) {
    tidings_publisher *b = argument;
    for (uint32_t number = 1; !atomic_load(&ending); number++) post_number(b, number);
    return NULL;
}

static void *adds_a_name(void *argument) {
    uint32_t subscription;
    OK(tidings_observer_add(argument, "b", 1, NULL, 0, 0, &subscription));
    return NULL;
}

// A name added by one thread while another is receiving: from the first delivery of it on, received and missed add up.
void a_name_added_while_receiving_is_counted_exactly(void) {
    tidings_center *center = join_center(256);
    tidings_publisher *a = publisher_of(center, "a"), *b = publisher_of(center, "b");
    for (int round = 0; round < 40; round++) {
        tidings_observer *observer = observer_of(center, "a");
        atomic_store(&ending, false);
        pthread_t poster, adder;
        OK(pthread_create(&poster, NULL, posts_numbers, b));
        OK(pthread_create(&adder, NULL, adds_a_name, observer));
        tidings_delivery delivery;
        uint32_t last = 0;
        uint64_t missed = 0, gaps = 0;
        for (uint32_t laps = 0; gaps < 3 && laps < 2000000; laps++) {
            const int result = tidings_next(observer, 0, &delivery);
            if (result == -EAGAIN) continue;
            OK(result);
            if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
                missed += delivery.missed;
                continue;
            }
            const uint32_t number = stamp_of(&delivery).number;
            if (last != 0) {
                CHECK(number - last - 1 == missed, "round %d: between number %u and %u it missed %lu", round, last,
                      number, (unsigned long)missed);
                gaps += missed > 0;
                // Now and then, fall behind.
                if (random_below(300) == 0) spin_cycles(400000);
            }
            last = number;
            missed = 0;
        }
        atomic_store(&ending, true);
        pthread_join(poster, NULL);
        pthread_join(adder, NULL);
        tidings_observer_close(observer);
    }
    tidings_publisher_close(a);
}

// MARK: What other processes see of it

static pipe_pair ready, counted, enough;
static uint64_t *told_missed;

// Begins to read when it is continued. Then it reads until nothing is left, once more, and tells what it missed.
static void misses(void) {
    tidings_observer *observer = observer_of(join_center(0), NAME);
    tell(&ready);
    account seen = {0};
    while (seen.received + seen.missed < 1000) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
        if (delivery.kind == TIDINGS_DELIVERY_MISSED)
            seen.missed += delivery.missed;
        else
            seen.received++;
    }
    CHECK(drain(observer).received == 0, "more than was posted");
    *told_missed = seen.missed;
    tell(&counted);
    told(&enough);
}

static tidings_participant_observers observers_of_process(tidings_center *center, pid_t pid) {
    tidings_participant_observers found = {0};
    tidings_participant_info info;
    int result;
    for (uint32_t i = 0; (result = tidings_participant(center, i, &info)) != -ERANGE; i++)
        if (result == 0 && info.pid == pid) tidings_participant_observers_get(center, i, &found);
    return found;
}

void an_observer_shows_how_far_it_is_and_what_it_missed(void) {
    ready = pipe_open(), counted = pipe_open(), enough = pipe_open();
    told_missed = shared_memory(sizeof *told_missed);
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME), *other = publisher_of(center, "other");
    const pid_t pid = start(misses);
    told(&ready);
    CHECK(kill(pid, SIGSTOP) == 0 && waitpid(pid, NULL, WUNTRACED) == pid, "%s", strerror(errno));
    tidings_participant_observers found = observers_of_process(center, pid);
    CHECK(found.known == 1 && found.distance == 0, "%u known, %lu away", found.known, (unsigned long)found.distance);
    // Posts of other names are no distance before the first of its own.
    for (uint32_t i = 0; i < 10; i++) (void)post_number(other, i);
    found = observers_of_process(center, pid);
    CHECK(found.distance == 0, "%lu away", (unsigned long)found.distance);
    for (uint32_t i = 0; i < 20; i++) (void)post_number(publisher, i);
    found = observers_of_process(center, pid);
    CHECK(found.distance == 20 && found.missed == 0, "%lu away", (unsigned long)found.distance);
    for (uint32_t i = 20; i < 1000; i++) (void)post_number(publisher, i);
    found = observers_of_process(center, pid);
    CHECK(found.distance > 128 && found.distance <= 256, "%lu away", (unsigned long)found.distance);
    CHECK(kill(pid, SIGCONT) == 0, "%s", strerror(errno));
    told(&counted);
    found = observers_of_process(center, pid);
    CHECK(found.missed == *told_missed && found.missed > 0, "%u missed, of %lu", found.missed,
          (unsigned long)*told_missed);
    CHECK(found.distance == 0 && found.behind == 0 && found.lossless == 0, "%lu away", (unsigned long)found.distance);
    tell(&enough);
    ends_well(pid);
}
