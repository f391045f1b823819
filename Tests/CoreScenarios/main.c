#include "scenario.h"

#include <sys/stat.h>
#include <sys/types.h>

static uint64_t seed = 1;

uint64_t random_next(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

tidings_center *center_open(uint32_t slots) {
    tidings_configuration configuration = {.slots = slots};
    tidings_center *center;
    OK(tidings_open("scenario", &configuration, &center));
    return center;
}

tidings_topic *topic_open(tidings_center *center, const char *name) {
    tidings_topic *topic;
    OK(tidings_topic_open(center, name, strlen(name), NULL, 0, &topic));
    return topic;
}

tidings_observer *observer_open(tidings_center *center, const char *name, uint32_t flags, uint32_t add_flags) {
    tidings_observer *observer;
    uint32_t interest;
    OK(tidings_observer_open(center, flags, &observer));
    if (add_flags & TIDINGS_ADD_HISTORY) OK(tidings_observer_seek(observer, 0));
    OK(tidings_observer_add(observer, name, name ? strlen(name) : 0, NULL, 0, add_flags, &interest));
    return observer;
}

pid_t child(void (*body)(void *), void *argument) {
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0, "fork: %s", strerror(errno));
    if (pid > 0) return pid;
    alarm(50);
    body(argument);
    _exit(0);
}

void child_ends_well(pid_t pid) {
    int status;
    CHECK(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child ended with status %x", status);
}

void child_kill(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

gate gate_make(void) {
    gate gate;
    CHECK(pipe(gate.ends) == 0, "pipe: %s", strerror(errno));
    return gate;
}
void gate_open(gate *gate) {
    CHECK(write(gate->ends[1], "x", 1) == 1, "write: %s", strerror(errno));
}
void gate_await(gate *gate) {
    char byte;
    CHECK(read(gate->ends[0], &byte, 1) == 1, "read: %s", strerror(errno));
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"sizes", sizes},
    {"exactLoss", exact_loss},
    {"killedPosters", killed_posters},
    {"stoppedPoster", stopped_poster},
    {"sleepingObserver", sleeping_observer},
    {"noSystemCall", no_system_call},
    {"lossless", lossless},
    {"state", state},
    {"forked", forked},
    {"many", many},
    {"badInput", bad_input},
    {"leftHalfDone", left_half_done},
    {"threads", threads},
    {"churn", churn},
    {"descriptor", descriptor},
};

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: CoreScenarios NAME SEED DIRECTORY\n");
        return 64;
    }
    seed = strtoull(arguments[2], NULL, 10) | 1;
    setenv("TIDINGS_DIRECTORY", arguments[3], 1);
    alarm(55);
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        if (strcmp(scenarios[i].name, arguments[1]) != 0) continue;
        scenarios[i].run();
        return 0;
    }
    fprintf(stderr, "CoreScenarios: no scenario is called %s\n", arguments[1]);
    return 64;
}
