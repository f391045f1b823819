// Throughput with nothing lost: the poster is held back by the observer, the observer checks every word of every
// notification.
#include "center.h"

static const char name[] = "lossless";

int bench_lossless(bench_arena *arena, const char *center_name, uint64_t *samples, int count, int batch) {
    tidings_center *center;
    tidings_publisher *publisher;
    const tidings_post_options wait = {.timeout_ns = -1};
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(bench_publisher(center, name, &publisher));
    uint64_t number = 0, start = bench_ticks();
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < batch; j++, number++) {
            bench_message message;
            bench_fill(&message, number);
            BENCH_TRY(tidings_post(publisher, &message, sizeof message, &wait, NULL));
        }
        uint64_t end = bench_ticks();
        samples[i] = bench_picoseconds(end - start) / (uint64_t)batch;
        start = end;
    }
    BENCH_TRY(tidings_post(publisher, NULL, 0, &wait, NULL));  // empty: the end
    BENCH_TRY(bench_arena_wait_received(arena, number));
    tidings_publisher_close(publisher);
    tidings_close(center);
    return count;
}

int bench_peer_lossless(bench_arena *arena, const char *center_name) {
    tidings_center *center;
    tidings_observer *observer;
    tidings_delivery delivery;
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(bench_observe(center, name, TIDINGS_OBSERVE_LOSSLESS, UINT32_MAX, &observer));
    bench_arena_ready(arena);
    uint64_t received = 0, missed = 0, wrong = 0;
    for (;;) {
        BENCH_TRY(tidings_next(observer, -1, &delivery));
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            missed += delivery.missed;
            continue;
        }
        if (delivery.size == 0) break;
        wrong += delivery.size != sizeof(bench_message) || !bench_check(delivery.payload, received);
        received += 1;
    }
    bench_arena_count(arena, received, missed, wrong);
    tidings_observer_close(observer);
    tidings_close(center);
    return 0;
}
