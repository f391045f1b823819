// Prefix observers: which notifications come, which don't, which were missed, which observers are woken and which
// posters are held back.
#include <pthread.h>

#include "peer.h"
#include "receiving/observer.h"
#include "registry/prefixes.h"

#define NAMES 8

// Those that begin with "com.example." are the first five.
static const char *const names[NAMES] = {"com.example.",  "com.example.a", "com.example.bb.ccc", "com.example.\xc3\xa9",
                                         "com.example.b", "com.example",   "com.examples",       "b"};

static tidings_observer *looks(tidings_center *center, const char *prefix, uint32_t flags, uint32_t add_flags) {
    uint32_t subscription;
    tidings_observer *observer;
    OK(tidings_observer_open(center, flags, &observer));
    keep(observer);
    OK(tidings_observer_add(observer, prefix, strlen(prefix), NULL, 0, TIDINGS_ADD_PREFIX | add_flags, &subscription));
    return observer;
}

static bool begins(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

static uint32_t prefixes_in(tidings_center *center) {
    uint32_t count = 0;
    tidings_name_info info;
    for (uint32_t i = 0;; i++) {
        const int result = tidings_name(center, i, &info);
        if (result == -ERANGE) return count;
        count += result == 0 && info.prefix;
    }
}

// In a cell or a chunk, with an entry for its name and without, retained or not, with a subject or without: by its name
// alone.
void a_prefix_gets_what_begins_so(void) {
    static uint8_t bytes[70000];
    tidings_center *center = join_center(256);
    tidings_observer *observer = looks(center, "com.example.", 0, 0), *shorter = looks(center, "com.e", 0, 0),
                     *longer = looks(center, "com.example.bb.c", 0, 0);
    observer_of(center, names[1]);
    observer_of(center, names[6]);
    const size_t sizes[] = {0, 8, 100, 150, 190, 200, 300, 5000, 70000};
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t n = 0; n < NAMES; n++) {
            for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                tidings_publisher *publisher = publisher_with(center, names[n], i % 3 == 1 ? "subject" : NULL);
                const tidings_post_options options = {.flags = round == 2 && i % 3 != 1 ? TIDINGS_POST_RETAIN : 0};
                uint64_t sequence;
                memset(bytes, (int)(n + i), sizes[i]);
                OK(tidings_post(publisher, bytes, sizes[i], &options, &sequence));
                tidings_observer *all[] = {observer, shorter, longer};
                const bool fits[] = {begins(names[n], "com.example."), begins(names[n], "com.e"),
                                     begins(names[n], "com.example.bb.c")};
                for (uint32_t o = 0; o < 3; o++) {
                    tidings_delivery delivery;
                    const int result = tidings_next(all[o], 0, &delivery);
                    if (!fits[o]) {
                        CHECK(result == -EAGAIN, "observer %u gets %s: %d", o, names[n], result);
                        continue;
                    }
                    CHECK(result == 0 && delivery.kind == TIDINGS_DELIVERY_MESSAGE && delivery.sequence == sequence &&
                              delivery.size == sizes[i],
                          "observer %u, %s, %zu bytes: %d", o, names[n], sizes[i], result);
                    CHECK(delivery.name_length == strlen(names[n]) && strcmp(delivery.name, names[n]) == 0,
                          "%s came as %s", names[n], delivery.name);
                    CHECK(strcmp(delivery.subject, i % 3 == 1 ? "subject" : "") == 0, "%s", delivery.subject);
                    CHECK(delivery.size == 0 || memcmp(delivery.payload, bytes, sizes[i]) == 0, "%s: another payload",
                          names[n]);
                }
                tidings_publisher_close(publisher);
            }
        }
    }
}

