// Scenes of requests: calls, servers that end, and the settling of the calls of dead participants.
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>

#include "calls/calls.h"
#include "center/center.h"
#include "parties.h"
#include "platform/clock.h"
#include "platform/process.h"
#include "presence/guard.h"
#include "presence/report.h"
#include "scenario.h"

#define REQUESTS "r"
#define INLINE 24u
#define IN_CHUNK 300u

// A server, a caller, or one that is neither.
typedef struct peer {
    tidings_center *center;
    tidings_server *server;
    tidings_caller *caller;
    fiber *fiber;
    uint32_t size, calls;  // of its requests, or of its replies
    uint32_t parts;        // that a server sends before the last reply
    uint32_t sent[CALLS];  // by the index of the call
    uint32_t cancels_at;   // a caller: instead of taking this part; 0: it cancels none
    uint8_t flags;
    bool cancels;      // its first call
    bool needs_reply;  // another outcome is a mistake
    bool dies;         // as soon as it has a request
    uint64_t id;
} peer;

static struct stage_of_requests {
    peer peers[5];
    uint32_t count;
    uint64_t received[16];
    uint32_t received_count;
} requests;

// MARK: Parts

static void open_requests(void) {
    open_center();
    memset(&requests, 0, sizeof requests);
    if (tidings__back_presence(&director->segment) != 0) machine_violation("%s", tidings_last_error());
    director->segment.header->calls_used.word = CALLS;
}

static peer *add_peer(const char *who, void (*body)(void *)) {
    peer *p = &requests.peers[requests.count++];
    *p = (peer){.center = party(), .size = INLINE, .calls = 1};
    p->fiber = machine_fiber(who, p->center, body, p);
    return p;
}

// The fiber is its guard. The library takes the handle for a watched one, and starts no thread.
static void guard_itself(peer *p, uint32_t life) {
    tidings__guard *guard = calloc(1, sizeof *guard);
    guard->center = p->center;
    guard->fork_epoch = tidings__fork_epoch;
    guard->process = tidings__process_id_now();
    guard->watching = true;
    p->center->guard = guard;
    become_present(p->center, life);
    const tidings__segment *s = &p->center->segment;
    guard->present = tidings__acquire(&s->presence[p->center->participant].report);
}

static void begin_server(peer *p) {
    if (tidings_server_open(p->center, REQUESTS, strlen(REQUESTS), &p->server) != 0)
        machine_violation("%s", tidings_last_error());
}

static peer *add_server(const char *who, void (*body)(void *)) {
    peer *p = add_peer(who, body);
    watch_life(p->fiber, p->center);
    guard_itself(p, p->fiber->thread.tid | FUTEX_WAITERS);
    begin_server(p);
    p->fiber->bystander = true;
    return p;
}

static peer *add_caller(const char *who, void (*body)(void *)) {
    peer *p = add_peer(who, body);
    watch_life(p->fiber, p->center);
    guard_itself(p, p->fiber->thread.tid | FUTEX_WAITERS);
    if (tidings_caller_open(p->center, REQUESTS, strlen(REQUESTS), &p->caller) != 0)
        machine_violation("%s", tidings_last_error());
    return p;
}

static uint8_t byte_of(uint32_t i) { return (uint8_t)(i * 7 + 1); }

// The first byte is the number of the part; 0 in requests, and in replies without parts.
static void fill(uint8_t *bytes, uint32_t size, uint32_t part) {
    for (uint32_t i = 0; i < size; i++) bytes[i] = (uint8_t)(byte_of(i) + part);
}

static bool is_whole(const uint8_t *bytes, size_t size, uint32_t part) {
    for (uint32_t i = 0; i < size; i++)
        if (bytes[i] != (uint8_t)(byte_of(i) + part)) return false;
    return size == INLINE || size == IN_CHUNK;
}

static int call(peer *p) {
    uint8_t bytes[IN_CHUNK];
    fill(bytes, p->size, 0);
    const tidings_call_options options = {.flags = p->flags};
    return tidings_call(p->caller, bytes, p->size, &options, &p->id);
}

// MARK: What peers do

static bool receive(peer *p, int64_t timeout_ns, tidings_request *request) {
    const int result = tidings_server_next(p->server, timeout_ns, request);
    if (result == -EAGAIN || result == -EBADF || (result == -EINTR && machine.over)) return false;
    if (result != 0) machine_violation("tidings_server_next: %d, %s", result, tidings_last_error());
    if (request->kind != TIDINGS_REQUEST_NEW) return true;
    if (!is_whole(request->payload, request->size, 0)) machine_violation("a request that no caller made");
    if (requests.received_count < 16) requests.received[requests.received_count++] = request->id;
    return true;
}

