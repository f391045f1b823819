// What the files of notify(3) need of each other. Docs/Notify.md has the design.
//
// Two locks. `notify__lock` is held while anything is registered, canceled or delivered: tokens, lists, pipes. A
// domain's *reading* is held by whoever takes new posts from its pull observer; within the first, never around it.
// `notify_check`, `notify_post` and `notify_get_state` take only the second, and not even that if their own thread has
// it already (they run in a signal handler on top of it).
#ifndef NOTIFY_INTERNAL_H
#define NOTIFY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "notify.h"
#include "notify_private.h"
#include "tidings.h"

#define NOTIFY__NAME_MAX 511u

// MARK: Names

// A name as its center knows it. Longer names, others than UTF-8, and those that look like one of ours stand there as a
// digest.
typedef struct notify__text {
    size_t length;
    char bytes[TIDINGS_NAME_MAX + 1];
    bool reserved;  // begins with "com.apple.system.": root alone posts it
} notify__text;

void notify__text_of(const char *name, size_t length, notify__text *text);
void notify__text_of_state(const notify__text *name, notify__text *text);  // the name under which its state is kept
void notify__digest(const void *bytes, size_t length, char hex[64]);       // SHA-256
// Eight bytes at a time; for tables of ours only, which compare the whole name.
static inline uint64_t notify__hash(const char *bytes, size_t length) {
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = length * factor, word;
    for (; length >= 8; length -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, bytes, length);
    hash = (hash ^ word) * factor;
    return hash ^ hash >> 29;
}
uint32_t notify__length(const char *name, size_t *length);  // NOTIFY_STATUS_OK, INVALID_NAME with its line

// MARK: Domains

typedef struct notify__name notify__name;
typedef struct notify__token notify__token;
typedef struct notify__domain notify__domain;

// A name that somebody in this process has registered for, or had until a moment ago. Its memory is never freed, only
// used again: a check may still look at it while another thread cancels.
struct notify__name {
    _Atomic uint64_t count;  // posts seen; never goes back, also not when it serves another name
    _Atomic(notify__domain *) domain;
    notify__name *next;  // of its bucket, or free
    uint64_t hash;
    notify__text text;
    uint32_t pull, push;  // interests, 0: none of its own
    uint32_t moved;       // that of the observer which takes the place of another
    uint32_t token_count;
    notify__token *deliveries;  // tokens that something is delivered to
    notify__name *idle_next, *idle_previous;
    bool idle, doomed;
    // The state as of a position of the center at which nothing was new. `state_guard` is odd while it is written.
    _Atomic uint32_t state_guard;
    _Atomic uint64_t state, state_at;
    _Atomic bool stated;  // this process has set it to something else than 0
};

typedef enum notify__kind { NOTIFY__SYSTEM, NOTIFY__USER, NOTIFY__SELF } notify__kind;

// An observer, and what it looks at: so many names, each by an interest of its own, and all others too where the center
// has no room for more.
typedef struct notify__view {
    tidings_observer *observer;
    uint32_t names;
    bool all;
} notify__view;

struct notify__domain {
    _Atomic(tidings_center *)
        center;  // replaced when it was removed; the old handle stays open, somebody may be looking at it
    _Atomic uint64_t position;  // up to here all posts have been counted; written while reading
    _Atomic uint32_t stale;     // this is a forked child, the observers are its parent's
    _Atomic uintptr_t reading;  // the thread that takes posts; 0: nobody
    notify__kind kind;
    uint32_t uid;
    _Atomic bool read_only;
    _Atomic uint32_t states_left;     // names without a state that may be set before this process counts again
    _Atomic uint64_t states_full_at;  // the position at which a count found no room; UINT64_MAX: none did
    int watch;                        // of its removal, -1: none

    notify__view pull, push;
    uint32_t push_idle;                  // names that it looks at, and nothing is delivered of any more
    uint32_t idle_most, push_idle_most;  // so many are kept at least; 0 unless there was no room to do otherwise
    uint32_t names_most;                 // that an observer looks at; 0: not asked yet
    _Atomic uint32_t pushing;            // counts up each time the push observer is another one

    notify__name **buckets;  // changed under both locks
    uint32_t bucket_count, name_count;
    notify__name *idle_first, *idle_last;
    uint32_t idle_count;
    notify__domain *next;
};

extern pthread_mutex_t notify__lock;
extern _Atomic uint32_t notify__disabled, notify__regenerating;
extern _Atomic(notify__domain *) notify__domains;

uint32_t notify__status(int error);  // of a tidings function
// What `tidings_last_error` says from now on; returns the status.
uint32_t notify__fail(uint32_t status, const char *format, ...) __attribute__((format(printf, 2, 3), cold, noinline));
uint32_t notify__fail_disabled(const char *what) __attribute__((cold, noinline));
uint32_t notify__fail_token(const char *what, int number) __attribute__((cold, noinline));
uint32_t notify__fail_memory(const char *what) __attribute__((cold, noinline));
bool notify__may_post_reserved(const char *what, const char *name) __attribute__((cold, noinline));
// The domain that a name belongs to. NULL, and the reason: it can't be opened. Not `opening`: NULL and NOTIFY_STATUS_OK
// if this process hasn't got it open.
notify__domain *notify__domain_of(const char *name, size_t length, bool opening, uint32_t *status);
// For a forked child, or (`anew`) after the center was removed: observers of our own, from where the old ones stood.
// Under notify__lock.
uint32_t notify__domain_renew(notify__domain *domain, bool anew);
// A call of `center` failed: true if the domain has another one now.
bool notify__domain_recover(notify__domain *domain, const tidings_center *center, int error);
uint32_t notify__domain_listen(notify__domain *domain);  // makes sure that it has its pull observer. Under notify__lock
void notify__forks_watch(void);

