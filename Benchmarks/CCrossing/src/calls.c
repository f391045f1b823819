// Callers and servers at their fastest, with many calls in flight. Callers have the places from 0 on, servers those
// after them.
#include "internal.h"

#include <stdlib.h>

#define NAME "calls"

static int call(tidings_caller *caller, unsigned char *payload, const crossing_flow *flow, uint32_t place,
                uint64_t number) {
    uint64_t id;
    crossing_stamp(payload, flow->size, place, number);
    return tidings_call(caller, payload, flow->size, NULL, &id);
}

// Makes a call for each outcome, so that as many are in flight until the last ones are made.
int crossing_calls_call(crossing_area *area, const char *center_name, uint32_t place) {
    const crossing_flow flow = area->flow;
    const uint64_t total = flow.warm + flow.messages;
    tidings_center *center;
    tidings_caller *caller;
    unsigned char *payload = crossing_memory(flow.size), *answered = calloc(total, 1);
    if (payload == NULL || answered == NULL) return -ENOMEM;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    CROSSING_TRY(tidings_caller_open(center, NAME, strlen(NAME), &caller));
    crossing_await_go(area);
    uint64_t first = 0, made = 0, wrong = 0;
    while (made < flow.in_flight) CROSSING_TRY(call(caller, payload, &flow, place, made++));
    for (uint64_t taken = 0; taken < total; taken++) {
        tidings_outcome outcome;
        if (taken == flow.warm) first = bench_ticks();
        CROSSING_TRY(tidings_caller_next(caller, 0, -1, &outcome));
        if (outcome.error < 0) return outcome.error;
        if (outcome.size != flow.size) return -EBADMSG;
        const uint64_t number = crossing_stamp_of(outcome.payload) & UINT64_C(0xffffffffffff);
        if (number < made && crossing_stamped(outcome.payload, flow.size, place, number))
            wrong += answered[number]++;  // a second reply
        else
            wrong += 1;
        if (made < total) CROSSING_TRY(call(caller, payload, &flow, place, made++));
    }
    crossing_note(area, place, first, total, 0, wrong);
    tidings_caller_close(caller);
    tidings_close(center);
    return 0;
}

// An empty request ends the server that receives it.
int crossing_calls_serve(crossing_area *area, const char *center_name, uint32_t place) {
    const crossing_flow flow = area->flow;
    tidings_center *center;
    tidings_server *server;
    tidings_request request;
    uint64_t replies = 0, wrong = 0;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    CROSSING_TRY(tidings_server_open(center, NAME, strlen(NAME), &server));
    crossing_await_go(area);
    for (;;) {
        CROSSING_TRY(tidings_server_next(server, -1, &request));
        if (request.size == 0) break;
        const uint64_t stamp = crossing_stamp_of(request.payload);
        if (request.kind != TIDINGS_REQUEST_NEW || request.size != flow.size ||
            !crossing_stamped(request.payload, flow.size, (uint32_t)(stamp >> 48), stamp & UINT64_C(0xffffffffffff)))
            wrong += 1;
        CROSSING_TRY(tidings_reply(server, request.id, request.payload, request.size, NULL));
        replies += 1;
    }
    // Before its reply to the runner, which then reads it.
    crossing_note(area, place, 0, replies, 0, wrong);
    CROSSING_TRY(tidings_reply(server, request.id, NULL, 0, NULL));
    tidings_server_close(server);
    tidings_close(center);
    return 0;
}

static int end_servers(const char *center_name, uint32_t servers) {
    tidings_center *center;
    tidings_caller *caller;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    CROSSING_TRY(tidings_caller_open(center, NAME, strlen(NAME), &caller));
    for (uint32_t i = 0; i < servers; i++) {
        uint64_t id;
        tidings_outcome outcome;
        CROSSING_TRY(tidings_call(caller, NULL, 0, NULL, &id));
        CROSSING_TRY(tidings_caller_next(caller, id, CROSSING_TIMEOUT_NS, &outcome));
        if (outcome.error < 0) return outcome.error;
    }
    tidings_caller_close(caller);
    tidings_close(center);
    return 0;
}

int crossing_calls_run(crossing_area *area, const char *center, crossing_flow_result *result) {
    const crossing_flow flow = area->flow;
    const uint64_t total = flow.posters * flow.messages;
    uint64_t start = UINT64_MAX, end = 0, replies = 0, wrong = 0;
    crossing_go(area);
    CROSSING_TRY(crossing_wait_done(area, flow.posters));
    CROSSING_TRY(end_servers(center, flow.observers));
    for (uint32_t place = 0; place < flow.posters + flow.observers; place++) {
        const uint64_t first = crossing_value(area, place, CROSSING_FIRST);
        const uint64_t last = crossing_value(area, place, CROSSING_LAST);
        wrong += crossing_value(area, place, CROSSING_WRONG);
        if (place >= flow.posters) {
            replies += crossing_value(area, place, CROSSING_COUNT);
            continue;
        }
        if (first < start) start = first;
        if (last > end) end = last;
    }
    // Each call has a reply of its own. So with as many replies, none has two.
    if (wrong != 0 || replies != total + flow.posters * flow.warm) return -EBADMSG;
    *result = (crossing_flow_result){.whole = bench_picoseconds(end - start) / total, .delivered = replies};
    return 0;
}
