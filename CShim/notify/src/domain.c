// Domains: the center that a name lives in, and how this process continues with it after a fork or a removal.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

_Atomic uint32_t notify__disabled, notify__regenerating;
_Atomic(notify__domain *) notify__domains;

static pthread_mutex_t notify__lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local volatile bool locked __attribute__((tls_model("initial-exec")));

// `locked` is set before the lock is taken, and cleared after it is free. So a signal handler above any of these steps
// finds it set.
void notify__lock_begin(void) {
    locked = true;
    pthread_mutex_lock(&notify__lock);
}

void notify__lock_end(void) {
    pthread_mutex_unlock(&notify__lock);
    locked = false;
}

bool notify__lock_is_mine(void) { return locked; }

// Written once: 2 if the system's names have a center of their own, 1 if they are in this user's. 0: not read yet.
static _Atomic uint32_t system_kind;

uint32_t notify__status(int error) {
    switch (-error) {
        case 0: return NOTIFY_STATUS_OK;
        case EACCES:
        case EPERM:
        case EROFS: return NOTIFY_STATUS_NOT_AUTHORIZED;
        case ESTALE:
        case ENOENT: return NOTIFY_STATUS_SERVER_NOT_FOUND;
        // EINVAL too: every name is valid in a center (text.c), so notify.conf is invalid.
        default: return NOTIFY_STATUS_FAILED;
    }
}

uint32_t notify__fail(uint32_t status, const char *format, ...) {
    const int saved = errno;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    tidings_last_error_set(line);
    errno = saved;
    return status;
}

uint32_t notify__fail_disabled(const char *what) {
    return notify__fail(NOTIFY_STATUS_OPT_DISABLE,
                        "can't %s: this program has switched notify(3) off; call notify_set_options(NOTIFY_OPT_ENABLE)",
                        what);
}

uint32_t notify__fail_token(const char *what, int number) {
    return notify__fail(NOTIFY_STATUS_INVALID_TOKEN,
                        "can't %s token %d: it was never registered, or is canceled; register the name again", what,
                        number);
}

uint32_t notify__fail_memory(const char *what) {
    return notify__fail(NOTIFY_STATUS_FAILED, "can't %s: no memory (errno %d); free some", what, ENOMEM);
}

// Apple's notify.conf reserves these names too. Checked at each call: a program may give up root.
bool notify__may_post_reserved(const char *what, const char *name) {
    if (geteuid() == 0) return true;
    (void)notify__fail(
        NOTIFY_STATUS_NOT_AUTHORIZED,
        "can't %s \"%.255s\": names that begin with \"com.apple.system.\" are root's; become root, or use another name",
        what, name);
    return false;
}

#define SELF "self."
#define USER "user.uid."

// False: the name begins with "user.uid." but names no user: "user.uid.", "user.uid.x", "user.uid.0501", or a number
// that no user has.
static bool classify(const char *name, size_t length, notify__kind *kind, uint32_t *uid) {
    *kind = NOTIFY__SYSTEM;
    *uid = 0;
    if (length >= sizeof SELF - 1 && memcmp(name, SELF, sizeof SELF - 1) == 0) *kind = NOTIFY__SELF;
    if (length < sizeof USER - 1 || memcmp(name, USER, sizeof USER - 1) != 0) return true;
    size_t i = sizeof USER - 1;
    uint64_t number = 0;
    for (; i < length && name[i] >= '0' && name[i] <= '9'; i++) {
        number = 10 * number + (uint64_t)(name[i] - '0');
        if (number >= UINT32_MAX) return false;
    }
    const size_t digits = i - (sizeof USER - 1);
    if (digits == 0 || (digits > 1 && name[sizeof USER - 1] == '0') || (i < length && name[i] != '.')) return false;
    *kind = NOTIFY__USER;
    *uid = (uint32_t)number;
    return true;
}

