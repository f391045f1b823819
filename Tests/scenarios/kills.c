// Killed at random moments, at full speed, many times: whatever the scheduler, the caches and the kernel make of it.
#include "peer.h"

#define POSTERS 260

typedef struct board {
    _Atomic uint32_t returned[POSTERS + 1];  // by poster: the last number whose post returned
    _Atomic uint32_t seen[POSTERS + 1];      // by poster, of the lossless observer: the last number
    _Atomic uint64_t received, missed;       // of the other one
} board;

static board *board_of_all;
static uint32_t poster_number;
static pipe_pair ready;

static const struct kind {
    size_t size;
    uint8_t flags;
} kinds[] = {{8, 0}, {64, 0}, {150, 0}, {700, 0}, {20000, 0}, {8, TIDINGS_POST_RETAIN}};

static void posts_until_killed(void) {
    const struct kind kind = kinds[poster_number % 6];
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    uint8_t *bytes = calloc(1, kind.size);
    stamp stamp = {.poster = poster_number};
    for (stamp.number = 1;; stamp.number++) {
        memcpy(bytes, &stamp, sizeof stamp);
        OK(tidings_post(publisher, bytes, kind.size, &(tidings_post_options){.flags = kind.flags, .timeout_ns = -1},
                        NULL));
        atomic_store(&board_of_all->returned[poster_number], stamp.number);
    }
}

// Poster 0, number 1 is the end. In order, contiguous for each poster, nothing twice.
static void observes_all(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_with(center, NAME, TIDINGS_OBSERVE_LOSSLESS, 0);
    tell(&ready);
    for (uint64_t last = 0;;) {
        const tidings_delivery delivery = receive(observer);
        const stamp stamp = stamp_of(&delivery);
        CHECK(last == 0 || delivery.sequence > last, "sequence %lu after %lu", (unsigned long)delivery.sequence,
              (unsigned long)last);
        last = delivery.sequence;
        if (stamp.poster == 0) break;
        const uint32_t before = atomic_load(&board_of_all->seen[stamp.poster]);
        CHECK(stamp.number == before + 1, "poster %u: number %u after %u", stamp.poster, stamp.number, before);
        atomic_store(&board_of_all->seen[stamp.poster], stamp.number);
    }
    tidings_observer_close(observer);
    tidings_close(center);
}

// Not lossless, asleep whenever it can be, and late at times.
static void observes_lazily(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_observer_spin(observer, 0);
    tell(&ready);
    for (;;) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            atomic_fetch_add(&board_of_all->missed, delivery.missed);
            continue;
        }
        if (stamp_of(&delivery).poster == 0) break;
        if (atomic_fetch_add(&board_of_all->received, 1) % 1000 == 0) spin_cycles(2000000);
    }
    tidings_observer_close(observer);
    tidings_close(center);
}

void posters_killed_at_random_leave_no_gap_and_no_trace(void) {
    const uint32_t posters = chances(POSTERS);
    board_of_all = shared_memory(sizeof *board_of_all);
    ready = pipe_open();
    tidings_center *center = join_center(256);
    tidings_publisher *publisher = publisher_of(center, NAME);
    const pid_t observers[2] = {start(observes_all), start(observes_lazily)};
    told(&ready);
    told(&ready);
    // Two at a time, so that each is killed in the middle of the other's posts.
    pid_t running[2] = {0, 0};
    for (uint32_t poster = 1; poster <= posters; poster++) {
        pid_t *pid = &running[poster % 2];
        if (*pid) {
            while (atomic_load(&board_of_all->returned[poster - 2]) == 0) usleep(20);
            spin_cycles(random_below(100000));
            kill_and_reap(*pid);
        }
        poster_number = poster;
        *pid = start(posts_until_killed);
    }
    for (uint32_t poster = posters - 1; poster <= posters; poster++) {
        while (atomic_load(&board_of_all->returned[poster]) == 0) usleep(20);
        kill_and_reap(running[poster % 2]);
    }
    // A post of our own at the end, which both observers get.
    OK(tidings_post(publisher, &(stamp){.number = 1}, sizeof(stamp), &(tidings_post_options){.timeout_ns = -1}, NULL));
    ends_well(observers[0]);
    ends_well(observers[1]);
    uint64_t total = 0;
    for (uint32_t poster = 1; poster <= posters; poster++) {
        const uint32_t returned = atomic_load(&board_of_all->returned[poster]),
                       seen = atomic_load(&board_of_all->seen[poster]);
        CHECK(seen == returned || seen == returned + 1, "poster %u returned from %u, %u were delivered", poster,
              returned, seen);
        total += seen;
    }
    const uint64_t received = atomic_load(&board_of_all->received), missed = atomic_load(&board_of_all->missed);
    CHECK(received + missed == total, "%lu + %lu of %lu", (unsigned long)received, (unsigned long)missed,
          (unsigned long)total);
    CHECK(tidings_reclaim(center) >= 0, "reclaim");
    for (uint32_t i = 0; i < 600; i++) post_number(publisher, i);
    tidings_reclaim(center);
    const tidings_statistics statistics = statistics_of(center);
    CHECK(statistics.participants == 1 && statistics.observers == 0 && statistics.chunks_used <= 1 &&
              statistics.names <= 1,
          "%u participants, %u observers, %u chunks, %u names are left", statistics.participants, statistics.observers,
          statistics.chunks_used, statistics.names);
}

