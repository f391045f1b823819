// Ours, measured with the same loops. Messages of 4 KiB or more are built and read in place. Side 1's observer is
// lossless; side 0's is not, because it doesn't look while it sends a stream, and would hold itself back.
#include "rival.h"

#include <benchmarks.h>
#include <tidings.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { IN_PLACE = 4096 };

static tidings_center *center;
static tidings_publisher *publisher;
static tidings_observer *observer;
static tidings_reservation reservation;
static tidings_caller *caller;
static tidings_server *server;
static tidings_request request;

static void attempt(int result) {
    if (result < 0) rival_fail("%s", tidings_last_error());
}

static const char *version(void) { return "this"; }

static void start(void) {
    setenv("TIDINGS_DIRECTORY", rival_directory(), 1);
    attempt(bench_introduce());
}

static void open_side(int side) {
    uint32_t subscription;
    attempt(tidings_open("rival", NULL, &center));
    attempt(tidings_publisher_open(center, side == 0 ? "ping" : "pong", 4, NULL, 0, &publisher));
    attempt(tidings_observer_open(center, side == 1 ? TIDINGS_OBSERVE_LOSSLESS : 0, &observer));
    tidings_observer_in_place(observer, IN_PLACE);
    attempt(tidings_observer_add(observer, side == 0 ? "pong" : "ping", 4, NULL, 0, 0, &subscription));
}

// While a lossless observer has not received the payloads of all chunks, there is none to reserve.
static void *reserve(size_t size) {
    static uint64_t small[IN_PLACE / 8];
    if (size < IN_PLACE) return small;
    int result;
    while ((result = tidings_reserve(center, size, &reservation)) == -EAGAIN) bench_hold(100);
    attempt(result);
    return reservation.bytes;
}

static void send_one(const void *bytes, size_t size) {
    const tidings_post_options wait = {.timeout_ns = -1};
    attempt(size < IN_PLACE ? tidings_post(publisher, bytes, size, &wait, NULL)
                            : tidings_post_reserved(publisher, &reservation, size, &wait, NULL));
}

static const void *receive(size_t *size) {
    tidings_delivery delivery;
    attempt(tidings_next(observer, -1, &delivery));
    if (delivery.kind != TIDINGS_DELIVERY_MESSAGE) rival_fail("missed %llu", (unsigned long long)delivery.missed);
    *size = delivery.size;
    return delivery.payload;
}

// A stream's observer looks around for as long as an observer does unless told otherwise.
static void prepare(bool awake, bool stream) {
    tidings_observer_spin(observer, awake ? UINT32_MAX : stream ? 20000 : 0);
}

static void open_calls(int side) {
    if (side == 0) {
        attempt(tidings_caller_open(center, "calls", 5, &caller));
        tidings_caller_spin(caller, 0);
    } else {
        attempt(tidings_server_open(center, "calls", 5, &server));
        tidings_server_spin(server, 0);
    }
}

static const void *call(const void *bytes, size_t size, size_t *reply_size) {
    uint64_t id;
    tidings_outcome outcome;
    attempt(tidings_call(caller, bytes, size, NULL, &id));
    attempt(tidings_caller_next(caller, id, -1, &outcome));
    if (outcome.error) rival_fail("the call has ended with error %d", outcome.error);
    *reply_size = outcome.size;
    return outcome.payload;
}

static const void *next_request(size_t *size) {
    attempt(tidings_server_next(server, -1, &request));
    *size = request.size;
    return request.payload;
}

static void reply(const void *bytes, size_t size) { attempt(tidings_reply(server, request.id, bytes, size, NULL)); }

const rival this_rival = {.name = "tidings",
                          .version = version,
                          .start = start,
                          .open = open_side,
                          .send = send_one,
                          .receive = receive,
                          .reserve = reserve,
                          .prepare = prepare,
                          .can_wait_awake = true,
                          .open_calls = open_calls,
                          .call = call,
                          .next_request = next_request,
                          .reply = reply};
