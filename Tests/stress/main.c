// Stress test: many processes post and observe at random. They are killed, stopped, forked and replaced on the way. It
// proves that no other process noticed. See README.md.
#include "director.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>

totals total;
uint32_t violations;

void violation(const char *format, ...) {
    if (violations++ >= 20) return;
    va_list arguments;
    va_start(arguments, format);
    printf("violation: ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(stdout);
}

static venue venues[] = {{.slots = 256}, {.slots = 1024}, {.slots = 4096}};
#define VENUES (sizeof venues / sizeof venues[0])

static void remove_directory(void) {
    char path[600];
    DIR *directory = opendir(all->directory);
    for (struct dirent *d; directory && (d = readdir(directory));) {
        if (d->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", all->directory, d->d_name);
        unlink(path);
    }
    if (directory) closedir(directory);
    rmdir(all->directory);
}

// If all of us are killed from outside, no process of ours is left to clean up. So a guard, in a session of its own,
// waits until the last process's end of a pipe is closed.
static void leave_a_guard(void) {
    int ends[2];
    CHECK(pipe(ends) == 0, "%s", strerror(errno));
    const pid_t pid = fork();
    CHECK(pid >= 0, "%s", strerror(errno));
    if (pid == 0) {
        if (fork() != 0) _exit(0);  // not our child: rounds wait for their children
        setsid();
        close(ends[1]);
        const int nothing = open("/dev/null", O_RDWR);
        for (int fd = 0; fd <= 2; fd++) dup2(nothing, fd);  // a reader of our output must not wait for the guard
        char byte;
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {}
        remove_directory();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    close(ends[0]);
}

// Each program creates its share of the centers.
static void create_center(uint32_t number) {
    const pid_t pid = fork();
    CHECK(pid >= 0, "%s", strerror(errno));
    if (pid == 0) self_exec("--center", number, number);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0, "no center: %x",
          (unsigned)status);
}

static const char *const *programs;  // the options name them; NULL ends them

static void share_programs(void) {
    while (programs && programs[all->program_count]) {
        CHECK(all->program_count < PROGRAMS, "more than %u programs", PROGRAMS);
        char *path = realpath(programs[all->program_count], NULL);
        CHECK(path && strlen(path) < sizeof all->programs[0], "%s: %s", programs[all->program_count], strerror(errno));
        strcpy(all->programs[all->program_count++], path);
        free(path);
    }
}

static int stress(uint64_t seed, uint64_t posts, uint64_t seconds, uint64_t rounds, const char *plant) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    board_create(seed);
    share_programs();
    snprintf(all->plant, sizeof all->plant, "%s", plant ? plant : "");
    snprintf(all->directory, sizeof all->directory, "/dev/shm/stress.XXXXXX");
    CHECK(mkdtemp(all->directory), "%s", strerror(errno));
    const pid_t self = getpid();
    atexit(remove_directory);
    leave_a_guard();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    printf("stress: seed %lu\n", (unsigned long)seed);
    for (size_t i = 0; i < VENUES; i++) {
        all->slots = venues[i].slots;
        if (all->program_count) create_center((uint32_t)i);
        venues[i].center = center_join(false);
        hand_open(&venues[i].hand, venues[i].center, 0, chance_of(seed, 2, i));
    }
    if (plant && (strcmp(plant, "hang") == 0 || strcmp(plant, "intestate") == 0)) hang_timeout_s = 5;
    chance c = chance_of(seed, 3, 3);
    const uint64_t begun = seconds_now();
    uint64_t told = begun, revoked = 0;
    while (violations == 0 && total.posts < posts && seconds_now() - begun < seconds && all->round < rounds &&
           getpid() == self) {
        round_run(&venues[all->round % VENUES], &c);
        if (seconds_now() - told < 30) continue;
        told = seconds_now();
        printf("stress: %lu posts, %lu deliveries, %lu missed, %lu kills so far\n", (unsigned long)total.posts,
               (unsigned long)total.deliveries, (unsigned long)total.missed, (unsigned long)total.kills);
    }
    for (size_t i = 0; i < VENUES; i++) revoked += venues[i].revoked;
    printf("stress: seed %lu: %lu rounds, %lu s: %lu posts, %lu refused, %lu of unknown fate; %lu deliveries, %lu "
           "missed, %lu kept ones shown, %lu states, %lu looked at in a calm; %lu kills, "
           "%lu stops, %u forks, %u execs, %u reopened, %u cancelled, %u sections, %lu revoked; longest gust %lu ms, "
           "its end %lu "
           "ms, until calm %lu ms; %lu joined, %lu closed, %lu died, %lu last wills: %u violations\n",
           (unsigned long)seed, (unsigned long)total.rounds, (unsigned long)(seconds_now() - begun),
           (unsigned long)total.posts, (unsigned long)total.refused, (unsigned long)total.unknown,
           (unsigned long)total.deliveries, (unsigned long)total.missed, (unsigned long)total.kept,
           (unsigned long)total.states, (unsigned long)total.sleepers, (unsigned long)total.kills,
           (unsigned long)total.stops, atomic_load(&all->forks), atomic_load(&all->execs), atomic_load(&all->reopened),
           atomic_load(&all->cancelled), atomic_load(&all->sections), (unsigned long)revoked,
           (unsigned long)longest_ms[0], (unsigned long)longest_ms[1], (unsigned long)longest_ms[2],
           (unsigned long)total.joined, (unsigned long)total.closed, (unsigned long)total.died,
           (unsigned long)total.wills, violations);
    return violations > 0;
}

// MARK: Does it find what it looks for?

static const struct fault {
    const char *plant, *found;
} faults[] = {
    {"drop", "not delivered and not told"},  // a delivery
    {"deaf", "in a calm, asleep"},           // all deliveries, from some moment on, as if no poster rang
    {"hang", "hang: "},                      // an observer that neither sleeps nor goes on
    {"duplicate", ": duplicate: "},
    {"swap", ": order: "},    // two deliveries
    {"exchange", "order: "},  // the place of one
    {"fewer", ": gap: "},     // were missed than it was told
    {"more", ": gap: "},
    {"alter", "isn't what was posted"},  // a bit of a payload
    {"bare", "without its section"},     // a section is not posted
    {"refuse", "refused: "},             // a post that was none, it says
    {"stale", "kept: "},                 // what it was shown as kept
    {"state", "kept: "},
    {"leak", "leak: "},                    // an observer that is never closed
    {"mute", "neither closed nor died"},   // a notice of an end
    {"again", "presence: told twice"},     // a notice
    {"linger", "presence: closed, and "},  // a process that leaves, and doesn't say so
    {"intestate", "wills not told"},       // a last will that it says it left
};

static struct {
    pid_t pid;
    FILE *output;
    bool found;
} searches[sizeof faults / sizeof faults[0]];

// Each round has its fault up to eight times, wherever the schedule leads: some 20,000 posts pass the places of the
// faults. A kill can take the evidence of one. The number of rounds does not depend on the machine's speed, as a time
// would; the first round has shown each fault so far.
#define ROUNDS_OF_A_SEARCH 24

static void search(uint64_t seed, size_t i) {
    searches[i].output = tmpfile();
    CHECK(searches[i].output, "%s", strerror(errno));
    fflush(NULL);
    const pid_t pid = fork();
    CHECK(pid >= 0, "%s", strerror(errno));
    if (pid == 0) {
        dup2(fileno(searches[i].output), STDOUT_FILENO);
        dup2(fileno(searches[i].output), STDERR_FILENO);
        // Ends with the first round that has a violation.
        exit(stress(seed, UINT64_MAX, UINT64_MAX, ROUNDS_OF_A_SEARCH, faults[i].plant));
    }
    searches[i].pid = pid;
}

static void finish_a_search(void) {
    int status;
    const pid_t pid = wait(&status);
    CHECK(pid > 0, "%s", strerror(errno));
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (searches[i].pid != pid) continue;
        rewind(searches[i].output);
        char line[600];
        while (fgets(line, sizeof line, searches[i].output)) searches[i].found |= strstr(line, faults[i].found) != NULL;
        fclose(searches[i].output);
        searches[i].found &= WIFEXITED(status) && WEXITSTATUS(status) == 1;
        printf("stress: planted \"%s\": %s\n", faults[i].plant, searches[i].found ? "found" : "NOT FOUND");
    }
}

