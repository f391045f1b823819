// Linked in front of the core's own (--wrap): what happens by itself in a process happens here when the input says so.
// Time passes as it is asked for and sleep takes none, so inputs run the same each time, a hundred times as many a
// second where claims are waited for, and a wait that is too long is known at once. A fork goes on in this process as
// its own child. Helper threads run when it is their turn.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <string.h>

#include "fuzz.h"
#include "platform/futex.h"
#include "presence/guard.h"

#define ASKED_NS 1000  // a loop that waits for a time gets there
#define LATE 8         // and a sleeper wakes up later than it wanted, as on a busy machine
#define HOOKS 8u
#define HELPERS 8u
#define GUARD_NAPS 4u  // of a guard in one turn: so it takes over reports, and tries posts again

uint64_t __wrap_tidings__monotonic_ns(void);
int __wrap_tidings__futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);
int __wrap_tidings__futex_wait_any(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns);
int __wrap_tidings__futex_wait_either(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns);
void __wrap_tidings__nap(int64_t ns);
void __wrap_tidings__yield(void);
void __wrap_tidings__heavy_barrier(void);
uint32_t __wrap_tidings__processors(void);
uint64_t __wrap_tidings__random(void);
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __wrap_tidings__thread_start(pthread_t *thread, void *(*body)(void *), void *argument, size_t stack);
int __wrap_pthread_join(pthread_t thread, void **result);
int32_t __wrap_tidings__watch_add(int fd, const char *path, void (*changed)(int32_t watch));
void __wrap_tidings__watch_remove(int32_t watch);
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_tidings__guard_start(tidings__guard *guard, tidings_center *center);
void __wrap_tidings__guard_stop(tidings__guard *guard);

// MARK: Time

static uint64_t now = UINT64_C(1000000000), slept, drawn;
static uint32_t processors = 1;
static jmp_buf asleep;
static bool in_helper;
static const tidings__guard *turn_of;  // the guard whose turn it is
static unsigned naps;

void process_begin(void) {
    processors = 1;
    drawn = 0;
}

void process_processors(uint32_t there) { processors = there; }
uint64_t __wrap_tidings__random(void) { return ++drawn * UINT64_C(0x9e3779b97f4a7c15); }
uint32_t __wrap_tidings__processors(void) { return processors; }

uint64_t process_slept(void) {
    const uint64_t since = slept;
    slept = 0;
    return since;
}

uint64_t __wrap_tidings__monotonic_ns(void) { return now += ASKED_NS; }

static void sleep_for(int64_t ns) {
    if (in_helper && !turn_of) longjmp(asleep, 1);
    MUST(ns >= 0, ns);  // nothing would ever wake us
    now += LATE * (uint64_t)ns;
    // A guard keeps no caller waiting.
    if (!turn_of) slept += LATE * (uint64_t)ns;
}

int __wrap_tidings__futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns) {
    if (atomic_load(word) != expected) return -EAGAIN;
    sleep_for(timeout_ns);
    return -ETIMEDOUT;
}

int __wrap_tidings__futex_wait_any(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns) {
    for (uint32_t i = 0; i < count; i++)
        if (atomic_load(values[i].word) != values[i].value) return -EAGAIN;
    // A guard sleeps between its rounds. In a post it is not left: that would leak.
    if (turn_of && values[0].word == &turn_of->state && (timeout_ns < 0 || naps++ == GUARD_NAPS)) longjmp(asleep, 1);
    sleep_for(timeout_ns);
    return -ETIMEDOUT;
}

int __wrap_tidings__futex_wait_either(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns) {
    return __wrap_tidings__futex_wait_any(values, count, timeout_ns);
}

void __wrap_tidings__nap(int64_t ns) { sleep_for(ns); }
// One thread needs neither, and on a busy machine each may take milliseconds.
void __wrap_tidings__yield(void) {}
void __wrap_tidings__heavy_barrier(void) {}

// MARK: Forks