// MARK: Observers

static uint32_t how;

static void observes_until_killed(void) {
    tidings_center *center = join_center(0);
    tell(&ready);
    if (how == 0) {  // registering and leaving, all the time
        for (;;) tidings_observer_close(observer_with(center, NAME, 0, TIDINGS_ADD_HISTORY));
    }
    tidings_observer *observer = observer_with(center, how == 1 ? "quiet" : NAME,
                                               how == 3 ? TIDINGS_OBSERVE_LOSSLESS : 0, 0);
    for (;;) {
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
    }
}

static void posts_all_the_time(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (stamp stamp = {.poster = 1};; stamp.number++) {
        OK(tidings_post(publisher, &stamp, sizeof stamp, &(tidings_post_options){.timeout_ns = -1}, NULL));
        atomic_store(&board_of_all->returned[1], stamp.number);
    }
}

void observers_killed_at_random_hold_up_no_poster(void) {
    board_of_all = shared_memory(sizeof *board_of_all);
    ready = pipe_open();
    tidings_center *center = join_center(256);
    const pid_t poster = start(posts_all_the_time);
    for (uint32_t kill = 0; kill < chances(120); kill++) {
        how = kill % 4;
        const pid_t pid = start(observes_until_killed);
        told(&ready);
        spin_cycles(random_below(300000));
        kill_and_reap(pid);
        // The poster goes on: twice around.
        const uint32_t before = atomic_load(&board_of_all->returned[1]);
        while (atomic_load(&board_of_all->returned[1]) - before < 512) usleep(20);
    }
    kill_and_reap(poster);
    CHECK(tidings_reclaim(center) >= 0, "reclaim");
    const tidings_statistics statistics = statistics_of(center);
    CHECK(statistics.participants == 1 && statistics.observers == 0 && statistics.observers_asleep == 0 &&
              statistics.observers_lossless == 0 && statistics.names == 0,
          "%u participants, %u observers, %u asleep, %u lossless, %u names are left", statistics.participants,
          statistics.observers, statistics.observers_asleep, statistics.observers_lossless, statistics.names);
}

// MARK: Wake-ups

static _Atomic uint64_t *acknowledged;

static void acknowledges_each(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_observer_spin(observer, 0);
    tell(&ready);
    for (;;) {
        receive(observer);
        atomic_fetch_add(acknowledged, 1);
    }
}

static void posts_one_by_one(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    tell(&ready);
    for (uint32_t number = 0;; number++) {
        const uint64_t before = atomic_load(acknowledged);
        post_number(publisher, number);
        while (atomic_load(acknowledged) == before) usleep(20);  // no post comes before it woke up
    }
}

// Each committed notification wakes a sleeper, though its poster is killed at any moment: no other post comes to the
// rescue.
void a_poster_killed_at_random_wakes_for_whatever_it_committed(void) {
    ready = pipe_open();
    acknowledged = shared_memory(4096);
    tidings_center *center = join_center(256);
    tidings_observer *witness = observer_of(center, NAME);
    const pid_t sleeper = start(acknowledges_each);
    told(&ready);
    uint64_t committed = 0;
    for (uint32_t kill = 0; kill < chances(200); kill++) {
        until_asleep(sleeper, center, 1);
        const pid_t pid = start(posts_one_by_one);
        told(&ready);
        // Some live to post, also where processors are few.
        if (kill % 8 == 0)
            while (atomic_load(acknowledged) == committed) usleep(20);
        spin_cycles(random_below(300000));
        kill_and_reap(pid);
        const account account = drain(witness);
        committed += account.received + account.missed;
        while (atomic_load(acknowledged) < committed) usleep(20);  // for ever, if a wake-up was lost
        CHECK(atomic_load(acknowledged) == committed, "%lu were acknowledged, %lu committed",
              (unsigned long)atomic_load(acknowledged), (unsigned long)committed);
    }
    CHECK(committed > 0, "no poster lived long enough to post");
    kill_and_reap(sleeper);
}
