// Replies in parts: each part comes once and in order, the server waits for the caller of each, and a call ends once,
// whichever server or caller dies, stops or closes between two parts.
#include <pthread.h>

#include "present.h"
#include "requesting.h"

#define LARGE 3000u

static const tidings_reply_options more = {.more = true};

// MARK: A stream: parts that carry the numbers from 0 on

// Every third part lies in a chunk. Its text is of one byte, so that a mixture of two parts shows.
static size_t size_of(uint32_t number) { return number % 3 == 2 ? LARGE - number % 100 : 8 + number % 180; }

static int send_part(tidings_server *server, uint64_t id, uint32_t number, const tidings_reply_options *options) {
    uint8_t text[LARGE];
    memset(text, (int)(number & 0xff), sizeof text);
    memcpy(text, &number, sizeof number);
    return tidings_reply(server, id, text, size_of(number), options);
}

static void is_part(const tidings_outcome *outcome, uint32_t number) {
    uint32_t found = 0;
    CHECK(outcome->error == 0 && outcome->size == size_of(number), "part %u: %d, %zu bytes", number, outcome->error,
          outcome->size);
    memcpy(&found, outcome->payload, sizeof found);
    CHECK(found == number, "part %u instead of part %u", found, number);
    for (size_t i = sizeof found; i < outcome->size; i++)
        CHECK(((const uint8_t *)outcome->payload)[i] == (number & 0xff), "byte %zu of part %u is another one's", i,
              number);
}

// Streams that a server has.
#define STREAMS 64u
typedef struct stream {
    uint64_t id;  // 0: none
    uint32_t next, length;
} stream;

static stream *stream_of(stream *streams, uint64_t id) {
    for (uint32_t i = 0; i < STREAMS; i++)
        if (streams[i].id == id) return &streams[i];
    CHECK(false, "request %lx is none of this server", (unsigned long)id);
    return NULL;
}

// Sends the next part, or the last reply. It is refused if the caller has cancelled.
static void send_next(tidings_server *server, stream *s) {
    const bool last = s->next == s->length;
    const int result = send_part(server, s->id, s->next++, last ? NULL : &more);
    CHECK(result == 0 || result == -ECANCELED, "part %u: %d", s->next - 1, result);
    if (result == 0 && !last) {
        const int again = send_part(server, s->id, s->next, &more);
        CHECK(again == -EBUSY || again == -ECANCELED, "a part before the caller wants it: %d", again);
        if (again == -EBUSY) return;
    }
    s->id = 0;
}

// Each request says how many parts its reply has.
static void serves_streams(void) {
    tidings_center *own = join_center(0);
    tidings_server *server = server_in(own, SERVICE);
    stream streams[STREAMS] = {{.id = 0}};
    tell(&ready);
    for (;;) {
        const tidings_request request = next_request(server);
        stream *s = stream_of(streams, request.kind == TIDINGS_REQUEST_NEW ? 0 : request.id);
        if (request.kind == TIDINGS_REQUEST_CANCELLED) {
            s->id = 0;
            continue;
        }
        if (request.kind == TIDINGS_REQUEST_NEW)
            *s = (stream){.id = request.id, .length = number_of(request.payload, request.size)};
        send_next(server, s);
    }
}

static pid_t start_streams(void) {
    const pid_t pid = start(serves_streams);
    told(&ready);
    return pid;
}

void parts_come_whole_in_order_and_one_at_a_time(void) {
    begin_requests(256);
    const pid_t pid = start_streams();
    tidings_caller *caller = caller_in(center, SERVICE);
    const uint32_t lengths[] = {0, 1, 2, ROUNDS(3000)};
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t id = call_number(caller, lengths[i], 0);
        for (uint32_t number = 0; number <= lengths[i]; number++) {
            const tidings_outcome outcome = outcome_of(caller, number % 2 ? id : 0);
            is_part(&outcome, number);
            CHECK(outcome.id == id && outcome.more == (number < lengths[i]), "part %u of %u: more %d", number,
                  lengths[i], outcome.more);
            if (outcome.more) OK(tidings_call_continue(caller, id));
        }
        tidings_outcome none;
        CHECK(tidings_caller_next(caller, id, 0, &none) == -ENOENT, "an outcome after the last one");
    }
    CHECK(calls_in_use(center) == 0, "%u calls are in use", calls_in_use(center));
    tidings_caller_close(caller);
    kill_and_reap(pid);
    no_request_is_left(center);
}