static int open_center(const notify__domain *domain, tidings_center **center, _Atomic bool *read_only) {
    *read_only = false;
    if (domain->kind == NOTIFY__SELF) return tidings_create_sealed("self", &tidings_small_configuration, center);
    notify__place *place = calloc(1, sizeof *place);
    if (!place) return -ENOMEM;
    if (domain->kind == NOTIFY__SYSTEM) {
        notify__place_of_system(place);
    } else {
        strcpy(place->center, "default");
        if (domain->uid != geteuid()) {
            place->configuration.flags = TIDINGS_OPEN_OWNER;
            place->configuration.owner = domain->uid;
        }
    }
    int error = tidings_open(place->center, &place->configuration, center);
    if (error == -EACCES || error == -EROFS) {
        // This user may still be allowed to observe it.
        place->configuration.flags |= TIDINGS_OPEN_READ_ONLY;
        *read_only = tidings_open(place->center, &place->configuration, center) == 0;
        if (*read_only) error = 0;
    }
    free(place);
    return error;
}

static notify__domain *find(notify__kind kind, uint32_t uid) {
    notify__domain *domain = atomic_load_explicit(&notify__domains, memory_order_acquire);
    while (domain && (domain->kind != kind || domain->uid != uid)) domain = domain->next;
    return domain;
}

static uint32_t kind_of_system(void) {
    notify__place *place = calloc(1, sizeof *place);
    if (!place) return 0;
    notify__place_of_system(place);
    const bool mine = strcmp(place->center, "default") == 0 && !place->configuration.directory &&
                      (!(place->configuration.flags & TIDINGS_OPEN_OWNER) || place->configuration.owner == geteuid());
    free(place);
    atomic_store_explicit(&system_kind, mine ? 1 : 2, memory_order_release);
    return mine ? 1 : 2;
}

notify__domain *notify__domain_of(const char *name, size_t length, bool opening, uint32_t *status) {
    notify__kind kind;
    uint32_t uid;
    *status = NOTIFY_STATUS_OK;
    if (!classify(name, length, &kind, &uid)) {
        *status = notify__fail(NOTIFY_STATUS_NOT_AUTHORIZED,
                               "can't use the name \"%.255s\": it begins with \"user.uid.\" and names no user; write "
                               "\"user.uid.\", a user id, and a dot",
                               name);
        return NULL;
    }
    if (kind == NOTIFY__SYSTEM) {
        uint32_t system = atomic_load_explicit(&system_kind, memory_order_acquire);
        if (system == 0) system = kind_of_system();
        if (system == 1) kind = NOTIFY__USER, uid = geteuid();
    }
    notify__domain *domain = find(kind, uid);
    if (domain || !opening) return domain;
    domain = calloc(1, sizeof *domain);
    tidings_center *center = NULL;
    if (!domain) {
        *status = notify__fail_memory("open a center for notify(3)");
        return NULL;
    }
    domain->kind = kind;
    domain->uid = uid;
    domain->watch = -1;
    domain->states_full_at = UINT64_MAX;
    // Without the lock, as opening may take a while. A thread that loses the race closes its center again.
    const int error = open_center(domain, &center, &domain->read_only);
    if (error) {
        *status = notify__status(error);
        free(domain);
        return NULL;
    }
    notify__lock_begin();
    notify__domain *other = find(kind, uid);
    if (other) {
        tidings_close(center);
        free(domain);
        domain = other;
    } else {
        notify__forks_watch();
        atomic_store_explicit(&domain->center, center, memory_order_relaxed);
        domain->next = atomic_load_explicit(&notify__domains, memory_order_relaxed);
        atomic_store_explicit(&notify__domains, domain, memory_order_release);
        notify__removal_watch(domain);
    }
    notify__lock_end();
    return domain;
}

