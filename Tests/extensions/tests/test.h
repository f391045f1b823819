// Scenarios of the launcher and of extensions in C, a process each (main.c). A scenario returns,
// or prints one line that says what was not so and ends its process. Scenarios wait for events; an alarm ends what
// hangs. "No process is left" is an event: each process of an extension inherits descriptor 0, whose other end then
// reads its end.
#ifndef EXTENSIONS_TEST_H
#define EXTENSIONS_TEST_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "tidings_launcher.h"

#define WATCHDOG 120u  // seconds; several times what a scenario takes under the thread sanitizer on a busy machine

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s: ", strrchr("/" __FILE__, '/') + 1, __LINE__, #condition);              \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, " [seed %llu]\n", (unsigned long long)seed);                                               \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
// A call of the library that must return this.
#define EXPECT(result, call)                                                                                           \
    do {                                                                                                               \
        const int answer_ = (call);                                                                                    \
        CHECK(answer_ == (result), "%s returns %d (%s)", #call, answer_, strerror(-answer_));                          \
    } while (0)

extern uint64_t seed;
uint64_t random_below(uint64_t limit);
void skip(const char *reason);  // ends the scenario; the run says so

#define SCENARIO(name) void name(void);
#include "scenarios.h"
#undef SCENARIO

// MARK: Extensions

extern const char *peer;  // the absolute path of ExtensionPeer, which does what its arguments say (../peer/peer.c)

typedef struct running {
    tidings_launcher *launcher;
    int socket;  // the other end of its descriptor 0
    uint64_t id;
    int32_t pid;
} running;

tidings_launcher *opened(void);
// How to start the peer with these actions, up to the first NULL.
tidings_launch launch_of(const char *const actions[]);
#define LAUNCH(...) launch_of((const char *const[]){__VA_ARGS__, NULL})
running start(tidings_launcher *launcher, tidings_launch launch);
int start_fails(tidings_launcher *launcher, tidings_launch launch, tidings_launch_failure *failure);
// What a process of the extension says next; "" at the end, when no process is left.
const char *heard(int socket);
void says(const running *one, const char *line);
void none_left(const running *one);  // and it says nothing more
tidings_launch_event next(tidings_launcher *launcher);
// The next event is the end of this one, with that status or signal.
void exited(const running *one, int status);
void killed(const running *one, int signal);

// MARK: Hosts

// A process that opens a launcher and lets `socket` be the input of an extension. Its standard error is a pipe that its
// launcher and extensions inherit.
typedef struct host {
    pid_t pid;
    int socket;  // the other end
    int life;
} host;

host host_begin(void (*body)(int socket));
void host_kill(const host *one);
void host_left_none(const host *one);  // neither the launcher nor an extension lives

// The only child of a process, once it has one.
pid_t only_child(pid_t parent);

#endif
