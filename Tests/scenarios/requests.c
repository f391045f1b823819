// Requests: every call ends once, whichever servers and callers stop or die on the way, and nothing is left.
#include <pthread.h>
#include <time.h>

#include "observable.h"
#include "present.h"
#include "privileges.h"
#include "requesting.h"
#include "segment/position.h"

// MARK: A server in another process

static enum { ECHOES, HOLDS } server_does;
static tidings_server *serving;

static void serves(void) {
    tidings_center *own = join_center(0);
    serving = server_in(own, SERVICE);
    tell(&ready);
    for (;;) {
        const tidings_request request = next_request(serving);
        if (server_does == HOLDS) tell(&ready);
        if (server_does == ECHOES && request.kind == TIDINGS_REQUEST_NEW)
            (void)tidings_reply(serving, request.id, request.payload, request.size, NULL);
    }
}

static pid_t start_server(int does) {
    server_does = does;
    const pid_t pid = start(serves);
    told(&ready);
    return pid;
}

// MARK: Round trips

void requests_and_replies_of_each_size_come_whole(void) {
    ready = pipe_open();
    center = join_center_with((tidings_configuration){.slots = 256, .maximum_payload = 5000});
    const pid_t server = start_server(ECHOES);
    tidings_caller *caller = caller_in(center, SERVICE);
    uint8_t bytes[5001];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)random_next();
    for (size_t size = 0; size <= 5000; size += size < 600 || size > 4990 ? 1 : 1 + random_below(30)) {
        const uint64_t id = call_with(caller, size ? bytes : NULL, size, 0);
        const tidings_outcome outcome = outcome_of(caller, size % 2 ? id : 0);
        CHECK(outcome.error == 0 && outcome.size == size && outcome.payload &&
                  memcmp(outcome.payload, bytes, size) == 0,
              "%zu bytes: %d, %zu bytes", size, outcome.error, outcome.size);
    }
    uint64_t id;
    CHECK(tidings_call(caller, bytes, 5001, NULL, &id) == -EMSGSIZE && id == 0, "a request over the maximum");
    tidings_caller_close(caller);
    kill_and_reap(server);
    no_request_is_left(center);
}

void formats_codes_and_the_caller_are_reported(void) {
    begin_requests(256);
    tidings_server *server = server_in(center, SERVICE);
    tidings_caller *caller = caller_in(center, SERVICE);
    const uint64_t id = call_number(caller, 7, 0);
    const tidings_request request = next_new(server);
    CHECK(request.pid == getpid() && request.uid == getuid() && request.participant == center->participant &&
              request.format == TIDINGS_FORMAT_BYTES && !request.again,
          "of %d, %u, %u", request.pid, request.uid, request.participant);
    const tidings_reply_options options = {.format = TIDINGS_FORMAT_JSON, .code = 65535};
    OK(tidings_reply(server, request.id, "{}", 2, &options));
    CHECK(tidings_reply(server, request.id, "{}", 2, &options) == -ECANCELED, "a second reply");
    CHECK(tidings_reply(server, request.id + 1, "{}", 2, &options) == -ECANCELED, "to no request");
    static uint8_t large[70000];
    CHECK(tidings_reply(server, request.id, large, SIZE_MAX, NULL) == -EMSGSIZE, "a reply of any size");
    const tidings_outcome outcome = outcome_of(caller, id);
    CHECK(outcome.format == TIDINGS_FORMAT_JSON && outcome.code == 65535, "%u, %u", outcome.format, outcome.code);
    tidings_outcome again;
    CHECK(tidings_caller_next(caller, id, -1, &again) == -ENOENT, "an outcome is taken twice");
    CHECK(tidings_caller_next(caller, 0, 0, &again) == -EAGAIN, "an outcome of no call");
    CHECK(tidings_call_cancel(caller, id) == -ENOENT, "a call that has ended is cancelled");
}

void a_call_without_a_server_is_refused_at_once(void) {
    begin_requests(256);
    tidings_caller *caller = caller_in(center, SERVICE);
    uint64_t id;
    CHECK(tidings_call(caller, "x", 1, NULL, &id) == -ECONNREFUSED && id == 0, "no server");
    // An observer of the records is no server. Neither is one that has ended.
    tidings_observer *observer = observer_of(center, TIDINGS_REQUESTS_PREFIX SERVICE);
    CHECK(tidings_call(caller, "x", 1, NULL, &id) == -ECONNREFUSED, "an observer");
    // It learns of the call all the same.
    tidings_delivery delivery;
    OK(tidings_next(observer, 0, &delivery));
    CHECK(delivery.kind == TIDINGS_DELIVERY_MESSAGE && delivery.size == 8 &&
              memcmp(delivery.payload, &(uint64_t){TIDINGS__TICKET_SEARCH}, 8) == 0,
          "kind %d, %zu bytes", delivery.kind, delivery.size);
    for (uint32_t round = 0; round < 20; round++) {
        tidings_server *server;
        OK(tidings_server_open(center, SERVICE, strlen(SERVICE), &server));
        call_number(caller, round, 0);
        tidings_server_close(server);
        CHECK(outcome_of(caller, 0).error == -ECONNREFUSED, "it was not received");
        CHECK(tidings_call(caller, "x", 1, NULL, &id) == -ECONNREFUSED, "a closed server");
    }
    const pid_t pid = start_server(HOLDS);
    kill_and_reap(pid);
    CHECK(tidings_call(caller, "x", 1, NULL, &id) == -ECONNREFUSED, "a dead server");
    tidings_observer_close(observer);
}

// MARK: Several servers

static uint32_t *served_by;  // shared: how often each number was received, by the number

static void counts(void) {
    tidings_center *own = join_center(0);
    tidings_server *server = server_in(own, SERVICE);
    tell(&ready);
    for (;;) {
        const tidings_request request = next_request(server);
        if (request.kind != TIDINGS_REQUEST_NEW) continue;
        __atomic_fetch_add(&served_by[number_of(request.payload, request.size)], 1, __ATOMIC_RELAXED);
        (void)tidings_reply(server, request.id, request.payload, request.size, NULL);
    }
}

