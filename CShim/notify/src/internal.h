// Declarations that the files of notify(3) share. Docs/Notify.md has the design.
//
// There are two locks. `notify__lock` protects tokens, lists and pipes: registering, canceling and delivering hold it.
// The lock `reading` of a domain is held by the thread that takes new posts from the domain's pull observer. A thread
// that needs both takes `notify__lock` first. `notify_check`, `notify_post` and `notify_get_state` take only `reading`,
// and `notify__lock` only to renew a domain. If their own thread holds that lock already (they run in a signal handler
// above that code), they do without it.
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

// A name as its center stores it. A digest replaces a name that is too long, is not UTF-8, or begins like a name of
// this library.
typedef struct notify__text {
    size_t length;
    char bytes[TIDINGS_NAME_MAX + 1];
    bool reserved;  // begins with "com.apple.system.": only root may post it
} notify__text;

void notify__text_of(const char *name, size_t length, notify__text *text);
void notify__text_of_state(const notify__text *name, notify__text *text);  // the name that retains its state
void notify__digest(const void *bytes, size_t length, char hex[64]);       // SHA-256
// Eight bytes at a time. Only for tables of this process, which compare the whole name.
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
uint32_t notify__length(const char *name, size_t *length);  // NOTIFY_STATUS_OK, or INVALID_NAME with an error line

// MARK: Domains

typedef struct notify__name notify__name;
typedef struct notify__token notify__token;
typedef struct notify__domain notify__domain;

// A name that this process has registered for, or had until a moment ago. Its memory is never freed, only used again: a
// check may still read it while another thread cancels.
struct notify__name {
    _Atomic uint64_t count;  // posts counted; never decreases, also not when the entry serves another name
    _Atomic(notify__domain *) domain;
    notify__name *next;  // in its bucket, or in the free list
    uint64_t hash;
    notify__text text;
    uint32_t pull, push;  // subscriptions; 0: none of its own
    uint32_t moved;       // its new subscription while `notify__view_narrow` runs; otherwise 0
    uint32_t token_count;
    notify__token *deliveries;  // tokens with a signal, pipe or handler
    notify__name *idle_next, *idle_previous;
    bool idle;
    // The cached state, valid at position `state_at` of the center. `state_guard` is odd during a write.
    _Atomic uint32_t state_guard;
    _Atomic uint64_t state, state_at;
    _Atomic bool stated;  // this process has set it to a value other than 0
};

typedef enum notify__kind { NOTIFY__SYSTEM, NOTIFY__USER, NOTIFY__SELF } notify__kind;

// An observer and its subscriptions: one for each of `names` names. If the center has no room for more names, also one
// to all names (`all`; 0: none).
typedef struct notify__view {
    tidings_observer *observer;
    uint32_t names, all;
} notify__view;

// A position that no center reaches, and so never finds quiet (`tidings_nothing_since`).
#define NOTIFY__NOWHERE UINT64_MAX

struct notify__domain {
    // Replaced after its removal. The old handle stays open, as other threads may use it: each removal costs this
    // process a descriptor and a mapping.
    _Atomic(tidings_center *) center;
    // All posts before it have been counted. NOWHERE: the domain is changing to `center`, or is `unfinished`; a check
    // then waits for `reading`. Written under `reading`.
    _Atomic uint64_t position;
    _Atomic uint32_t stale;     // this is a forked child; the observers are its parent's
    _Atomic uintptr_t reading;  // a lock: the thread that takes posts; 0: free
    notify__kind kind;
    uint32_t uid;
    _Atomic bool read_only;
    _Atomic uint32_t states_left;     // names without a state that may be set before this process counts again
    _Atomic uint64_t states_full_at;  // the position at which a count found no room; UINT64_MAX: none did
    bool unfinished;                  // no observer in its new center yet; the worker tries again each second
    bool unopened;                    // the successor could not be opened for now; the worker tries again each second
    int watch;                        // the inotify watch for its removal; -1: none

