// Servers, callers, and participants that settle the calls of dead ones, killed or stopped after any number of
// instructions. Each call has exactly one outcome, and no call and no chunk stays in use.
#include "calls/calls.h"
#include "center/center.h"
#include "present.h"
#include "ring/chunk.h"
#include "steps.h"
#include "trace.h"

#define MOMENTS 8
#define REQUESTS "com.example.requests"
#define INLINE 100u
#define IN_CHUNK 600u

// The code of a reply: which server it is from.
#define BY_TARGET 1
#define BY_SECOND 2
#define BY_SECOND_AGAIN 3

static tidings_center *center;
static tidings_caller *caller;
static tidings_server *server;
static size_t size;  // of requests and replies
static uint8_t text[IN_CHUNK];
static pipe_pair ready;

// Of the target, shared with it.
static struct {
    _Atomic uint32_t replied, refused, cancelled, done;
    _Atomic uint64_t id;
} * target;

static struct { uint64_t at, length; } section;

#define SO(condition, format, ...)                                                                                     \
    CHECK(condition, "after %lu of %lu instructions: " format, (unsigned long)section.at,                              \
          (unsigned long)section.length __VA_OPT__(, ) __VA_ARGS__)

// MARK: Parts

static void begin(size_t of_texts) {
    size = of_texts;
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)(i * 7 + 1);
    ready = pipe_open();
    target = shared_memory(4096);
    section.at = section.length = 0;
    center = join_center_with((tidings_configuration){.slots = 256, .participants = 16, .names = 64});
}

static tidings_server *server_of(tidings_center *of) {
    tidings_server *made;
    OK(tidings_server_open(of, REQUESTS, strlen(REQUESTS), &made));
    keep(made);
    return made;
}

static tidings_caller *caller_of(tidings_center *of) {
    tidings_caller *made;
    OK(tidings_caller_open(of, REQUESTS, strlen(REQUESTS), &made));
    keep(made);
    return made;
}

static uint64_t call_of(tidings_caller *by, uint8_t flags) {
    const tidings_call_options options = {.flags = flags};
    uint64_t id;
    // Always the same chunk: with each one that gets memory, the walk to the next one is longer.
    memset(&center->chunk_turns, 0, sizeof center->chunk_turns);
    OK(tidings_call(by, text, size, &options, &id));
    return id;
}

static bool is_whole(const void *payload, size_t length) { return length == size && memcmp(payload, text, size) == 0; }

// The next request, or false: there is none.
static bool next_request(tidings_server *of, int64_t timeout_ns, tidings_request *request) {
    const int result = tidings_server_next(of, timeout_ns, request);
    if (result == -EAGAIN || result == -ETIMEDOUT) return false;
    SO(result == 0, "tidings_server_next: %d", result);
    SO(request->kind != TIDINGS_REQUEST_NEW || is_whole(request->payload, request->size),
       "a request of %zu bytes that no caller made", request->size);
    return true;
}

static void reply_to(tidings_server *of, const tidings_request *request, uint16_t code) {
    const tidings_reply_options options = {.code = code};
    const int result = tidings_reply(of, request->id, request->payload, request->size, &options);
    SO(result == 0 || result == -ECANCELED, "tidings_reply: %d", result);
    atomic_fetch_add(result ? &target->refused : &target->replied, 1);
}

static void serve(tidings_server *of, int64_t timeout_ns) {
    tidings_request request;
    if (!next_request(of, timeout_ns, &request)) return;
    if (request.kind == TIDINGS_REQUEST_CANCELLED)
        atomic_fetch_add(&target->cancelled, 1);
    else
        reply_to(of, &request, BY_TARGET);
}

static uint64_t word_of(uint64_t id) {
    return tidings__acquire(&center->segment.calls[tidings__ticket_index(id)].state);
}

// Until each death has been reported, and so the calls of each dead participant have been settled.
static void until_settled(void) {
    tidings__segment *s = &center->segment;
    for (uint32_t i = 0; i < tidings__presence_end(s);) {
        if (tidings__to_report(s, i))
            usleep(50);
        else
            i++;
    }
}