void two_servers_receive_each_request_once(void) {
    begin_requests(256);
    const uint32_t many = ROUNDS(6000);
    served_by = shared_memory(many * sizeof *served_by);
    for (int i = 0; i < 2; i++) {
        (void)start(counts);
        told(&ready);
    }
    tidings_caller *caller = caller_in(center, SERVICE);
    for (uint32_t made = 0, ended = 0; ended < many;) {
        while (made < many && made - ended < 100) call_number(caller, made++, 0);
        const tidings_outcome outcome = outcome_of(caller, 0);
        CHECK(outcome.error == 0, "%d", outcome.error);
        ended++;
    }
    for (uint32_t i = 0; i < many; i++) CHECK(served_by[i] == 1, "request %u was received %u times", i, served_by[i]);
}

void a_server_that_is_free_receives_while_another_one_works(void) {
    begin_requests(256);
    tidings_server *busy = server_in(center, SERVICE);
    tidings_caller *caller = caller_in(center, SERVICE);
    const uint64_t first = call_number(caller, 0, 0);
    const tidings_request held = next_new(busy);
    const pid_t other = start_server(ECHOES);
    for (uint32_t i = 1; i < 50; i++) {
        const uint64_t id = call_number(caller, i, 0);
        const tidings_outcome outcome = outcome_of(caller, id);
        CHECK(number_of(outcome.payload, outcome.size) == i, "another reply");
    }
    echo(busy, &held);
    (void)outcome_of(caller, first);
    kill_and_reap(other);
}

void a_name_is_served_twice_by_one_process(void) {
    begin_requests(256);
    tidings_server *servers[2] = {server_in(center, SERVICE), server_in(center, SERVICE)};
    tidings_caller *caller = caller_in(center, SERVICE);
    uint32_t received[2] = {0};
    for (uint32_t i = 0; i < 100; i++) {
        const uint64_t id = call_number(caller, i, 0);
        const uint32_t first = i % 2;
        tidings_request request;
        OK(tidings_server_next(servers[first], 0, &request));
        received[first]++;
        tidings_request none;
        CHECK(tidings_server_next(servers[!first], 0, &none) == -EAGAIN, "it was received twice");
        CHECK(tidings_reply(servers[!first], request.id, "", 0, NULL) == -ECANCELED, "of another server");
        echo(servers[first], &request);
        CHECK(outcome_of(caller, id).error == 0, "no reply");
    }
    // One ends with a request: the other one receives it.
    const uint64_t id = call_number(caller, 1, TIDINGS_CALL_IDEMPOTENT);
    (void)next_new(servers[0]);
    tidings_server_close(servers[0]);
    const tidings_request request = next_new(servers[1]);
    CHECK(request.again, "it is the first time");
    echo(servers[1], &request);
    CHECK(outcome_of(caller, id).error == 0, "no reply");
}

// A request that was announced before the server opened, and whose server has ended since.
void a_new_server_receives_what_an_earlier_one_has_not(void) {
    begin_requests(256);
    tidings_caller *caller = caller_in(center, SERVICE);
    for (uint32_t round = 0; round < 3; round++) {
        tidings_server *first;
        OK(tidings_server_open(center, SERVICE, strlen(SERVICE), &first));
        const uint64_t id = call_number(caller, round, 0);
        tidings_server *second = server_in(center, SERVICE);
        tidings_server_close(first);
        const tidings_request request = next_new(second);
        CHECK(!request.again && number_of(request.payload, request.size) == round, "another request");
        echo(second, &request);
        CHECK(outcome_of(caller, id).error == 0, "no reply");
        tidings_server_close(second);
    }
}

// MARK: Servers that end

void a_server_that_is_killed_ends_its_calls(void) {
    begin_requests(256);
    tidings_caller *caller = caller_in(center, SERVICE);
    for (uint32_t round = 0; round < chances(30); round++) {
        const pid_t pid = start_server(HOLDS);
        uint8_t large[1000] = {0};
        const uint64_t ids[3] = {call_number(caller, 0, 0), call_with(caller, large, sizeof large, 0),
                                 call_number(caller, 2, TIDINGS_CALL_IDEMPOTENT)};
        for (uint32_t i = 0; i < 3; i++) told(&ready);
        spin_cycles(random_below(100000));
        kill_and_reap(pid);
        for (uint32_t i = 0; i < 3; i++) {
            const tidings_outcome outcome = outcome_of(caller, ids[i]);
            CHECK(outcome.error == -ECONNRESET && outcome.size == 0, "call %u: %d", i, outcome.error);
        }
    }
    tidings_caller_close(caller);
    no_request_is_left(center);
}

void an_idempotent_request_goes_to_another_server_after_a_death(void) {
    begin_requests(256);
    tidings_caller *caller = caller_in(center, SERVICE);
    for (uint32_t round = 0; round < chances(20); round++) {
        const pid_t pid = start_server(HOLDS);
        const uint64_t id = call_number(caller, round, TIDINGS_CALL_IDEMPOTENT), other = call_number(caller, 1000, 0);
        told(&ready);
        told(&ready);
        tidings_server *second = server_in(center, SERVICE);
        tidings_request request;
        CHECK(tidings_server_next(second, 0, &request) == -EAGAIN, "it was received twice");
        kill_and_reap(pid);
        request = next_new(second);
        CHECK(request.again && number_of(request.payload, request.size) == round, "again: %d", request.again);
        echo(second, &request);
        CHECK(outcome_of(caller, id).error == 0, "no reply");
        CHECK(outcome_of(caller, other).error == -ECONNRESET, "it is not idempotent");
        tidings_server_close(second);
    }
    tidings_caller_close(caller);
    no_request_is_left(center);
}

// It has received none of them.
static void serves_and_sleeps(void) {
    tidings_center *own = join_center(0);
    (void)server_in(own, SERVICE);
    tell(&ready);
    for (;;) pause();
}

