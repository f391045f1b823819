// All sleepers on one word or one name are woken at once. The time of the last one comes from a clock that all
// processors share (the time-stamp counter): here it is about microseconds to milliseconds, and no sleeper answers.
#include "internal.h"

#include "wake_group.h"

static const char name[] = "wake";
static const unsigned char short_payload[64];

// A sleeper that has lain down may still be on its way into the kernel.
static const struct timespec settle = {.tv_nsec = 3000000};
static const struct timespec moment = {.tv_nsec = 200000};

static void ran(crossing_area *area, uint32_t place) {
    crossing_set_value(area, place, 1, bench_ticks());
    atomic_fetch_add(&area->done, 1);
}

static int woken_bare(crossing_area *area, const char *center, uint32_t place) {
    (void)center;
    crossing_ready(area);
    for (uint32_t seen = 0; seen != CROSSING_STOP;) {
        atomic_fetch_add(&area->lying, 1);
        uint32_t now;
        while ((now = atomic_load(&area->go)) == seen) crossing_futex_wait(&area->go, seen);
        ran(area, place);
        seen = now;
    }
    return 0;
}

int crossing_wake_group_woken_bare(crossing_area *area, uint32_t processes) {
    return crossing_fork_all(area, "", processes, woken_bare);
}

static int woken(crossing_area *area, const char *center_name, uint32_t place) {
    tidings_center *center;
    tidings_observer *observer;
    tidings_delivery delivery;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    CROSSING_TRY(crossing_observe(center, name, 0, &observer));
    tidings_observer_spin(observer, 0);
    tidings_observer_in_place(observer, sizeof short_payload + 1);
    crossing_ready(area);
    for (;;) {
        atomic_fetch_add(&area->lying, 1);
        CROSSING_TRY(tidings_next(observer, -1, &delivery));
        if (delivery.size == 0) return 0;
        if (delivery.kind != TIDINGS_DELIVERY_MESSAGE) return -EBADMSG;
        if (!crossing_stamped(delivery.payload, delivery.size, 0, crossing_stamp_of(delivery.payload))) return -EBADMSG;
        ran(area, place);
    }
}

int crossing_wake_group_woken(crossing_area *area, const char *center, uint32_t processes) {
    return crossing_fork_all(area, center, processes, woken);
}

static int await_count(_Atomic uint32_t *word, uint32_t count) {
    uint64_t end = crossing_now_ns() + CROSSING_TIMEOUT_NS;
    while (atomic_load(word) < count) {
        if (crossing_now_ns() > end) return -ETIMEDOUT;
        nanosleep(&moment, NULL);
    }
    return 0;
}

// Waits for the last one, asleep itself so that it takes no processor from them, and finds out when it ran.
static int await_last(crossing_area *area, uint32_t processes, uint32_t turn, uint64_t start, uint64_t *last) {
    uint64_t latest = start;
    CROSSING_TRY(await_count(&area->done, processes * turn));
    for (uint32_t place = 0; place < processes; place++) {
        uint64_t ticks = crossing_value(area, place, 1);
        if (ticks > latest) latest = ticks;
    }
    *last = bench_picoseconds(latest - start);
    return 0;
}

// Turns are counted over the area's life: several calls wake one group.
static uint32_t turns_so_far(crossing_area *area, uint32_t processes) { return atomic_load(&area->done) / processes; }

int crossing_wake_bare(crossing_area *area, uint32_t processes, uint64_t *last, uint64_t *own, int count) {
    uint32_t turn = turns_so_far(area, processes);
    for (int i = -1, tries = 0; i < count; tries++) {
        if (tries > 3 * count + 10) return -EAGAIN;
        turn += 1;
        uint64_t latest, start, end;
        CROSSING_TRY(await_count(&area->lying, processes * turn));
        nanosleep(&settle, NULL);
        start = bench_ticks();
        atomic_store(&area->go, turn);
        long woke = crossing_futex_wake(&area->go, INT32_MAX);
        end = bench_ticks();
        CROSSING_TRY(await_last(area, processes, turn, start, &latest));
        if (woke != (long)processes) continue;  // one wasn't asleep
        if (i >= 0) {
            last[i] = latest;
            own[i] = bench_picoseconds(end - start);
        }
        i += 1;
    }
    return count;
}

static int asleep(tidings_center *center, uint32_t *count) {
    tidings_statistics statistics;
    CROSSING_TRY(tidings_statistics_get(center, &statistics));
    *count = statistics.observers_asleep;
    return 0;
}

int crossing_wake(crossing_area *area, const char *center_name, uint32_t processes, size_t size, bool built,
                  uint64_t *last, uint64_t *own, int count) {
    const bool in_place = size > sizeof short_payload;
    tidings_center *center;
    tidings_publisher *publisher;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    CROSSING_TRY(crossing_publisher(center, name, &publisher));
    uint32_t turn = turns_so_far(area, processes);
    for (int i = -1; i < count; i++) {
        turn += 1;
        uint64_t latest, start, end, deadline = crossing_now_ns() + CROSSING_TIMEOUT_NS;
        CROSSING_TRY(await_count(&area->lying, processes * turn));
        for (uint32_t found = 0; found < processes;) {
            nanosleep(&settle, NULL);
            CROSSING_TRY(asleep(center, &found));
            if (crossing_now_ns() > deadline) return -ETIMEDOUT;
        }
        tidings_reservation reservation;
        const uint64_t begun = bench_ticks();
        if (in_place) {
            CROSSING_TRY(tidings_reserve(center, size, &reservation));
            crossing_fill(reservation.bytes, size, 0, turn);
        }
        start = built ? begun : bench_ticks();
        CROSSING_TRY(in_place ? tidings_post_reserved(publisher, &reservation, size, NULL, NULL)
                              : tidings_post(publisher, short_payload, size, NULL, NULL));
        end = bench_ticks();
        CROSSING_TRY(await_last(area, processes, turn, start, &latest));
        if (i < 0) continue;
        last[i] = latest;
        own[i] = bench_picoseconds(end - start);
    }
    tidings_publisher_close(publisher);
    tidings_close(center);
    return count;
}