// All calls are free, or are idle and of `keeper`. No chunk is owned, or is of a reply. No participant left orphans.
static void no_call_is_left(const tidings_center *keeper) {
    tidings__segment *s = &center->segment;
    SO(tidings_reclaim(center) >= 0, "can't reclaim");
    for (uint32_t i = 0; i < tidings__calls_end(s); i++) {
        const uint64_t word = tidings__acquire(&s->calls[i].state);
        const uint32_t state = tidings__call_state(word);
        SO(state == TIDINGS__CALL_FREE ||
               (state == TIDINGS__CALL_IDLE && keeper && tidings__call_caller(word) == keeper->participant),
           "call %u is left in state %u, of caller %u and server %u", i, state, tidings__call_caller(word),
           tidings__call_server(word));
    }
    for (uint32_t i = 0; i < s->geometry.chunk_count; i++) {
        const uint32_t state = tidings__chunk_state(tidings__acquire(&s->chunk_words[i]));
        SO(state != TIDINGS__CHUNK_OWNED && state != TIDINGS__CHUNK_REPLY, "chunk %u is left in state %u", i, state);
    }
    tidings_orphans orphans;
    static const tidings_orphans none;
    OK(tidings_orphans_get(center, &orphans));
    SO(memcmp(&orphans, &none, sizeof none) == 0,
       "orphans: %u participants, %u observers, %u names, %u payloads, %u claims", orphans.participants,
       orphans.observers, orphans.names, orphans.payloads, orphans.claims);
}

// Runs the section of a target to its end, or, under a sanitizer, a part of it.
static void measure(pid_t pid) {
    section.length = step(pid, SANITIZED ? 60000 : UINT64_MAX, false);
    if (full()) fprintf(stderr, "%lu instructions\n", (unsigned long)section.length);
}

// MARK: Servers

static void serves_in_section(void) {
    tidings_server *own = server_of(join_center(0));
    section_begin();
    serve(own, -1);
    serve(own, 200000);
    section_end();
    for (;;) serve(own, -1);
}

// A server that is about to sleep, and a request for it.
static pid_t start_server(uint8_t flags, uint64_t *id) {
    const pid_t pid = start_traced(serves_in_section);
    run_into_sleep(pid);
    *id = call_of(caller, flags);
    return pid;
}

static void begin_calling(size_t of_texts, uint8_t flags) {
    begin(of_texts);
    caller = caller_of(center);
    // The first one makes the center grow, and takes a way of its own.
    for (int i = 0; i < 2; i++) {
        uint64_t id;
        const pid_t pid = start_server(flags, &id);
        measure(pid);
        tidings_outcome outcome;
        const int result = tidings_caller_next(caller, id, 0, &outcome);
        SO(SANITIZED || (result == 0 && outcome.error == 0), "%d, outcome %d", result, outcome.error);
        if (result) OK(tidings_call_cancel(caller, id));
        kill_and_reap(pid);
        until_settled();
        no_call_is_left(center);
    }
}

static void ended_once(uint64_t id) {
    tidings_outcome outcome;
    const int result = tidings_caller_next(caller, id, 0, &outcome);
    SO(result == -ENOENT, "a second outcome: %d", result);
}

static void server_killed_anywhere(size_t of_texts) {
    begin_calling(of_texts, 0);
    const uint32_t kills = moments(MOMENTS, section.length);
    uint32_t replies = 0;
    for (uint32_t kill = 0; kill < kills; kill++) {
        uint64_t id;
        const pid_t pid = start_server(0, &id);
        section.at = step(pid, moment(kill, kills, section.length), false);
        const uint32_t state = tidings__call_state(word_of(id));
        kill_and_reap(pid);
        tidings_outcome outcome;
        OK(tidings_caller_next(caller, id, -1, &outcome));
        const int expected = state == TIDINGS__CALL_REPLIED   ? 0
                             : state == TIDINGS__CALL_CLAIMED ? -ECONNRESET
                                                              : -ECONNREFUSED;
        SO(outcome.error == expected, "outcome %d of a call in state %u", outcome.error, state);
        SO(outcome.error || (is_whole(outcome.payload, outcome.size) && outcome.code == BY_TARGET), "another reply");
        replies += outcome.error == 0;
        ended_once(id);
        until_settled();
        no_call_is_left(center);
    }
    CHECK(SANITIZED || (replies > 0 && replies < kills), "%u replies of %u", replies, kills);
}

void killed_anywhere_while_serving(void) { server_killed_anywhere(INLINE); }
void killed_anywhere_while_serving_chunks(void) { server_killed_anywhere(IN_CHUNK); }

