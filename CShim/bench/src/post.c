// What a post costs its poster; the peers that watch or sleep meanwhile.
#include "center.h"

#include <stdlib.h>

struct bench_poster {
    tidings_center *center;
    tidings_publisher *publisher;
};

const char *bench_last_error(void) { return tidings_last_error(); }

static int post_many(tidings_publisher *publisher, size_t size, uint64_t times) {
    unsigned char payload[256];
    for (size_t i = 0; i < sizeof payload; i++) payload[i] = (unsigned char)i;
    for (uint64_t i = 0; i < times; i++) BENCH_TRY(tidings_post(publisher, payload, size, NULL, NULL));
    return 0;
}

int bench_poster_open(const char *center, const char *name, bench_poster **poster) {
    bench_poster *made = calloc(1, sizeof *made);
    if (made == NULL) return -ENOMEM;
    tidings_statistics statistics;
    int result = tidings_open(center, NULL, &made->center);
    if (result == 0) result = bench_publisher(made->center, name, &made->publisher);
    if (result == 0) result = tidings_statistics_get(made->center, &statistics);
    if (result == 0) result = post_many(made->publisher, 64, 3 * (uint64_t)statistics.slots);
    if (result != 0) {
        bench_poster_close(made);
        return result;
    }
    *poster = made;
    return 0;
}

void bench_poster_close(bench_poster *poster) {
    if (poster->publisher != NULL) tidings_publisher_close(poster->publisher);
    tidings_close(poster->center);
    free(poster);
}

int bench_post(bench_poster *poster, size_t size, uint64_t gap_ns, uint64_t *samples, int count, int batch) {
    unsigned char payload[256];
    if (size > sizeof payload) return -EINVAL;
    memset(payload, 0x5a, sizeof payload);
    for (int i = -count / 10; i < count; i++) {
        uint64_t start = bench_ticks();
        for (int j = 0; j < batch; j++) BENCH_TRY(tidings_post(poster->publisher, payload, size, NULL, NULL));
        if (i >= 0) samples[i] = bench_picoseconds(bench_ticks() - start) / (uint64_t)batch;
        if (gap_ns > 0) bench_hold(gap_ns);
    }
    return count;
}

int bench_drain(const char *center_name, size_t size, uint64_t *samples, int count, int batch) {
    static const char name[] = "drain";
    tidings_center *center;
    tidings_publisher *publisher;
    tidings_observer *observer;
    tidings_delivery delivery;
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(bench_publisher(center, name, &publisher));
    BENCH_TRY(bench_observe(center, name, 0, 0, &observer));
    for (int i = -count / 10; i < count; i++) {
        BENCH_TRY(post_many(publisher, size, (uint64_t)batch));
        uint64_t start = bench_ticks();
        for (int j = 0; j < batch; j++) {
            BENCH_TRY(tidings_next(observer, 0, &delivery));
            if (delivery.size != size) return -EBADMSG;
        }
        if (i >= 0) samples[i] = bench_picoseconds(bench_ticks() - start) / (uint64_t)batch;
    }
    tidings_observer_close(observer);
    tidings_publisher_close(publisher);
    tidings_close(center);
    return count;
}

int bench_introduce(void) {
    static const char name[] = "introduction";
    tidings_center *center;
    tidings_observer *observer;
    tidings_delivery delivery;
    uint32_t subscription;
    BENCH_TRY(tidings_open(name, NULL, &center));
    BENCH_TRY(tidings_observer_open(center, 0, &observer));
    BENCH_TRY(tidings_observer_add(observer, name, strlen(name), NULL, 0, 0, &subscription));
    // Ends at once, without a delivery; it asks whether looking around is worth while.
    int result = tidings_next(observer, 1, &delivery);
    tidings_observer_close(observer);
    tidings_close(center);
    return result == -ETIMEDOUT ? 0 : result;
}

int bench_asleep(bench_poster *poster) {
    tidings_statistics statistics;
    BENCH_TRY(tidings_statistics_get(poster->center, &statistics));
    return (int)statistics.observers_asleep;
}

int bench_peer_follow(bench_arena *arena, const char *center_name, const char *name) {
    tidings_center *center;
    tidings_observer *observer;
    tidings_delivery delivery;
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(bench_observe(center, name, 0, UINT32_MAX, &observer));
    bench_arena_ready(arena);
    uint64_t received = 0, missed = 0;
    while (atomic_load_explicit(&arena->stop, memory_order_relaxed) == 0) {
        BENCH_TRY(tidings_next(observer, -1, &delivery));
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            missed += delivery.missed;
        } else {
            received += 1;
        }
    }
    bench_arena_count(arena, received, missed, 0);
    tidings_observer_close(observer);
    tidings_close(center);
    return 0;
}

int bench_peer_sleep(bench_arena *arena, const char *center_name, const char *name) {
    tidings_center *center;
    tidings_observer *observer;
    tidings_delivery delivery;
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(bench_observe(center, name, 0, 0, &observer));
    bench_arena_ready(arena);
    for (;;) BENCH_TRY(tidings_next(observer, -1, &delivery));
}