void the_death_of_the_last_server_ends_unclaimed_calls(void) {
    begin_requests(256);
    tidings_caller *caller = caller_in(center, SERVICE);
    for (uint32_t round = 0; round < 5; round++) {
        // Entries of dead servers stay members of the name: each costs a check.
        pid_t pids[4];
        for (uint32_t i = 0; i < 4; i++) {
            pids[i] = start(serves_and_sleeps);
            told(&ready);
        }
        const uint32_t many = ROUNDS(900);
        for (uint32_t i = 0; i < many; i++) call_number(caller, i, i % 2 ? TIDINGS_CALL_IDEMPOTENT : 0);
        for (uint32_t i = 0; i < 4; i++) kill_and_reap(pids[i]);
        for (uint32_t i = 0; i < many; i++) {
            const tidings_outcome outcome = outcome_of(caller, 0);
            CHECK(outcome.error == -ECONNREFUSED, "call %u: %d", i, outcome.error);
        }
    }
    tidings_caller_close(caller);
    no_request_is_left(center);
}

static enum ends { EXITS, CLOSES_THE_SERVER, CLOSES_THE_CENTER, ENDS_AT_ONCE } ends;
static bool announced_server;

static void holds_and_ends(void) {
    exits_as_a_child = 1;
    tidings_center *own = join_center(0);
    if (announced_server) OK(tidings_announce(own, "server", 6, NULL, 0));
    tidings_server *server = server_in(own, SERVICE);
    tell(&ready);
    (void)next_request(server);
    (void)next_request(server);
    tell(&ready);
    told(&go);
    switch (ends) {
        case EXITS: exit(0);
        case CLOSES_THE_SERVER: tidings_server_close(server); break;
        case CLOSES_THE_CENTER: tidings_close(own); break;
        case ENDS_AT_ONCE: _exit(0);
    }
    told(&go);
    _exit(0);
}

void a_server_that_exits_or_closes_ends_its_calls(void) {
    begin_requests(256);
    tidings_caller *caller = caller_in(center, SERVICE);
    for (uint32_t round = 0; round < 8; round++) {
        ends = round / 2;
        announced_server = round % 2;
        const pid_t pid = start(holds_and_ends);
        told(&ready);
        call_number(caller, 0, 0);
        call_number(caller, 1, TIDINGS_CALL_IDEMPOTENT);
        told(&ready);
        const uint64_t unclaimed = call_number(caller, 2, 0);
        tell(&go);
        for (uint32_t i = 0; i < 3; i++) {
            const tidings_outcome outcome = outcome_of(caller, 0);
            CHECK(outcome.error == (outcome.id == unclaimed ? -ECONNREFUSED : -ECONNRESET), "way %u, call %u: %d", ends,
                  i, outcome.error);
        }
        tell(&go);
        ends_well(pid);
        if (ends == EXITS || ends == ENDS_AT_ONCE) told(&go);
    }
    tidings_caller_close(caller);
    no_request_is_left(center);
}

// MARK: Callers that end

static enum { DIES, CANCELS, CLOSES, CLOSES_ALL } caller_does;

static void calls_and_ends(void) {
    tidings_center *own = join_center(0);
    tidings_caller *caller = caller_in(own, SERVICE);
    uint8_t large[900];
    memset(large, 7, sizeof large);
    uint64_t ids[6];
    for (uint32_t i = 0; i < 6; i++) ids[i] = call_with(caller, large, i % 2 ? sizeof large : 4, 0);
    tell(&ready);
    if (caller_does != DIES) told(&go);
    switch (caller_does) {
        case DIES: break;
        case CANCELS:
            for (uint32_t i = 0; i < 6; i++) OK(tidings_call_cancel(caller, ids[i]));
            break;
        case CLOSES: tidings_caller_close(caller); break;
        case CLOSES_ALL: tidings_close(own); break;
    }
    if (caller_does != DIES) tell(&ready);
    for (;;) pause();
}

void a_caller_that_ends_leaves_nothing_and_its_server_learns_of_it(void) {
    begin_requests(256);
    tidings_server *server = server_in(center, SERVICE);
    uint8_t reply[3000] = {0};
    for (caller_does = DIES; caller_does <= CLOSES_ALL; caller_does++) {
        for (uint32_t replies = 0; replies < 4; replies++) {
            const pid_t pid = start(calls_and_ends);
            told(&ready);
            uint64_t ids[4];
            for (uint32_t i = 0; i < 4; i++) ids[i] = next_new(server).id;
            // Some replies are there, which the caller has not taken.
            for (uint32_t i = 0; i < replies; i++)
                OK(tidings_reply(server, ids[i], reply, i == 1 ? sizeof reply : 10, NULL));
            if (caller_does == DIES) {
                kill_and_reap(pid);
                // Its calls are settled: until then the server could receive one of them.
                while (calls_in(TIDINGS__CALL_POSTED) + calls_in(TIDINGS__CALL_CLAIMED) > 0) usleep(100);
            } else {
                tell(&go);
                told(&ready);
            }
            for (uint32_t i = replies; i < 4; i++) {
                const tidings_request cancelled = next_request(server);
                bool of_them = false;
                for (uint32_t k = replies; k < 4; k++) of_them |= cancelled.id == ids[k];
                CHECK(cancelled.kind == TIDINGS_REQUEST_CANCELLED && of_them, "kind %d", cancelled.kind);
                CHECK(tidings_reply(server, cancelled.id, reply, sizeof reply, NULL) == -ECANCELED, "a caller waits");
            }
            tidings_request none;
            CHECK(tidings_server_next(server, 0, &none) == -EAGAIN, "a request of a caller that has ended");
            if (caller_does != DIES) {
                CHECK(calls_in_use(center) == 0, "%u calls are in use", calls_in_use(center));
                kill_and_reap(pid);
            }
            no_request_is_left(center);
        }
    }
}

static void *cancels_soon(void *argument) {
    tidings_caller *caller = argument;
    // The other thread waits: it has announced that it sleeps.
    tidings__segment *s = &center->segment;
    bool asleep = false;
    while (!asleep)
        for (uint32_t i = 0; i < TIDINGS__LANES; i++)
            asleep |= atomic_load(&tidings__presence_line_at(s, center->participant)->replies[i]) & 1;
    uint64_t id = 0;
    for (uint32_t i = 0; i < tidings__calls_end(s); i++)
        if (tidings__call_state(atomic_load(&s->calls[i].state)) == TIDINGS__CALL_POSTED)
            id = tidings__ticket(i, atomic_load(&s->calls[i].state));
    OK(tidings_call_cancel(caller, id));
    return NULL;
}

