// Linked in front of the core's functions (--wrap). A dispatcher thread of the Swift layer waits in
// `tidings_next_many`. Here it waits for its turn instead, takes what is there without waiting, and rests when nothing
// is left. So one thread at a time runs, an input runs the same each time, and no change of the memory meets a thread
// that reads it.
#include "lockstep.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "harness.h"

#define SEATS 64u
#define HANG_TIMEOUT_S 60  // of time on the wall: the machine may be busy

int __wrap_tidings_open(const char *name, const tidings_configuration *configuration, tidings_center **center);
int __real_tidings_open(const char *name, const tidings_configuration *configuration, tidings_center **center);
void __wrap_tidings_close(tidings_center *center);
void __real_tidings_close(tidings_center *center);
int __wrap_tidings_observer_open(tidings_center *center, uint32_t flags, tidings_observer **observer);
int __real_tidings_observer_open(tidings_center *center, uint32_t flags, tidings_observer **observer);
void __wrap_tidings_observer_close(tidings_observer *observer);
void __real_tidings_observer_close(tidings_observer *observer);
void __wrap_tidings_observer_interrupt(tidings_observer *observer);
void __real_tidings_observer_interrupt(tidings_observer *observer);
int __wrap_tidings_next_many(tidings_observer *observer, int64_t timeout_ns, tidings_delivery *deliveries,
                             size_t count);
int __real_tidings_next_many(tidings_observer *observer, int64_t timeout_ns, tidings_delivery *deliveries,
                             size_t count);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition);
int __real_pthread_cond_broadcast(pthread_cond_t *condition);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);

// An observer, and its dispatcher thread.
typedef struct seat {
    tidings_observer *observer;  // NULL: free
    bool dispatched;             // has a thread, or will have one
    bool parked;                 // the thread waits for its turn
    bool turn;
    int found;  // the first ones of `deliveries` are what the thread is to return with
    bool interrupted;
    tidings_delivery *deliveries;  // the thread's, while it is parked
    size_t count;                  // its room
    pthread_cond_t *waits;         // the thread waits there, in the Swift layer, for room in a buffer
} seat;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;  // for the harness: a thread rests, a center is closed
static seat seats[SEATS];
static pthread_cond_t wakes[SEATS] = {[0 ... SEATS - 1] = PTHREAD_COND_INITIALIZER};  // for the thread of each seat
static unsigned centers;                                                              // open ones
static unsigned threads;  // those of the Swift layer that have not ended
// Threads that have left `threads`, and may still free what is their own.
static pid_t *ending;
static size_t ending_count, ending_room;
static bool dispatched = true;
static _Thread_local seat *own;

static void say(void) { (void)__real_pthread_cond_broadcast(&changed); }
static void wake(const seat *s) { (void)__real_pthread_cond_broadcast(&wakes[s - seats]); }

static seat *seat_of(const tidings_observer *observer) {
    for (unsigned i = 0; observer && i < SEATS; i++)
        if (seats[i].observer == observer) return &seats[i];
    return NULL;
}

// MARK: Centers

int __wrap_tidings_open(const char *name, const tidings_configuration *configuration, tidings_center **center) {
    const int result = __real_tidings_open(name, configuration, center);
    (void)pthread_mutex_lock(&lock);
    if (result == 0) centers++;
    (void)pthread_mutex_unlock(&lock);
    return result;
}

void __wrap_tidings_close(tidings_center *center) {
    __real_tidings_close(center);
    (void)pthread_mutex_lock(&lock);
    centers--;
    say();
    (void)pthread_mutex_unlock(&lock);
}

// MARK: Observers

int __wrap_tidings_observer_open(tidings_center *center, uint32_t flags, tidings_observer **observer) {
    const int result = __real_tidings_observer_open(center, flags, observer);
    if (result != 0) return result;
    (void)pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < SEATS && seats[i].observer) i++;
    MUST(i < SEATS, i);
    seats[i] = (seat){.observer = *observer, .dispatched = dispatched};
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

void __wrap_tidings_observer_close(tidings_observer *observer) {
    (void)pthread_mutex_lock(&lock);
    seat *s = seat_of(observer);
    (void)pthread_mutex_unlock(&lock);
    __real_tidings_observer_close(observer);
    if (!s) return;
    (void)pthread_mutex_lock(&lock);
    memset(s, 0, sizeof *s);
    if (own == s) own = NULL;
    say();
    (void)pthread_mutex_unlock(&lock);
}

void __wrap_tidings_observer_interrupt(tidings_observer *observer) {
    (void)pthread_mutex_lock(&lock);
    seat *s = seat_of(observer);
    if (s) s->interrupted = true, wake(s);
    (void)pthread_mutex_unlock(&lock);
}

