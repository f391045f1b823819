// The kernel: futexes, the barrier for all processors, locks that end with their holder, robust claims, time. In place
// of src/platform's files of these names.
#include "kernel.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "center/center.h"
#include "platform/barrier.h"
#include "platform/clock.h"
#include "platform/lock.h"
#include "platform/watch.h"
#include "registry/doorbell.h"
#include "storage.h"

// MARK: Futexes

// A reader looks again after a second, in case a peer moved it off its name futexes. No fiber does that here, and a
// name futex that isn't woken must show.
#define FOR_EVER 1000000000

int tidings__futex_wait_any(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns) {
    fiber *f = machine.current;
    if (!f) return -EAGAIN;
    machine_system_call("FUTEX_WAIT", values[0].word);
    for (uint32_t i = 0; i < count; i++) {
        f->words[i] = machine_canonical(values[i].word);
        if (*(volatile uint32_t *)f->words[i] != values[i].value) return -EAGAIN;
    }
    if (timeout_ns == 0) return -ETIMEDOUT;
    f->word_count = count;
    f->timed = timeout_ns > 0 && timeout_ns < FOR_EVER;
    f->wake_at = f->timed ? machine.now + (uint64_t)timeout_ns : UINT64_MAX;
    machine_sleep();
    f->word_count = 0;
    return f->answer;
}

int tidings__futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns) {
    return tidings__futex_wait_any(&(tidings__futex_value){word, expected}, 1, timeout_ns);
}

int tidings__futex_wait_either(const tidings__futex_value *values, uint32_t count, int64_t timeout_ns) {
    return tidings__futex_wait_any(values, count, timeout_ns);
}
bool tidings__futex_takes_several(void) { return true; }

// A fiber that was woken by one word, or whose time is up, stays among the sleepers of its other words until it runs:
// as in the kernel, where the sleeper itself leaves the queues. So a wake-up can be spent on a fiber that is awake.
static uintptr_t *queued_on(fiber *f, uintptr_t at) {
    if (f->state != ASLEEP && f->state != READY) return NULL;
    for (uint32_t i = 0; i < f->word_count; i++)
        if (f->words[i] == at) return &f->words[i];
    return NULL;
}

static int wake(uintptr_t at, int count) {
    int woken = 0;
    while (woken < count) {
        fiber *longest = NULL;
        for (uint32_t i = 0; i < machine.fiber_count; i++) {
            fiber *f = &machine.fibers[i];
            if (queued_on(f, at) && (!longest || f->ticket < longest->ticket)) longest = f;
        }
        if (!longest) break;
        *queued_on(longest, at) = longest->words[--longest->word_count];
        longest->state = READY;
        longest->answer = 0;
        woken++;
    }
    return woken;
}

int tidings__futex_wake(_Atomic uint32_t *word, int count) {
    machine_system_call("FUTEX_WAKE", word);
    const uintptr_t at = machine_canonical(word);
    // Readers can sleep in any number on each word that they can map. One call wakes few of them.
    if (writers_files[0].base && machine_inside(at) && !in_writers_file(at) && count > TIDINGS__NAME_FUTEX_PASSES)
        machine_violation("wakes %d sleepers of a word that readers can map", count);
    return wake(at, count);
}

// MARK: Ends of centers

// No center ends here. If a watch failed, sleeps would end early and could hide a lost wake-up: so each watch succeeds.
int32_t tidings__watch_add(int fd, const char *path, void (*changed)(int32_t watch)) {
    (void)fd, (void)path, (void)changed;
    return 1;
}
int32_t tidings__watch_add_directory(const char *path, void (*changed)(int32_t watch)) {
    (void)path, (void)changed;
    return 1;
}
bool tidings__watch_runs(void) { return true; }
void tidings__watch_remove(int32_t watch) { (void)watch; }

// MARK: Death