// A second server of this process receives the request afterwards, unless the first has replied.
static void serve_as_second(tidings_server *second) {
    tidings_request request;
    if (!next_request(second, 1000000, &request)) return;
    SO(request.kind == TIDINGS_REQUEST_NEW, "request %lx is cancelled", (unsigned long)request.id);
    reply_to(second, &request, request.again ? BY_SECOND_AGAIN : BY_SECOND);
}

void killed_anywhere_while_serving_beside_another_server(void) {
    begin_calling(IN_CHUNK, TIDINGS_CALL_IDEMPOTENT);
    tidings_center *beside = join_center(0);
    tidings_server *second = server_of(beside);
    const uint32_t kills = moments(MOMENTS, section.length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        uint64_t id;
        const pid_t pid = start_server(TIDINGS_CALL_IDEMPOTENT, &id);
        section.at = step(pid, moment(kill, kills, section.length), false);
        const uint32_t state = tidings__call_state(word_of(id));
        kill_and_reap(pid);
        tidings_outcome outcome;
        int result;
        while ((result = tidings_caller_next(caller, id, 0, &outcome)) == -EAGAIN) serve_as_second(second);
        SO(result == 0 && outcome.error == 0 && is_whole(outcome.payload, outcome.size), "%d, outcome %d", result,
           outcome.error);
        const uint16_t expected = state == TIDINGS__CALL_REPLIED   ? BY_TARGET
                                  : state == TIDINGS__CALL_CLAIMED ? BY_SECOND_AGAIN
                                                                   : BY_SECOND;
        SO(outcome.code == expected, "reply %u to a call in state %u", outcome.code, state);
        ended_once(id);
        until_settled();
        no_call_is_left(center);
    }
}

// A stopped server is not dead. The caller cancels the call; when the server continues, its reply is refused. Then it
// answers the next call.
static void server_stopped_anywhere(size_t of_texts) {
    begin_calling(of_texts, 0);
    const uint32_t stops = moments(MOMENTS / 2, section.length);
    uint32_t all_refused = 0;
    for (uint32_t stop = 0; stop < stops; stop++) {
        uint64_t id;
        memset(target, 0, sizeof *target);
        const pid_t pid = start_server(0, &id);
        section.at = step(pid, moment(stop, stops, section.length), false);
        const uint32_t state = tidings__call_state(word_of(id));
        tidings_outcome outcome;
        const int result = tidings_caller_next(caller, id, 1000000, &outcome);
        SO(result == (state == TIDINGS__CALL_REPLIED ? 0 : -ETIMEDOUT), "%d of a call in state %u", result, state);
        if (result) OK(tidings_call_cancel(caller, id));
        ended_once(id);
        let_go(pid);
        id = call_of(caller, 0);
        OK(tidings_caller_next(caller, id, -1, &outcome));
        SO(outcome.error == 0 && is_whole(outcome.payload, outcome.size), "outcome %d", outcome.error);
        // The program learns of the cancellation, unless it was not told of the request.
        const uint32_t refused = atomic_load(&target->refused), cancelled = atomic_load(&target->cancelled);
        SO(refused + cancelled <= (state == TIDINGS__CALL_CLAIMED), "in state %u: %u replies refused, %u cancelled",
           state, refused, cancelled);
        all_refused += refused;
        no_call_is_left(center);
        kill_and_reap(pid);
        until_settled();
        no_call_is_left(center);
    }
    // If every moment is taken, some fall between claim and reply.
    CHECK(SANITIZED || !full() || all_refused > 0, "no late reply");
}

void stopped_anywhere_while_serving(void) { server_stopped_anywhere(INLINE); }
void stopped_anywhere_while_serving_chunks(void) { server_stopped_anywhere(IN_CHUNK); }

static bool exits;  // as the handler of `exit` does: the server is open

static void closes_in_section(void) {
    tidings_center *own_center = join_center(0);
    tidings_server *own = server_of(own_center);
    tidings_request request;
    section_begin();
    for (int i = 0; i < 2; i++) (void)tidings_server_next(own, 0, &request);
    if (exits)
        own_center->leave(own_center);
    else
        tidings_server_close(own);
    section_end();
    for (;;) pause();
}

// Two calls, of which another server might have one. There is no other one.
static pid_t start_closing(uint64_t ids[2]) {
    const pid_t pid = start_traced(closes_in_section);
    for (uint8_t i = 0; i < 2; i++) ids[i] = call_of(caller, i ? TIDINGS_CALL_IDEMPOTENT : 0);
    return pid;
}

