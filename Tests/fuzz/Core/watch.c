#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

// Ten thousand times what any use takes, and of this thread's own time, so that a busy machine makes no difference.
#define STEP_NS (INT64_C(1) * 1000000000)
// The ring here has 256 positions; 2 ms for each is what a peer can cost us that has claimed them all.
#define SLEEP_NS (UINT64_C(1) * 1000000000)

// One that never ends comes to no step: processor time for a whole input.
#define INPUT_S 3

static void never_ends(int signal) { fuzz_fail("one use never ends", signal); }

static char directory[4096];

static void leave(void) {
    fuzz_empty_directory();
    (void)rmdir(directory);
}

const char *fuzz_directory(void) {
    if (!directory[0]) {
        const char *above = getenv("TIDINGS_FUZZ_DIRECTORY");
        (void)snprintf(directory, sizeof directory, "%s/tidings-fuzz-%d", above ? above : "/dev/shm", (int)getpid());
        if (mkdir(directory, 0700) != 0 && errno != EEXIST) fuzz_fail("a directory to make centers in", errno);
        (void)atexit(leave);
    }
    return directory;
}

void fuzz_empty_directory(void) {
    DIR *dir = opendir(fuzz_directory());
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)closedir(dir);
}

void fuzz_fail(const char *what, int64_t value) {
    (void)fprintf(stderr, "not so: %s (%lld; last error: %s)\n", what, (long long)value, tidings_last_error());
    abort();
}

void fuzz_result(const char *what, int64_t result) {
    if (result >= 0) return;
    if (result < -4095) fuzz_fail(what, result);
    // Those that tidings.h says have no line, or that only mean "not now".
    if (result == -EAGAIN || result == -ETIMEDOUT || result == -EINTR || result == -ERANGE) return;
    if (tidings_last_error()[0] == 0) fuzz_fail(what, result);
}

void fuzz_step(const char *what) {
    static int64_t before;
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const int64_t ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    if (what && ns - before > STEP_NS) fuzz_fail(what, ns - before);
    const uint64_t slept = process_slept();
    if (what && slept > SLEEP_NS) fuzz_fail(what, (int64_t)slept);
    before = ns;
    if (what) return;
    (void)signal(SIGPROF, never_ends);
    (void)setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = INPUT_S}}, NULL);
}
