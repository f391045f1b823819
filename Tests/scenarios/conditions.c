#include "conditions.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>

#include "peer.h"
#include "platform/clock.h"
#include "privileges.h"
#include "receiving/observer.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define VARIABLE "CTESTPEER_CONDITION"  // the condition that holds already when this program is executed again
#define UNNAMED (O_TMPFILE & ~O_DIRECTORY)

#define ALWAYS(call, error)                                                                                            \
    { call, error, 0, 0, 0, 0 }
#define WITH(call, error, which, mask, value)                                                                          \
    { call, error, which, mask, value, 0 }
#define NO_MEMBARRIER ALWAYS(SYS_membarrier, ENOSYS)
#define NO_ROBUST_LISTS ALWAYS(SYS_get_robust_list, ENOSYS), ALWAYS(SYS_set_robust_list, ENOSYS)
#define NO_UNNAMED_FILES(error) WITH(SYS_openat, error, 2, UNNAMED, UNNAMED)
#define NO_FALLOCATE ALWAYS(SYS_fallocate, EOPNOTSUPP)
#define NO_HOLES WITH(SYS_lseek, EINVAL, 2, ~0u, SEEK_HOLE)
#define NO_POPULATE WITH(SYS_madvise, EINVAL, 2, ~0u, MADV_POPULATE_WRITE)

static const refusal no_membarrier[] = {NO_MEMBARRIER};
static const refusal no_robust_lists[] = {NO_ROBUST_LISTS};
static const refusal no_unnamed_files[] = {NO_UNNAMED_FILES(EOPNOTSUPP)};
static const refusal no_fallocate[] = {NO_FALLOCATE};
static const refusal no_holes[] = {NO_HOLES};
#define FUTEX_WAITV 449  // not in the headers of systems that it is to be tried for
static const refusal no_futex_waitv[] = {ALWAYS(FUTEX_WAITV, ENOSYS)};
// As the kernel says where a user has as many instances as it may.
static const refusal no_inotify[] = {ALWAYS(SYS_inotify_init1, EMFILE)};
static const refusal old_kernel[] = {NO_MEMBARRIER,
                                     ALWAYS(SYS_close_range, ENOSYS),
                                     NO_ROBUST_LISTS,
                                     NO_UNNAMED_FILES(EISDIR),
                                     NO_HOLES,
                                     NO_POPULATE,
                                     ALWAYS(SYS_getrandom, ENOSYS),
                                     ALWAYS(SYS_renameat2, ENOSYS),
                                     ALWAYS(FUTEX_WAITV, ENOSYS)};
// A wait with a limit must not use the wall clock, which an administrator may set: such a wait kills the process here.
// (If the call failed instead, the waiter would only be kept busy. glibc waits on that clock without a limit, for the
// end of a thread. A relative sleep does not depend on the clock's setting.)
static const refusal no_wall_clock[] = {{SYS_futex, 0, 1, FUTEX_CLOCK_REALTIME, FUTEX_CLOCK_REALTIME, 3},
                                        WITH(SYS_clock_nanosleep, 0, 1, TIMER_ABSTIME, TIMER_ABSTIME)};

static void one_processor(void) {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    const int here = sched_getcpu();
    CHECK(here >= 0, "%s", strerror(errno));
    CPU_SET(here, &mine);
    CHECK(sched_setaffinity(0, sizeof mine, &mine) == 0, "%s", strerror(errno));
}

static void without_proc(void) {
    own_mounts();
    CHECK(mount("none", "/proc", "tmpfs", MS_RDONLY, "size=4k") == 0, "%s", strerror(errno));
}

static pid_t into_pid_namespaces(void) { return fork_every_other_apart(true, false); }
static pid_t into_times(void) { return fork_every_other_apart(false, true); }

#define CALLS(list) list, sizeof list / sizeof list[0]
static const struct condition {
    const char *name;
    const refusal *refusals;
    unsigned count;
    void (*bring_about)(void), (*begin)(void);
    pid_t (*fork)(void);
} conditions[] = {
    {"without_membarrier", CALLS(no_membarrier), NULL, NULL, NULL},
    {"without_robust_lists", CALLS(no_robust_lists), NULL, NULL, NULL},
    {"without_unnamed_files", CALLS(no_unnamed_files), NULL, NULL, NULL},
    {"without_fallocate", CALLS(no_fallocate), NULL, NULL, NULL},
    {"without_holes", CALLS(no_holes), NULL, NULL, NULL},
    {"without_futex_waitv", CALLS(no_futex_waitv), NULL, NULL, NULL},
    {"without_inotify", CALLS(no_inotify), NULL, NULL, NULL},
    {"without_the_wall_clock", CALLS(no_wall_clock), NULL, NULL, NULL},
    {"without_proc", NULL, 0, without_proc, NULL, NULL},
    {"on_an_old_kernel", CALLS(old_kernel), NULL, NULL, NULL},
    {"on_one_processor", NULL, 0, one_processor, NULL, NULL},
    {"with_recycled_pids", NULL, 0, NULL, recycle_pids, fork_with_recycled_pid},
    {"in_many_pid_namespaces", NULL, 0, NULL, recycle_pids, into_pid_namespaces},
    // A process with a second thread can't go back to its time namespace: none that watches.
    {"in_two_times", CALLS(no_inotify), NULL, NULL, into_times},
};
static const struct condition *holds;

