#include "requesting.h"

pipe_pair ready, go;
tidings_center *center;

void begin_requests(uint32_t slots) {
    ready = pipe_open();
    go = pipe_open();
    center = join_center(slots);
}

tidings_server *server_in(tidings_center *own, const char *name) {
    tidings_server *server;
    OK(tidings_server_open(own, name, strlen(name), &server));
    keep(server);
    return server;
}

tidings_caller *caller_in(tidings_center *own, const char *name) {
    tidings_caller *caller;
    OK(tidings_caller_open(own, name, strlen(name), &caller));
    keep(caller);
    return caller;
}

uint64_t call_with(tidings_caller *caller, const void *payload, size_t size, uint8_t flags) {
    uint64_t id;
    const tidings_call_options options = {.format = TIDINGS_FORMAT_BYTES, .flags = flags};
    OK(tidings_call(caller, payload, size, &options, &id));
    CHECK(id != 0, "an id of 0");
    return id;
}

uint64_t call_number(tidings_caller *caller, uint32_t number, uint8_t flags) {
    return call_with(caller, &number, sizeof number, flags);
}

tidings_outcome outcome_of(tidings_caller *caller, uint64_t id) {
    tidings_outcome outcome;
    const int result = tidings_caller_next(caller, id, LONG_NS, &outcome);
    CHECK(result == 0 && (id == 0 || outcome.id == id), "%d, call %lx of %lx", result, (unsigned long)outcome.id,
          (unsigned long)id);
    return outcome;
}

tidings_request next_request(tidings_server *server) {
    tidings_request request;
    OK(tidings_server_next(server, LONG_NS, &request));
    return request;
}

tidings_request next_new(tidings_server *server) {
    const tidings_request request = next_request(server);
    CHECK(request.kind == TIDINGS_REQUEST_NEW, "kind %d", request.kind);
    return request;
}

uint32_t number_of(const void *payload, size_t size) {
    uint32_t number;
    CHECK(size == sizeof number, "%zu bytes", size);
    memcpy(&number, payload, sizeof number);
    return number;
}

void echo(tidings_server *server, const tidings_request *request) {
    OK(tidings_reply(server, request->id, request->payload, request->size, NULL));
}

uint32_t calls_in_use(tidings_center *own) {
    tidings__segment *s = &own->segment;
    uint32_t count = 0;
    for (uint32_t i = 0; i < tidings__calls_end(s); i++)
        count += tidings__call_state(atomic_load(&s->calls[i].state)) > TIDINGS__CALL_IDLE;
    return count;
}

uint32_t calls_in(uint32_t state) {
    tidings__segment *s = &center->segment;
    uint32_t count = 0;
    for (uint32_t i = 0; i < tidings__calls_end(s); i++)
        count += tidings__call_state(atomic_load(&s->calls[i].state)) == state;
    return count;
}

uint32_t calls_taken(tidings_center *own) {
    tidings__segment *s = &own->segment;
    uint32_t count = 0;
    for (uint32_t i = 0; i < tidings__calls_end(s); i++)
        count += tidings__call_state(atomic_load(&s->calls[i].state)) != TIDINGS__CALL_FREE;
    return count;
}

void no_request_is_left(tidings_center *own) {
    while (calls_taken(own) > 0) usleep(100);
    CHECK(tidings_reclaim(own) >= 0, "reclaim");
    while (statistics_of(own).chunks_used > 0) {
        CHECK(tidings_reclaim(own) >= 0, "reclaim");
        usleep(100);
    }
    tidings_orphans orphans;
    OK(tidings_orphans_get(own, &orphans));
    CHECK(orphans.participants == 0 && orphans.payloads == 0, "%u orphans, %u payloads", orphans.participants,
          orphans.payloads);
}