// Several subscriptions of one observer match a name: there is one delivery, which names each subscription.
void a_prefix_beside_its_names_delivers_once(void) {
    tidings_center *center = join_center(256);
    tidings_observer *observer = looks(center, "com.example.", 0, 0);
    uint32_t of_name, of_all, again;
    OK(tidings_observer_add(observer, names[1], strlen(names[1]), NULL, 0, 0, &of_name));
    OK(tidings_observer_add(observer, NULL, 0, NULL, 0, 0, &of_all));
    OK(tidings_observer_add(observer, "com.", 4, NULL, 0, TIDINGS_ADD_PREFIX, &again));
    post_number(publisher_of(center, names[1]), 1);
    tidings_delivery delivery = receive(observer);
    CHECK(delivery.subscription_count == 4, "%zu", delivery.subscription_count);
    post_number(publisher_of(center, names[5]), 2);
    delivery = receive(observer);
    CHECK(delivery.subscription_count == 2 && strcmp(delivery.name, names[5]) == 0, "%zu", delivery.subscription_count);
    OK(tidings_observer_remove(observer, again));
    OK(tidings_observer_remove(observer, of_all));
    OK(tidings_observer_remove(observer, 1));
    post_number(publisher_of(center, names[2]), 3);
    post_number(publisher_of(center, names[1]), 4);
    delivery = receive(observer);
    CHECK(delivery.subscription_count == 1 && delivery.subscriptions[0] == of_name && stamp_of(&delivery).number == 4,
          "%zu", delivery.subscription_count);
    CHECK(prefixes_in(center) == 0, "%u prefixes are still there", prefixes_in(center));
}

typedef struct counted {
    tidings_observer *observer;
    const char *prefix;
    uint64_t due, seen;
} counted;

// Forty prefixes, more than are counted in one go, nested and apart; names with entries and without; some come and go
// meanwhile.
void what_a_prefix_missed_is_counted_exactly(void) {
    tidings_center *center = join_center(256);
    static const char *const ways[] = {"com.example.",        "com.e",         "c", "com.example.bb.ccc",
                                       "com.example.bb.cccc", "com.example.b", "b", "x"};
    counted of[40];
    char text[40][16];
    for (uint32_t i = 0; i < 40; i++) {
        snprintf(text[i], sizeof text[i], "other.%u", i);
        of[i] = (counted){.prefix = i < 8 ? ways[i] : text[i]};
        of[i].observer = looks(center, of[i].prefix, 0, 0);
    }
    observer_of(center, names[2]);
    for (uint32_t round = 0; round < ROUNDS(400); round++) {
        for (uint64_t n = random_below(300); n > 0; n--) {
            const uint64_t which = random_below(NAMES + 2);
            const char *name = which < NAMES ? names[which] : which == NAMES ? "other.17.x" : "unobserved";
            tidings_publisher *publisher = publisher_of(center, name);
            post_number(publisher, round);
            tidings_publisher_close(publisher);
            for (uint32_t i = 0; i < 40; i++) of[i].due += begins(name, of[i].prefix);
        }
        const uint32_t i = (uint32_t)random_below(40);
        const account account = drain(of[i].observer);
        of[i].seen += account.received + account.missed;
        CHECK(of[i].seen == of[i].due, "round %u, \"%s*\": %lu of %lu", round, of[i].prefix, (unsigned long)of[i].seen,
              (unsigned long)of[i].due);
        if (random_below(4) != 0) continue;
        // Another observer takes its place: its count begins now, whatever the last observer in that place saw.
        tidings_observer_close(of[i].observer);
        if (random_below(2))
            post_number(publisher_of(center, "com.example.bb.ccc"), 0), of[0].due++, of[1].due++, of[2].due++,
                of[3].due++, of[5].due++;
        of[i].observer = looks(center, of[i].prefix, 0, 0);
        of[i].due = of[i].seen = 0;
    }
}

typedef struct churn {
    tidings_center *center;
    _Atomic bool *going;
    uint32_t number;
} churn;