void a_wait_for_a_call_that_another_thread_cancels_ends(void) {
    begin_requests(256);
    (void)server_in(center, SERVICE);
    tidings_caller *caller = caller_in(center, SERVICE);
    const uint64_t id = call_number(caller, 1, 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, cancels_soon, caller) == 0, "no thread");
    tidings_outcome outcome;
    const int result = tidings_caller_next(caller, id, -1, &outcome);
    CHECK(result == -ENOENT, "%d", result);
    pthread_join(thread, NULL);
}

// MARK: Servers that stop

void a_call_of_a_stopped_server_waits_as_long_as_its_caller(void) {
    begin_requests(256);
    const pid_t pid = start_server(ECHOES);
    tidings_caller *caller = caller_in(center, SERVICE);
    (void)outcome_of(caller, call_number(caller, 0, 0));
    CHECK(kill(pid, SIGSTOP) == 0, "%s", strerror(errno));
    while (process_state(pid) != 'T') usleep(100);
    uint8_t large[1000] = {0};
    const uint64_t cancelled = call_with(caller, large, sizeof large, 0), kept = call_number(caller, 2, 0);
    tidings_outcome outcome;
    CHECK(tidings_caller_next(caller, cancelled, 5000000, &outcome) == -ETIMEDOUT, "a stopped server replied");
    CHECK(tidings_caller_next(caller, 0, 0, &outcome) == -EAGAIN, "a stopped server replied");
    OK(tidings_call_cancel(caller, cancelled));
    CHECK(tidings_caller_next(caller, cancelled, 0, &outcome) == -ENOENT, "it was cancelled");
    CHECK(kill(pid, SIGCONT) == 0, "%s", strerror(errno));
    outcome = outcome_of(caller, kept);
    CHECK(outcome.error == 0 && number_of(outcome.payload, outcome.size) == 2, "%d", outcome.error);
    kill_and_reap(pid);
    tidings_caller_close(caller);
    no_request_is_left(center);
}

void a_late_reply_finds_no_caller(void) {
    begin_requests(256);
    tidings_server *server = server_in(center, SERVICE);
    tidings_caller *caller = caller_in(center, SERVICE);
    uint8_t large[1000] = {0};
    for (uint32_t round = 0; round < 100; round++) {
        const uint64_t id = call_with(caller, large, sizeof large, 0);
        const tidings_request request = next_new(server);
        OK(tidings_call_cancel(caller, id));
        // The call may serve another request meanwhile.
        const uint64_t next = call_number(caller, round, 0);
        CHECK(tidings_reply(server, request.id, large, sizeof large, NULL) == -ECANCELED, "a caller waits");
        const tidings_request other = next_new(server);
        echo(server, &other);
        const tidings_outcome outcome = outcome_of(caller, next);
        CHECK(number_of(outcome.payload, outcome.size) == round, "another reply");
    }
    tidings_caller_close(caller);
    no_request_is_left(center);
}

// A ring of 256 slots: the records of most requests were overwritten, so they are found by a search, in order.
void a_lapped_server_finds_all_requests_in_order(void) {
    begin_requests(256);
    const pid_t pid = start_server(ECHOES);
    tidings_caller *caller = caller_in(center, SERVICE);
    (void)outcome_of(caller, call_number(caller, 0, 0));
    CHECK(kill(pid, SIGSTOP) == 0, "%s", strerror(errno));
    while (process_state(pid) != 'T') usleep(100);
    tidings_server *server = server_in(center, SERVICE);
    uint64_t id;
    uint32_t many = 0;
    int result;
    while ((result = tidings_call(caller, &many, sizeof many, NULL, &id)) == 0) many++;
    CHECK(result == -EUSERS && many == center->segment.geometry.call_count, "%d after %u calls", result, many);
    for (uint32_t i = 0; i < many; i++) {
        const tidings_request request = next_new(server);
        CHECK(number_of(request.payload, request.size) == i, "request %u is the %uth", i,
              number_of(request.payload, request.size));
        echo(server, &request);
    }
    CHECK(kill(pid, SIGCONT) == 0, "%s", strerror(errno));
    for (uint32_t i = 0; i < many; i++) {
        const tidings_outcome outcome = outcome_of(caller, 0);
        CHECK(outcome.error == 0 && number_of(outcome.payload, outcome.size) == i, "%d", outcome.error);
    }
    // Another caller finds calls, though this one had all of them.
    tidings_caller *other = caller_in(center, SERVICE);
    id = call_number(other, 1, 0);
    CHECK(outcome_of(other, id).error == 0, "no reply");
    kill_and_reap(pid);
    tidings_caller_close(caller);
    tidings_caller_close(other);
    no_request_is_left(center);
}

// MARK: Many

#define CALLERS 8u
#define SERVERS 4u
#define EACH 1250u  // 10,000 calls in flight

typedef struct tally {
    _Atomic uint64_t replies, resets, refusals, served;
} tally;
static tally *all;
static uint32_t caller_number, phases;

static void serves_many(void) {
    tidings_center *own = join_center(0);
    tidings_server *server = server_in(own, SERVICE);
    tell(&ready);
    for (;;) {
        const tidings_request request = next_request(server);
        if (request.kind != TIDINGS_REQUEST_NEW) continue;
        if (tidings_reply(server, request.id, request.payload, request.size, NULL) == 0)
            atomic_fetch_add(&all->served, 1);
    }
}