static void server_killed_closing(void) {
    begin(INLINE);
    caller = caller_of(center);
    uint64_t ids[2];
    pid_t pid = start_closing(ids);
    measure(pid);
    kill_and_reap(pid);
    const uint32_t kills = moments(MOMENTS, section.length);
    for (uint32_t kill = 0; kill <= kills; kill++) {
        for (int i = 0; i < 2; i++) {
            tidings_outcome outcome;
            OK(tidings_caller_next(caller, ids[i], -1, &outcome));
            SO(outcome.error == -ECONNRESET || outcome.error == -ECONNREFUSED, "outcome %d", outcome.error);
            ended_once(ids[i]);
        }
        until_settled();
        no_call_is_left(center);
        if (kill == kills) break;
        pid = start_closing(ids);
        section.at = step(pid, moment(kill, kills, section.length), false);
        kill_and_reap(pid);
    }
}

void killed_anywhere_while_a_server_closes(void) { server_killed_closing(); }

void killed_anywhere_while_a_server_exits(void) {
    exits = true;
    server_killed_closing();
}

// MARK: Callers

// When this process's server claims the call of the target.
typedef enum claiming { NEVER, BEFORE_DEATH, AFTER_DEATH } claiming;

static void begin_serving(size_t of_texts) {
    begin(of_texts);
    server = server_of(center);
}

// A claimed request of a dead caller is cancelled: once, and the reply to it is refused.
static void is_cancelled(uint64_t id) {
    tidings_request request;
    SO(next_request(server, -1, &request) && request.kind == TIDINGS_REQUEST_CANCELLED && request.id == id,
       "kind %d, request %lx instead of %lx", request.kind, (unsigned long)request.id, (unsigned long)id);
    const int result = tidings_reply(server, id, text, size, NULL);
    SO(result == -ECANCELED, "tidings_reply to a cancelled request: %d", result);
}

static void nothing_comes(void) {
    tidings_request request;
    SO(!next_request(server, 0, &request), "kind %d, request %lx", request.kind, (unsigned long)request.id);
}

// The server has request `claimed` (0: none), and its caller is dead.
static void caller_has_died(uint64_t claimed) {
    if (claimed) is_cancelled(claimed);
    until_settled();
    nothing_comes();
    no_call_is_left(NULL);
    // The server goes on: it answers this process.
    if (caller) {
        const uint64_t id = call_of(caller, 0);
        tidings_request request;
        SO(next_request(server, 0, &request) && request.id == id, "not the next request");
        reply_to(server, &request, BY_TARGET);
        tidings_outcome outcome;
        OK(tidings_caller_next(caller, id, 0, &outcome));
        SO(outcome.error == 0, "outcome %d", outcome.error);
    }
}

static uint64_t claim_next(void) {
    tidings_request request;
    if (!next_request(server, 0, &request)) return 0;
    SO(request.kind == TIDINGS_REQUEST_NEW, "request %lx is cancelled", (unsigned long)request.id);
    return request.id;
}

static void calls_in_section(void) {
    tidings_caller *own = caller_of(join_center(0));
    uint64_t id;
    section_begin();
    const int result = tidings_call(own, text, size, NULL, &id);
    section_end();
    OK(result);
    for (;;) pause();
}

static void caller_killed_anywhere(size_t of_texts) {
    begin_serving(of_texts);
    pid_t pid = start_traced(calls_in_section);
    measure(pid);
    const uint64_t claimed = claim_next();
    SO(claimed || SANITIZED, "no request");
    kill_and_reap(pid);
    caller_has_died(claimed);
    const uint32_t kills = moments(MOMENTS, section.length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        const claiming when = (claiming)random_below(3);
        pid = start_traced(calls_in_section);
        section.at = step(pid, moment(kill, kills, section.length), false);
        uint64_t has = when == BEFORE_DEATH ? claim_next() : 0;
        kill_and_reap(pid);
        if (when == AFTER_DEATH) has = claim_next();
        caller_has_died(has);
    }
}

void killed_anywhere_while_calling(void) { caller_killed_anywhere(INLINE); }
void killed_anywhere_while_calling_with_a_chunk(void) { caller_killed_anywhere(IN_CHUNK); }

static void takes_in_section(void) {
    tidings_caller *own = caller_of(join_center(0));
    const uint64_t id = call_of(own, 0);
    tidings_outcome outcome;
    section_begin();
    const int result = tidings_caller_next(own, id, -1, &outcome);
    section_end();
    CHECK(result == 0 && outcome.error == 0 && is_whole(outcome.payload, outcome.size), "%d, %d", result,
          outcome.error);
    for (;;) pause();
}

