// One of many observers doesn't keep up: what that costs itself, and what it doesn't cost the other observers.
#include "peer.h"

#define QUICK 19
#define BATCH 100
#define SLOTS 256

typedef struct tally {
    _Atomic uint64_t received, missed;
} tally;

static tally *tallies;  // the last is the slow one's
static pipe_pair ready, pace;
static uint32_t which, flags;

static void observes(void) {
    tidings_center *center = join_center(0);
    tidings_observer *observer = observer_with(center, NAME, flags, 0);
    tell(&ready);
    const bool slow = which == QUICK;
    uint64_t next = 1;  // the number to come
    for (;;) {
        if (slow) told(&pace);
        tidings_delivery delivery;
        OK(tidings_next(observer, -1, &delivery));
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            CHECK(slow && !flags, "number %u missed %lu", which, (unsigned long)delivery.missed);
            next += delivery.missed;
            atomic_fetch_add(&tallies[which].missed, delivery.missed);
            continue;
        }
        const uint64_t number = stamp_of(&delivery).number;
        if (number == 0) break;
        CHECK(number == next, "observer %u: %lu instead of %lu", which, (unsigned long)number, (unsigned long)next);
        next++;
        atomic_fetch_add(&tallies[which].received, 1);
    }
    tidings_observer_close(observer);
    tidings_close(center);
}

static tidings_center *own;

static void begin(pid_t pids[QUICK + 1], tidings_publisher **publisher) {
    tallies = shared_memory((QUICK + 1) * sizeof *tallies);
    ready = pipe_open();
    pace = pipe_open();
    own = join_center(SLOTS);
    *publisher = publisher_of(own, NAME);
    for (which = 0; which <= QUICK; which++) pids[which] = start(observes);
    for (int i = 0; i <= QUICK; i++) told(&ready);
}

static void until_quick_have(uint64_t number) {
    for (int i = 0; i < QUICK; i++) {
        while (atomic_load(&tallies[i].received) < number) usleep(100);
    }
}

// The other observers are given the time to keep up, and get everything. The slow one takes one delivery a batch, is
// lapped again and again, and knows exactly by how much. No post waits.
void one_slow_observer_of_twenty_loses_for_itself_alone(void) {
    pid_t pids[QUICK + 1];
    tidings_publisher *publisher;
    begin(pids, &publisher);
    uint32_t number = 0;
    for (uint32_t batch = 0; batch < ROUNDS(60); batch++) {
        for (uint32_t i = 0; i < BATCH; i++) post_number(publisher, ++number);
        until_quick_have(number);
        tell(&pace);
    }
    post_number(publisher, 0);
    // Now as fast as it likes: at most a ring's worth, two reports of what was missed, and the end.
    static char paces[4 * SLOTS];
    CHECK(write(pace.ends[1], paces, sizeof paces) == (ssize_t)sizeof paces, "%s", strerror(errno));
    for (int i = 0; i <= QUICK; i++) ends_well(pids[i]);
    const uint64_t received = atomic_load(&tallies[QUICK].received), missed = atomic_load(&tallies[QUICK].missed);
    CHECK(missed > 0 && received > 0 && received + missed == number, "%lu + %lu of %u", (unsigned long)received,
          (unsigned long)missed, number);
}

// All observers are lossless: the poster is told that there is no room. Which observer causes this makes no difference
// to the others. In the end, all have everything.
void one_slow_lossless_observer_of_twenty_holds_all_back_and_none_loses(void) {
    pid_t pids[QUICK + 1];
    tidings_publisher *publisher;
    flags = TIDINGS_OBSERVE_LOSSLESS;
    begin(pids, &publisher);
    uint32_t number = 0, refused = 0;
    while (number < ROUNDS(3000)) {
        const stamp next = {.number = number + 1};
        const int result = tidings_post(publisher, &next, sizeof next, NULL, NULL);
        if (result == 0) {
            number++;
            continue;
        }
        CHECK(result == -EAGAIN, "%d", result);
        // A post that was revoked and made anew has taken two places.
        if (refused == 0)
            CHECK(number <= SLOTS && number + statistics_of(own).revoked >= SLOTS, "refused after %u", number);
        // The post is held back although every other observer is up to date: the ring is full of what the slow one has
        // not had.
        until_quick_have(number);
        refused++;
        for (int i = 0; i < SLOTS / 2; i++) tell(&pace);
        // The slow observer publishes its cursor now and then, at the latest when it waits: post without a timeout.
        OK(tidings_post(publisher, &next, sizeof next, &(tidings_post_options){.timeout_ns = -1}, NULL));
        number++;
    }
    CHECK(refused >= number / SLOTS / 2, "%u refusals", refused);
    static char paces[4 * SLOTS];
    CHECK(write(pace.ends[1], paces, sizeof paces) == (ssize_t)sizeof paces, "%s", strerror(errno));
    OK(tidings_post(publisher, &(stamp){0}, sizeof(stamp), &(tidings_post_options){.timeout_ns = -1}, NULL));
    for (int i = 0; i <= QUICK; i++) ends_well(pids[i]);
    for (int i = 0; i <= QUICK; i++)
        CHECK(atomic_load(&tallies[i].received) == number, "observer %d: %lu of %u", i,
              (unsigned long)atomic_load(&tallies[i].received), number);
}