static void calls_many(void) {
    tidings_center *own = join_center(0);
    tidings_caller *caller = caller_in(own, SERVICE);
    tell(&ready);
    uint8_t text[700] = {0};
    uint64_t ids[EACH];
    const uint32_t each = ROUNDS(EACH);
    for (uint32_t phase = 0; phase < phases; phase++) {
        uint32_t made = 0;
        for (uint32_t i = 0; i < each; i++) {
            const uint32_t number = caller_number * EACH + i;
            memcpy(text, &number, sizeof number);
            const tidings_call_options options = {.flags = i % 3 ? 0 : TIDINGS_CALL_IDEMPOTENT};
            int result;
            while ((result = tidings_call(caller, text, i % 50 ? 20 : sizeof text, &options, &ids[i])) == -EAGAIN ||
                   result == -ECONNREFUSED)
                usleep(100);
            CHECK(result == 0, "%d", result);
            made++;
        }
        for (; made > 0; made--) {
            const tidings_outcome outcome = outcome_of(caller, 0);
            uint32_t number = 0;
            bool mine = false;
            for (uint32_t i = 0; i < each && !mine; i++) {
                mine = ids[i] == outcome.id;
                if (mine) number = i, ids[i] = 0;
            }
            CHECK(mine, "an outcome of no call, or a second one");
            if (outcome.error == 0) {
                uint32_t told_number;
                memcpy(&told_number, outcome.payload, sizeof told_number);
                CHECK(told_number == caller_number * EACH + number, "a reply to another request");
                atomic_fetch_add(&all->replies, 1);
            } else {
                CHECK(outcome.error == -ECONNRESET || outcome.error == -ECONNREFUSED, "%d", outcome.error);
                atomic_fetch_add(outcome.error == -ECONNRESET ? &all->resets : &all->refusals, 1);
            }
        }
        tidings_outcome none;
        CHECK(tidings_caller_next(caller, 0, 0, &none) == -EAGAIN, "one more outcome");
    }
}

void of_many_calls_none_is_lost_while_servers_are_killed(void) {
    ready = pipe_open();
    all = shared_memory(sizeof *all);
    center = join_center(4096);
    phases = chances(50);
    pid_t servers[SERVERS], callers[CALLERS];
    for (uint32_t i = 0; i < SERVERS; i++) {
        servers[i] = start(serves_many);
        told(&ready);
    }
    for (caller_number = 0; caller_number < CALLERS; caller_number++) {
        callers[caller_number] = start(calls_many);
        told(&ready);
    }
    uint32_t left = CALLERS;
    while (left > 0) {
        const uint32_t victim = (uint32_t)random_below(SERVERS);
        spin_cycles(random_below(30000000));
        kill_and_reap(servers[victim]);
        servers[victim] = start(serves_many);
        told(&ready);
        int status;
        for (uint32_t i = 0; i < CALLERS; i++) {
            if (callers[i] == 0 || waitpid(callers[i], &status, WNOHANG) != callers[i]) continue;
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a caller ended with %x", (unsigned)status);
            callers[i] = 0;
            left--;
        }
    }
    const uint64_t ended = all->replies + all->resets + all->refusals;
    CHECK(ended == (uint64_t)CALLERS * ROUNDS(EACH) * phases, "%lu calls ended", (unsigned long)ended);
    // Each reply that was taken was given once. A killed server may not have counted its last one.
    CHECK(all->replies > 0 && all->served <= ended, "%lu replies, of %lu given", (unsigned long)all->replies,
          (unsigned long)all->served);
    for (uint32_t i = 0; i < SERVERS; i++) kill_and_reap(servers[i]);
    no_request_is_left(center);
}

static void calls_until_killed(void) {
    tidings_center *own = join_center(0);
    tidings_caller *caller = caller_in(own, SERVICE);
    tell(&ready);
    uint8_t text[500] = {0};
    for (;;) {
        uint64_t id;
        for (uint32_t k = 0; k < 10; k++) {
            const tidings_call_options options = {.flags = k % 2 ? TIDINGS_CALL_IDEMPOTENT : 0};
            const int result = tidings_call(caller, text, k % 3 ? 4 : sizeof text, &options, &id);
            CHECK(result == 0 || result == -EAGAIN || result == -EUSERS, "%d", result);
        }
        tidings_outcome outcome;
        for (uint32_t k = 0; k < 8; k++) (void)tidings_caller_next(caller, 0, 1000000, &outcome);
        (void)tidings_call_cancel(caller, id);
    }
}

// Some die while their servers claim, reply or learn of a cancellation.
void callers_killed_at_random_leave_no_call(void) {
    begin_requests(1024);
    pid_t servers[2];
    for (uint32_t i = 0; i < 2; i++) servers[i] = start_server(ECHOES);
    for (uint32_t round = 0; round < chances(60); round++) {
        pid_t callers[3];
        for (uint32_t i = 0; i < 3; i++) {
            callers[i] = start(calls_until_killed);
            told(&ready);
        }
        for (uint32_t i = 0; i < 3; i++) {
            spin_cycles(random_below(1500000));
            kill_and_reap(callers[i]);
        }
        // There is no guard that settles if all callers are dead, but for those of the servers.
        if (round % 10 == 9) no_request_is_left(center);
    }
    no_request_is_left(center);
    for (uint32_t i = 0; i < 2; i++) kill_and_reap(servers[i]);
}

static void *serves_in_a_thread(void *argument) {
    tidings_server *server = argument;
    tidings_request request;
    int result;
    while ((result = tidings_server_next(server, -1, &request)) == 0)
        if (request.kind == TIDINGS_REQUEST_NEW)
            (void)tidings_reply(server, request.id, request.payload, request.size, NULL);
    CHECK(result == -EBADF, "%d", result);  // the process exits
    return NULL;
}

static void exits_while_it_serves(void) {
    exits_as_a_child = 1;
    tidings_center *own = join_center(0);
    if (announced_server) OK(tidings_announce(own, "server", 6, NULL, 0));
    for (uint32_t i = 0; i < 2; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, serves_in_a_thread, server_in(own, SERVICE)) == 0, "no thread");
    }
    tell(&ready);
    usleep((useconds_t)random_below(3000));
    exit(0);
}

void a_process_that_exits_while_its_threads_serve_ends_its_calls(void) {
    begin_requests(256);
    tidings_caller *caller = caller_in(center, SERVICE);
    for (uint32_t round = 0; round < chances(ROUNDS(60)); round++) {
        announced_server = round % 2;
        (void)random_next();
        const pid_t pid = start(exits_while_it_serves);
        told(&ready);
        uint64_t id;
        uint32_t flying = 0;
        int result = 0;
        while (result == 0 || result == -EUSERS) {
            const tidings_call_options options = {.flags = flying % 2 ? TIDINGS_CALL_IDEMPOTENT : 0};
            result = tidings_call(caller, &round, sizeof round, &options, &id);
            flying += result == 0;
            tidings_outcome outcome;
            while (flying > 20 && tidings_caller_next(caller, 0, -1, &outcome) == 0) flying--;
        }
        CHECK(result == -ECONNREFUSED, "%d", result);
        for (; flying > 0; flying--) {
            tidings_outcome outcome;
            OK(tidings_caller_next(caller, 0, -1, &outcome));
            CHECK(outcome.error == 0 || outcome.error == -ECONNRESET || outcome.error == -ECONNREFUSED, "%d",
                  outcome.error);
        }
        ends_well(pid);
    }
    tidings_caller_close(caller);
    no_request_is_left(center);
}