int __wrap_tidings_next_many(tidings_observer *observer, int64_t timeout_ns, tidings_delivery *deliveries,
                             size_t count) {
    if (timeout_ns == 0) return __real_tidings_next_many(observer, 0, deliveries, count);
    int result = -EINTR;
    (void)pthread_mutex_lock(&lock);
    seat *s = own = seat_of(observer);
    MUST(s != NULL, timeout_ns);
    while (!s->interrupted) {
        if (s->found) {
            result = s->found;
            s->found = 0;
            break;
        }
        if (s->turn) {
            (void)pthread_mutex_unlock(&lock);
            result = __real_tidings_next_many(observer, 0, deliveries, count);
            (void)pthread_mutex_lock(&lock);
            if (result != -EAGAIN) break;
            result = -EINTR;
            s->turn = false;
        }
        s->parked = true;
        s->deliveries = deliveries;
        s->count = count;
        say();
        (void)__real_pthread_cond_wait(&wakes[s - seats], &lock);
        s->parked = false;
    }
    if (result == -EINTR) s->interrupted = false;
    (void)pthread_mutex_unlock(&lock);
    return result;
}

// MARK: Waits of the Swift layer

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    seat *s = own;
    if (!s) return __real_pthread_cond_wait(condition, mutex);
    (void)pthread_mutex_lock(&lock);
    s->waits = condition;
    say();
    (void)pthread_mutex_unlock(&lock);
    const int result = __real_pthread_cond_wait(condition, mutex);
    (void)pthread_mutex_lock(&lock);
    s->waits = NULL;
    (void)pthread_mutex_unlock(&lock);
    return result;
}

// The thread that wakes it counts it as running from then on.
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition) {
    (void)pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < SEATS; i++)
        if (seats[i].waits == condition) seats[i].waits = NULL;
    (void)pthread_mutex_unlock(&lock);
    return __real_pthread_cond_broadcast(condition);
}

// MARK: Turns

static void check_deadline(const struct timespec *end, const char *what) {
    if (pthread_cond_timedwait(&changed, &lock, end) == ETIMEDOUT) fuzz_fail(what, 0);
}

static struct timespec deadline_from_now(void) {
    struct timespec end;
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += HANG_TIMEOUT_S;
    return end;
}

// With the lock held.
static void wait_until_it_rests(const seat *s) {
    const struct timespec end = deadline_from_now();
    while (s->observer && s->dispatched && !s->waits && (!s->parked || s->turn || s->interrupted))
        check_deadline(&end, "a dispatcher thread does not come to rest");
}

void harness_dispatched(bool are) { dispatched = are; }

void harness_settle(void) {
    (void)pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < SEATS; i++) wait_until_it_rests(&seats[i]);
    for (unsigned i = 0; i < SEATS; i++) {
        if (!seats[i].observer || !seats[i].parked) continue;
        // Looked for here: to wake a thread that finds nothing takes longer than all else on a busy machine. An error
        // is found again by the thread, which has its line then.
        const int result = __real_tidings_next_many(seats[i].observer, 0, seats[i].deliveries, seats[i].count);
        if (result == -EAGAIN) continue;
        seats[i].found = result > 0 ? result : 0;
        seats[i].turn = true;
        wake(&seats[i]);
        wait_until_it_rests(&seats[i]);
    }
    (void)pthread_mutex_unlock(&lock);
}

// MARK: Threads of the Swift layer

typedef struct begun {
    void *(*body)(void *);
    void *argument;
} begun;

static void *counted(void *argument) {
    const begun thread = *(begun *)argument;
    free(argument);
    void *result = thread.body(thread.argument);
    (void)pthread_mutex_lock(&lock);
    threads--;
    if (ending_count == ending_room) {
        ending_room += 64;
        ending = realloc(ending, ending_room * sizeof *ending);
        MUST(ending != NULL, ENOMEM);
    }
    ending[ending_count++] = gettid();
    say();
    (void)pthread_mutex_unlock(&lock);
    return result;
}

// With the lock held. What a thread has to free at its end would be reported as leaked, and so would what a closure
// uses that was set aside and still runs.
static void await_threads(const struct timespec *end) {
    while (threads > 0) check_deadline(end, "a thread of the Swift layer does not end");
    for (; ending_count > 0; ending_count--)
        // The kernel tells no thread of the end of a detached one. Not for ever: the number may be another thread's by
        // now.
        for (int i = 0; i < 20000 && tgkill(getpid(), ending[ending_count - 1], 0) == 0; i++) (void)usleep(50);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    begun *begin = malloc(sizeof *begin);
    MUST(begin != NULL, ENOMEM);
    *begin = (begun){body, argument};
    (void)pthread_mutex_lock(&lock);
    threads++;
    (void)pthread_mutex_unlock(&lock);
    const int result = __real_pthread_create(thread, attributes, counted, begin);
    if (result == 0) return 0;
    free(begin);
    (void)pthread_mutex_lock(&lock);
    threads--;
    (void)pthread_mutex_unlock(&lock);
    return result;
}

void lockstep_end(void) {
    (void)pthread_mutex_lock(&lock);
    const struct timespec end = deadline_from_now();
    while (centers > 0) check_deadline(&end, "an unused center is not closed");
    await_threads(&end);
    (void)pthread_mutex_unlock(&lock);
    dispatched = true;
}
