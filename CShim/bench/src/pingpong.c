// Latency without a clock that two cores share: A posts "ping", B sees it and posts "pong", and half of that is one
// way.
#include "center.h"

typedef struct side {
    tidings_center *center;
    tidings_publisher *publisher;
    tidings_observer *observer;
} side;

static int open_side(const char *center_name, const char *mine, const char *theirs, uint32_t spin_ns, side *made) {
    BENCH_TRY(tidings_open(center_name, NULL, &made->center));
    BENCH_TRY(bench_publisher(made->center, mine, &made->publisher));
    return bench_observe(made->center, theirs, 0, spin_ns, &made->observer);
}

static void close_side(const side *it) {
    tidings_observer_close(it->observer);
    tidings_publisher_close(it->publisher);
    tidings_close(it->center);
}

static int send(const side *it, uint64_t number, size_t size) {
    bench_message message;
    bench_fill(&message, number);
    return tidings_post(it->publisher, &message, size, NULL, NULL);
}

// -EBADMSG: something was lost, came twice, or has the wrong contents.
static int receive(const side *it, uint64_t number, size_t *size) {
    tidings_delivery delivery;
    bench_message message;
    bench_fill(&message, number);
    BENCH_TRY(tidings_next(it->observer, -1, &delivery));
    *size = delivery.size;
    if (delivery.kind != TIDINGS_DELIVERY_MESSAGE || delivery.size > sizeof message) return -EBADMSG;
    return memcmp(delivery.payload, &message, delivery.size) == 0 ? 0 : -EBADMSG;
}

int bench_pingpong(bench_arena *arena, const char *center, size_t size, uint32_t spin_ns, uint64_t hold_ns,
                   uint64_t *samples, int count, int batch) {
    side it;
    size_t echoed;
    BENCH_TRY(open_side(center, "ping", "pong", spin_ns, &it));
    uint64_t number = 0;
    for (int i = -count / 10, tries = 0; i < count; i++) {
        if (hold_ns > 0) bench_hold(hold_ns);
        const long sleeps = spin_ns == 0 ? bench_sleeps() : -1;
        uint64_t start = bench_ticks();
        for (int j = 0; j < batch; j++, number++) {
            BENCH_TRY(send(&it, number, size));
            BENCH_TRY(receive(&it, number, &echoed));
        }
        uint64_t ticks = bench_ticks() - start - atomic_load_explicit(&arena->held, memory_order_relaxed);
        if (sleeps >= 0 && bench_sleeps() == sleeps && bench_retry(&tries, count)) {
            i--;
            continue;
        }
        if (i >= 0) samples[i] = bench_picoseconds(ticks) / (uint64_t)(2 * batch);
    }
    BENCH_TRY(tidings_post(it.publisher, NULL, 0, NULL, NULL));  // empty: the end
    close_side(&it);
    return count;
}

int bench_peer_pingpong(bench_arena *arena, const char *center, uint32_t spin_ns, uint64_t hold_ns) {
    side it;
    bench_calibrate();
    BENCH_TRY(open_side(center, "pong", "ping", spin_ns, &it));
    bench_arena_ready(arena);
    for (uint64_t number = 0;; number++) {
        size_t size;
        BENCH_TRY(receive(&it, number, &size));
        if (size == 0) break;
        if (hold_ns > 0) atomic_store(&arena->held, bench_hold(hold_ns));
        BENCH_TRY(send(&it, number, size));
    }
    close_side(&it);
    return 0;
}