typedef struct notify__place {
    char center[TIDINGS_CENTER_NAME_MAX + 1];
    char directory[1024];
    tidings_configuration configuration;
} notify__place;
void notify__place_of_system(notify__place *place);

// MARK: Taking posts (pull.c)

bool notify__reading_begin(notify__domain *domain);  // false: this thread reads already
void notify__reading_end(notify__domain *domain);
void notify__take(notify__domain *domain);  // within reading
void notify__count(notify__domain *domain, const tidings_delivery *delivery);
void notify__pull(notify__domain *domain);  // counts all that was posted before the call
static inline void notify__refresh(notify__domain *domain) {
    tidings_center *center = atomic_load_explicit(&domain->center, memory_order_acquire);
    if (__builtin_expect(!tidings_nothing_since(center, atomic_load_explicit(&domain->position, memory_order_acquire)),
                         0))
        notify__pull(domain);
}

// A forked child's `self.` names are not its parent's, so it gets a center of its own before it posts or keeps
// anything.
static inline void notify__settle(notify__domain *domain) {
    if (__builtin_expect(domain->kind == NOTIFY__SELF && atomic_load_explicit(&domain->stale, memory_order_relaxed), 0))
        notify__pull(domain);
}

// MARK: Names looked at (names.c). Under notify__lock

notify__name *notify__name_find(const notify__domain *domain, const char *text, size_t length);
uint32_t notify__name_join(notify__domain *domain, const notify__text *text, notify__name **name);  // one more token
void notify__name_leave(notify__name *name);
uint32_t notify__name_pull(notify__name *name, bool history);  // lets the pull observer look at it. Within reading
void notify__names_each(notify__domain *domain, void (*each)(notify__name *name));

// MARK: What observers look at (looking.c). Under notify__lock

#define NOTIFY__NAMES_FEW                                                                                              \
    1024u  // up to so many names are taken away from an observer one by one: up to some 20 µs each
#define NOTIFY__IDLE_MOST                                                                                              \
    64u  // names that nobody wants any more are kept a while: to register and cancel the same one again and again is
         // then cheap
int notify__look_at(notify__domain *domain, notify__view *view, const notify__name *name, uint32_t flags,
                    uint32_t *subscription);
bool notify__look_away(notify__view *view, uint32_t *subscription);  // false: there are too many. Later, with others
// Hands over what `from` has yet to tell, up to where `to` begins. What either missed meanwhile is told by the one
// whose it is, so nothing twice, and nothing not at all. False: no memory
bool notify__view_move(notify__domain *domain, notify__view *from, notify__view *to,
                       void (*hand)(notify__domain *domain, const tidings_delivery *delivery));

// MARK: Tokens

typedef struct notify__pipe {
    int reader, writer;
    uint64_t device, inode;
    uint32_t tokens;
    notify__token *waiting, *waiting_last;  // for room
    struct notify__pipe *next;
} notify__pipe;

// How something is delivered. Called under notify__lock: `deliver` hands over to some other thread. `end` is called
// once, after which there is no more `deliver`.
typedef struct notify__handler {
    void (*deliver)(void *context, int token);
    void (*end)(void *context);
    void *context;
} notify__handler;

#define NOTIFY__UNCHECKED UINT64_MAX

struct notify__token {
    _Atomic uint32_t number;  // 0: free. Written last when registering, first when canceling
    uint32_t uses;
    _Atomic(notify__name *) name;
    _Atomic uint64_t checked;  // the name's count as of the last check
    // Under notify__lock:
    uint64_t since;  // what was posted before is not for this one
    uint32_t suspensions;
    bool due;       // when it is resumed
    bool delivers;  // is in its name's list
    int signal;     // 0: none
    bool full;      // waits for room in its pipe
    notify__pipe *pipe;
    notify__handler handler;
    struct notify__monitor *monitor;
    notify__token *next, *previous, *next_waiting, *previous_waiting;
};

notify__token *notify__token_of(int number);  // NULL: not valid
notify__token *notify__token_new(void);       // under notify__lock, as all below
void notify__token_publish(notify__token *token, int *number);
void notify__token_free(notify__token *token);
void notify__tokens_each(void (*each)(notify__token *token));

uint32_t notify__register(const char *name, int *number,
                          notify__token *like);   // takes over signal, pipe, handler of `like`, which is nobody's
extern uint32_t notify__process_suspensions;      // by notify_suspend_pid. Under notify__lock
void notify__deliver(notify__token *token);       // or remembers that it is due
uint32_t notify__push_begin(notify__name *name);  // its posts are to be delivered from now on
void notify__push_again(notify__name *name);      // in another center; if that fails, the worker tries each second
void notify__deliver_all(notify__name *name);     // to each token of it, whatever was posted
void notify__push_end(notify__name *name);
void notify__push_forget(notify__domain *domain,
                         bool child);  // the push observer; its thread ends. Of a child's parent: never was
void notify__pipe_write(notify__token *token);
void notify__pipe_leave(notify__token *token);
void notify__pipes_forget(void);  // a child's copies of its parent's
void notify__worker_wake(void);   // starts it, too
void notify__monitor_end(notify__token *token);
void notify__worker_forked(void);
void notify__removal_watch(notify__domain *domain);  // if NOTIFY_OPT_REGEN says so

// For tidings-notify-dispatch.
uint32_t tidings_notify_register_handler(const char *name, int *number, const notify__handler *handler);
bool tidings_notify_may_run(int number);  // now; if it is suspended, later

#endif
