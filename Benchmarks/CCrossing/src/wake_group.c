// Many sleepers. They are forked by one member, which hasn't used the library before, and end with it.
#include "internal.h"

#include "wake_group.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

int crossing_fork_all(crossing_area *area, const char *center, uint32_t processes, crossing_member member) {
    int parent = getpid();
    if (processes > CROSSING_PLACES) return -EINVAL;
    for (uint32_t place = 0; place < processes; place++) {
        pid_t child = fork();
        if (child < 0) return -errno;
        if (child > 0) continue;
        int result = bench_die_with(parent);
        crossing_set_value(area, place, 0, (uint64_t)getpid());
        if (result == 0) result = member(area, center, place);
        if (result < 0) {
            fprintf(stderr, "sleeper %u: %s (%s)\n", place, strerror(-result), tidings_last_error());
            _exit(1);
        }
        _exit(0);
    }
    // One that fails ends all, which the runner sees.
    int status, ended = 0;
    while (ended < (int)processes) {
        if (wait(&status) < 0) return -errno;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return -ECHILD;
        ended += 1;
    }
    return 0;
}

static int observe_own(const char *center_name, uint32_t place, tidings_observer **observer) {
    char name[64];
    tidings_center *center;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    snprintf(name, sizeof name, "com.example.sleepers.other-%u", place);
    CROSSING_TRY(crossing_observe(center, name, 0, observer));
    tidings_observer_spin(*observer, 0);
    return 0;
}

static int sleep_for_ever(tidings_observer *observer) {
    tidings_delivery delivery;
    for (;;) CROSSING_TRY(tidings_next(observer, -1, &delivery));
}

static int sleeper(crossing_area *area, const char *center, uint32_t place) {
    tidings_observer *observer;
    CROSSING_TRY(observe_own(center, place, &observer));
    crossing_ready(area);
    return sleep_for_ever(observer);
}

int crossing_wake_group_sleep(crossing_area *area, const char *center, uint32_t processes) {
    return crossing_fork_all(area, center, processes, sleeper);
}

static int waiter(crossing_area *area, const char *center, uint32_t place) {
    (void)center;
    (void)place;
    crossing_ready(area);
    while (atomic_load(&area->go) != CROSSING_STOP) crossing_futex_wait(&area->go, 0);
    return 0;
}

int crossing_wake_group_wait(crossing_area *area, uint32_t processes) {
    return crossing_fork_all(area, "", processes, waiter);
}

static void *sleeping_thread(void *argument) {
    sleep_for_ever(argument);
    return NULL;
}

int crossing_threads_sleep(crossing_area *area, const char *center_name, uint32_t observers) {
    tidings_center *center;
    pthread_attr_t attributes;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    for (uint32_t place = 0; place < observers; place++) {
        char name[64];
        tidings_observer *observer;
        pthread_t thread;
        snprintf(name, sizeof name, "com.example.sleepers.other-%u", place);
        CROSSING_TRY(crossing_observe(center, name, 0, &observer));
        tidings_observer_spin(observer, 0);
        CROSSING_TRY(-pthread_create(&thread, &attributes, sleeping_thread, observer));
    }
    crossing_ready(area);
    for (;;) pause();
}

// Names of one observer: adding one more takes the longer the more it has.
#define NAMES_EACH 200u

int crossing_names_sleep(crossing_area *area, const char *center_name, uint32_t names) {
    tidings_observer *observer = NULL;
    tidings_center *center;
    CROSSING_TRY(tidings_open(center_name, NULL, &center));
    for (uint32_t index = 0; index < names; index++) {
        char name[64];
        uint32_t subscription;
        if (index % NAMES_EACH == 0) CROSSING_TRY(tidings_observer_open(center, 0, &observer));
        int length = snprintf(name, sizeof name, "com.example.names.%u.changed", index);
        CROSSING_TRY(tidings_observer_add(observer, name, (size_t)length, NULL, 0, 0, &subscription));
    }
    tidings_observer_spin(observer, 0);
    crossing_ready(area);
    return sleep_for_ever(observer);
}