// Caller and server take turns, so that each one sleeps and is woken.
void no_wake_up_is_lost(void) {
    begin_requests(256);
    const pid_t pid = start_server(ECHOES);
    tidings_caller *callers[3];
    for (uint32_t i = 0; i < 3; i++) callers[i] = caller_in(center, SERVICE);
    for (uint32_t i = 0; i < ROUNDS(20000); i++) {
        tidings_caller *caller = callers[i % 3];
        const uint64_t id = call_number(caller, i, 0);
        tidings_outcome outcome;
        OK(tidings_caller_next(caller, id, -1, &outcome));
    }
    kill_and_reap(pid);
}

// MARK: What is refused

void all_calls_in_use_is_said_and_passes(void) {
    begin_requests(256);
    (void)server_in(center, SERVICE);
    tidings_caller *caller = caller_in(center, SERVICE), *other = caller_in(center, SERVICE);
    uint64_t id, first = call_number(caller, 0, 0);
    int result;
    while ((result = tidings_call(other, "x", 1, NULL, &id)) == 0) {}
    CHECK(result == -EUSERS, "%d", result);
    OK(tidings_call_cancel(caller, first));
    tidings_caller_close(other);
    first = call_number(caller, 1, 0);
}

static void waits_for_the_end(void) {
    tidings_center *own = join_center(0);
    tidings_caller *caller = caller_in(own, SERVICE);
    const uint64_t id = call_number(caller, 1, 0);
    tell(&ready);
    tidings_outcome outcome;
    const int result = tidings_caller_next(caller, id, -1, &outcome);
    CHECK(result == -ESTALE, "%d", result);
    CHECK(tidings_call(caller, "x", 1, NULL, &(uint64_t){0}) == -ESTALE, "a call in a center that has ended");
    tidings_caller_close(caller);
}

static void serves_until_the_end(void) {
    tidings_center *own = join_center(0);
    tidings_server *server = server_in(own, SERVICE);
    tell(&ready);
    tidings_request request;
    int result;
    while ((result = tidings_server_next(server, -1, &request)) == 0) tell(&ready);
    CHECK(result == -ESTALE, "%d", result);
    told(&go);  // its end would end the call
    tidings_server_close(server);
}

void the_end_of_the_center_ends_the_waits_of_callers_and_servers(void) {
    begin_requests(256);
    const pid_t server = start(serves_until_the_end);
    told(&ready);
    const pid_t caller = start(waits_for_the_end);
    told(&ready);
    told(&ready);
    until_asleep(caller, center, 1);
    OK(tidings_remove("scenario", NULL));
    ends_well(caller);
    tell(&go);
    ends_well(server);
}

static tidings_server *parents_server;
static tidings_caller *parents_caller;
static uint64_t parents_call, parents_request;

static void uses_what_its_parent_opened(void) {
    uint64_t id;
    tidings_outcome outcome;
    tidings_request request;
    CHECK(tidings_call(parents_caller, "x", 1, NULL, &id) == -ECHILD, "a call");
    CHECK(tidings_caller_next(parents_caller, parents_call, 0, &outcome) == -ECHILD, "an outcome");
    CHECK(tidings_call_cancel(parents_caller, parents_call) == -ECHILD, "a cancellation");
    CHECK(tidings_call_continue(parents_caller, parents_call) == -ECHILD, "a continuation");
    CHECK(tidings_server_next(parents_server, 0, &request) == -ECHILD, "a request");
    CHECK(tidings_reply(parents_server, parents_request, "x", 1, NULL) == -ECHILD, "a reply");
    tidings_caller_close(parents_caller);
    tidings_server_close(parents_server);
    // It opens its own.
    tidings_caller *caller = caller_in(center, SERVICE);
    id = call_number(caller, 5, 0);
    tell(&ready);
    outcome = outcome_of(caller, id);
    CHECK(outcome.error == 0, "%d", outcome.error);
}

void a_forked_child_uses_none_of_its_parents_servers_and_callers(void) {
    begin_requests(256);
    parents_server = server_in(center, SERVICE);
    parents_caller = caller_in(center, SERVICE);
    parents_call = call_number(parents_caller, 3, 0);
    parents_request = next_new(parents_server).id;
    const pid_t child = start(uses_what_its_parent_opened);
    told(&ready);
    const tidings_request of_child = next_new(parents_server);
    CHECK(of_child.pid == child, "of %d", of_child.pid);
    echo(parents_server, &of_child);
    ends_well(child);
    OK(tidings_reply(parents_server, parents_request, "x", 1, NULL));
    CHECK(outcome_of(parents_caller, parents_call).error == 0, "its parent's call");
}

void readers_neither_serve_nor_call(void) {
    ready = pipe_open();
    center = observable_center(256);
    tidings_center *reader = open_to_read();
    tidings_server *server;
    tidings_caller *caller;
    CHECK(tidings_server_open(reader, SERVICE, strlen(SERVICE), &server) == -EACCES && !server, "a reader serves");
    CHECK(tidings_caller_open(reader, SERVICE, strlen(SERVICE), &caller) == -EACCES && !caller, "a reader calls");
    // In an observable center participants do both: the words that callers sleep on are in the writers file.
    const pid_t pid = start_server(ECHOES);
    caller = caller_in(center, SERVICE);
    for (uint32_t i = 0; i < 100; i++) {
        const tidings_outcome outcome = outcome_of(caller, call_number(caller, i, 0));
        CHECK(outcome.error == 0 && number_of(outcome.payload, outcome.size) == i, "%d", outcome.error);
    }
    const uint64_t id = call_number(caller, 1, 0);
    kill_and_reap(pid);
    (void)outcome_of(caller, id);
}

