// Stopped at random moments, at full speed, and going on much later.
#include "peer.h"

static _Atomic uint32_t *returned;  // shared: the last number whose post returned

static void posts_without_end(void) {
    tidings_center *center = join_center(0);
    tidings_publisher *publisher = publisher_of(center, NAME);
    for (stamp stamp = {.poster = 1, .number = 1};; stamp.number++) {
        OK(tidings_post(publisher, &stamp, sizeof stamp, NULL, NULL));
        atomic_store(returned, stamp.number);
    }
}

// Other posters turn the ring three times while this one stands still. No process waits, and each of its posts is
// delivered once, or counted once.
void a_poster_stopped_at_random_loses_nothing_uncounted(void) {
    returned = shared_memory(4096);
    tidings_center *center = join_center(256);
    tidings_observer *observer = observer_of(center, NAME);
    tidings_publisher *other = publisher_of(center, NAME);
    uint64_t received = 0, missed = 0, others = 0;
    uint32_t last = 0;
    const pid_t pid = start(posts_without_end);
    for (uint32_t round = 0; round < chances(ROUNDS(200)); round++) {
        const uint32_t from = atomic_load(returned), enough = 1 + (uint32_t)random_below(64);
        while (atomic_load(returned) - from < enough) spin_cycles(100);
        CHECK(kill(pid, SIGSTOP) == 0 && waitpid(pid, NULL, WUNTRACED) == pid, "%s", strerror(errno));
        for (uint32_t i = 0; i < 3 * 256; i++, others++) {
            OK(tidings_post(other, &(stamp){.poster = 2, .number = i}, sizeof(stamp), NULL, NULL));
            if (i % 5 != 0 && round % 2 == 0) continue;
            tidings_delivery delivery;
            if (tidings_next(observer, 0, &delivery) != 0) continue;
            if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
                missed += delivery.missed;
                continue;
            }
            received++;
            const stamp stamp = stamp_of(&delivery);
            if (stamp.poster != 1) continue;
            CHECK(stamp.number > last, "number %u after %u", stamp.number, last);
            last = stamp.number;
        }
        CHECK(kill(pid, SIGCONT) == 0, "%s", strerror(errno));
    }
    kill_and_reap(pid);
    const account rest = drain(observer);
    received += rest.received;
    missed += rest.missed;
    const uint64_t total = atomic_load(returned) + others;
    // It may have died between its last commit and saying so.
    CHECK(received + missed == total || received + missed == total + 1, "%lu + %lu of %lu", (unsigned long)received,
          (unsigned long)missed, (unsigned long)total);
}
