// Stories of several processes on one center, told in C because they fork. Each runs in a directory of its own and ends with exit status 0, or with
// one line that says what was not as promised. Nothing waits for time: pipes, waitpid and the center itself are the events; an alarm ends what hangs.
#ifndef SCENARIO_H
#define SCENARIO_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidings.h"

#define NAME "com.example.scenario"

#define CHECK(condition, ...)                                                                  \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);                    \
            fprintf(stderr, __VA_ARGS__);                                                      \
            fprintf(stderr, " (last error: %s)\n", tidings_last_error());                      \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)
#define OK(call)                                      \
    do {                                              \
        int result_ = (call);                         \
        CHECK(result_ == 0, "result %d", result_);    \
    } while (0)

// What every stamped payload begins with: who posted it, and its how-manieth.
typedef struct stamp {
    uint32_t poster, number;
} stamp;

tidings_center *center_open(uint32_t slots);
tidings_topic *topic_open(tidings_center *center, const char *name);
tidings_observer *observer_open(tidings_center *center, const char *name, uint32_t flags, uint32_t add_flags);
uint64_t random_next(void);  // seeded by the test

// A child that runs `body`; exits 0 when it returns.
pid_t child(void (*body)(void *), void *argument);
void child_ends_well(pid_t pid);
void child_kill(pid_t pid);

// A pipe between parent and children: `signal_ready` in one, `await_ready` in the other.
typedef struct gate {
    int ends[2];
} gate;
gate gate_make(void);
void gate_open(gate *gate);
void gate_await(gate *gate);

void sizes(void);
void exact_loss(void);
void killed_posters(void);
void stopped_poster(void);
void sleeping_observer(void);
void no_system_call(void);
void lossless(void);
void state(void);
void forked(void);
void many(void);
void bad_input(void);
void left_half_done(void);
void threads(void);
void churn(void);
void descriptor(void);

#endif