void an_announcement_stays_while_servers_and_callers_are_open(void) {
    begin_requests(256);
    tidings_server *server = server_in(center, SERVICE);
    CHECK(tidings_announce(center, "r", 1, NULL, 0) == -EBUSY, "a server needs the thread");
    CHECK(tidings_withdraw(center) == -EBUSY, "a server needs the thread");
    tidings_caller *caller = caller_in(center, SERVICE);
    tidings_server_close(server);
    CHECK(tidings_withdraw(center) == -EBUSY, "a caller needs the thread");
    tidings_caller_close(caller);
    OK(tidings_announce(center, "r", 1, NULL, 0));
    server = server_in(center, SERVICE);
    CHECK(tidings_withdraw(center) == -EBUSY, "a server needs the thread");
    caller = caller_in(center, SERVICE);
    const uint64_t id = call_number(caller, 9, 0);
    const tidings_request request = next_new(server);
    echo(server, &request);
    CHECK(outcome_of(caller, id).error == 0, "no reply");
    tidings_server_close(server);
    tidings_caller_close(caller);
    OK(tidings_withdraw(center));
}

void names_of_requests_that_cannot_be_are_refused(void) {
    begin_requests(256);
    char name[TIDINGS_REQUEST_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    tidings_server *server;
    tidings_caller *caller;
    CHECK(tidings_server_open(center, name, TIDINGS_REQUEST_NAME_MAX + 1, &server) == -EINVAL && !server, "too long");
    CHECK(tidings_caller_open(center, "", 0, &caller) == -EINVAL && !caller, "empty");
    CHECK(tidings_caller_open(center, "\xff", 1, &caller) == -EINVAL && !caller, "no text");
    OK(tidings_server_open(center, name, TIDINGS_REQUEST_NAME_MAX, &server));
    OK(tidings_caller_open(center, name, TIDINGS_REQUEST_NAME_MAX, &caller));
    (void)call_number(caller, 1, 0);
    (void)next_new(server);
    tidings_caller_close(caller);
    tidings_server_close(server);
    CHECK(tidings_withdraw(center) == 0, "a refused one counts");
}

// MARK: Interrupts and signals

static void *interrupts(void *argument) {
    (void)argument;
    tidings_caller_interrupt(parents_caller);
    tidings_server_interrupt(parents_server);
    return NULL;
}

void waits_are_interrupted(void) {
    begin_requests(256);
    parents_server = server_in(center, SERVICE);
    parents_caller = caller_in(center, SERVICE);
    const uint64_t id = call_number(parents_caller, 1, 0);
    (void)next_new(parents_server);
    tidings_outcome outcome;
    tidings_request request;
    for (uint32_t round = 0; round < ROUNDS(300); round++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, interrupts, NULL) == 0, "no thread");
        int result = tidings_caller_next(parents_caller, id, -1, &outcome);
        CHECK(result == -EINTR, "%d", result);
        result = tidings_server_next(parents_server, -1, &request);
        CHECK(result == -EINTR, "%d", result);
        pthread_join(thread, NULL);
    }
    CHECK(tidings_caller_next(parents_caller, id, 0, &outcome) == -EAGAIN, "interrupted twice");
}

static volatile sig_atomic_t signals;
static void on_signal(int signal) {
    (void)signal;
    signals++;
}

static void calls_under_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0, "%s", strerror(errno));
    tidings_center *own = join_center(0);
    tidings_caller *caller = caller_in(own, SERVICE);
    const uint64_t id = call_number(caller, 1, 0);
    tell(&ready);
    const tidings_outcome outcome = outcome_of(caller, id);
    CHECK(outcome.error == 0 && signals > 0, "%d after %d signals", outcome.error, (int)signals);
}

void a_signal_ends_no_wait(void) {
    begin_requests(256);
    tidings_server *server = server_in(center, SERVICE);
    const pid_t pid = start(calls_under_signals);
    told(&ready);
    const tidings_request request = next_new(server);
    for (uint32_t i = 0; i < 20; i++) {
        while (process_state(pid) != 'S') usleep(100);
        CHECK(kill(pid, SIGUSR1) == 0, "%s", strerror(errno));
        usleep(200);
    }
    echo(server, &request);
    ends_well(pid);
}

// MARK: Hostile words

static uint64_t hostile_text(void) {
    static const uint32_t sizes[] = {0, 1, 191, 192, 193, 1000, 4999, 5000, 5001, 65536, 1u << 31, UINT32_MAX};
    const uint64_t size = sizes[random_below(sizeof sizes / sizeof sizes[0])];
    return size | random_next() << 32;
}

static uint64_t hostile_chunk(const tidings__segment *s) {
    const uint32_t count = s->geometry.chunk_count;
    switch (random_below(4)) {
        case 0: return 0;
        case 1: return count + random_below(3);
        case 2: return random_next();
        default: return 1 + random_below(count);
    }
}

// A state that its caller or a server could have written, or any.
static uint64_t hostile_state(const tidings__segment *s, uint32_t index) {
    const uint64_t was = atomic_load(&s->calls[index].state);
    switch (random_below(6)) {
        case 0: return random_next();
        case 1: return was + (UINT64_C(1) << 31);
        case 2: return was ^ TIDINGS__CALL_PART;
        case 3: return tidings__call_anew(was, (uint32_t)random_below(8), TIDINGS__CALL_POSTED);
        default: return tidings__call_with(was, (uint32_t)random_below(8), (uint32_t)random_below(9));
    }
}

static void spoil_call(tidings__segment *s, uint32_t i) {
    tidings__call *call = &s->calls[i];
    switch (random_below(10)) {
        case 0: atomic_store(&call->name, random_next()); break;
        case 1: atomic_store(&call->name, atomic_load(&s->calls[random_below(64)].name)); break;
        case 2: atomic_store(&call->request_text, hostile_text()); break;
        case 3: atomic_store(&call->request_chunk, hostile_chunk(s)); break;
        case 4: atomic_store(&call->reply_text, hostile_text()); break;
        case 5: atomic_store(&call->reply_chunk, hostile_chunk(s)); break;
        case 6: atomic_store(&call->made_at, random_next()); break;
        case 7: atomic_store(&s->call_bodies[i].request[random_below(TIDINGS__CALL_WORDS)], random_next()); break;
        case 8: atomic_store(&s->call_bodies[i].reply[random_below(TIDINGS__CALL_WORDS)], random_next()); break;
        default: atomic_store(&call->state, hostile_state(s, i)); break;
    }
}

