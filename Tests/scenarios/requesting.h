// What scenarios of requests have in common.
#ifndef REQUESTING_H
#define REQUESTING_H

#include "calls/calls.h"
#include "center/center.h"
#include "peer.h"

#define SERVICE "com.example.service"
#define LONG_NS INT64_C(60000000000)  // the watchdog ends what takes longer

// Of the scenario and its children.
extern pipe_pair ready, go;
extern tidings_center *center;

void begin_requests(uint32_t slots);  // opens the pipes, and the center

tidings_server *server_in(tidings_center *own, const char *name);
tidings_caller *caller_in(tidings_center *own, const char *name);
uint64_t call_with(tidings_caller *caller, const void *payload, size_t size, uint8_t flags);  // returns its id
uint64_t call_number(tidings_caller *caller, uint32_t number, uint8_t flags);
tidings_outcome outcome_of(tidings_caller *caller, uint64_t id);  // 0: of one that has ended
tidings_request next_request(tidings_server *server);
tidings_request next_new(tidings_server *server);
uint32_t number_of(const void *payload, size_t size);
void echo(tidings_server *server, const tidings_request *request);

uint32_t calls_in_use(tidings_center *own);  // neither free, nor kept by a caller for its next one
uint32_t calls_in(uint32_t state);
uint32_t calls_taken(tidings_center *own);
// After all callers have closed or died: every call is free, and no chunk is left.
void no_request_is_left(tidings_center *own);

#endif