static void *comes_and_goes(void *argument) {
    const churn *churn = argument;
    uint64_t random = churn->number;
    while (atomic_load(churn->going)) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        char prefix[32];
        uint32_t subscription;
        tidings_observer *observer;
        const int length = snprintf(prefix, sizeof prefix, "com.e%.*s", (int)(random >> 40) % 8, "xample.");
        OK(tidings_observer_open(churn->center, 0, &observer));
        OK(tidings_observer_add(observer, prefix, (size_t)length, NULL, 0, TIDINGS_ADD_PREFIX, &subscription));
        tidings_delivery delivery;
        while (tidings_next(observer, 0, &delivery) == 0) {}
        tidings_observer_close(observer);
    }
    return NULL;
}

static void *posts_all(void *argument) {
    const churn *churn = argument;
    tidings_publisher *publishers[NAMES];
    for (uint32_t i = 0; i < NAMES; i++) publishers[i] = publisher_of(churn->center, names[i]);
    for (uint32_t i = 0; i < ROUNDS(60000); i++) post_number(publishers[i % NAMES], i);
    for (uint32_t i = 0; i < NAMES; i++) tidings_publisher_close(publishers[i]);
    return NULL;
}

// Several threads post; observers of prefixes come and go. One observer's count is right throughout, whichever thread
// counted.
void a_prefix_among_many_that_come_and_go_is_counted_exactly(void) {
    tidings_center *center = join_center(256);
    tidings_observer *observer = looks(center, "com.example.", 0, 0), *of_all = observer_of(center, NULL);
    _Atomic bool going = true;
    pthread_t others[2], posters[2];
    churn of_others[2], of_posters[2];
    for (uint32_t i = 0; i < 2; i++) {
        of_others[i] = (churn){center, &going, i + (uint32_t)random_next()};
        of_posters[i] = (churn){center, &going, i};
        OK(pthread_create(&others[i], NULL, comes_and_goes, &of_others[i]));
        OK(pthread_create(&posters[i], NULL, posts_all, &of_posters[i]));
    }
    for (uint32_t i = 0; i < 2; i++) pthread_join(posters[i], NULL);
    atomic_store(&going, false);
    for (uint32_t i = 0; i < 2; i++) pthread_join(others[i], NULL);
    const account account = drain(observer), all = drain(of_all);
    const uint64_t posted = 2 * (uint64_t)(ROUNDS(60000) / NAMES * NAMES);
    CHECK(all.received + all.missed >= posted, "%lu of %lu of all", (unsigned long)(all.received + all.missed),
          (unsigned long)posted);
    uint64_t due = 0;
    for (uint32_t i = 0; i < ROUNDS(60000); i++) due += 2 * (i % NAMES < 5);
    CHECK(account.received + account.missed == due, "%lu + %lu of %lu", (unsigned long)account.received,
          (unsigned long)account.missed, (unsigned long)due);
    CHECK(prefixes_in(center) == 1, "%u prefixes are left", prefixes_in(center));
}

static pipe_pair ready;
static _Atomic uint32_t *heard;

static void sleeps_by_prefix(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = looks(center, "com.example.", 0, 0);
    tidings_observer_spin(observer, 0);
    tell(&ready);
    tidings_delivery delivery;
    for (;;) {
        OK(tidings_next(observer, -1, &delivery));
        CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE && begins(delivery.name, "com.example."), "%s", delivery.name);
        if (atomic_fetch_add(heard, 1) == 9) return;
    }
}

// Posts of such names wake it; other posts leave it asleep, and its doorbell as it was.
void a_sleeper_by_prefix_is_woken_by_its_names_alone(void) {
    tidings_center *center = join_center(256);
    heard = shared_memory(4096);
    ready = pipe_open();
    const pid_t pid = start(sleeps_by_prefix);
    told(&ready);
    tidings_publisher *mine = publisher_of(center, names[2]), *other = publisher_of(center, names[6]);
    const _Atomic uint32_t *doorbell = &center->segment.observers[0].doorbell;
    for (uint32_t round = 0; round < 10; round++) {
        until_asleep(pid, center, 1);
        const uint32_t before = atomic_load(doorbell);
        for (uint32_t i = 0; i < 100; i++) post_number(other, i);
        CHECK(atomic_load(doorbell) == before, "it was rung by others' posts");
        post_number(mine, round);
        while (atomic_load(heard) <= round) usleep(20);
    }
    ends_well(pid);
}