// Its call is replied to before it waits, or when it is about to sleep.
static pid_t start_taking(bool asleep) {
    const pid_t pid = start_traced(takes_in_section);
    if (asleep) run_into_sleep(pid);
    tidings_request request;
    SO(next_request(server, 0, &request), "no request");
    reply_to(server, &request, BY_TARGET);
    return pid;
}

static void killed_anywhere_taking(bool asleep) {
    begin_serving(IN_CHUNK);
    pid_t pid = start_taking(asleep);
    measure(pid);
    const uint32_t kills = moments(MOMENTS, section.length);
    for (uint32_t kill = 0; kill <= kills; kill++) {
        kill_and_reap(pid);
        caller_has_died(0);
        if (kill == kills) break;
        pid = start_taking(asleep);
        section.at = step(pid, moment(kill, kills, section.length), false);
    }
}

void killed_anywhere_while_taking_an_outcome(void) { killed_anywhere_taking(false); }
void killed_anywhere_while_waking_for_an_outcome(void) { killed_anywhere_taking(true); }

static void cancels_in_section(void) {
    tidings_caller *own = caller_of(join_center(0));
    const uint64_t id = call_of(own, 0);
    section_begin();
    const int result = tidings_call_cancel(own, id);
    section_end();
    OK(result);
    for (;;) pause();
}

static void killed_anywhere_cancelling(bool claims) {
    begin_serving(IN_CHUNK);
    pid_t pid = start_traced(cancels_in_section);
    uint64_t claimed = claims ? claim_next() : 0;
    measure(pid);
    const uint32_t kills = moments(MOMENTS, section.length);
    for (uint32_t kill = 0; kill <= kills; kill++) {
        kill_and_reap(pid);
        caller_has_died(claimed);
        if (kill == kills) break;
        pid = start_traced(cancels_in_section);
        if (claims) claimed = claim_next();
        section.at = step(pid, moment(kill, kills, section.length), false);
    }
}

void killed_anywhere_while_cancelling(void) { killed_anywhere_cancelling(false); }
void killed_anywhere_while_cancelling_what_a_server_has(void) { killed_anywhere_cancelling(true); }

// MARK: Parts

// A reply has these, and then its end. The code of each is its number.
#define PARTS 2u
// While the target goes through its section, this process takes or sends parts each time after so many instructions.
#define STRIDE 1500u

static uint32_t sent;  // of the one call

static void send_next(tidings_server *of, uint64_t id) {
    const tidings_reply_options options = {.code = (uint16_t)sent, .more = sent < PARTS};
    const int result = tidings_reply(of, id, text, size, &options);
    SO(result == 0 || result == -ECANCELED, "part %u: %d", sent, result);
    if (result) atomic_fetch_add(&target->refused, 1);
    sent++;
}

// Serves one request or continuation, or learns of a cancellation. False: there is nothing.
static bool serve_parts(tidings_server *of, int64_t timeout_ns) {
    tidings_request request;
    if (!next_request(of, timeout_ns, &request)) return false;
    if (request.kind == TIDINGS_REQUEST_CANCELLED) {
        atomic_fetch_add(&target->cancelled, 1);
        return true;
    }
    if (request.kind == TIDINGS_REQUEST_NEW) sent = 0;
    send_next(of, request.id);
    return true;
}

// Takes the parts that are there, and lets the server go on. True: the call has ended with `outcome`.
static bool take_parts(tidings_caller *by, uint64_t id, int64_t timeout_ns, uint32_t *part, tidings_outcome *outcome) {
    int result;
    while ((result = tidings_caller_next(by, id, timeout_ns, outcome)) == 0) {
        if (outcome->error == 0)
            SO(outcome->code == *part && outcome->more == (*part < PARTS) && is_whole(outcome->payload, outcome->size),
               "part %u instead of part %u", outcome->code, *part);
        if (!outcome->more) return true;
        ++*part;
        OK(tidings_call_continue(by, id));
    }
    SO(result == -EAGAIN, "tidings_caller_next: %d", result);
    return false;
}

static void sends_parts_in_section(void) {
    tidings_server *own = server_of(join_center(0));
    section_begin();
    for (uint32_t i = 0; i < 8; i++) (void)serve_parts(own, 0);
    section_end();
    for (;;) (void)serve_parts(own, -1);
}

