// Servers and callers killed or stopped after any number of instructions, while they receive, reply, call, take
// outcomes and cancel. Each call ends once, its caller wakes, and nothing is left.
#include <pthread.h>

#include "calls/calls.h"
#include "center/center.h"
#include "peer.h"
#include "steps.h"

#define SERVICE "com.example.service"
#define MOMENTS 8

static tidings_center *center;
static tidings_caller *caller;
static tidings_server *server;
static uint8_t large[1000];

static void begin(void) {
    returned = shared_memory(4096);
    center = join_center_with((tidings_configuration){.slots = 256, .participants = 16, .names = 64});
}

static void open_caller(tidings_center *own) {
    OK(tidings_caller_open(own, SERVICE, strlen(SERVICE), &caller));
    keep(caller);
}

static void open_server(tidings_center *own) {
    OK(tidings_server_open(own, SERVICE, strlen(SERVICE), &server));
    keep(server);
}

static uint32_t calls_beyond(uint32_t state) {
    tidings__segment *s = &center->segment;
    uint32_t count = 0;
    for (uint32_t i = 0; i < tidings__calls_end(s); i++)
        count += tidings__call_state(atomic_load(&s->calls[i].state)) > state;
    return count;
}

// `state`: calls may be left in this one.
static void no_call_is_left(uint32_t state) {
    while (calls_beyond(state) > 0) usleep(100);
    do {
        CHECK(tidings_reclaim(center) >= 0, "reclaim");
    } while (statistics_of(center).chunks_used > 0);
}

// MARK: Servers

static void serves_in_section(void) {
    open_server(join_center(0));
    section_begin();
    for (uint32_t i = 0; i < 2; i++) {
        tidings_request request;
        if (tidings_server_next(server, 0, &request) != 0) break;
        (void)tidings_reply(server, request.id, large, i ? 10 : sizeof large, NULL);
    }
    atomic_store(returned, 1);
    section_end();
    for (;;) pause();
}

static uint64_t ids[2];

// It sleeps until both calls have ended.
static void *takes_outcomes(void *argument) {
    (void)argument;
    for (uint32_t i = 0; i < 2; i++) {
        tidings_outcome outcome;
        OK(tidings_caller_next(caller, 0, -1, &outcome));
        CHECK(outcome.id == ids[0] || outcome.id == ids[1], "an outcome of no call");
        if (outcome.error == 0)
            CHECK(outcome.size == 10 || outcome.size == sizeof large, "%zu bytes", outcome.size);
        else
            CHECK(outcome.error == -ECONNRESET || outcome.error == -ECONNREFUSED, "%d", outcome.error);
        if (outcome.id == ids[0]) ids[0] = 0;
        if (outcome.id == ids[1]) ids[1] = 0;
    }
    return NULL;
}

static pthread_t call_twice(void) {
    const tidings_call_options again = {.flags = TIDINGS_CALL_IDEMPOTENT};
    OK(tidings_call(caller, "x", 1, NULL, &ids[0]));
    OK(tidings_call(caller, large, sizeof large, &again, &ids[1]));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, takes_outcomes, NULL) == 0, "no thread");
    bool asleep = false;
    while (!asleep)
        for (uint32_t i = 0; i < TIDINGS__LANES; i++)
            asleep |= atomic_load(tidings__lane(&center->segment, center->participant, i)) & 1;
    return thread;
}

static uint64_t length_of_serving(void) {
    const pid_t pid = start_traced(serves_in_section);
    const pthread_t thread = call_twice();
    const uint64_t length = step(pid, SANITIZED ? 60000 : UINT64_MAX, false);
    kill_and_reap(pid);
    pthread_join(thread, NULL);
    no_call_is_left(TIDINGS__CALL_IDLE);
    return length;
}

void a_server_killed_anywhere_leaves_no_caller_asleep(void) {
    begin();
    open_caller(center);
    const uint64_t length = length_of_serving();
    const uint32_t kills = moments(MOMENTS, length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        const pid_t pid = start_traced(serves_in_section);
        const pthread_t thread = call_twice();
        (void)step(pid, moment(kill, kills, length), false);
        kill_and_reap(pid);
        pthread_join(thread, NULL);
        no_call_is_left(TIDINGS__CALL_IDLE);
    }
    tidings_caller_close(caller);
    no_call_is_left(TIDINGS__CALL_FREE);
}

// It stands still, and its calls are cancelled. Then it goes on.
void a_server_stopped_anywhere_leaves_nothing_of_cancelled_calls(void) {
    begin();
    open_caller(center);
    const uint64_t length = length_of_serving();
    const uint32_t stops = moments(MOMENTS, length);
    for (uint32_t stop = 0; stop < stops; stop++) {
        atomic_store(returned, 0);
        const pid_t pid = start_traced(serves_in_section);
        const tidings_call_options again = {.flags = TIDINGS_CALL_IDEMPOTENT};
        OK(tidings_call(caller, "x", 1, NULL, &ids[0]));
        OK(tidings_call(caller, large, sizeof large, &again, &ids[1]));
        (void)step(pid, moment(stop, stops, length), false);
        for (uint32_t i = 0; i < 2; i++) OK(tidings_call_cancel(caller, ids[i]));
        let_go(pid);
        while (!atomic_load(returned)) usleep(50);
        kill_and_reap(pid);
        no_call_is_left(TIDINGS__CALL_IDLE);
    }
}

// MARK: Callers

static void calls_in_section(void) {
    open_caller(join_center(0));
    uint64_t mine[3];
    // Once before, so that everything lazy is done.
    OK(tidings_call(caller, "x", 1, NULL, &mine[0]));
    OK(tidings_call_cancel(caller, mine[0]));
    section_begin();
    (void)tidings_call(caller, large, sizeof large, NULL, &mine[0]);
    (void)tidings_call(caller, "x", 1, NULL, &mine[1]);
    (void)tidings_call(caller, large, 300, NULL, &mine[2]);
    for (uint32_t i = 0; i < 3; i++) {
        tidings_outcome outcome;
        if (i == 1 || tidings_caller_next(caller, mine[i], 0, &outcome) != 0)
            (void)tidings_call_cancel(caller, mine[i]);
    }
    tidings_caller_close(caller);
    atomic_store(returned, 1);
    section_end();
    for (;;) pause();
}

static void serve_all(void) {
    tidings_request request;
    int result;
    while ((result = tidings_server_next(server, 0, &request)) == 0) {
        if (request.kind != TIDINGS_REQUEST_NEW) continue;
        const int replied = tidings_reply(server, request.id, large, 500, NULL);
        CHECK(replied == 0 || replied == -ECANCELED, "%d", replied);
    }
    CHECK(result == -EAGAIN, "%d", result);
}

void a_caller_killed_anywhere_leaves_no_call(void) {
    begin();
    open_server(center);
    const uint64_t length = length_of(calls_in_section);
    const uint32_t kills = moments(MOMENTS, length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        const pid_t pid = start_traced(calls_in_section);
        const uint64_t at = moment(kill, kills, length), first = random_below(at + 1);
        // Its server receives in between.
        (void)step(pid, first, false);
        tidings_request request;
        const bool received = tidings_server_next(server, 0, &request) == 0;
        (void)step(pid, at - first, false);
        kill_and_reap(pid);
        if (received && request.kind == TIDINGS_REQUEST_NEW) (void)tidings_reply(server, request.id, large, 500, NULL);
        while (calls_beyond(TIDINGS__CALL_FREE) > 0) {
            serve_all();
            usleep(50);
        }
        no_call_is_left(TIDINGS__CALL_FREE);
    }
}
