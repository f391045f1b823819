// Posters and observers at their fastest, any number of each. Posters have the places from 0 on, observers those after
// them.
#include "internal.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_SIZE = 32 };

// Of the notifications of this poster.
static const char *name_of(const crossing_flow *flow, uint32_t poster, char name[NAME_SIZE]) {
    snprintf(name, NAME_SIZE, flow->paired ? "flow.%u" : "flow", poster);
    return name;
}

int crossing_set_flow(crossing_area *area, const crossing_flow *flow) {
    if (flow->posters + flow->observers > CROSSING_PLACES || (flow->size > 0 && flow->size < 16)) return -EINVAL;
    if (flow->paired && flow->posters != flow->observers) return -EINVAL;
    if (flow->in_flight > flow->warm || (flow->whole && flow->size % 8 != 0)) return -EINVAL;
    area->flow = *flow;
    return 0;
}

void crossing_await_go(crossing_area *area) {
    crossing_ready(area);
    while (atomic_load(&area->go) == 0) crossing_futex_wait(&area->go, 0);
}

void crossing_note(crossing_area *area, uint32_t place, uint64_t first, uint64_t count, uint64_t missed,
                   uint64_t wrong) {
    crossing_set_value(area, place, CROSSING_LAST, bench_ticks());
    crossing_set_value(area, place, CROSSING_FIRST, first);
    crossing_set_value(area, place, CROSSING_COUNT, count);
    crossing_set_value(area, place, CROSSING_MISSED, missed);
    crossing_set_value(area, place, CROSSING_WRONG, wrong);
    atomic_fetch_add(&area->done, 1);
}

static void write_payload(const crossing_flow *flow, unsigned char *payload, uint32_t place, uint64_t number) {
    (flow->whole ? crossing_fill : crossing_stamp)(payload, flow->size, place, number);
}

// While a lossless observer has not received the payloads of all chunks, there is none to reserve.
static int reserve(tidings_center *center, const crossing_flow *flow, tidings_reservation *reservation) {
    for (;;) {
        int result = tidings_reserve(center, flow->size, reservation);
        if (result != -EAGAIN || !flow->lossless) return result;
        flow->spins ? crossing_pause() : (void)sched_yield();
    }
}

int crossing_flow_post(crossing_area *area, const char *center_name, uint32_t place) {
    const crossing_flow flow = area->flow;
    const tidings_post_options options = {.timeout_ns = flow.lossless ? -1 : 0};
    tidings_center *center;
    tidings_publisher *publisher;
    char name[NAME_SIZE];
    unsigned char *payload = crossing_memory(flow.size);
    if (payload == NULL) return -ENOMEM;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    CROSSING_TRY(crossing_publisher(center, name_of(&flow, place, name), &publisher));
    crossing_await_go(area);
    uint64_t first = 0;
    for (uint64_t number = 0; number < flow.warm + flow.messages; number++) {
        if (number == flow.warm) first = bench_ticks();
        if (flow.in_place) {
            tidings_reservation reservation;
            CROSSING_TRY(reserve(center, &flow, &reservation));
            write_payload(&flow, reservation.bytes, place, number);
            CROSSING_TRY(tidings_post_reserved(publisher, &reservation, flow.size, &options, NULL));
        } else {
            write_payload(&flow, payload, place, number);
            CROSSING_TRY(tidings_post(publisher, payload, flow.size, &options, NULL));
        }
    }
    crossing_note(area, place, first, 0, 0, 0);
    return 0;
}

// Ends by itself: losses are counted exactly, so that received and missed together are what was posted.
int crossing_flow_observe(crossing_area *area, const char *center_name, uint32_t place) {
    const crossing_flow flow = area->flow;
    const uint64_t total = (flow.paired ? 1 : flow.posters) * (flow.warm + flow.messages);
    char name[NAME_SIZE];
    tidings_center *center;
    tidings_observer *observer;
    tidings_delivery delivery;
    uint64_t next[CROSSING_PLACES] = {0}, received = 0, missed = 0, wrong = 0;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    name_of(&flow, place - flow.posters, name);
    CROSSING_TRY(crossing_observe(center, name, flow.lossless ? TIDINGS_OBSERVE_LOSSLESS : 0, &observer));
    if (flow.spins) tidings_observer_spin(observer, UINT32_MAX);
    if (flow.in_place) tidings_observer_in_place(observer, 0);
    crossing_await_go(area);
    while (received + missed < total) {
        CROSSING_TRY(tidings_next(observer, flow.spins ? -1 : CROSSING_TIMEOUT_NS, &delivery));
        if (delivery.kind == TIDINGS_DELIVERY_MISSED) {
            missed += delivery.missed;
            continue;
        }
        received += 1;
        if (delivery.size != flow.size) {
            wrong += 1;
        } else if (flow.size > 0) {
            uint64_t stamp = crossing_stamp_of(delivery.payload), number = stamp & UINT64_C(0xffffffffffff);
            uint32_t poster = (uint32_t)(stamp >> 48);
            if (poster >= flow.posters ||
                !(flow.whole ? crossing_sum(delivery.payload, flow.size) == stamp * (flow.size / 8)
                             : crossing_stamped(delivery.payload, flow.size, poster, number))) {
                wrong += 1;
            } else {
                wrong += flow.lossless ? number != next[poster] : number < next[poster];
                next[poster] = number + 1;
            }
        }
    }
    crossing_note(area, place, 0, received, missed, wrong);
    return 0;
}

int crossing_flow_run(crossing_area *area, crossing_flow_result *result) {
    const crossing_flow flow = area->flow;
    const uint64_t total = flow.posters * flow.messages;
    const uint64_t all = (flow.paired ? 1 : flow.posters) * (flow.messages + flow.warm);
    uint64_t start = UINT64_MAX, posted = 0, end = 0;
    *result = (crossing_flow_result){0};
    crossing_go(area);
    CROSSING_TRY(crossing_wait_done(area, flow.posters + flow.observers));
    for (uint32_t place = 0; place < flow.posters + flow.observers; place++) {
        uint64_t first = crossing_value(area, place, CROSSING_FIRST), last = crossing_value(area, place, CROSSING_LAST);
        if (place < flow.posters) {
            if (first < start) start = first;
            if (last > posted) posted = last;
        } else {
            uint64_t count = crossing_value(area, place, CROSSING_COUNT),
                     missed = crossing_value(area, place, CROSSING_MISSED);
            if (crossing_value(area, place, CROSSING_WRONG) != 0 || count + missed != all) return -EBADMSG;
            if (flow.lossless && missed != 0) return -EBADMSG;
            if (last > end) end = last;
            result->delivered += count;
            result->missed += missed;
        }
    }
    if (end < posted) end = posted;
    result->whole = bench_picoseconds(end - start) / total;
    result->posting = bench_picoseconds(posted - start) / total;
    return 0;
}