uint32_t notify__domain_listen(notify__domain *domain) {
    if (domain->unfinished) return notify__domain_renew(domain, false);
    if (domain->pull.observer) return NOTIFY_STATUS_OK;
    if (!notify__reading_begin(domain))
        return notify__fail(
            NOTIFY_STATUS_FAILED,
            "can't open a center for notify(3) inside a signal handler; make a call for the name before");
    tidings_observer *pull;
    const int error = tidings_observer_open(atomic_load_explicit(&domain->center, memory_order_relaxed),
                                            TIDINGS_OBSERVE_BARE, &pull);
    if (!error) {
        domain->pull.observer = pull;
        atomic_store_explicit(&domain->position, tidings_observer_position(pull), memory_order_release);
    }
    notify__reading_end(domain);
    return notify__status(error);
}

// MARK: Another observer, or another center

static void count_one(notify__name *name) {
    const uint64_t now = atomic_load_explicit(&name->count, memory_order_relaxed);
    atomic_store_explicit(&name->count, now + 1, memory_order_release);
}

static void forget_parents(notify__name *name) {
    for (notify__token *token = name->deliveries, *next; token; token = next) {
        next = token->next;
        token->delivers = false;
        token->signal = 0;
        token->next = token->previous = NULL;
        // Drop the handler without `end`: its queue has no threads in this process.
        token->handler = (notify__handler){0};
    }
    name->deliveries = NULL;
}

static _Thread_local bool pull_history;
static void pull_again(notify__name *name) {
    name->pull = 0;
    (void)notify__name_pull(name, pull_history);
}

static void push_again(notify__name *name) {
    notify__push_again(name);
    notify__deliver_all(name);
}

uint32_t notify__domain_renew(notify__domain *domain, bool anew) {
    const bool child = atomic_load_explicit(&domain->stale, memory_order_relaxed);
    const bool another = anew || (child && domain->kind == NOTIFY__SELF);
    const bool resumes = domain->unfinished;
    tidings_center *center = atomic_load_explicit(&domain->center, memory_order_relaxed);
    if (another) {
        const int error = open_center(domain, &center, &domain->read_only);
        const bool waits = domain->unopened;
        // For example, no descriptor is free. No change of the directory tells when one is.
        domain->unopened = anew && notify__status(error) == NOTIFY_STATUS_FAILED;
        // If the worker itself tries again: do not wake it, or it would try at once.
        if (domain->unopened && !waits) notify__worker_wake();
        if (error) return notify__status(error);
    }
    if (!notify__reading_begin(domain))
        return notify__fail(
            NOTIFY_STATUS_FAILED,
            "can't open a center for notify(3) inside a signal handler; make a call for the name before");
    if (child) {
        notify__pipes_forget();
        notify__names_each(domain, forget_parents);
    }
    notify__push_forget(domain, child);
    // An earlier try may have closed the old observer and then failed: a domain that has names listens.
    const bool listens = domain->pull.observer != NULL || resumes || domain->name_count > 0;
    tidings_observer_close(domain->pull.observer);
    domain->pull = (notify__view){0};
    domain->idle_most = domain->names_most = 0;
    // Before the new center: a thread that finds the new one must not compare it with the old one's position.
    const uint64_t position = atomic_load_explicit(&domain->position, memory_order_relaxed);
    if (another) atomic_store_explicit(&domain->position, NOTIFY__NOWHERE, memory_order_relaxed);
    // The old center stays open: other threads may be posting to it, or reading its words.
    atomic_store_explicit(&domain->center, center, memory_order_release);
    if (another) {
        atomic_store_explicit(&domain->states_left, 0, memory_order_relaxed);
        atomic_store_explicit(&domain->states_full_at, UINT64_MAX, memory_order_relaxed);
        // Positions of two centers can be equal, so a cached state must not survive the change of center.
        notify__names_each(domain, notify__state_forget);
    }
    uint32_t status = NOTIFY_STATUS_OK;
    if (listens) {
        status = notify__status(tidings_observer_open(center, TIDINGS_OBSERVE_BARE, &domain->pull.observer));
        bool all = anew || resumes;
        if (status == NOTIFY_STATUS_OK) {
            if (!another) (void)tidings_observer_seek(domain->pull.observer, position);
            pull_history = !another;
            notify__names_each(domain, pull_again);
            // Check after the subscriptions: the ring may have passed `position`, also during them.
            tidings_statistics now;
            if (!another)
                all = position == NOTIFY__NOWHERE || tidings_statistics_get(center, &now) != 0 ||
                      now.retained_from > position;
        }
        // Lost posts can't be assigned to a name any more: each name may have had one. Before the position is stored: a
        // thread that then finds the center quiet does not look further.
        if (all && (status == NOTIFY_STATUS_OK || !resumes)) notify__names_each(domain, count_one);
        if (status == NOTIFY_STATUS_OK) {
            atomic_store_explicit(&domain->position, tidings_observer_position(domain->pull.observer),
                                  memory_order_release);
            notify__take(domain);
        }
    }
    if (status == NOTIFY_STATUS_OK) atomic_store_explicit(&domain->stale, 0, memory_order_release);
    notify__reading_end(domain);
    // For example, all observer entries of the center are taken. A forked child tries again in its next check that
    // finds something new. If the center has ended already, the next renewal opens its successor.
    domain->unfinished = status == NOTIFY_STATUS_FAILED && !child;
    if ((anew || resumes) && status == NOTIFY_STATUS_OK) notify__names_each(domain, push_again);
    // The worker itself resumes: do not wake it, or it would try again at once.
    if (domain->unfinished && resumes && !another) return status;
    if (domain->unfinished) notify__worker_wake();
    notify__removal_watch(domain);
    return status;
}

