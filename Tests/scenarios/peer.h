// The other processes of the core's tests. A scenario is a function here, told by ScenarioTests in a directory of its
// own; it ends with exit status 0, or with one line on standard error. Scenarios wait for events (a pipe, waitpid, the
// center itself, a word of shared memory), never for time; an alarm ends what hangs.
#ifndef PEER_H
#define PEER_H

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "tidings.h"

#define NAME "com.example.scenario"
#define WATCHDOG                                                                                                       \
    400u  // seconds after which what hangs is ended; the longest takes a fortieth of that on an idle machine

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

// MARK: The center of the scenario

// A scenario does fewer rounds where each costs twenty times as much.
#define ROUNDS(count) ((uint32_t)(SANITIZED ? ((count) + 5) / 6 : (count)))

tidings_center *join_center(uint32_t slots);  // with so many slots, if it is the first
tidings_center *join_center_with(tidings_configuration configuration);
tidings_publisher *publisher_of(tidings_center *center, const char *name);
tidings_publisher *publisher_with(tidings_center *center, const char *name, const char *subject);
tidings_observer *observer_of(tidings_center *center, const char *name);  // NULL: all names
tidings_observer *observer_of_nothing(tidings_center *center);            // as yet
tidings_observer *observer_with(tidings_center *center, const char *name, uint32_t flags, uint32_t add_flags);
tidings_statistics statistics_of(tidings_center *center);

void keep(const void *handle);  // for a scenario that opens one by itself and ends without closing it

// How often a scenario of chances takes one: a third as often under a condition, which changes only a few of them. Each
// chance costs some waits for a processor. Where other processes keep the processors busy, these waits are the whole
// scenario: beside eight processes with ten times the weight, a few hundred deaths took half a minute instead of half a
// second.
uint32_t chances(uint32_t count);

typedef struct stamp {
    uint32_t poster, number;
} stamp;

uint64_t post_number(tidings_publisher *publisher, uint32_t number);  // returns its sequence
stamp stamp_of(const tidings_delivery *delivery);

typedef struct account {
    uint64_t received, missed;
} account;
account drain(tidings_observer *observer);  // until nothing is there
// Waits for a message (not a MISSED, which fails the scenario).
tidings_delivery receive(tidings_observer *observer);

// MARK: Others

void random_seed(uint64_t seed);
uint64_t random_next(void);
uint64_t random_below(uint64_t limit);
void spin_cycles(uint64_t cycles);

bool full(void);      // asked to try everything, however long it takes: TIDINGS_TEST_FULL=1
void watchdog(void);  // for this process; none if asked for everything

pid_t start_with(void (*body)(void), bool traced);
pid_t start(void (*body)(void));  // a child that exits with 0 when `body` returns
void ends_well(pid_t pid);
void kill_and_reap(pid_t pid);
void *shared_memory(size_t size);  // with the children to come

// A pipe: `told` waits until a process calls `tell`.
typedef struct pipe_pair {
    int ends[2];
} pipe_pair;
pipe_pair pipe_open(void);
void tell(const pipe_pair *pipe);
void told(const pipe_pair *pipe);

char process_state(pid_t pid);               // of its first thread: 'R', 'S' …
char thread_state(pid_t pid, pid_t thread);  // 'X': gone

// Waits until that process sleeps in the kernel, and as many observers of the center are asleep.
void until_asleep(pid_t pid, tidings_center *center, uint32_t observers_asleep);

// MARK: Instruction by instruction

#if defined(__x86_64__)
#define CAN_STEP 1
#else
#define CAN_STEP 0
#endif

// A child that has run `body` up to its `section_begin`, and stands there.
pid_t start_traced(void (*body)(void));
void section_begin(void);  // in the child
void section_end(void);
// Lets it execute up to `most` instructions; returns how many. Fewer: its section ended, or (`or_sleep`) it is about to
// wait on a futex.
uint64_t step(pid_t pid, uint64_t most, bool or_sleep);
void let_go(pid_t pid);  // it goes on freely
// After how many instructions of `length` to stop. `moments`: at how many places, `sample` of them, or all of them if
// asked for everything. `moment`: the place of that number. It is random within its share, so places are spread evenly
// and differ from run to run.
uint32_t moments(uint32_t sample, uint64_t length);
uint64_t moment(uint32_t number, uint32_t count, uint64_t length);

#endif
