// Scenarios of notify(3), a process each: `NotifyPeer SCENARIO SEED DIRECTORY`. One ends with exit status 0, or with
// one line that says what was not so. Scenarios wait for events; an alarm ends what hangs. "Nothing comes" is never
// waited for: something else is posted after it, and that nothing came before it is what is looked at.
#ifndef NOTIFY_PEER_H
#define NOTIFY_PEER_H

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

#include "notify.h"
#include "notify_private.h"
#include "tidings.h"

#define WATCHDOG                                                                                                       \
    120u  // seconds; four times what the longest takes under the thread sanitizer, but for the soak, which asks for
          // more

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

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s: ", strrchr("/" __FILE__, '/') + 1, __LINE__, #condition);              \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, " [seed %llu, last error: %s]\n", (unsigned long long)seed, tidings_last_error());         \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
#define EXPECT(status, call)                                                                                           \
    do {                                                                                                               \
        uint32_t answer_ = (call);                                                                                     \
        CHECK(answer_ == (status), "%s answers %u, not %u", #call, answer_, (uint32_t)(status));                       \
    } while (0)
#define OK(call) EXPECT(NOTIFY_STATUS_OK, call)

extern uint64_t seed;
uint64_t random_next(void);
uint64_t random_below(uint64_t limit);

int check_of(const char *name);  // a token
int descriptor_of(const char *name, int *token);
bool is_new(int token);            // notify_check
int read_token(int descriptor);    // waits for one
bool is_readable(int descriptor);  // without waiting
tidings_center *default_center(void);

pid_t start(void (*body)(void));
void ends_well(pid_t pid);

typedef struct channel {
    int ends[2];
} channel;
channel channel_open(void);
void tell(const channel *c);
void told(const channel *c);

extern const char *own_executable;

void serve(void);  // for the Swift tests

#endif
