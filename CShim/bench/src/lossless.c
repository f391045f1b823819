// Throughput with nothing lost: the poster is held back by the observer, the observer checks every word of every
// notification.
#include "center.h"

static const char name[] = "lossless";

int bench_lossless(bench_arena *arena, const char *center_name, uint64_t *samples, int count, int batch, int many) {
    tidings_center *center;
    tidings_publisher *publisher;
    const tidings_post_options wait = {.timeout_ns = -1};
    bench_message messages[TIDINGS_NEXT_MANY_MAX];
    tidings_payload payloads[TIDINGS_NEXT_MANY_MAX];
    for (int k = 0; k < many; k++) payloads[k] = (tidings_payload){&messages[k], sizeof messages[k]};
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(bench_publisher(center, name, &publisher));
    uint64_t number = 0, start = bench_ticks();
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < batch; j += many) {
            for (int k = 0; k < many; k++) bench_fill(&messages[k], number++);
            BENCH_TRY(many > 1 ? tidings_post_many(publisher, payloads, (size_t)many, &wait, NULL, NULL)
                               : tidings_post(publisher, messages, sizeof messages[0], &wait, NULL));
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

int bench_peer_lossless(bench_arena *arena, const char *center_name, int many) {
    tidings_center *center;
    tidings_observer *observer;
    tidings_delivery deliveries[TIDINGS_NEXT_MANY_MAX];
    BENCH_TRY(tidings_open(center_name, NULL, &center));
    BENCH_TRY(bench_observe(center, name, TIDINGS_OBSERVE_LOSSLESS, UINT32_MAX, &observer));
    bench_arena_ready(arena);
    uint64_t received = 0, missed = 0, wrong = 0;
    for (bool ended = false; !ended;) {
        int taken = 1;
        BENCH_TRY(many > 1 ? (taken = tidings_next_many(observer, -1, deliveries, (size_t)many))
                           : tidings_next(observer, -1, deliveries));
        for (const tidings_delivery *delivery = deliveries; delivery < deliveries + taken; delivery++) {
            if (delivery->kind == TIDINGS_DELIVERY_MISSED) {
                missed += delivery->missed;
            } else if (delivery->size == 0) {
                ended = true;
            } else {
                wrong += delivery->size != sizeof(bench_message) || !bench_check(delivery->payload, received);
                received += 1;
            }
        }
    }
    bench_arena_count(arena, received, missed, wrong);
    tidings_observer_close(observer);
    tidings_close(center);
    return 0;
}