static void spoils_calls(void) {
    tidings_center *own = join_center(0);
    tidings__segment *s = &own->segment;
    tidings_publisher *publisher = publisher_of(own, TIDINGS_REQUESTS_PREFIX SERVICE);
    OK(tidings__back_calls(s, 256));
    OK(tidings__back_presence(s));
    for (uint32_t round = 0;; round++) {
        spoil_call(s, (uint32_t)random_below(round % 2 ? 8 : 256));
        if (round % 16 == 0) {
            const uint32_t chunk = (uint32_t)random_below(s->geometry.chunk_count);
            const uint64_t words[] = {
                random_next(), 0,
                tidings__chunk_word(TIDINGS__CHUNK_NOWHERE, (uint32_t)random_below(8), TIDINGS__CHUNK_OWNED),
                tidings__reply_word((uint32_t)random_below(64), atomic_load(&s->calls[0].state))};
            atomic_store(&s->chunk_words[chunk], words[random_below(4)]);
        }
        if (round % 64 == 0)
            atomic_store(
                &tidings__presence_line_at(s, (uint32_t)random_below(8))->replies[random_below(TIDINGS__LANES)],
                (uint32_t)random_next());
        if (round % 256 == 0)
            atomic_store(&s->header->calls_used.word, random_below(4) ? random_below(300) : random_next());
        if (round % 128 == 0) atomic_store(&s->observers[random_below(s->shape.observers)].serves, random_below(2));
        if (round % 32 == 0) {
            const uint64_t tickets[] = {random_next(), TIDINGS__TICKET_SEARCH,
                                        tidings__ticket((uint32_t)random_below(300), atomic_load(&s->calls[0].state))};
            (void)tidings_post(publisher, &tickets[random_below(3)], 8, NULL, NULL);
        }
        if (round == 0) tell(&ready);
    }
}

#define SOON_NS 2000000

static void serves_hostile_calls(void) {
    tidings_center *own = join_center(0);
    static uint8_t text[5000];
    for (uint32_t round = 0; round < ROUNDS(30); round++) {
        tidings_server *server;
        OK(tidings_server_open(own, SERVICE, strlen(SERVICE), &server));
        for (uint32_t i = 0; i < 60; i++) {
            tidings_request request;
            const int result = tidings_server_next(server, i % 8 ? 0 : SOON_NS, &request);
            CHECK(result == 0 || result == -EAGAIN || result == -ETIMEDOUT, "%d", result);
            if (result != 0 || request.kind == TIDINGS_REQUEST_CANCELLED) continue;
            volatile uint8_t sum = 0;
            for (size_t k = 0; k < request.size; k++) sum += ((const uint8_t *)request.payload)[k];
            // Some replies are parts, and some parts are sent before the caller wants them.
            const tidings_reply_options options = {.more = random_below(2)};
            for (uint32_t k = 0; k <= random_below(3); k++) {
                const size_t size = random_below(2) ? request.size : random_below(5001);
                const int replied = tidings_reply(server, request.id, text, size, &options);
                CHECK(replied == 0 || replied == -ECANCELED || replied == -EAGAIN || replied == -ENOSPC ||
                          (replied == -EBUSY && options.more),
                      "%d", replied);
            }
        }
        tidings_server_close(server);
    }
}

static void makes_hostile_calls(void) {
    tidings_center *own = join_center(0);
    static uint8_t text[5000];
    for (uint32_t round = 0; round < ROUNDS(30); round++) {
        tidings_caller *caller;
        OK(tidings_caller_open(own, SERVICE, strlen(SERVICE), &caller));
        for (uint32_t i = 0; i < 40; i++) {
            uint64_t id;
            const tidings_call_options options = {.flags = i % 2 ? TIDINGS_CALL_IDEMPOTENT : 0};
            const int called = tidings_call(caller, text, i % 4 ? random_below(192) : random_below(5001), &options,
                                            &id);
            CHECK(called == 0 || called == -ECONNREFUSED || called == -EUSERS || called == -EAGAIN ||
                      called == -EBADMSG || called == -ENOSPC,
                  "%d", called);
            tidings_outcome outcome;
            const int result = tidings_caller_next(caller, i % 3 ? 0 : id, i % 5 ? 0 : SOON_NS, &outcome);
            CHECK(result == 0 || result == -EAGAIN || result == -ETIMEDOUT || result == -ENOENT, "%d", result);
            volatile uint8_t sum = 0;
            for (size_t k = 0; result == 0 && k < outcome.size; k++) sum += ((const uint8_t *)outcome.payload)[k];
            if (result == 0 && outcome.more && i % 3) {
                const int continued = tidings_call_continue(caller, outcome.id);
                CHECK(continued == 0 || continued == -EAGAIN, "%d", continued);
            }
            if (called == 0 && i % 7 == 0) (void)tidings_call_cancel(caller, id);
        }
        tidings_caller_close(caller);
    }
}

static void dies_soon(void) {
    tidings_center *own = join_center(0);
    tidings_caller *caller = caller_in(own, SERVICE);
    (void)server_in(own, SERVICE);
    uint64_t id;
    for (uint32_t i = 0; i < 20; i++) (void)tidings_call(caller, "x", 1, NULL, &id);
    _exit(0);
}

void spoiled_words_of_calls_harm_no_process(void) {
    ready = pipe_open();
    center = join_center_with(
        (tidings_configuration){.slots = 256, .participants = 32, .names = 64, .maximum_payload = 5000});
    OK(tidings_presence_watch(center));
    const pid_t adversary = start(spoils_calls);
    told(&ready);
    const pid_t users[4] = {start(serves_hostile_calls), start(serves_hostile_calls), start(makes_hostile_calls),
                            start(makes_hostile_calls)};
    for (uint32_t i = 0; i < ROUNDS(20); i++) {
        const pid_t pid = start(dies_soon);
        CHECK(waitpid(pid, NULL, 0) == pid, "%s", strerror(errno));
    }
    for (uint32_t i = 0; i < 4; i++) ends_well(users[i]);
    kill_and_reap(adversary);
    OK(tidings_withdraw(center));
}