    notify__view pull, push;
    uint32_t push_idle;                  // names in the push view that have no deliveries any more
    uint32_t idle_most, push_idle_most;  // raised thresholds after idle names could not be removed; otherwise 0
    bool narrowing;                      // the dispatcher thread has to narrow the views: names were removed
    uint32_t names_most;                 // limit of the names of one view; 0: not read yet
    _Atomic uint32_t pushing;            // incremented when the current dispatcher thread has to end

    notify__name **buckets;  // changed under both locks
    uint32_t bucket_count, name_count;
    notify__name *idle_first, *idle_last;
    uint32_t idle_count;
    notify__domain *next;
};

void notify__lock_begin(void);
void notify__lock_end(void);
bool notify__lock_is_mine(void);  // this is a signal handler above code of its thread that holds notify__lock
extern _Atomic uint32_t notify__disabled, notify__regenerating;
extern _Atomic(notify__domain *) notify__domains;

uint32_t notify__status(int error);  // the status for an error of a tidings function
// Sets the line of `tidings_last_error`; returns the status.
uint32_t notify__fail(uint32_t status, const char *format, ...) __attribute__((format(printf, 2, 3), cold, noinline));
uint32_t notify__fail_disabled(const char *what) __attribute__((cold, noinline));
uint32_t notify__fail_token(const char *what, int number) __attribute__((cold, noinline));
uint32_t notify__fail_memory(const char *what) __attribute__((cold, noinline));
bool notify__may_post_reserved(const char *what, const char *name) __attribute__((cold, noinline));
// Returns the domain that a name belongs to. If it can't be opened: NULL, and the reason in `status`. If `opening` is
// false and this process does not have the domain open: NULL and NOTIFY_STATUS_OK.
notify__domain *notify__domain_of(const char *name, size_t length, bool opening, uint32_t *status);
// For a forked child: opens new observers at the positions of the old ones. After the center was removed (`anew`):
// opens its successor, and observers there. If the domain is `unfinished`: opens the observers. Under notify__lock.
uint32_t notify__domain_renew(notify__domain *domain, bool anew);
// After a call on `center` failed: true if the domain has another center now. A call tries so many centers at most: a
// peer may remove each new one.
#define NOTIFY__CENTERS_MOST 100u
bool notify__domain_recover(notify__domain *domain, const tidings_center *center, int error);
uint32_t notify__domain_listen(notify__domain *domain);  // opens its pull observer if it has none. Under notify__lock
void notify__forks_watch(void);

typedef struct notify__place {
    char center[TIDINGS_CENTER_NAME_MAX + 1];
    char directory[1024];
    tidings_configuration configuration;
} notify__place;
void notify__place_of_system(notify__place *place);

// MARK: Taking posts (pull.c)

bool notify__reading_begin(notify__domain *domain);  // false: this thread holds it already
void notify__reading_end(notify__domain *domain);
bool notify__reading_is_mine(const notify__domain *domain);
void notify__take(notify__domain *domain);  // under `reading`
void notify__count(notify__domain *domain, const tidings_delivery *delivery);
void notify__pull(notify__domain *domain);  // counts all posts before the call
static inline void notify__refresh(notify__domain *domain) {
    tidings_center *center = atomic_load_explicit(&domain->center, memory_order_acquire);
    if (__builtin_expect(!tidings_nothing_since(center, atomic_load_explicit(&domain->position, memory_order_acquire)),
                         0))
        notify__pull(domain);
}

// A forked child does not share the `self.` names of its parent. It gets a center of its own before its first post or
// state.
static inline void notify__settle(notify__domain *domain) {
    if (__builtin_expect(domain->kind == NOTIFY__SELF && atomic_load_explicit(&domain->stale, memory_order_relaxed), 0))
        notify__pull(domain);
}

void notify__state_forget(notify__name *name);  // its entry or its domain changes (state.c). Under notify__lock

// MARK: The table of names (names.c). Under notify__lock

notify__name *notify__name_find(const notify__domain *domain, const char *text, size_t length);
uint32_t notify__name_join(notify__domain *domain, const notify__text *text, notify__name **name);  // adds a token
void notify__name_leave(notify__name *name);
uint32_t notify__name_pull(notify__name *name, bool history);  // subscribes the pull observer to it. Under `reading`
void notify__names_each(notify__domain *domain, void (*each)(notify__name *name));