bool notify__domain_recover(notify__domain *domain, const tidings_center *center, int error) {
    if (error != -ESTALE || !atomic_load_explicit(&notify__regenerating, memory_order_relaxed)) return false;
    if (notify__lock_is_mine()) return false;
    notify__lock_begin();
    bool recovered = atomic_load_explicit(&domain->center, memory_order_relaxed) != center;
    if (!recovered) recovered = notify__domain_renew(domain, true) == NOTIFY_STATUS_OK;
    notify__lock_end();
    return recovered;
}

// MARK: Forks

// Forks of this thread in signal handlers above code that holds notify__lock or `reading`. The fork handlers take and
// release nothing then, as that code goes on in the parent. The child may only call exec or _exit (Docs/Trust.md).
static _Thread_local volatile uint32_t forks_above __attribute__((tls_model("initial-exec")));

static bool holds_lock(void) {
    bool holds = notify__lock_is_mine();
    for (notify__domain *domain = notify__domains; domain && !holds; domain = domain->next)
        holds = notify__reading_is_mine(domain);
    return holds;
}

static void before(void) {
    if (holds_lock()) {
        forks_above++;
        return;
    }
    notify__lock_begin();
    // A child must not begin in the middle of a count.
    for (notify__domain *domain = notify__domains; domain; domain = domain->next) (void)notify__reading_begin(domain);
}

static void after(void) {
    if (forks_above > 0) {
        forks_above--;
        return;
    }
    for (notify__domain *domain = notify__domains; domain; domain = domain->next) notify__reading_end(domain);
    notify__lock_end();
}

static void in_child(void) {
    if (forks_above > 0) {
        forks_above--;
        return;
    }
    for (notify__domain *domain = notify__domains; domain; domain = domain->next)
        atomic_store_explicit(&domain->stale, 1, memory_order_relaxed);
    notify__worker_forked();
    notify__process_suspensions = 0;
    after();
}

static void watch(void) { pthread_atfork(before, after, in_child); }

// Called after the first center was opened. Prepare handlers run in reverse order of registration: these run before the
// center's, which take the center's locks.
void notify__forks_watch(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
}