// It holds back posts of its names, and of no others.
void a_lossless_observer_by_prefix_holds_back_its_names(void) {
    tidings_center *center = join_center(256);
    tidings_observer *observer = looks(center, "com.example.", TIDINGS_OBSERVE_LOSSLESS, 0);
    tidings_publisher *mine = publisher_of(center, names[1]), *other = publisher_of(center, names[7]);
    for (uint32_t i = 0; i < 2000; i++) post_number(other, i);
    uint8_t number[8] = {0};
    uint32_t posted = 0;
    int result;
    while ((result = tidings_post(mine, number, sizeof number, NULL, NULL)) == 0) posted++;
    CHECK(result == -EAGAIN && posted > 100 && posted <= 256, "%d after %u", result, posted);
    const account account = drain(observer);
    CHECK(account.received == posted && account.missed == 0, "%lu of %u, missed %lu", (unsigned long)account.received,
          posted, (unsigned long)account.missed);
    OK(tidings_post(mine, number, sizeof number, NULL, NULL));
    tidings_observer_close(observer);
    for (uint32_t i = 0; i < 1000; i++) OK(tidings_post(mine, number, sizeof number, NULL, NULL));
}

// What is in the ring already, without gap or double at the seam; of a lossless one too.
void a_prefix_has_a_history(void) {
    tidings_center *center = join_center(256);
    observer_of(center, names[4]);
    for (uint32_t lossless = 0; lossless < 2; lossless++) {
        uint32_t due = 0;
        for (uint32_t i = 0; i < 100; i++) {
            tidings_publisher *publisher = publisher_of(center, names[i % NAMES]);
            post_number(publisher, i);
            tidings_publisher_close(publisher);
        }
        tidings_observer *observer = observer_of_nothing(center);
        if (lossless) {
            tidings_observer_close(observer);
            OK(tidings_observer_open(center, TIDINGS_OBSERVE_LOSSLESS, &observer));
            keep(observer);
        }
        uint64_t from = statistics_of(center).posted - 100;
        OK(tidings_observer_seek(observer, from));
        uint32_t subscription;
        OK(tidings_observer_add(observer, "com.example.", 12, NULL, 0, TIDINGS_ADD_PREFIX | TIDINGS_ADD_HISTORY,
                                &subscription));
        for (uint32_t i = 100; i < 130; i++) {
            tidings_publisher *publisher = publisher_of(center, names[i % NAMES]);
            post_number(publisher, i);
            tidings_publisher_close(publisher);
        }
        for (uint32_t i = 0; i < 130; i++) {
            if (i % NAMES >= 5) continue;
            const tidings_delivery delivery = receive(observer);
            CHECK(stamp_of(&delivery).number == i, "%u instead of %u", stamp_of(&delivery).number, i);
            due++;
        }
        CHECK(drain(observer).received == 0 && due > 60, "more than was posted");
        tidings_observer_close(observer);
    }
}

static uint32_t leaving;

static void leaves_prefixes(void) {
    tidings_center *center = join_center(0);
    for (uint32_t i = 0; i < 20; i++) {
        char text[24];
        snprintf(text, sizeof text, "%u.%u", leaving, i);
        looks(center, text, 0, 0);
    }
    tell(&ready);
    for (;;) pause();
}

