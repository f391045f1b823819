// Peers and the supervisor. No peer outlives the runner, and the runner does not outlive its parent.
#include "internal.h"

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

int bench_spawn(const char *const arguments[], int *pid) {
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);  // the supervisor blocks some
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int result = posix_spawn(pid, "/proc/self/exe", NULL, &attributes, (char *const *)arguments, environ);
    posix_spawnattr_destroy(&attributes);
    return -result;
}

int bench_die_with(int parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return -errno;
    if (getppid() != parent) raise(SIGKILL);  // it died before the line above
    return 0;
}

void bench_kill(int pid) { kill(pid, SIGKILL); }

bool bench_ended(int pid) {
    siginfo_t found = {0};
    return waitid(P_PID, (id_t)pid, &found, WEXITED | WNOHANG | WNOWAIT) != 0 || found.si_pid == pid;
}

static int decoded(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

int bench_wait(int pid, int seconds) {
    uint64_t end = bench_monotonic_ns() + (uint64_t)seconds * 1000000000u;
    const struct timespec step = {.tv_nsec = 200000};
    int status;
    for (;;) {
        int found = waitpid(pid, &status, WNOHANG);
        if (found == pid) return decoded(status);
        if (found < 0) return -errno;
        if (bench_monotonic_ns() > end) break;
        nanosleep(&step, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return decoded(status);
}

int bench_supervise(const char *const arguments[]) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int pid, status, ended_by = 0, result = bench_spawn(arguments, &pid);
    if (result != 0) return result;
    for (;;) {
        int number = sigwaitinfo(&set, NULL);
        if (number > 0 && number != SIGCHLD) {
            ended_by = number;
            kill(pid, SIGKILL);
        }
        if (waitpid(pid, &status, WNOHANG) == pid) return ended_by != 0 ? 128 + ended_by : decoded(status);
    }
}