// Sends the next part, or the last reply.
static void reply(peer *p, uint64_t id) {
    uint8_t bytes[IN_CHUNK];
    uint32_t *sent = &p->sent[tidings__ticket_index(id)];
    fill(bytes, p->size, *sent);
    const tidings_reply_options options = {.more = *sent < p->parts};
    const int result = tidings_reply(p->server, id, bytes, p->size, &options);
    ++*sent;
    if (result != 0 && (result != -ECANCELED || p->needs_reply)) machine_violation("tidings_reply: %d", result);
}

static void serves(void *argument) {
    peer *p = argument;
    tidings_request request;
    while (receive(p, -1, &request)) {
        if (request.kind == TIDINGS_REQUEST_CANCELLED) continue;
        if (request.kind == TIDINGS_REQUEST_NEW) p->sent[tidings__ticket_index(request.id)] = 0;
        if (p->dies) machine_kill(machine.current);
        reply(p, request.id);
    }
    tidings_server_close(p->server);
    p->server = NULL;
}

static void takes_one_and_closes(void *argument) {
    peer *p = argument;
    tidings_request request;
    if (receive(p, 0, &request) && request.kind == TIDINGS_REQUEST_NEW) reply(p, request.id);
    tidings_server_close(p->server);
    p->server = NULL;
}

static void takes_one_and_dies(void *argument) {
    tidings_request request;
    (void)receive(argument, 0, &request);
    machine_kill(machine.current);
}

static void replies_to_what_it_has(void *argument) {
    peer *p = argument;
    reply(p, p->id);
    serves(p);
}

static void cancel_call(const peer *p) {
    if (tidings_call_cancel(p->caller, p->id) != 0) machine_violation("%s", tidings_last_error());
}

// Part by part.
static void take_outcome(peer *p) {
    tidings_outcome outcome;
    uint32_t part = 0;
    int result;
    for (;; part++) {
        result = tidings_caller_next(p->caller, p->id, -1, &outcome);
        if (result != 0) machine_violation("tidings_caller_next: %d, %s", result, tidings_last_error());
        if (!outcome.more) break;
        if (outcome.error != 0 || !is_whole(outcome.payload, outcome.size, part))
            machine_violation("part %u: %d, or another one", part, outcome.error);
        result = tidings_call_continue(p->caller, p->id);
        if (result != 0) machine_violation("tidings_call_continue: %d, %s", result, tidings_last_error());
        if (part + 1 == p->cancels_at) {
            cancel_call(p);
            return;
        }
    }
    if (outcome.error != 0 && outcome.error != -ECONNRESET && outcome.error != -ECONNREFUSED)
        machine_violation("outcome %d", outcome.error);
    if (outcome.error != 0 && p->needs_reply) machine_violation("outcome %d instead of a reply", outcome.error);
    if (outcome.error == 0 && !is_whole(outcome.payload, outcome.size, part)) machine_violation("a torn reply");
    result = tidings_caller_next(p->caller, p->id, 0, &outcome);
    if (result != -ENOENT) machine_violation("a second outcome: %d", result);
}

static void calls(void *argument) {
    peer *p = argument;
    for (uint32_t i = 0; i < p->calls; i++) {
        const int result = call(p);
        if (result == -ECONNREFUSED && !p->needs_reply) continue;
        if (result != 0) machine_violation("tidings_call: %d, %s", result, tidings_last_error());
        if (i == 0 && p->cancels)
            cancel_call(p);
        else
            take_outcome(p);
        p->cancels_at = 0;
    }
}

static void awaits(void *argument) { take_outcome(argument); }

static void cancels(void *argument) {
    peer *p = argument;
    cancel_call(p);
    if (!p->needs_reply) return;
    if (call(p) != 0) machine_violation("%s", tidings_last_error());
    awaits(p);
}

static void dies(void *argument) {
    (void)argument;
    machine_kill(machine.current);
}

void end_requests(void) {
    end_guards();
    for (uint32_t i = 0; i < requests.count; i++) {
        const peer *p = &requests.peers[i];
        if (p->server && p->fiber->state == ASLEEP) tidings_server_interrupt(p->server);
        if (p->server && p->fiber->state == ENDED) tidings_server_close(p->server);
        // Not by the fiber: it would die with a lock that all handles of this process share.
        if (p->caller && p->fiber->state == ENDED) tidings_caller_close(p->caller);
    }
}