// Lets a server go up to `most` instructions through its section, and takes its parts meanwhile. Returns how many.
static uint64_t step_and_take(pid_t pid, uint64_t most, uint64_t id, uint32_t *part, bool *ended) {
    uint64_t gone = 0;
    tidings_outcome outcome;
    while (gone < most) {
        const uint64_t share = most - gone < STRIDE ? most - gone : STRIDE, went = step(pid, share, false);
        gone += went;
        if (!*ended && take_parts(caller, id, 0, part, &outcome)) {
            SO(outcome.error == 0, "outcome %d of a living server", outcome.error);
            *ended = true;
        }
        if (went < share) break;
    }
    return gone;
}

static pid_t start_sending(uint8_t flags, uint64_t *id) {
    const pid_t pid = start_traced(sends_parts_in_section);
    *id = call_of(caller, flags);
    return pid;
}

static void begin_taking_parts(uint8_t flags) {
    begin(IN_CHUNK);
    caller = caller_of(center);
    for (int i = 0; i < 2; i++) {
        uint64_t id;
        const pid_t pid = start_sending(flags, &id);
        uint32_t part = 0;
        bool ended = false;
        section.length = step_and_take(pid, SANITIZED ? 60000 : UINT64_MAX, id, &part, &ended);
        SO(SANITIZED || (ended && part == PARTS), "%u parts", part);
        if (!ended) OK(tidings_call_cancel(caller, id));
        kill_and_reap(pid);
        until_settled();
        no_call_is_left(center);
    }
    if (full()) fprintf(stderr, "%lu instructions\n", (unsigned long)section.length);
}

// `second`: a server that receives the request afterwards, if the first has sent no part; or NULL.
static void server_killed_sending(uint8_t flags, bool beside) {
    begin_taking_parts(flags);
    tidings_server *second = beside ? server_of(join_center(0)) : NULL;
    const uint32_t kills = moments(MOMENTS, section.length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        uint64_t id;
        const pid_t pid = start_sending(flags, &id);
        uint32_t part = 0;
        bool ended = false;
        section.at = step_and_take(pid, moment(kill, kills, section.length), id, &part, &ended);
        const uint64_t word = word_of(id);
        kill_and_reap(pid);
        const bool again = tidings__call_state(word) == TIDINGS__CALL_POSTED || word & TIDINGS__CALL_IDEMPOTENT;
        tidings_outcome outcome = {.error = 0};
        while (!ended && !take_parts(caller, id, 0, &part, &outcome)) {
            if (second && serve_parts(second, 100000)) SO(again, "a call with a part goes to another server");
        }
        const int expected = ended || outcome.error == 0                         ? 0
                             : tidings__call_state(word) == TIDINGS__CALL_POSTED ? -ECONNREFUSED
                                                                                 : -ECONNRESET;
        SO(outcome.error == expected && (outcome.error || part == PARTS), "outcome %d after %u parts", outcome.error,
           part);
        SO(!second || !again || outcome.error == 0, "outcome %d, though another server was there", outcome.error);
        ended_once(id);
        until_settled();
        tidings_request request;
        SO(!second || !next_request(second, 0, &request), "the other server has request %lx",
           (unsigned long)request.id);
        no_call_is_left(center);
    }
}

void killed_anywhere_while_sending_parts(void) { server_killed_sending(0, false); }
void killed_anywhere_while_sending_parts_beside_another_server(void) {
    server_killed_sending(TIDINGS_CALL_IDEMPOTENT, true);
}

// The caller cancels meanwhile. When the server continues, it learns of that, and answers the next call.
void stopped_anywhere_while_sending_parts(void) {
    begin_taking_parts(0);
    const uint32_t stops = moments(MOMENTS / 2, section.length);
    for (uint32_t stop = 0; stop < stops; stop++) {
        uint64_t id;
        memset(target, 0, sizeof *target);
        const pid_t pid = start_sending(0, &id);
        uint32_t part = 0;
        bool ended = false;
        section.at = step_and_take(pid, moment(stop, stops, section.length), id, &part, &ended);
        const bool claimed = tidings__call_state(word_of(id)) == TIDINGS__CALL_CLAIMED;
        if (!ended) OK(tidings_call_cancel(caller, id));
        let_go(pid);
        id = call_of(caller, 0);
        part = 0;
        tidings_outcome outcome;
        SO(take_parts(caller, id, -1, &part, &outcome) && outcome.error == 0 && part == PARTS, "outcome %d",
           outcome.error);
        const uint32_t told_of = atomic_load(&target->refused) + atomic_load(&target->cancelled);
        SO(told_of <= claimed, "it learned %u times that the call was cancelled", told_of);
        no_call_is_left(center);
        kill_and_reap(pid);
        until_settled();
        no_call_is_left(center);
    }
}

