// Process numbers that are used again, or that mean another process in another namespace; clocks that differ.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "conditions.h"
#include "peer.h"
#include "privileges.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

bool try_namespaces(void) {
    if (!try_own_mounts() || unshare(CLONE_NEWPID | CLONE_NEWTIME) != 0) return false;
    if (!write_line("/proc/self/timens_offsets", "monotonic 1000000 0\n")) return false;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(mount("proc", "/proc", "proc", 0, NULL) != 0 || !write_line("/proc/sys/kernel/ns_last_pid", "100"));
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// MARK: Numbers that come back

// The scenario goes on as the first process of a namespace, with a /proc of its own, and we end as it does.
void recycle_pids(void) {
    own_mounts();
    CHECK(unshare(CLONE_NEWPID) == 0, "%s", strerror(errno));
    const pid_t pid = fork();
    CHECK(pid >= 0, "%s", strerror(errno));
    if (pid > 0) {
        int status;
        CHECK(waitpid(pid, &status, 0) == pid, "%s", strerror(errno));
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    CHECK(getpid() == 1 && mount("proc", "/proc", "proc", 0, NULL) == 0, "%s", strerror(errno));
    // A namespace's first process gets no signal that it doesn't handle, also from its own alarm.
    signal(SIGALRM, _exit);
    watchdog();
}

// The lowest number that is free: the last one's to die, mostly.
pid_t fork_with_recycled_pid(void) {
    CHECK(write_line("/proc/sys/kernel/ns_last_pid", "1"), "%s", strerror(errno));
    return fork();
}

// MARK: Numbers that others have too

// Every second child is number 1 of a namespace of its own, as the scenario is in the one where the center was born; or
// a week and a half ahead on its monotonic clock.
pid_t fork_every_other_apart(bool pids, bool times) {
    static uint32_t children;
    if (children++ % 2 == 1) return pids ? fork_with_recycled_pid() : fork();
    const char *files[2] = {pids ? "/proc/self/ns/pid" : NULL, times ? "/proc/self/ns/time" : NULL};
    int before[2] = {-1, -1};
    for (int i = 0; i < 2; i++) {
        if (files[i]) CHECK((before[i] = open(files[i], O_RDONLY | O_CLOEXEC)) >= 0, "%s", strerror(errno));
    }
    CHECK(unshare((pids ? CLONE_NEWPID : 0) | (times ? CLONE_NEWTIME : 0)) == 0, "%s", strerror(errno));
    if (times) CHECK(write_line("/proc/self/timens_offsets", "monotonic 1000000 0\n"), "%s", strerror(errno));
    const pid_t pid = fork();
    const int saved = errno;
    if (pid == 0) {
        CHECK(!pids || getpid() == 1, "it is number %d", (int)getpid());
        if (pids) signal(SIGALRM, _exit);  // see above
    }
    for (int i = 0; i < 2; i++) {
        // The child stays where it was born.
        if (before[i] >= 0 && pid != 0)
            CHECK(setns(before[i], i == 0 ? CLONE_NEWPID : CLONE_NEWTIME) == 0, "%s", strerror(errno));
        if (before[i] >= 0) close(before[i]);
    }
    errno = saved;
    return pid;
}
