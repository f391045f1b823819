// How soon a process that sleeps learns that another one was killed. Each sample kills a process of its own, the
// target. The time of the sleeper comes from a clock that all processors share, as in wake.c.
#include "internal.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

// Places of the area, and the values of each.
enum { SLEEPER, TARGET };
enum { TURN = 0, TICKS = 1 };  // SLEEPER: it has learned of death number TURN, at TICKS
enum { THERE = 0, HELD = 1 };  // TARGET: number THERE is there; number HELD may be killed

// A sleeper that has lain down may still be on its way into the kernel.
static const struct timespec settle = {.tv_nsec = 3000000};
static const struct timespec moment = {.tv_nsec = 200000};

static pthread_mutex_t *mutex_of(crossing_area *area) { return (pthread_mutex_t *)(void *)area->payloads; }

size_t crossing_death_bytes(uint32_t count) { return 4096 + count * sizeof(uint64_t); }

uint64_t *crossing_death_samples(crossing_area *area) { return (uint64_t *)(void *)(area->payloads + 4096); }

// Asleep itself, so that it takes no processor from the others.
static int await_value(crossing_area *area, uint32_t place, uint32_t index, uint32_t value) {
    const uint64_t end = crossing_now_ns() + CROSSING_TIMEOUT_NS;
    while (crossing_value(area, place, index) < value) {
        if (crossing_now_ns() > end) return -ETIMEDOUT;
        nanosleep(&moment, NULL);
    }
    return 0;
}

int crossing_death_await_server(crossing_area *area, uint32_t turn) { return await_value(area, TARGET, THERE, turn); }

void crossing_death_told(crossing_area *area, uint32_t turn) {
    crossing_set_value(area, SLEEPER, TICKS, bench_ticks());
    crossing_set_value(area, SLEEPER, TURN, turn);
}

// MARK: Targets

static int be_killed(crossing_area *area, const char *center_name, uint32_t what, uint32_t turn) {
    tidings_center *center;
    tidings_server *server;
    tidings_request request;
    if (what == CROSSING_DEATH_OWNER) {
        const int error = pthread_mutex_lock(mutex_of(area));
        if (error) return -error;
    } else {
        CROSSING_TRY(tidings_open(center_name, NULL, &center));
    }
    if (what == CROSSING_DEATH_PARTICIPANT) CROSSING_TRY(tidings_announce(center, "target", 6, NULL, -1));
    if (what == CROSSING_DEATH_SERVER || what == CROSSING_DEATH_SWIFT) {
        CROSSING_TRY(tidings_server_open(center, CROSSING_DEATH_NAME, strlen(CROSSING_DEATH_NAME), &server));
        crossing_set_value(area, TARGET, THERE, turn);
        CROSSING_TRY(tidings_server_next(server, -1, &request));
    }
    crossing_set_value(area, TARGET, THERE, turn);
    crossing_set_value(area, TARGET, HELD, turn);
    for (;;) pause();
}

// MARK: Sleepers

static int await_owners(crossing_area *area) {
    for (uint32_t turn = 1;; turn++) {
        CROSSING_TRY(await_value(area, TARGET, HELD, turn));
        if (pthread_mutex_lock(mutex_of(area)) != EOWNERDEAD) return -EBADMSG;
        crossing_death_told(area, turn);
        pthread_mutex_consistent(mutex_of(area));
        pthread_mutex_unlock(mutex_of(area));
    }
}

static int await_servers(crossing_area *area, const char *center_name) {
    tidings_center *center;
    tidings_caller *caller;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    CROSSING_TRY(tidings_caller_open(center, CROSSING_DEATH_NAME, strlen(CROSSING_DEATH_NAME), &caller));
    tidings_caller_spin(caller, 0);
    crossing_ready(area);
    for (uint32_t turn = 1;; turn++) {
        uint64_t id;
        tidings_outcome outcome;
        CROSSING_TRY(crossing_death_await_server(area, turn));
        CROSSING_TRY(tidings_call(caller, &turn, sizeof turn, NULL, &id));
        CROSSING_TRY(tidings_caller_next(caller, id, -1, &outcome));
        if (outcome.error != -ECONNRESET) return -EBADMSG;
        crossing_death_told(area, turn);
    }
}

static int await_notices(crossing_area *area, const char *center_name) {
    tidings_center *center;
    tidings_observer *observer;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    CROSSING_TRY(tidings_presence_watch(center));
    CROSSING_TRY(crossing_observe(center, TIDINGS_PRESENCE_NAME, 0, &observer));
    tidings_observer_spin(observer, 0);
    crossing_ready(area);
    for (uint32_t turn = 1;;) {
        tidings_delivery delivery;
        tidings_presence notice;
        CROSSING_TRY(tidings_next(observer, -1, &delivery));
        CROSSING_TRY(tidings_presence_read(&delivery, &notice));
        if (notice.event == TIDINGS_PRESENCE_DIED) crossing_death_told(area, turn++);
    }
}

static int sleeper(crossing_area *area, const char *center, uint32_t what, uint32_t turn) {
    (void)turn;
    if (what == CROSSING_DEATH_SERVER) return await_servers(area, center);
    if (what == CROSSING_DEATH_PARTICIPANT) return await_notices(area, center);
    crossing_ready(area);
    return await_owners(area);
}

// MARK: The process that kills

static int make_mutex(crossing_area *area) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    return -pthread_mutex_init(mutex_of(area), &attributes);
}

typedef int (*part)(crossing_area *area, const char *center, uint32_t what, uint32_t turn);

static int start(part part, crossing_area *area, const char *center, uint32_t what, uint32_t turn) {
    const int parent = getpid();
    const pid_t child = fork();
    if (child < 0) return -errno;
    if (child > 0) return child;
    int result = bench_die_with(parent);
    if (result == 0) result = part(area, center, what, turn);
    fprintf(stderr, "deaths: %s (%s)\n", strerror(-result), tidings_last_error());
    _exit(1);
}

int crossing_deaths(crossing_area *area, const char *center, uint32_t what, uint32_t count) {
    const uint32_t warm = count / 10 + 1;
    CROSSING_TRY(make_mutex(area));
    if (what != CROSSING_DEATH_SWIFT) CROSSING_TRY(start(sleeper, area, center, what, 0));
    while (crossing_members(area) == 0) nanosleep(&moment, NULL);
    for (uint32_t turn = 1; turn <= warm + count; turn++) {
        const int target = start(be_killed, area, center, what, turn);
        if (target < 0) return target;
        CROSSING_TRY(await_value(area, TARGET, HELD, turn));
        nanosleep(&settle, NULL);
        const uint64_t begun = bench_ticks();
        if (kill(target, SIGKILL) != 0) return -errno;
        CROSSING_TRY(await_value(area, SLEEPER, TURN, turn));
        const uint64_t ticks = crossing_value(area, SLEEPER, TICKS) - begun;
        if (turn > warm) crossing_death_samples(area)[turn - warm - 1] = bench_picoseconds(ticks);
        if (waitpid(target, NULL, 0) < 0) return -errno;
    }
    return 0;
}