static void takes_parts_in_section(void) {
    tidings_caller *own = caller_of(join_center(0));
    const uint64_t id = call_of(own, TIDINGS_CALL_IDEMPOTENT);
    uint32_t part = 0;
    tidings_outcome outcome;
    bool ended = false;
    section_begin();
    for (uint32_t i = 0; i < 8 && !ended; i++) ended = take_parts(own, id, 0, &part, &outcome);
    section_end();
    if (!ended) (void)take_parts(own, id, -1, &part, &outcome);
    SO(outcome.error == 0 ? part == PARTS : outcome.error == -ECONNRESET, "outcome %d after %u parts", outcome.error,
       part);
    atomic_store(&target->done, 1);
    for (;;) pause();
}

// Lets a caller go up to `most` instructions through its section, and sends parts meanwhile. Returns how many.
static uint64_t step_and_send(pid_t pid, uint64_t most) {
    uint64_t gone = 0;
    while (gone < most) {
        (void)serve_parts(server, 0);
        const uint64_t share = most - gone < STRIDE ? most - gone : STRIDE, went = step(pid, share, false);
        gone += went;
        if (went < share) break;
    }
    return gone;
}

static void measure_taking(void) {
    const pid_t pid = start_traced(takes_parts_in_section);
    section.length = step_and_send(pid, SANITIZED ? 60000 : UINT64_MAX);
    SO(SANITIZED || sent == PARTS + 1, "%u parts", sent);
    kill_and_reap(pid);
    until_settled();
    while (serve_parts(server, 0)) {}
    no_call_is_left(NULL);
}

void killed_anywhere_while_taking_parts(void) {
    begin_serving(IN_CHUNK);
    measure_taking();
    const uint32_t kills = moments(MOMENTS, section.length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        const pid_t pid = start_traced(takes_parts_in_section);
        section.at = step_and_send(pid, moment(kill, kills, section.length));
        if (random_below(2)) (void)serve_parts(server, 0);
        kill_and_reap(pid);
        until_settled();
        while (serve_parts(server, 0)) {}
        no_call_is_left(NULL);
    }
}

// Its server closes meanwhile.
void stopped_anywhere_while_taking_parts(void) {
    begin_serving(IN_CHUNK);
    measure_taking();
    const uint32_t stops = moments(MOMENTS, section.length);
    for (uint32_t stop = 0; stop < stops; stop++) {
        atomic_store(&target->done, 0);
        const pid_t pid = start_traced(takes_parts_in_section);
        section.at = step_and_send(pid, moment(stop, stops, section.length));
        if (random_below(2)) (void)serve_parts(server, 0);
        tidings_server_close(server);
        let_go(pid);
        while (!atomic_load(&target->done)) usleep(50);
        kill_and_reap(pid);
        until_settled();
        no_call_is_left(NULL);
        server = server_of(center);
    }
}

// MARK: Settling

// A participant that is a server and a caller dies. It has two requests of a caller, and a second server has a request
// of its. All others that could settle its calls are stopped, except a target, which is killed. Then this process
// settles them.
static struct { pipe_pair dying, calling, serving; } go;

static void dies_with_calls(void) {
    tidings_center *own = join_center(0);
    tidings_server *own_server = server_of(own);
    tidings_caller *own_caller = caller_of(own);
    tidings_request request;
    tell(&ready);
    for (int i = 0; i < 2; i++) OK(tidings_server_next(own_server, -1, &request));
    tell(&ready);
    told(&go.dying);
    call_of(own_caller, 0);
    for (;;) pause();
}

static void awaits_two_outcomes(void) {
    tidings_caller *own = caller_of(join_center(0));
    uint64_t ids[2];
    for (uint8_t i = 0; i < 2; i++) ids[i] = call_of(own, i ? TIDINGS_CALL_IDEMPOTENT : 0);
    tell(&ready);
    told(&go.calling);
    tidings_outcome outcome;
    OK(tidings_caller_next(own, ids[0], -1, &outcome));
    CHECK(outcome.error == -ECONNRESET, "outcome %d of the first call", outcome.error);
    OK(tidings_caller_next(own, ids[1], -1, &outcome));
    CHECK(outcome.error == 0 && outcome.code == BY_SECOND_AGAIN && is_whole(outcome.payload, outcome.size),
          "outcome %d, code %u of the second call", outcome.error, outcome.code);
}