static bool refuses(int call) {
    for (unsigned i = 0; holds && i < holds->count; i++) {
        if (holds->refusals[i].call == call) return true;
    }
    return false;
}

static const struct timespec past;
static void waits_by_the_wall_clock(void) {
    uint32_t word = 0;
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &past, NULL, 1);
}
static void sleeps_by_the_wall_clock(void) { syscall(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL); }

static void dies_of_it(void (*body)(void)) {
    int status;
    const pid_t pid = start(body);
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "status %x",
          (unsigned)status);
}

// What the filter says, asked directly: a scenario that would be told under no condition at all proves nothing.
static void check_refusals(void) {
    if (refuses(SYS_membarrier)) CHECK(syscall(SYS_membarrier, 0, 0, 0) < 0 && errno == ENOSYS, "%s", strerror(errno));
    if (refuses(SYS_inotify_init1)) CHECK(inotify_init1(0) < 0 && errno == EMFILE, "%s", strerror(errno));
    if (refuses(SYS_close_range))
        CHECK(syscall(SYS_close_range, 700, 700, 0) < 0 && errno == ENOSYS, "%s", strerror(errno));
    if (refuses(FUTEX_WAITV))
        CHECK(syscall(FUTEX_WAITV, NULL, 0, 0, NULL, 0) < 0 && errno == ENOSYS, "%s", strerror(errno));
    void *head;
    size_t size;
    if (refuses(SYS_get_robust_list))
        CHECK(syscall(SYS_get_robust_list, 0, &head, &size) < 0 && errno == ENOSYS, "%s", strerror(errno));
    if (refuses(SYS_openat))
        CHECK(open(getenv("TIDINGS_DIRECTORY"), O_TMPFILE | O_RDWR, 0600) < 0 &&
                  (errno == EOPNOTSUPP || errno == EISDIR),
              "%s", strerror(errno));
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (refuses(SYS_fallocate)) CHECK(fallocate(fd, 0, 0, 1) < 0 && errno == EOPNOTSUPP, "%s", strerror(errno));
    if (refuses(SYS_lseek))
        CHECK(lseek(fd, 0, SEEK_HOLE) < 0 && errno == EINVAL && lseek(fd, 0, SEEK_SET) == 0, "%s", strerror(errno));
    close(fd);
    if (refuses(SYS_clock_nanosleep)) {
        dies_of_it(waits_by_the_wall_clock);
        dies_of_it(sleeps_by_the_wall_clock);
        uint32_t word = 0;
        CHECK(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &past, NULL, 0) < 0 && errno == ETIMEDOUT, "%s",
              strerror(errno));
    }
}

void under_condition(const char *told, char **arguments) {
    const char *slash = strchr(told, '/'), *before = getenv(VARIABLE);
    if (!slash) return;
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        if (strlen(conditions[i].name) == (size_t)(slash - told) &&
            strncmp(conditions[i].name, told, (size_t)(slash - told)) == 0)
            holds = &conditions[i];
    }
    CHECK(holds, "there is no such condition");
    if (!before || strcmp(before, holds->name) != 0) {
        const int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        if (holds->bring_about) holds->bring_about();
        if (holds->count) refuse_calls(holds->refusals, holds->count);
        CHECK(setenv(VARIABLE, holds->name, 1) == 0, "no memory");
        // Anew, because the core registers for barriers, and glibc its robust list, before `main`.
        fexecve(program, arguments, environ);
        CHECK(false, "%s", strerror(errno));
    }
    check_refusals();
    if (holds->begin) holds->begin();
}

void condition_is_noticed(const tidings_center *center) {
    if (!holds) return;
    CHECK(tidings__barrier_registered() != refuses(SYS_membarrier), "barrier %u", atomic_load(&tidings__barrier_state));
    CHECK((tidings__thread_self()->pending == NULL) == refuses(SYS_get_robust_list),
          "the kernel would mark our claims, or wouldn't");
    if (holds->bring_about == without_proc)
        CHECK(access("/proc/self", F_OK) != 0 && !center->in_creation_pid_namespace,
              "whose numbers these are can't be known");
    if (holds->bring_about == one_processor) CHECK(tidings__processors() == 1, "%u processors", tidings__processors());
}

pid_t fork_into_condition(void) { return holds && holds->fork ? holds->fork() : fork(); }

bool under_any_condition(void) { return holds != NULL; }