// Before the first schedule: the caller has made its call, and the server has received it.
static void has_called(peer *p) {
    if (call(p) != 0) machine_violation("%s", tidings_last_error());
}

static void has_claimed(peer *p) {
    tidings_request request;
    if (!receive(p, 0, &request)) machine_violation("no request");
    p->id = request.id;
    requests.received_count = 0;
}

// From the beginning: its guard is dead, and it holds no lock.
static void is_dead(const peer *p) {
    tidings__presence_line *line = tidings__presence_line_at(&p->center->segment, p->center->participant);
    line->life[0] = line->life[2] = FUTEX_OWNER_DIED | FUTEX_WAITERS;
    machine.holders[p->center->participant] = 0;
    p->fiber->state = DEAD;
}

// MARK: Scenes

void a_call_beside_a_closing_server(void) {
    open_requests();
    add_caller("caller A", calls);
    add_server("server B", takes_one_and_closes);
}

void a_call_beside_a_dying_server(void) {
    open_requests();
    add_caller("caller A", calls);
    add_server("server B", takes_one_and_dies);
    add_guard("guard C");
}

// The server that is left receives nothing that the dying one has claimed.
void a_claim_beside_a_settlement(void) {
    open_requests();
    add_caller("caller A", calls);
    add_guard("guard C");  // it watches the next two
    peer *dying = add_peer("server B", takes_one_and_dies);
    fiber *its_guard = machine_fiber("guard of B", dying->center, dies, NULL);
    watch_life(its_guard, dying->center);
    guard_itself(dying, its_guard->thread.tid | FUTEX_WAITERS);
    begin_server(dying);
    add_server("server D", serves);
}

void a_server_dies_anywhere(void) {
    open_requests();
    peer *caller = add_caller("caller A", calls);
    caller->flags = TIDINGS_CALL_IDEMPOTENT;
    caller->needs_reply = true;
    peer *dying = add_server("server B", serves);
    dying->size = IN_CHUNK;
    dying->fiber->mortal = true;
    add_server("server C", serves);
    add_guard("guard D");
}

void a_caller_dies_anywhere(void) {
    open_requests();
    peer *caller = add_caller("caller A", calls);
    caller->size = IN_CHUNK;
    caller->calls = 2;
    caller->cancels = true;
    caller->fiber->mortal = true;
    add_server("server B", serves);
    add_guard("guard C");
}

void a_dead_caller_beside_its_server(void) {
    open_requests();
    peer *caller = add_caller("caller A", dies);
    peer *server = add_server("server B", serves);
    server->size = IN_CHUNK;
    has_called(caller);
    is_dead(caller);
    add_guard("guard C");
}

void a_dead_server_beside_its_caller(void) {
    open_requests();
    peer *caller = add_caller("caller A", cancels), *server = add_server("server B", dies);
    has_called(caller);
    has_claimed(server);
    is_dead(server);
    add_guard("guard C");
}

void a_settlement_taken_over(void) {
    open_requests();
    add_guard("guard D")->mortal = true;
    add_guard("guard E");
    peer *dead = add_server("server B", dies), *caller = add_caller("caller A", awaits);
    caller->flags = TIDINGS_CALL_IDEMPOTENT;
    caller->needs_reply = true;
    has_called(caller);
    has_claimed(dead);
    is_dead(dead);
    add_server("server C", serves);
}

static void reports_all(void *argument) {
    const peer *p = argument;
    tidings__report_budget budget = tidings__report_budget_of(&p->center->segment);
    tidings__report_all(p->center, &budget);
}

// A call of a dead caller that a dead server has, and one of a living caller.
void two_deaths_settled_together(void) {
    open_requests();
    peer *dead = add_server("server B", dies), *caller = add_caller("caller A", dies);
    peer *living = add_caller("caller F", awaits);
    caller->size = IN_CHUNK;
    has_called(caller);
    has_claimed(dead);
    living->flags = TIDINGS_CALL_IDEMPOTENT;
    living->needs_reply = true;
    has_called(living);
    has_claimed(dead);
    is_dead(dead);
    is_dead(caller);
    add_server("server C", serves);
    add_peer("reporting D", reports_all)->fiber->mortal = true;
    add_guard("guard E");
}