static void serves_as_second(void) {
    tidings_server *own = server_of(join_center(0));
    tidings_request request;
    tell(&ready);
    OK(tidings_server_next(own, -1, &request));
    const uint64_t has = request.id;
    tell(&ready);
    told(&go.serving);
    bool cancelled = false, served = false;
    while (!cancelled || !served) {
        OK(tidings_server_next(own, -1, &request));
        if (request.kind == TIDINGS_REQUEST_CANCELLED) {
            CHECK(request.id == has && !cancelled, "request %lx is cancelled", (unsigned long)request.id);
            cancelled = true;
        } else {
            CHECK(request.again && !served, "request %lx comes anew", (unsigned long)request.id);
            reply_to(own, &request, BY_SECOND_AGAIN);
            served = true;
        }
    }
    tell(&ready);
    for (;;) pause();
}

static void settles_in_section(void) {
    tidings_center *own = join_center(0);
    section_begin();
    reports_all(own);
    section_end();
    for (;;) pause();
}

static void stop(pid_t pid) {
    CHECK(kill(pid, SIGSTOP) == 0, "%s", strerror(errno));
    int status;
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "status %x", (unsigned)status);
}

typedef struct parties {
    pid_t calling, serving;
} parties;

static parties begin_settling(void) {
    parties p;
    const pid_t dying = start(dies_with_calls);
    told(&ready);
    p.calling = start(awaits_two_outcomes);
    told(&ready);
    told(&ready);
    p.serving = start(serves_as_second);
    told(&ready);
    tell(&go.dying);
    told(&ready);
    stop(p.calling);
    stop(p.serving);
    kill_and_reap(dying);
    return p;
}

static void end_settling(parties p) {
    tidings__segment *s = &center->segment;
    SO(tidings_reclaim(center) >= 0, "can't reclaim");
    uint32_t in_state[16] = {0};
    for (uint32_t i = 0; i < tidings__calls_end(s); i++)
        in_state[tidings__call_state(tidings__acquire(&s->calls[i].state))]++;
    SO(in_state[TIDINGS__CALL_ENDED] == 1 && in_state[TIDINGS__CALL_POSTED] == 1 &&
           in_state[TIDINGS__CALL_CANCELLED] == 1,
       "%u calls ended, %u posted again, %u cancelled", in_state[TIDINGS__CALL_ENDED], in_state[TIDINGS__CALL_POSTED],
       in_state[TIDINGS__CALL_CANCELLED]);
    kill(p.calling, SIGCONT);
    kill(p.serving, SIGCONT);
    tell(&go.serving);
    tell(&go.calling);
    told(&ready);
    ends_well(p.calling);
    kill_and_reap(p.serving);
    SO(tidings_reclaim(center) >= 0, "can't reclaim");
    no_call_is_left(NULL);
}

static void begin_with_settlers(void) {
    begin(IN_CHUNK);
    go.dying = pipe_open();
    go.calling = pipe_open();
    go.serving = pipe_open();
    const parties p = begin_settling();
    const pid_t pid = start_traced(settles_in_section);
    measure(pid);
    kill_and_reap(pid);
    end_settling(p);
}

void killed_anywhere_while_settling_calls(void) {
    begin_with_settlers();
    const uint32_t kills = moments(MOMENTS / 2, section.length);
    for (uint32_t kill = 0; kill < kills; kill++) {
        const parties p = begin_settling();
        const pid_t pid = start_traced(settles_in_section);
        section.at = step(pid, moment(kill, kills, section.length), false);
        kill_and_reap(pid);
        end_settling(p);
    }
}

// Another participant settles the calls meanwhile.
void stopped_anywhere_while_settling_calls(void) {
    begin_with_settlers();
    const uint32_t stops = moments(MOMENTS / 2, section.length);
    for (uint32_t stop = 0; stop < stops; stop++) {
        const parties p = begin_settling();
        const pid_t pid = start_traced(settles_in_section);
        section.at = step(pid, moment(stop, stops, section.length), false);
        SO(tidings_reclaim(center) >= 0, "can't reclaim");
        (void)step(pid, UINT64_MAX, false);
        end_settling(p);
        kill_and_reap(pid);
        no_call_is_left(NULL);
    }
}