// With id 0, and servers in two processes.
void several_streams_of_one_caller_come_side_by_side(void) {
    begin_requests(256);
    const pid_t pids[2] = {start_streams(), start_streams()};
    const uint32_t spins[] = {0, 20000, UINT32_MAX};
    for (uint32_t k = 0; k < 3; k++) {
        tidings_caller *caller = caller_in(center, SERVICE);
        tidings_caller_spin(caller, spins[k]);
        uint64_t ids[20];
        uint32_t next[20] = {0}, ended = 0;
        const uint32_t length = ROUNDS(60);
        for (uint32_t i = 0; i < 20; i++) ids[i] = call_number(caller, length + i, 0);
        while (ended < 20) {
            const tidings_outcome outcome = outcome_of(caller, 0);
            uint32_t i = 0;
            while (i < 20 && ids[i] != outcome.id) i++;
            CHECK(i < 20 && next[i] <= length + i, "an outcome of no call, or part %u of it", next[i]);
            is_part(&outcome, next[i]);
            CHECK(outcome.more == (next[i] < length + i), "part %u of %u: more %d", next[i], length + i, outcome.more);
            next[i]++;
            if (outcome.more)
                OK(tidings_call_continue(caller, outcome.id));
            else
                ended++;
        }
        tidings_caller_close(caller);
    }
    for (uint32_t i = 0; i < 2; i++) kill_and_reap(pids[i]);
    no_request_is_left(center);
}

// MARK: Threads

static tidings_caller *shared_caller;
static tidings_server *shared_server;
static uint64_t shared_id;

static void *takes_the_next_part(void *argument) {
    tidings_outcome outcome;
    OK(tidings_caller_next(shared_caller, *(uint64_t *)argument, -1, &outcome));
    CHECK(outcome.id == shared_id && outcome.error == 0, "call %lx: %d", (unsigned long)outcome.id, outcome.error);
    return NULL;
}

// It waits for the next part, while another thread continues. `id`: for which it waits.
static void continued_beside_a_wait(uint32_t spin, uint64_t id) {
    tidings_caller_spin(shared_caller, spin);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, takes_the_next_part, &id) == 0, "no thread");
    spin_cycles(random_below(200000));
    OK(tidings_call_continue(shared_caller, shared_id));
    const tidings_request request = next_request(shared_server);
    CHECK(request.kind == TIDINGS_REQUEST_CONTINUED && request.id == shared_id, "kind %d", request.kind);
    spin_cycles(random_below(50000));
    OK(tidings_reply(shared_server, shared_id, "part", 4, &more));
    CHECK(pthread_join(thread, NULL) == 0, "no thread");
}

void a_wait_sees_a_part_that_another_thread_asks_for(void) {
    begin_requests(256);
    shared_server = server_in(center, SERVICE);
    shared_caller = caller_in(center, SERVICE);
    // The earliest call of the caller stays without an outcome.
    (void)call_number(shared_caller, 0, 0);
    (void)next_new(shared_server);
    shared_id = call_number(shared_caller, 1, 0);
    (void)next_new(shared_server);
    OK(tidings_reply(shared_server, shared_id, "part", 4, &more));
    (void)outcome_of(shared_caller, shared_id);
    for (uint32_t round = 0; round < ROUNDS(200); round++) {
        const uint32_t spins[] = {0, 20000, UINT32_MAX};
        continued_beside_a_wait(spins[round % 3], round % 2 ? shared_id : 0);
    }
}

// MARK: Callers that end between two parts

typedef enum moment_of_a_part { WAITS, TAKEN, CONTINUED, MOMENTS } moment_of_a_part;
static moment_of_a_part at;
static enum { DIES, CANCELS, CLOSES, CLOSES_ALL, EXITS, WAYS } way;

static bool announced;