static struct {
    void *(*body)(void *);
    void *argument;
} helpers[HELPERS];

static struct { void (*prepare)(void), (*child)(void); } hooks[HOOKS];

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    (void)parent;  // nothing here forks
    for (unsigned i = 0; i < HOOKS; i++) {
        if (hooks[i].prepare || hooks[i].child) continue;
        hooks[i].prepare = prepare;
        hooks[i].child = child;
        return 0;
    }
    return ENOMEM;
}

void process_fork(void) {
    for (unsigned i = HOOKS; i-- > 0;)
        if (hooks[i].prepare) hooks[i].prepare();
    for (unsigned i = 0; i < HOOKS; i++)
        if (hooks[i].child) hooks[i].child();
    memset(helpers, 0, sizeof helpers);  // a child has one thread
}

// MARK: Ends of centers

// No process deletes files here; a center ends by its word alone, or by a check of its file.
int32_t __wrap_tidings__watch_add(int fd, const char *path, void (*changed)(int32_t watch)) {
    (void)fd;
    (void)path;
    (void)changed;
    return 1;
}
int32_t __wrap_tidings__watch_add_directory(const char *path, void (*changed)(int32_t watch));
int32_t __wrap_tidings__watch_add_directory(const char *path, void (*changed)(int32_t watch)) {
    (void)path;
    (void)changed;
    return 1;
}
bool __wrap_tidings__watch_runs(void);
bool __wrap_tidings__watch_runs(void) { return true; }
void __wrap_tidings__watch_remove(int32_t watch) { (void)watch; }

// MARK: Threads

// Their numbers; no thread has such small ones.
int __wrap_tidings__thread_start(pthread_t *thread, void *(*body)(void *), void *argument, size_t stack) {
    (void)stack;
    for (unsigned i = 0; i < HELPERS; i++) {
        if (helpers[i].body) continue;
        helpers[i].body = body;
        helpers[i].argument = argument;
        *thread = (pthread_t)(i + 1);
        return 0;
    }
    return EAGAIN;
}

static void *guard_turn(void *guard) {
    turn_of = guard;
    naps = 0;
    tidings__guard_run(guard);
    return NULL;
}

static bool run(unsigned i) {
    in_helper = true;
    const bool ended = setjmp(asleep) == 0 && (helpers[i].body(helpers[i].argument), true);
    in_helper = false;
    turn_of = NULL;
    return ended;
}

void process_turn(void) {
    for (unsigned i = 0; i < HELPERS; i++)
        if (helpers[i].body) MUST(!run(i), i);
}

int __wrap_pthread_join(pthread_t thread, void **result) {
    if (thread == 0 || thread > HELPERS) return __real_pthread_join(thread, result);
    const unsigned i = (unsigned)thread - 1;
    MUST(run(i), i);  // the joining thread has told it to end
    helpers[i].body = NULL;
    return 0;
}

// MARK: Guards

// Their threads are helpers, too: their own robust list would be this thread's. The life words are set as the kernel
// finds them.
int __wrap_tidings__guard_start(tidings__guard *guard, tidings_center *center) {
    guard->center = center;
    const int error = __wrap_tidings__thread_start(&guard->thread, guard_turn, guard, 0);
    if (error) return -error;
    guard->life = UINT32_C(1) << 31 | (uint32_t)guard->thread;
    tidings__presence_line *line = tidings__presence_line_at(&center->segment, center->participant);
    atomic_store(&line->life[0], guard->life);
    atomic_store(&line->life[2], guard->life);
    atomic_store(&guard->state, TIDINGS__GUARD_READY);
    return 0;
}

void __wrap_tidings__guard_stop(tidings__guard *guard) {
    atomic_store(&guard->state, TIDINGS__GUARD_ENDS);
    (void)__wrap_pthread_join(guard->thread, NULL);
}

void process_guard_dies(tidings_center *center) {
    if (center && center->guard) tidings__guard_set_life(center->guard, TIDINGS__LIFE_DIED);
}
