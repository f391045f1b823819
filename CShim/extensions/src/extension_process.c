// The new process between its fork and `execve`. Async-signal-safe.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "protocol.h"

// A limit never rises above the one that holds already.
static int limit(int resource, rlim_t soft, rlim_t hard) {
    struct rlimit now;
    // glibc declares the first parameter with an enumeration, other libraries with int.
    if (getrlimit((__typeof__(RLIMIT_AS))resource, &now) < 0) return errno;
    if (hard > now.rlim_max) hard = now.rlim_max;
    if (soft > hard) soft = hard;
    const struct rlimit then = {.rlim_cur = soft, .rlim_max = hard};
    return setrlimit((__typeof__(RLIMIT_AS))resource, &then) < 0 ? errno : 0;
}

static int limit_all(const tidings__launch_memory *launch, tidings__failure *failure) {
    int error = 0;
    failure->step = TIDINGS__STEP_FILES;
    if (launch->open_files) error = limit(RLIMIT_NOFILE, launch->open_files, launch->open_files);
    if (error) return error;
    failure->step = TIDINGS__STEP_CPU;
    // Two values, so that the end by this limit can be told from another SIGKILL.
    const uint64_t seconds = launch->cpu_seconds;
    if (seconds) error = limit(RLIMIT_CPU, seconds, seconds < RLIM_INFINITY ? seconds + 1 : seconds);
    if (error) return error;
    failure->step = TIDINGS__STEP_MEMORY;
    return launch->memory ? limit(RLIMIT_AS, launch->memory, launch->memory) : 0;
}

// Without /proc the score stays as it is.
static void set_oom_score(const char *score) {
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!write(fd, score, strlen(score));
    (void)close(fd);
}

static char **pointers(char *base, uint64_t table) {
    uint64_t *offsets = (uint64_t *)(void *)(base + table);
    for (uint64_t *offset = offsets; *offset; offset++) *offset += (uint64_t)(uintptr_t)base;
    return (char **)(void *)offsets;
}

static int run(uint64_t size, const int descriptors[3], tidings__failure *failure) {
    const int memory = descriptors[0], directory = descriptors[1], input = descriptors[2];
    failure->step = TIDINGS__STEP_PREPARE;
    // The session is the process group too. With sessions of their own, extensions that use much processor time get
    // equal shares with the host (where the kernel groups tasks by session).
    if (setsid() < 0) return errno;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) return errno;
    if (dup2(input, STDIN_FILENO) < 0) return errno;
    char *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, memory, 0);
    if (base == MAP_FAILED) return errno;
    const tidings__launch_memory *launch = (const void *)base;
    set_oom_score(base + launch->oom_score);

    failure->step = TIDINGS__STEP_ENTER;
    if (fchdir(directory) < 0) return errno;
    int ruleset;
    int error = tidings__sandbox_open(launch, &ruleset, failure);
    if (error) return error;
    failure->step = TIDINGS__STEP_ENTER;
    if (launch->directory && chdir(base + launch->directory) < 0) return errno;
    error = tidings__sandbox_enter(launch, ruleset, failure);
    if (error) return error;

    char **arguments = pointers(base, launch->arguments), **environment = pointers(base, launch->environment);
    error = limit_all(launch, failure);
    if (error) return error;
    failure->step = TIDINGS__STEP_RUN;
    sigset_t none;
    (void)sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0) return errno;
    (void)execve(base + launch->executable, arguments, environment);
    return errno;
}

void tidings__extension_run(const tidings__launcher_process *launcher, uint64_t size, const int descriptors[3],
                            int failures) {
    // A launcher that ended before this call sends no signal for it.
    tidings__failure failure = {.step = TIDINGS__STEP_PREPARE};
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) {
        failure.error = errno;
    } else {
        if (getppid() != launcher->pid) _exit(127);
        failure.error = run(size, descriptors, &failure);
    }
    (void)!write(failures, &failure, sizeof failure);
    _exit(127);
}