static void takes_and_ends(void) {
    exits_as_a_child = 1;
    tidings_center *own = join_center(0);
    if (announced) OK(tidings_announce(own, "caller", 6, NULL, 0));
    tidings_caller *caller = caller_in(own, SERVICE);
    uint64_t ids[2];
    for (uint32_t i = 0; i < 2; i++) ids[i] = call_number(caller, i, i ? TIDINGS_CALL_IDEMPOTENT : 0);
    tell(&ready);
    told(&go);
    for (uint32_t i = 0; i < 2; i++) {
        if (at == WAITS) continue;
        const tidings_outcome outcome = outcome_of(caller, ids[i]);
        CHECK(outcome.more, "%d", outcome.error);
        if (at == CONTINUED) OK(tidings_call_continue(caller, ids[i]));
    }
    tell(&ready);
    told(&go);
    switch (way) {
        case CANCELS:
            for (uint32_t i = 0; i < 2; i++) OK(tidings_call_cancel(caller, ids[i]));
            break;
        case CLOSES: tidings_caller_close(caller); break;
        case CLOSES_ALL: tidings_close(own); break;
        case EXITS: exit(0);
        default: break;
    }
    tell(&ready);
    for (;;) pause();
}

void the_server_learns_of_a_caller_that_ends_between_parts(void) {
    begin_requests(256);
    tidings_server *server = server_in(center, SERVICE);
    for (way = DIES; way < WAYS; way++) {
        for (at = WAITS; at < MOMENTS; at++) {
            const pid_t pid = start(takes_and_ends);
            told(&ready);
            uint64_t ids[2];
            for (uint32_t i = 0; i < 2; i++) {
                ids[i] = next_new(server).id;
                OK(send_part(server, ids[i], i ? 2 : 0, &more));  // one in a chunk
            }
            tell(&go);
            told(&ready);
            if (way == DIES)
                kill_and_reap(pid);
            else
                tell(&go);
            bool cancelled[2] = {false}, continued[2] = {false};
            while (!cancelled[0] || !cancelled[1]) {
                const tidings_request request = next_request(server);
                const uint32_t i = request.id == ids[1];
                CHECK(request.id == ids[i] && !cancelled[i], "way %u, at %u: kind %d", way, at, request.kind);
                if (request.kind == TIDINGS_REQUEST_CANCELLED) {
                    cancelled[i] = true;
                } else {
                    CHECK(request.kind == TIDINGS_REQUEST_CONTINUED && at == CONTINUED && !continued[i],
                          "way %u, at %u: kind %d", way, at, request.kind);
                    continued[i] = true;
                }
            }
            for (uint32_t i = 0; i < 2; i++)
                CHECK(send_part(server, ids[i], 1, &more) == -ECANCELED, "a part that no caller waits for");
            if (way == EXITS) {
                ends_well(pid);
            } else if (way != DIES) {
                told(&ready);
                CHECK(calls_in_use(center) == 0, "%u calls are in use", calls_in_use(center));
                kill_and_reap(pid);
            }
            no_request_is_left(center);
        }
    }
}

// A lossless observer holds back the record that tells of the cancellation. The caller's process is gone by then.
void the_server_learns_of_a_caller_that_left_while_posts_were_held_back(void) {
    begin_requests(256);
    tidings_server *server = server_in(center, SERVICE);
    tidings_publisher *publisher = publisher_of(center, "com.example.other");
    at = TAKEN;
    for (uint32_t k = 0; k < 2 * WAYS; k++) {
        way = k / 2;
        announced = k % 2;
        const pid_t pid = start(takes_and_ends);
        told(&ready);
        for (uint32_t i = 0; i < 2; i++) OK(send_part(server, next_new(server).id, i ? 2 : 0, &more));
        tell(&go);
        told(&ready);
        tidings_observer *observer = observer_with(center, "com.example.other", TIDINGS_OBSERVE_LOSSLESS, 0);
        int result;
        while ((result = tidings_post(publisher, "x", 1, NULL, NULL)) == 0) {}
        CHECK(result == -EAGAIN, "%d", result);
        tidings_request request;
        CHECK(tidings_server_next(server, 0, &request) == -EAGAIN, "kind %d", request.kind);
        if (way != DIES) tell(&go);
        if (way == EXITS)
            ends_well(pid);
        else if (way != DIES)
            told(&ready);
        if (way != EXITS) kill_and_reap(pid);
        CHECK(tidings_server_next(server, 0, &request) == -EAGAIN, "kind %d", request.kind);
        tidings_observer_close(observer);
        for (uint32_t i = 0; i < 2; i++) {
            request = next_request(server);
            CHECK(request.kind == TIDINGS_REQUEST_CANCELLED, "way %u: kind %d", way, request.kind);
        }
        no_request_is_left(center);
    }
}

