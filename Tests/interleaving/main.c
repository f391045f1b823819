// Schedules: the real core under a scheduler of ours. README.md
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "center/center.h"
#include "explore.h"
#include "scenario.h"
#include "stage.h"

#define WARM_UP 500
#define LATE_TIMES 4  // a poster revoked each time would never return, and that is no failure

static jmp_buf failed;

// Not among what is put back between schedules.
static struct run {
    const scenario *scene;
    bool quiet, buffers;
    uint64_t schedules, usual;
    char told[512];  // what was wrong
} * run;

void machine_violation(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->told, 512, format, arguments);
    va_end(arguments);
    if (machine.trace) {
        printf("        VIOLATION: %s\n", run->told);
        board_print();
    }
    machine.current = NULL;
    _longjmp(failed, 1);
}

static void crashed(int number) {
    snprintf(run->told, 512, "signal %d (%s)", number, strsignal(number));
    printf("Schedules: %s: %s. Again: Schedules %s ", run->scene->name, run->told, run->scene->name);
    explorer_describe(stdout);
    printf("\n");
    fflush(stdout);
    _exit(1);
}

// One schedule from beginning to end. False: something was wrong.
static bool play(void) {
    machine_restore();
    machine.buffers = run->buffers;
    machine.deaths = run->scene->deaths;
    machine.focus = run->scene->focus;
    machine.late_times = LATE_TIMES;
    machine.stops = !run->scene->focus;  // a scene that needs many changes has no room for it
    if (_setjmp(failed) != 0) return false;
    machine_run();
    // No fiber goes on by itself. All have ended, or wait for later events.
    machine.over = true;
    for (uint32_t i = 0; i < machine.fiber_count; i++) {
        fiber *f = &machine.fibers[i];
        if (f->state == ASLEEP && !f->bystander) machine_violation("%s sleeps for ever", f->name);
    }
    for (uint32_t i = 0; i < board.watcher_count; i++) {
        watcher *w = &board.watchers[i];
        if (w->observer && w->fiber->state == ASLEEP) tidings_observer_interrupt(w->observer);
    }
    if (run->scene->finish) run->scene->finish();
    machine_run();
    board_verify();
    if (run->scene->verify) run->scene->verify();
    stage_orphans();
    return true;
}

// Static, because a violation comes back by longjmp.
static bool once(void) {
    bool good = play();
    run->schedules++;
    return good;
}

static void report(void) {
    char first[512];
    memcpy(first, run->told, sizeof first);
    printf("Schedules: VIOLATION in %s, schedule %llu: %s\n", run->scene->name, (unsigned long long)run->schedules,
           first);
    printf("Again: Schedules %s%s ", run->scene->name,
           run->buffers == run->scene->buffers ? ""
           : run->buffers                      ? " --late"
                                               : " --in-time");
    explorer_describe(stdout);
    printf("\n");
    if (!run->quiet) {
        explorer_again();
        printf("The same with all that happened:\n");
        machine.trace = true;
        once();
    }
    fflush(stdout);
    _exit(1);
}

// Of processor time: how many schedules are tried does not depend on what else the machine does.
static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void warm_up(void) {
    // With a scheduling point at each access, to see which of them are worth one.
    words_share_all(true);
    run->buffers = true;
    for (uint64_t seed = 0; seed < WARM_UP; seed++) {
        explorer_random(seed, 400);
        if (!once()) report();
    }
    run->buffers = run->scene->buffers;
    words_share_all(false);
    words_settle();
    uint64_t points = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        explorer_random(seed, 300);
        if (!once()) report();
        points += explorer_points();
    }
    run->usual = points / 100;
}

// All schedules with so many changes, or those that there is time for (0: no limit).
static void everywhere(uint32_t changes, double limit) {
    double begun = seconds();
    uint64_t count = 0;
    bool all = false, more = true;
    for (int round = 0; round < 10 && more && (round == 0 || all); round++) {
        // A word may turn out to be shared that wasn't known to be: then once more, from the beginning.
        count = 0;
        explorer_exhaust(changes);
        do {
            if (!once()) report();
            count++;
            all = !explorer_next();
        } while (!all && (count % 64 != 0 || limit == 0 || seconds() - begun < limit));
        more = words_settle();
    }
    printf("%-28s %u changes%s%s: %s%llu in %.0f s", run->scene->name, changes, run->scene->deaths ? ", a death" : "",
           run->buffers ? ", late stores" : "", all && !more ? "all " : "the first ", (unsigned long long)count,
           seconds() - begun);
}

