// Fault injection at any moment: a target is brought to any instruction of an operation, and is there killed, stopped,
// or forked beside. What other processes see, and what is left, is the same for all operations, and is checked here.
// Each operation runs on a fresh center and on one that has been in use for years.
#ifndef FAULT_H
#define FAULT_H

#include "peer.h"

#define SLOTS 256u
#define PLACES 8u  // participants, and observers

// What the target does. The target runs all functions, except those marked "checker": these the scenario's own process
// runs. It checks everything.
struct operation {
    const char *text;         // "posting 64 bytes"
    void (*set_scene)(void);  // checker, before there is a target
    void (*prepare)(void);    // what its section needs
    void (*at_begin)(void);   // checker, when the target stands there
    void (*act)(void);        // the section; ends with `board->result` told
    void (*settle)(void);     // later, when no process posts any more
    void (*verify)(void);     // checker, after the target was let go on and has settled
    uint32_t posts, empties;  // of it under NAME: with contents, and without
    size_t size;              // of the former
    uint8_t flags;            // of their posting
    bool lossless;            // it may hold posters back
    bool sleeps;              // the section begins in its first sleep
    bool readable;            // readers may open the center, and the target is one: a fresh center only
    bool prefixes;            // the checker's `sluggish` observes a prefix of NAME
    bool revoked;             // it begins when its first claim has been revoked
};

// Shared by the target, the checker, and the processes beside them.
struct board {
    _Atomic int32_t result;             // of the operation: 0, or what went wrong
    _Atomic uint32_t done, returned;    // the section is over; how many of its posts have returned
    _Atomic uint32_t registered;        // the target's observer was, before the checker's next post
    _Atomic uint64_t received, missed;  // by the target's own observer
    _Atomic uint32_t settled;
    _Atomic uint32_t forker, forked, born;  // its second thread has been asked; has returned from it; the child is done
    _Atomic uint32_t goes_on;               // the child is to be done once more
    _Atomic uint32_t child_posted;          // how much a forked child has, under NAME
    _Atomic uint32_t listener, listens;     // its observer's index, plus 1; it has gone
    _Atomic uint64_t heard, lost;           // by the listener
    _Atomic uint32_t faults;                // what a process that can't fail the scenario found wrong
};
extern struct board *board;

// The checker's. Forked children, the target among them, inherit the handles.
struct world {
    tidings_center *center;
    tidings_publisher *publisher, *filler, *rare;
    tidings_observer *prompt, *sluggish, *seldom;  // of everything, at once; of NAME, at last; of a rare name
    uint32_t number, named;                        // posts of the checker, in all and under NAME
    uint32_t of_target, of_child, empties;         // seen by `prompt`
    uint32_t named_before;                         // when the target stood at its section's begin
    bool registered;                               // the target's observer was, when the fault was injected
    pid_t listener;
};
extern struct world world;

extern const struct operation *operation;

// Every operation, at every moment that was asked for.
void fault_anywhere(const struct operation *operation);

// For operations.
extern tidings_center *own_center;  // the target's
extern tidings_publisher *own_publisher;
extern tidings_observer *own_observer;
extern uint8_t own_payloads[4][1000];  // of its posts
int open_as_target(void);
void join_as_target(void);
void post_as_target(uint32_t number);     // as the operation says, and counts it as returned
bool next_as_target(int64_t timeout_ns);  // counts it; in order, or the result says so. False: nothing there
void drain_as_target(void);
void fill_payload(uint8_t *bytes, size_t size, uint32_t poster, uint32_t number);
bool payload_is_whole(const uint8_t *bytes, size_t size);

// As CHECK, with the moment.
const char *moment_text(void);
uint32_t hang_timeout(void);  // seconds; an event that has not come by then never comes
uint64_t hang_timeout_ns(void);
#define SO(condition, format, ...) CHECK(condition, "%s: " format, moment_text() __VA_OPT__(, ) __VA_ARGS__)

// worlds.c
void worlds_make(void);
void world_begin(bool used);
void world_end(void);

// checker.c
bool checker_posts(bool named, size_t size, uint8_t flags);  // false: held back by a lossless target
void checker_posts_rare(void);                               // the first of all
void checker_posts_laps(uint32_t laps);                      // and sees them come, at once and in order
void checker_sees(void);                                     // everything there is, in order and whole
void listener_rests(void);                                   // asleep, having heard all there is, without having spun
void nothing_is_lost_nor_left(uint32_t participants);        // the accounts agree, and the center is as before
uint32_t posted_under_name(void);
void child_lives(tidings_center *center, tidings_publisher *publisher);  // posts, observes what it posts
void listen(void);

#endif