// MARK: Servers that end between two parts

static bool told_to_end;

static void sends_and_ends(void) {
    exits_as_a_child = 1;
    tidings_center *own = join_center(0);
    tidings_server *server = server_in(own, SERVICE);
    tell(&ready);
    uint64_t ids[2];
    for (uint32_t i = 0; i < 2; i++) {
        ids[i] = next_new(server).id;
        OK(send_part(server, ids[i], i ? 2 : 0, &more));
    }
    tell(&ready);
    if (told_to_end) {  // of the continuation, as far as it is there
        told(&go);
        tidings_request request;
        while (tidings_server_next(server, 0, &request) == 0) CHECK(request.kind == TIDINGS_REQUEST_CONTINUED, "kind");
        tell(&ready);
    }
    told(&go);
    switch (way) {
        case CLOSES: tidings_server_close(server); break;
        case CLOSES_ALL: tidings_close(own); break;
        case EXITS: exit(0);
        default: break;
    }
    for (;;) pause();
}

// Another server does not receive it, as the caller would have parts twice.
void a_server_that_ends_between_parts_ends_its_calls_also_idempotent_ones(void) {
    begin_requests(256);
    tidings_caller *caller = caller_in(center, SERVICE);
    for (way = DIES; way < WAYS; way++) {
        if (way == CANCELS) continue;
        for (at = WAITS; at < MOMENTS; at++) {
            told_to_end = random_below(2);
            const pid_t pid = start(sends_and_ends);
            told(&ready);
            uint64_t ids[2];
            for (uint32_t i = 0; i < 2; i++) ids[i] = call_number(caller, i, i ? TIDINGS_CALL_IDEMPOTENT : 0);
            told(&ready);
            tidings_server *second = server_in(center, SERVICE);
            for (uint32_t i = 0; i < 2 && at != WAITS; i++) {
                const tidings_outcome outcome = outcome_of(caller, ids[i]);
                is_part(&outcome, i ? 2 : 0);
                if (at == CONTINUED) OK(tidings_call_continue(caller, ids[i]));
            }
            if (told_to_end) {
                tell(&go);
                told(&ready);
            }
            if (way == DIES)
                kill_and_reap(pid);
            else
                tell(&go);
            if (way == EXITS) ends_well(pid);
            for (uint32_t i = 0; i < 2; i++) {
                tidings_outcome outcome = outcome_of(caller, ids[i]);
                if (outcome.more) {
                    CHECK(at == WAITS, "a part comes again");
                    is_part(&outcome, i ? 2 : 0);
                    outcome = outcome_of(caller, ids[i]);
                }
                CHECK(outcome.error == -ECONNRESET && !outcome.more && outcome.size == 0, "way %u, at %u: %d", way, at,
                      outcome.error);
                CHECK(tidings_call_continue(caller, ids[i]) == -ENOENT, "a call that has ended is continued");
            }
            tidings_request request;
            CHECK(tidings_server_next(second, 0, &request) == -EAGAIN, "another server: kind %d", request.kind);
            CHECK(calls_in_use(center) == 0, "%u calls are in use", calls_in_use(center));
            tidings_server_close(second);
            if (way != DIES && way != EXITS) kill_and_reap(pid);
        }
    }
    tidings_caller_close(caller);
    no_request_is_left(center);
}

// MARK: Servers that are slow

// The records of the continuations were overwritten.
void a_lapped_server_learns_of_continued_and_cancelled_calls(void) {
    begin_requests(256);
    tidings_server *server = server_in(center, SERVICE);
    tidings_caller *caller = caller_in(center, SERVICE);
    uint64_t ids[10];
    for (uint32_t i = 0; i < 10; i++) {
        ids[i] = call_number(caller, i, 0);
        (void)next_new(server);
        OK(send_part(server, ids[i], i, &more));
        (void)outcome_of(caller, ids[i]);
    }
    for (uint32_t i = 0; i < 10; i++) {
        if (i % 3 == 0) OK(tidings_call_continue(caller, ids[i]));
        if (i % 3 == 1) OK(tidings_call_cancel(caller, ids[i]));
    }
    tidings_publisher *publisher = publisher_of(center, "com.example.other");
    for (uint32_t i = 0; i < 2000; i++) post_number(publisher, i);
    for (uint32_t i = 0; i < 10; i++) {
        if (i % 3 == 2) continue;
        const tidings_request request = next_request(server);
        CHECK(request.id == ids[i] &&
                  request.kind == (i % 3 == 0 ? TIDINGS_REQUEST_CONTINUED : TIDINGS_REQUEST_CANCELLED),
              "call %u: kind %d", i, request.kind);
    }
    tidings_request none;
    CHECK(tidings_server_next(server, 0, &none) == -EAGAIN, "kind %d", none.kind);
    for (uint32_t i = 0; i < 10; i++) {
        const int result = send_part(server, ids[i], 1, NULL);
        CHECK(result == (i % 3 == 0 ? 0 : i % 3 == 1 ? -ECANCELED : -EBUSY), "call %u: %d", i, result);
    }
    tidings_caller_close(caller);
    tidings_server_close(server);
    no_request_is_left(center);
}