static void at_random(uint64_t seed, uint64_t most, double limit) {
    double begun = seconds();
    uint64_t done = 0;
    while (done < most && (limit == 0 || done % 64 != 0 || seconds() - begun < limit)) {
        // Each schedule has a seed of its own, and with it, whether stores may be late: it can be had again alone.
        uint64_t own = seed + done++;
        run->buffers = own % 2;
        explorer_random(own, run->usual);
        if (!once()) report();
    }
    printf("; %llu at random", (unsigned long long)done);
}

// The files have served: what is mapped stays, and nothing is left behind, however this ends.
static void forget(const char *directory) {
    DIR *all = opendir(directory);
    for (struct dirent *one; all && (one = readdir(all)) != NULL;)
        if (one->d_name[0] != '.') unlinkat(dirfd(all), one->d_name, 0);
    if (all) closedir(all);
    rmdir(directory);
}

static int usage(void) {
    fprintf(
        stderr,
        "usage: Schedules --list\n"
        "       Schedules SCENE [--changes N] [--everywhere SECONDS] [--seed N] [--at-random SECONDS | --schedules N]\n"
        "                 [--late | --in-time] [--quiet]\n"
        "       Schedules SCENE --seed N --schedules 1 [--trace]    one of those at random, once more\n"
        "       Schedules SCENE --choices … [--trace]               one of the others\n");
    return 2;
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "--list") == 0) {
        for (uint32_t i = 0; i < scenario_count; i++) printf("%s\n", scenarios[i].name);
        return 0;
    }
    if (count < 2) return usage();
    const scenario *scene = NULL;
    for (uint32_t i = 0; i < scenario_count; i++)
        if (strcmp(arguments[1], scenarios[i].name) == 0) scene = &scenarios[i];
    if (!scene) return usage();
    uint32_t changes = scene->changes;
    uint64_t seed = 0, many = 0;
    double everywhere_for = -1, random_for = -1;  // -1: not at all
    const char *choices = NULL;
    bool trace = false, quiet = false;
    int late = -1;
    for (int i = 2; i < count; i++) {
        const char *option = arguments[i], *value = i + 1 < count ? arguments[i + 1] : "";
        if (strcmp(option, "--changes") == 0)
            changes = (uint32_t)strtoul(value, NULL, 10), i++;
        else if (strcmp(option, "--seed") == 0)
            seed = strtoull(value, NULL, 10), i++;
        else if (strcmp(option, "--schedules") == 0)
            many = strtoull(value, NULL, 10), random_for = 0, i++;
        else if (strcmp(option, "--everywhere") == 0)
            everywhere_for = strtod(value, NULL), i++;
        else if (strcmp(option, "--at-random") == 0)
            random_for = strtod(value, NULL), i++;
        else if (strcmp(option, "--choices") == 0)
            choices = value, i++;
        else if (strcmp(option, "--late") == 0)
            late = 1;
        else if (strcmp(option, "--in-time") == 0)
            late = 0;
        else if (strcmp(option, "--trace") == 0)
            trace = true;
        else if (strcmp(option, "--quiet") == 0)
            quiet = true;
        else
            return usage();
    }

    char directory[] = "/dev/shm/schedules.XXXXXX";
    if (!mkdtemp(directory)) {
        perror("Schedules: /dev/shm");
        return 2;
    }
    setenv("TIDINGS_DIRECTORY", directory, 1);
    machine_boot();
    explorer_boot();
    run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (run == MAP_FAILED) return 2;
    run->scene = scene;
    run->quiet = quiet;
    scene->prepare();
    forget(directory);
    static char stack[65536];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    const struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_ONSTACK};
    const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM};
    for (uint32_t i = 0; i < sizeof signals / sizeof signals[0]; i++) sigaction(signals[i], &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    machine_ready();

    warm_up();
    run->buffers = late < 0 ? scene->buffers : late;
    if (choices || many == 1) {
        machine.trace = trace;
        if (choices)
            explorer_replay(choices);
        else
            explorer_random(seed, run->usual), run->buffers = seed % 2;
        bool good = once();
        printf("%s: %s\n", scene->name, good ? "nothing wrong" : run->told);
        return !good;
    }
    if (everywhere_for >= 0 || random_for < 0)
        everywhere(changes, everywhere_for < 0 ? 0 : everywhere_for);
    else
        printf("%-28s", run->scene->name);
    if (random_for >= 0) at_random(seed, many ? many : UINT64_MAX, random_for);
    printf("; nothing wrong\n");
    return 0;
}
