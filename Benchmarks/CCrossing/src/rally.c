// Latency of payloads of any size. `bench_pingpong` knows 64 bytes at most, and checks every one of them.
#include "internal.h"

#include <stdlib.h>

#define WARM 20

typedef struct side {
    tidings_publisher *publisher;
    tidings_observer *observer;
    tidings_center *center;
} side;

static int open_side(const char *name, const char *mine, const char *theirs, bool in_place, uint32_t spin_ns,
                     side *it) {
    CROSSING_TRY(tidings_open(name, NULL, &it->center));
    CROSSING_TRY(crossing_publisher(it->center, mine, &it->publisher));
    CROSSING_TRY(crossing_observe(it->center, theirs, 0, &it->observer));
    tidings_observer_spin(it->observer, spin_ns);
    tidings_observer_in_place(it->observer, in_place ? 0 : SIZE_MAX);
    return 0;
}

static int send_in_place(const side *it, size_t size, uint64_t number) {
    tidings_reservation reservation;
    CROSSING_TRY(tidings_reserve(it->center, size, &reservation));
    crossing_stamp(reservation.bytes, size, 0, number);
    return tidings_post_reserved(it->publisher, &reservation, size, NULL, NULL);
}

int crossing_rally(const char *center, size_t size, bool in_place, uint32_t spin_ns, uint64_t *samples, int count) {
    static const char end[] = "end";
    side it;
    tidings_delivery delivery;
    tidings_publisher *last;
    unsigned char *payload = crossing_memory(size);
    if (payload == NULL) return -ENOMEM;
    CROSSING_TRY(open_side(center, "there", "back", in_place, spin_ns, &it));
    CROSSING_TRY(crossing_publisher(it.center, end, &last));
    // Warm-up: at least twice round the places for large payloads, of which both sides have to see every page.
    uint64_t number = 0;
    int warm = count / 10 > WARM ? count / 10 : WARM;
    for (int i = -warm, tries = 0; i < count; i++, number++) {
        const long sleeps = bench_sleeps();
        uint64_t start = bench_ticks();
        if (in_place) {
            CROSSING_TRY(send_in_place(&it, size, number));
        } else {
            crossing_stamp(payload, size, 0, number);
            CROSSING_TRY(tidings_post(it.publisher, payload, size, NULL, NULL));
        }
        CROSSING_TRY(tidings_next(it.observer, -1, &delivery));
        uint64_t ticks = bench_ticks() - start;
        if (delivery.kind != TIDINGS_DELIVERY_MESSAGE || delivery.size != size) return -EBADMSG;
        if (!crossing_stamped(delivery.payload, size, 0, number)) return -EBADMSG;
        if (spin_ns == 0 && bench_sleeps() == sleeps && bench_retry(&tries, count))
            i--;
        else if (i >= 0)
            samples[i] = bench_picoseconds(ticks) / 2;
    }
    CROSSING_TRY(tidings_post(last, NULL, 0, NULL, NULL));
    tidings_observer_close(it.observer);
    tidings_publisher_close(it.publisher);
    tidings_publisher_close(last);
    tidings_close(it.center);
    free(payload);
    return count;
}

int crossing_peer_rally(crossing_area *area, const char *center, bool in_place, uint32_t spin_ns) {
    static const char end[] = "end";
    side it;
    tidings_delivery delivery;
    uint32_t last;
    CROSSING_TRY(open_side(center, "back", "there", in_place, spin_ns, &it));
    CROSSING_TRY(tidings_observer_add(it.observer, end, strlen(end), NULL, 0, 0, &last));
    crossing_ready(area);
    for (uint64_t number = 0;; number++) {
        CROSSING_TRY(tidings_next(it.observer, -1, &delivery));
        if (delivery.subscriptions[0] == last) return 0;
        if (!in_place) {
            CROSSING_TRY(tidings_post(it.publisher, delivery.payload, delivery.size, NULL, NULL));
            continue;
        }
        if (!crossing_stamped(delivery.payload, delivery.size, 0, number)) return -EBADMSG;
        CROSSING_TRY(send_in_place(&it, delivery.size, number));
    }
}
