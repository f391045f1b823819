// What script.c puts programs together from.
#ifndef USES_H
#define USES_H

#include "fuzz.h"

#define OBSERVERS 6u
#define NAMES 6u
#define CALLS 4u

// What is open. Uses of what isn't do nothing.
extern struct now {
    tidings_center *center, *second;
    tidings_publisher *publishers[NAMES], *others[NAMES];  // of either
    tidings_observer *observers[OBSERVERS];
    uint32_t subscriptions[OBSERVERS];
    tidings_reservation reservation, other;
    bool reserved, other_reserved;
    unsigned names;  // of the many, so far
    tidings_server *server;
    tidings_caller *caller;
    uint64_t server_maximum, caller_maximum;  // bytes of a payload, as the file of their centers says
    uint64_t requests[CALLS], calls[CALLS];   // ids, the newest first
    bool held;
    bool readable, sealed;
} now;

int use_opened(const char *how, int result, tidings_center *center);  // looks at what was opened
int use_open(tidings_center **center, uint32_t flags);
void use_changes(void);  // happen to this center from now on
void use_close_second(void);
void use_removal(void);
void use_die(tidings_center *center);

void use_sections(unsigned publisher, uint8_t how);
int use_post(unsigned publisher, uint8_t how);
void use_posts(unsigned count, unsigned publisher, uint8_t how);
void use_hold_back(unsigned publisher);  // posts until a lossless observer does
void use_reservation(uint8_t how);
void use_state(unsigned publisher, uint8_t how);
void use_many_names(void);
void use_post_of_second(unsigned publisher, uint8_t how);
void use_reserve_of_second(uint8_t how);
void use_announce(tidings_center *center, unsigned how);
void use_withdraw(tidings_center *center);

void use_server(tidings_center *center, unsigned how);
void use_caller(tidings_center *center, unsigned how);
void use_call(unsigned how);
void use_requests(void);  // a server, a caller, and calls in several states
void use_close_requests(void);

void use_observe(unsigned o, uint8_t how);
void use_next(unsigned o, unsigned most, int64_t timeout);
void use_descriptor(unsigned o);
void use_close_observer(unsigned o);
void use_look_around(tidings_center *center);

#endif