// MARK: Many

static _Atomic uint64_t *parts_taken;

// Until it is killed. Some of its calls it cancels.
static void takes_streams(void) {
    tidings_center *own = join_center(0);
    tidings_caller *caller = caller_in(own, SERVICE);
    tell(&ready);
    for (;;) {
        uint64_t ids[8];
        uint32_t next[8] = {0}, left = 0;
        for (uint32_t i = 0; i < 8; i++) {
            const tidings_call_options options = {.flags = i % 2 ? TIDINGS_CALL_IDEMPOTENT : 0};
            const uint32_t length = (uint32_t)random_below(20);
            const int result = tidings_call(caller, &length, sizeof length, &options, &ids[i]);
            CHECK(result == 0 || result == -ECONNREFUSED, "%d", result);
            if (result == 0) left++;
        }
        while (left > 0) {
            const tidings_outcome outcome = outcome_of(caller, 0);
            uint32_t i = 0;
            while (i < 8 && ids[i] != outcome.id) i++;
            CHECK(i < 8, "an outcome of no call, or a second one");
            if (outcome.error == 0)
                is_part(&outcome, next[i]++);
            else
                CHECK(outcome.error == -ECONNRESET || (outcome.error == -ECONNREFUSED && next[i] == 0), "%d after %u",
                      outcome.error, next[i]);
            atomic_fetch_add(parts_taken, 1);
            if (outcome.more && random_below(30) > 0) {
                OK(tidings_call_continue(caller, outcome.id));
                continue;
            }
            if (outcome.more) OK(tidings_call_cancel(caller, outcome.id));
            ids[i] = 0;
            left--;
        }
    }
}

void streams_of_servers_and_callers_killed_at_random_lose_and_repeat_no_part(void) {
    begin_requests(1024);
    parts_taken = shared_memory(sizeof *parts_taken);
    pid_t pids[6];
    for (uint32_t i = 0; i < 6; i++) {
        pids[i] = start(i % 2 ? takes_streams : serves_streams);
        told(&ready);
    }
    for (uint32_t round = 0; round < ROUNDS(chances(200)); round++) {
        const uint64_t before = atomic_load(parts_taken);
        while (atomic_load(parts_taken) < before + 20) usleep(100);
        spin_cycles(random_below(1000000));
        const uint32_t i = (uint32_t)random_below(6);
        kill_and_reap(pids[i]);
        pids[i] = start(i % 2 ? takes_streams : serves_streams);
        told(&ready);
    }
    for (uint32_t i = 1; i < 6; i += 2) kill_and_reap(pids[i]);
    no_request_is_left(center);
    for (uint32_t i = 0; i < 6; i += 2) kill_and_reap(pids[i]);
}

// MARK: Ends

void a_call_of_a_center_that_has_ended_is_not_continued(void) {
    begin_requests(256);
    tidings_server *server = server_in(center, SERVICE);
    tidings_caller *caller = caller_in(center, SERVICE);
    const uint64_t id = call_number(caller, 1, 0);
    (void)next_new(server);
    OK(send_part(server, id, 0, &more));
    const tidings_outcome outcome = outcome_of(caller, id);
    is_part(&outcome, 0);
    OK(tidings_remove("scenario", NULL));
    CHECK(tidings_call_continue(caller, id) == -ESTALE, "it is continued");
    CHECK(strstr(tidings_last_error(), "scenario"), "%s", tidings_last_error());
    tidings_caller_close(caller);
    tidings_server_close(server);
}