// The first dead one has no calls. The only server of the name is the other one: its call ends.
void a_death_beside_one_of_a_server(void) {
    open_requests();
    peer *first = add_peer("watcher A", dies), *dead = add_server("server B", dies);
    guard_itself(first, FUTEX_WAITERS);
    peer *caller = add_caller("caller F", awaits);
    caller->flags = TIDINGS_CALL_IDEMPOTENT;
    has_called(caller);
    has_claimed(dead);
    is_dead(first);
    is_dead(dead);
    add_peer("reporting D", reports_all)->fiber->mortal = true;
    add_guard("guard E");
}

// The next participant of the dead one's index: its handle is the dead one's, with a new instance.
static void announces_anew(void *argument) {
    peer *p = argument;
    tidings_center *center = p->center;
    tidings__segment *s = &center->segment;
    tidings__presence *entry = &s->presence[center->participant];
    // Its death has been reported when it joins.
    uint64_t report;
    while (tidings__report_state(report = tidings__acquire(&entry->report)) != TIDINGS__PRESENCE_LEFT)
        (void)tidings__report_move(s, center->participant, report,
                                   tidings__report_next(report, 0, center->participant, TIDINGS__PRESENCE_LEFT));
    center->instance += 2;
    _Atomic uint64_t *instance = &s->participants[center->participant].instance;
    tidings__set_release(instance, center->instance);
    machine_dirty(machine_canonical(instance), sizeof *instance);
    become_present(center, machine.current->thread.tid | FUTEX_WAITERS);
    begin_server(p);
    serves(p);
}

static void settles(void *argument) {
    const peer *p = argument;
    for (uint32_t tries = 0; tries < 100; tries++) {
        tidings__report_budget budget = tidings__report_budget_of(&p->center->segment);
        const int result = tidings__report(p->center, requests.peers[0].center->participant, tries > 0, 0, &budget);
        if (result == 0) return;
        if (result != -EINPROGRESS) machine_violation("tidings__report: %d, %s", result, tidings_last_error());
        tidings__nap(2000000);
    }
    machine_violation("a report does not end");
}

static bool is_to_come(int result) { return result == -ECONNREFUSED || result == -EUSERS; }

static void calls_when_it_can(void *argument) {
    peer *p = argument;
    int result = -ECONNREFUSED;
    for (uint32_t tries = 0; tries < 500 && is_to_come(result); tries++) {
        result = call(p);
        if (is_to_come(result)) tidings__nap(2000000);
    }
    if (result != 0) machine_violation("tidings_call: %d, %s", result, tidings_last_error());
    awaits(p);
}

void a_settlement_beside_a_successor(void) {
    open_requests();
    peer *later = add_peer("server A", announces_anew);
    watch_life(later->fiber, later->center);
    guard_itself(later, FUTEX_OWNER_DIED | FUTEX_WAITERS);
    later->fiber->bystander = true;
    later->needs_reply = true;
    add_peer("settling B", settles);
    add_caller("caller C", calls_when_it_can)->needs_reply = true;
}

// The later server has the call that the dead one had. The call has been given up in between, by one of two that
// settle.
static void announces_when_reported(void *argument) {
    const peer *p = argument;
    const tidings__presence *entry = &p->center->segment.presence[p->center->participant];
    for (uint32_t i = 0; i < 500 && tidings__report_state(tidings__acquire(&entry->report)) != TIDINGS__PRESENCE_LEFT;
         i++)
        tidings__nap(2000000);
    announces_anew(argument);
}

static void stays(void *argument) { (void)argument; }

void a_settlement_beside_the_same_claim(void) {
    open_requests();
    peer *later = add_server("server A", announces_when_reported), *caller = add_caller("caller B", awaits);
    later->needs_reply = true;
    later->size = IN_CHUNK;
    caller->needs_reply = true;
    caller->flags = TIDINGS_CALL_IDEMPOTENT;
    has_called(caller);
    // As if the server before had ended with it.
    director->segment.calls[tidings__ticket_index(caller->id)].state |= TIDINGS__CALL_AGAIN;
    has_claimed(later);
    is_dead(later);
    later->fiber->state = READY;
    add_server("server C", stays);
    add_peer("settling D", settles);
    add_peer("settling E", settles);
}

void a_reply_beside_a_cancellation(void) {
    open_requests();
    peer *caller = add_caller("caller A", cancels);
    caller->needs_reply = true;  // to its second call
    peer *server = add_server("server B", replies_to_what_it_has);
    server->size = IN_CHUNK;
    has_called(caller);
    has_claimed(server);
}