// MARK: Subscriptions of the observers (looking.c). Under notify__lock

// An observer with at most so many names removes them one by one: up to some 20 µs each.
#define NOTIFY__NAMES_FEW 1024u
// This many names without tokens are kept, so that registering and canceling one name repeatedly is cheap.
#define NOTIFY__IDLE_MOST 64u
int notify__look_at(notify__domain *domain, notify__view *view, const notify__name *name, uint32_t flags,
                    uint32_t *subscription);
bool notify__look_away(notify__view *view, uint32_t *subscription);  // false: too many names; removed later, together
// Removes these subscriptions of names together. False: no memory; they all stay.
bool notify__look_away_many(notify__view *view, const uint32_t *subscriptions, uint32_t count);
// If the view has a subscription to all names, and the center has room for its names by now: subscribes to each name
// that has tokens (for the push view: deliveries) and no subscription, and ends the subscription to all names. Passes
// the deliveries of the meantime to `hand`, so none is lost. Only the thread that may call `tidings_next` calls this.
void notify__view_narrow(notify__domain *domain, notify__view *view,
                         void (*hand)(notify__domain *domain, const tidings_delivery *delivery));

// MARK: Tokens

typedef struct notify__pipe {
    int reader, writer;
    uint64_t device, inode;
    uint32_t tokens;
    notify__token *waiting, *waiting_last;  // tokens that wait for room
    struct notify__pipe *next;
} notify__pipe;

// A way of delivery. `deliver` is called under notify__lock, and must pass the work to another thread. `end` is called
// once, without the lock; `deliver` is not called after it.
typedef struct notify__handler {
    void (*deliver)(void *context, int token);
    void (*end)(void *context);
    void *context;
} notify__handler;

#define NOTIFY__UNCHECKED UINT64_MAX

struct notify__token {
    _Atomic uint32_t number;  // 0: free. Registering writes it last, canceling first
    uint32_t uses;
    _Atomic(notify__name *) name;
    _Atomic uint64_t checked;  // the name's count as of the last check
    // Under notify__lock:
    uint64_t since;  // posts before this position are not delivered to it
    uint32_t suspensions;
    bool due;       // to be delivered on resumption
    bool delivers;  // it is in its name's list
    int signal;     // 0: none
    bool full;      // it waits for room in its pipe
    notify__pipe *pipe;
    notify__handler handler;
    struct notify__monitor *monitor;
    notify__token *next, *previous, *next_waiting, *previous_waiting;
};

notify__token *notify__token_of(int number);  // NULL: the number is not valid
notify__token *notify__token_new(void);       // under notify__lock, as all below
void notify__token_publish(notify__token *token, int *number);
void notify__token_free(notify__token *token);
void notify__tokens_each(void (*each)(notify__token *token));

// Copies signal, pipe and handler of `like`, which is no token itself.
uint32_t notify__register(const char *name, int *number, notify__token *like);
extern uint32_t notify__process_suspensions;      // of notify_suspend_pid. Under notify__lock
void notify__deliver(notify__token *token);       // if it is suspended, marks it as due; in a child, not for its parent
uint32_t notify__push_begin(notify__name *name);  // from now on its posts are delivered
void notify__push_again(notify__name *name);  // the same in another center; if it fails, the worker retries each second
void notify__deliver_all(notify__name *name);  // delivers to each of its tokens, regardless of posts
void notify__push_end(notify__name *name);
// Drops the push observer; its thread ends. A forked child closes the observer, as it does not have the thread.
void notify__push_forget(notify__domain *domain, bool child);
void notify__pipe_write(notify__token *token);
void notify__pipe_leave(notify__token *token);
void notify__pipes_forget(void);  // a child closes its copies of the parent's pipes
void notify__worker_wake(void);   // starts it if necessary
void notify__monitor_end(notify__token *token);
void notify__worker_forked(void);
void notify__removal_watch(notify__domain *domain);  // only with NOTIFY_OPT_REGEN

// For tidings-notify-dispatch.
uint32_t tidings_notify_register_handler(const char *name, int *number, const notify__handler *handler);
bool tidings_notify_may_run(int number);  // false: suspended (then marked as due), or canceled

#endif