// Prefixes are bounded, and observers of one prefix share an entry. Prefixes of a dead observer are removed, like those
// of an observer that closes.
void prefixes_are_bounded_and_go_with_their_observers(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 1024});
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t subscriptions[TIDINGS_PREFIXES_MAX], one_more;
    char text[16];
    for (uint32_t i = 0; i < TIDINGS_PREFIXES_MAX; i++) {
        const int length = snprintf(text, sizeof text, "p%u.", i);
        OK(tidings_observer_add(observer, text, (size_t)length, NULL, 0, TIDINGS_ADD_PREFIX, &subscriptions[i]));
    }
    CHECK(tidings_observer_add(observer, "more", 4, NULL, 0, TIDINGS_ADD_PREFIX, &one_more) == -ENOSPC &&
              strstr(tidings_last_error(), "256 prefixes"),
          "%s", tidings_last_error());
    OK(tidings_observer_add(observer, "p7.", 3, NULL, 0, TIDINGS_ADD_PREFIX, &one_more));
    OK(tidings_observer_add(observer, "more", 4, NULL, 0, 0, &one_more));
    for (uint32_t i = 0; i < 40; i++) OK(tidings_observer_remove(observer, subscriptions[i]));
    CHECK(prefixes_in(center) == TIDINGS_PREFIXES_MAX - 39, "%u", prefixes_in(center));
    ready = pipe_open();
    for (uint32_t round = 0; round < 5; round++) {
        const pid_t pid = start(leaves_prefixes);
        told(&ready);
        CHECK(prefixes_in(center) == TIDINGS_PREFIXES_MAX - 19, "%u", prefixes_in(center));
        kill_and_reap(pid);
        CHECK(tidings_reclaim(center) == 1, "one died");
        CHECK(prefixes_in(center) == TIDINGS_PREFIXES_MAX - 39, "%u", prefixes_in(center));
    }
    tidings_observer_close(observer);
    // All but a few prefixes without an observer leave the chain, which is walked for every name.
    uint32_t left = 0;
    const tidings__segment *s = &center->segment;
    for (uint32_t at = (uint32_t)tidings__prefixes(s).link; at != TIDINGS__NAME_NONE;
         at = (uint32_t)atomic_load(&s->names[at].next))
        left++;
    CHECK(left <= 8, "%u prefixes without an observer are asked about every name", left);
}

// A new observer of the same prefix finds the entry that was left, and another prefix takes an entry that was used
// before. This holds however often it happens, also in a center with hardly any posts.
void prefixes_that_come_and_go_use_up_no_table(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 64});
    post_number(publisher_of(center, "a"), 1);
    for (uint32_t round = 0; round < 1000; round++) {
        char text[16];
        snprintf(text, sizeof text, "p%u.", round % 3 == 0 ? 0 : round);
        tidings_observer_close(looks(center, text, 0, 0));
    }
    CHECK(statistics_of(center).retained_from == 0, "what was posted before has been evicted, for room");
}

// Those of dead observers don't count.
void the_dead_take_no_prefixes_away(void) {
    tidings_center *center = join_center_with((tidings_configuration){.slots = 256, .names = 1024, .observers = 512});
    ready = pipe_open();
    for (uint32_t round = 0; round < 20; round++) {
        leaving = round;
        const pid_t pid = start(leaves_prefixes);
        told(&ready);
        kill_and_reap(pid);
    }
    looks(center, "alive", 0, 0);
}

void prefixes_that_cannot_be_are_refused(void) {
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of_nothing(center);
    uint32_t subscription;
    CHECK(tidings_observer_add(observer, "", 0, NULL, 0, TIDINGS_ADD_PREFIX, &subscription) == -EINVAL, "empty");
    CHECK(tidings_observer_add(observer, "a\xff", 2, NULL, 0, TIDINGS_ADD_PREFIX, &subscription) == -EINVAL,
          "not UTF-8");
    CHECK(tidings_observer_add(observer, "a", 1, "s", 1, TIDINGS_ADD_PREFIX, &subscription) == -EINVAL &&
              strstr(tidings_last_error(), "subject"),
          "%s", tidings_last_error());
}