void a_reply_beside_a_sleep(void) {
    open_requests();
    peer *caller = add_caller("caller A", calls);
    caller->calls = 2;
    caller->needs_reply = true;
    add_server("server B", serves);
}

void two_servers_of_one_call(void) {
    open_requests();
    peer *caller = add_caller("caller A", calls);
    caller->calls = 2;
    caller->needs_reply = true;
    add_server("server B", serves);
    add_server("server C", serves);
}

// MARK: Scenes of parts

static peer *add_server_of_parts(const char *who) {
    peer *server = add_server(who, serves);
    server->parts = 2;
    server->size = IN_CHUNK;
    return server;
}

void a_reply_in_parts(void) {
    open_requests();
    peer *caller = add_caller("caller A", calls);
    caller->needs_reply = true;
    add_server_of_parts("server B")->needs_reply = true;
}

void a_part_beside_a_cancellation(void) {
    open_requests();
    peer *caller = add_caller("caller A", calls);
    caller->calls = 2;
    caller->cancels_at = 1;
    caller->needs_reply = true;
    add_server_of_parts("server B");
}

void a_server_dies_between_parts(void) {
    open_requests();
    peer *caller = add_caller("caller A", calls);
    caller->flags = TIDINGS_CALL_IDEMPOTENT;
    add_server_of_parts("server B")->fiber->mortal = true;
    add_server_of_parts("server C");
    add_guard("guard D");
}

void a_caller_dies_between_parts(void) {
    open_requests();
    add_caller("caller A", calls)->fiber->mortal = true;
    add_server_of_parts("server B");
    add_guard("guard C");
}

static void closes(void *argument) {
    peer *p = argument;
    tidings_server_close(p->server);
    p->server = NULL;
}

// The server has sent a part, and does not know yet whether the caller has continued.
void a_continuation_beside_a_closing_server(void) {
    open_requests();
    peer *caller = add_caller("caller A", awaits), *server = add_server("server B", closes);
    server->parts = 2;
    server->size = IN_CHUNK;
    has_called(caller);
    has_claimed(server);
    reply(server, server->id);
}

// The records of the continuations are overwritten before the server reads them.
void continuations_beside_a_lapped_server(void) {
    open_requests();
    peer *caller = add_caller("caller A", calls);
    caller->needs_reply = true;
    add_server("server B", serves)->parts = 1;
    add_poster("poster C", "n", SLOTS + 2);
}

// MARK: Scenes of exits

// As the exit handler of its process does, beside the thread that calls or serves.
static void exits(void *argument) {
    peer *p = argument;
    tidings_center *center = p->center;
    if (tidings__announcement_end(center, center->guard)) return;
    // The process ends in the middle of a text. The guards that watch it settle its calls.
    machine_kill(p->fiber);
    tidings__ended ended = tidings__ended_alone(center->participant, center->guard->present);
    (void)tidings__calls_settle(center, &ended, &(uint64_t){TIDINGS__TELLS_ALL});
}

// The reply of the one would be damaged, and would damage that of the other, which receives the request again.
void a_reply_beside_an_exit(void) {
    open_requests();
    peer *caller = add_caller("caller A", awaits), *server = add_server("server B", replies_to_what_it_has);
    caller->flags = TIDINGS_CALL_IDEMPOTENT;
    caller->needs_reply = true;
    server->size = IN_CHUNK;
    has_called(caller);
    has_claimed(server);
    machine_fiber("exit of B", server->center, exits, server);
    add_server("server C", serves);
}

static void calls_until_it_exits(void *argument) {
    peer *p = argument;
    const int result = call(p);
    if (result != 0 && result != -EBADF && result != -EUSERS)
        machine_violation("tidings_call: %d, %s", result, tidings_last_error());
}

// The other one takes the call that the exit has freed.
void a_call_beside_an_exit(void) {
    open_requests();
    peer *first = add_caller("caller A", calls_until_it_exits);
    first->size = IN_CHUNK;
    machine_fiber("exit of A", first->center, exits, first);
    add_caller("caller B", calls_when_it_can)->needs_reply = true;
    director->segment.header->calls_used.word = 1;
    add_server("server C", serves);
}

void each_received_once(void) {
    for (uint32_t i = 0; i < requests.received_count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (requests.received[i] == requests.received[j])
                machine_violation("request %llx was received twice", (unsigned long long)requests.received[i]);
}