// Two at a time: a run waits as much as it computes.
static int self_test(uint64_t seed) {
    int missed = 0;
    const size_t count = sizeof faults / sizeof faults[0];
    for (size_t i = 0; i < count; i++) {
        if (i >= 2) finish_a_search();
        search(seed, i);
    }
    for (int left = 0; left < 2; left++) finish_a_search();
    for (size_t i = 0; i < count; i++) missed += !searches[i].found;
    return missed > 0;
}

int main(int count, char **arguments) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_IGN);
    const bool center = count == 5 && strcmp(arguments[1], "--center") == 0;
    if (center || (count == 5 && (strcmp(arguments[1], "--poster") == 0 || strcmp(arguments[1], "--observer") == 0))) {
        board_map(atoi(arguments[2]));
        const uint32_t number = (uint32_t)atoi(arguments[3]), incarnation = (uint32_t)atoi(arguments[4]);
        if (center) tidings_close(center_join(false));
        if (center) return 0;
        if (strcmp(arguments[1], "--poster") == 0) poster_main(number, incarnation);
        observer_main(number, incarnation);
    }
    const char *plant = getenv("STRESS_PLANT");
    if (count == 3 && strcmp(arguments[1], "--self-test") == 0) return self_test(strtoull(arguments[2], NULL, 10));
    if (count > 4) programs = (const char *const *)&arguments[4];
    if (count >= 4 && strcmp(arguments[1], "--posts") == 0)
        return stress(strtoull(arguments[3], NULL, 10), strtoull(arguments[2], NULL, 10), UINT64_MAX, UINT64_MAX,
                      plant);
    if (count >= 4 && strcmp(arguments[1], "--seconds") == 0)
        return stress(strtoull(arguments[3], NULL, 10), UINT64_MAX, strtoull(arguments[2], NULL, 10), UINT64_MAX,
                      plant);
    fprintf(stderr, "usage: Stress --posts COUNT SEED [PROGRAM…] | Stress --seconds COUNT SEED [PROGRAM…] | "
                    "Stress --self-test SEED\n");
    return 64;
}