static void mark(const fiber *f, uintptr_t address) {
    uintptr_t at = machine_canonical((void *)address);
    uint32_t *word = (uint32_t *)at;
    if ((*word & FUTEX_TID_MASK) != f->thread.tid) return;
    machine_dirty(at, 4);
    bool waiters = *word & FUTEX_WAITERS;
    *word = (*word & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
    if (waiters) wake(at, 1);
}

void kernel_death(fiber *f) {
    // First the list, then the pending operation.
    if (f->life) {
        mark(f, f->life);
        mark(f, f->life + 8);
    }
    if (f->pending) mark(f, f->pending);
    const tidings__segment *s = &f->center->segment;
    uint32_t holder = (uint32_t)(s->writers_file ? s->writers_file_fd : s->fd) + 1;
    for (uint32_t i = 0; i < sizeof machine.holders / sizeof machine.holders[0]; i++)
        if (machine.holders[i] == holder) machine.holders[i] = 0;
}

int tidings__lock_try(int fd, uint32_t index, bool writable) {
    if (index == TIDINGS__LOCK_REMOVAL) return 0;
    machine_system_call("lock", NULL);
    uint32_t *holder = &machine.holders[index];
    if (!writable || (*holder != 0 && *holder != (uint32_t)fd + 1)) return -EAGAIN;
    *holder = (uint32_t)fd + 1;
    return 0;
}
int tidings__lock_release(int fd, uint32_t index) {
    if (index == TIDINGS__LOCK_REMOVAL) return 0;
    machine_system_call("unlock", NULL);
    if (machine.holders[index] == (uint32_t)fd + 1) machine.holders[index] = 0;
    return 0;
}
int tidings__lock_held(int fd, uint32_t index) {
    machine_system_call("is it locked", NULL);
    return machine.holders[index] != 0 && machine.holders[index] != (uint32_t)fd + 1;
}

// MARK: The barrier

_Atomic uint32_t tidings__barrier_state;

void tidings__barrier_register(void) { tidings__barrier_state = machine.registered ? 1 : 2; }
void tidings__heavy_barrier(void) {
    machine_system_call(machine.registered ? "membarrier" : "drain time", NULL);
    // Where there is no such call, time does it.
    if (!machine.registered) tidings__nap(2000000);
    for (uint32_t i = 0; i < machine.fiber_count; i++) machine_drain(&machine.fibers[i]);
}

// MARK: Time

uint64_t tidings__monotonic_ns(void) { return machine.now += 100; }
uint64_t tidings__realtime_ns(void) { return machine.now; }
uint64_t tidings__thread_ns(void) { return 0; }
// `tidings__stamp` is inlined into the posts, and asks for this clock.
int clock_gettime(clockid_t clock, struct timespec *time) {
    if (clock != CLOCK_REALTIME_COARSE) return (int)syscall(SYS_clock_gettime, clock, time);
    *time = (struct timespec){.tv_nsec = (long)machine.now};
    return 0;
}
void tidings__stamp_tick(tidings__thread *thread, uint64_t tick) {
    thread->tick_ns = tick;
    thread->tick_precise_ns = tick;
}
void tidings__nap(int64_t ns) {
    fiber *f = machine.current;
    if (!f || ns <= 0) return;
    machine_system_call("nap", NULL);
    f->word_count = 0;
    f->timed = true;
    f->wake_at = machine.now + (uint64_t)ns;
    machine_sleep();
}
void tidings__yield(void) { machine_yield(); }
uint32_t tidings__processors(void) { return 1; }
uint32_t tidings__processors_refresh(void) { return 1; }

// MARK: Threads

_Thread_local tidings__thread tidings__thread_state __attribute__((tls_model("initial-exec")));

// Fibers have theirs from the start. This one is for the code that prepares the schedules and checks their end.
tidings__thread *tidings__thread_refresh(void) {
    static uintptr_t pending;
    tidings__thread_state = (tidings__thread){.tid = 999, .pending = &pending, .fork_epoch = tidings__fork_epoch};
    return &tidings__thread_state;
}

// A thread that the library starts, before the schedules begin.
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    (void)thread, (void)attributes;
    machine_fiber("its helper", NULL, (void (*)(void *))(void *)body, argument)->bystander = true;
    return 0;
}

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (!machine.current) return __real_pthread_mutex_lock(mutex);
    machine_system_call("mutex", NULL);
    while (pthread_mutex_trylock(mutex) != 0) machine_yield();
    return 0;
}
