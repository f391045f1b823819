// Finds and kills processes that extensions left. Declared and described in protocol.h. Async-signal-safe.
//
// A child of the launcher that is no extension is an orphan. A process that is killed cannot fork any more, and its own
// children become the launcher's. A sweep also kills the descendants of the orphans that it finds: otherwise a chain of
// processes could grow at its end as fast as the launcher kills at its beginning.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "protocol.h"

#define PIDS_AT_ONCE 65536u  // some 20 ms, in which the launcher answers no request

bool tidings__is_extension(const tidings__launcher_process *launcher, pid_t pid) {
    for (uint32_t i = 0; i < TIDINGS_LAUNCHER_EXTENSIONS_MAX; i++) {
        const tidings__extension *extension = &launcher->extensions[i];
        if (extension->id && extension->alive && extension->pid == pid) return true;
    }
    return false;
}

// MARK: /proc

typedef struct process_status {
    pid_t parent;
    bool dead;  // a zombie without living threads
} process_status;

// Field 1 is the pid, 2 the name in parentheses, which may hold any byte; then come the state, the parent, and as field
// 20 the number of threads.
static bool read_status(int proc, const char *pid, process_status *status) {
    char path[32] = {0}, text[512];
    const size_t length = strlen(pid);
    if (length > 10) return false;
    memcpy(path, pid, length);
    memcpy(path + length, "/stat", 6);
    const int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t got = read(fd, text, sizeof text - 1);
    (void)close(fd);
    if (got <= 0) return false;
    text[got] = 0;
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || !at[2]) return false;
    const char state = at[2];
    long fields[18] = {0};  // from the state on, which is 0 here
    at += 2;
    for (int i = 1; i < 18; i++) {
        at = strchr(at, ' ');
        if (!at) return false;
        const bool negative = *++at == '-';
        for (const char *digit = at + negative; *digit >= '0' && *digit <= '9'; digit++)
            fields[i] = fields[i] * 10 + (*digit - '0');
        if (negative) fields[i] = -fields[i];
    }
    *status = (process_status){.parent = (pid_t)fields[1], .dead = (state == 'Z' || state == 'X') && fields[17] <= 1};
    return true;
}

bool tidings__is_found(const tidings__launcher_process *launcher, pid_t pid) {
    return pid > 0 && pid < TIDINGS__PID_LIMIT && launcher->found[pid / 64] >> (pid % 64) & 1;
}

void tidings__forget(tidings__launcher_process *launcher, pid_t pid) {
    if (pid > 0 && pid < TIDINGS__PID_LIMIT) launcher->found[pid / 64] &= ~(UINT64_C(1) << (pid % 64));
}

static void find(tidings__launcher_process *launcher, pid_t pid) {
    if (pid > 0 && pid < TIDINGS__PID_LIMIT) launcher->found[pid / 64] |= UINT64_C(1) << (pid % 64);
}

static bool belongs(const tidings__launcher_process *launcher, pid_t pid, pid_t parent) {
    return parent == launcher->pid ? !tidings__is_extension(launcher, pid) : tidings__is_found(launcher, parent);
}

// A descendant that is no child of the launcher may end, and its pid be used again, at any time. The descriptor names
// the process that had the pid when it was opened; if that one is still a descendant, it is the right one.
static void kill_by_descriptor(const tidings__launcher_process *launcher, int proc, const char *text, pid_t pid) {
    const int pidfd = tidings__pidfd_open(pid);
    process_status status;
    if (pidfd >= 0) {
        if (read_status(proc, text, &status) && belongs(launcher, pid, status.parent))
            (void)tidings__pidfd_signal(pidfd, SIGKILL);
        (void)close(pidfd);
    }
}

uint64_t tidings__milliseconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

typedef struct directory_entry {  // as getdents64 has it
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
} directory_entry;

// Returns how many living orphans and descendants it met, or -1: /proc is missing, or that of another pid namespace.
// The kernel lists processes in the order of their pids, so children that are forked meanwhile mostly come later.
static int sweep_proc(tidings__launcher_process *launcher) {
    const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0) return -1;
    char self[16] = {0};
    pid_t own = 0;
    if (readlinkat(proc, "self", self, sizeof self - 1) > 0)
        for (const char *digit = self; *digit >= '0' && *digit <= '9'; digit++) own = own * 10 + (*digit - '0');
    int met = own == launcher->pid ? 0 : -1;
    // Forget the found pids every 100 ms: a found process may end, and the kernel may use its pid again. A descendant
    // that the sweep misses for this reason becomes a child of the launcher, and the next sweep finds it.
    uint64_t forget_at = 0;
    union {
        directory_entry aligned;
        char bytes[4096];
    } entries;
    for (;;) {
        const long got = met < 0 ? 0 : syscall(SYS_getdents64, proc, entries.bytes, sizeof entries.bytes);
        if (got <= 0) break;
        if (tidings__milliseconds() >= forget_at) {
            memset(launcher->found, 0, TIDINGS__PID_LIMIT / 8);
            forget_at = tidings__milliseconds() + 100;
        }
        for (long at = 0; at < got;) {
            const directory_entry *entry = (const void *)(entries.bytes + at);
            at += entry->length;
            pid_t pid = 0;
            for (const char *digit = entry->name; *digit >= '0' && *digit <= '9' && pid < TIDINGS__PID_LIMIT; digit++)
                pid = pid * 10 + (*digit - '0');
            process_status status;
            if (pid <= 0 || pid >= TIDINGS__PID_LIMIT || !read_status(proc, entry->name, &status)) continue;
            if (!belongs(launcher, pid, status.parent)) continue;
            // A process that had ended before may have left a child that this sweep has passed.
            if (!status.dead) {
                find(launcher, pid);
                met++;
            }
            // A child's pid stays its own until it is waited for.
            if (status.parent == launcher->pid)
                (void)kill(pid, SIGKILL);
            else
                kill_by_descriptor(launcher, proc, entry->name, pid);
        }
    }
    (void)close(proc);
    return met;
}

// MARK: Without /proc

// The launcher's child of that pid, alive or not waited for: 1 alive, 0 ended, -1 there is none.
static int child_lives(pid_t pid) {
    siginfo_t information = {0};
    if (waitid(P_PID, (id_t)pid, &information, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) return -1;
    return information.si_pid == 0;
}

// Returns as `child_lives`; -1 also for an extension.
static int kill_if_orphan(tidings__launcher_process *launcher, pid_t pid) {
    const int lives = child_lives(pid);
    if (lives < 0 || tidings__is_extension(launcher, pid)) return -1;
    if (lives) {
        find(launcher, pid);
        (void)kill(pid, SIGKILL);
    }
    return lives;
}

// A process that only forks and exits, again and again, is gone before a sweep comes to its pid. Its successor has one
// of the next pids, and is the launcher's child as soon as its parent has exited.
static uint32_t chase(tidings__launcher_process *launcher) {
    uint32_t killed = 0;
    pid_t last = launcher->last_orphan;
    for (const uint64_t end = tidings__milliseconds() + 5; tidings__milliseconds() < end;) {
        const pid_t from = last + 1;
        for (pid_t pid = from; pid < from + 64; pid++) {
            const int lives = kill_if_orphan(launcher, pid);
            if (lives < 0) continue;
            last = pid;
            killed += (uint32_t)lives;
        }
    }
    return killed;
}

// Asks for the next pids. Orphans are younger than the launcher, so that they have the next pids after its own, unless
// the kernel has used all pids since.
static int sweep_pids(tidings__launcher_process *launcher) {
    int met = 0;
    for (uint32_t i = 0; i < PIDS_AT_ONCE; i++) {
        launcher->next_pid = launcher->next_pid % (TIDINGS__PID_LIMIT - 1) + 1;
        met += kill_if_orphan(launcher, launcher->next_pid) == 1;
    }
    if (met == 0 && --launcher->sweep_parts > 0) return -1;
    tidings__sweep_begin(launcher);
    return met;
}

void tidings__sweep_begin(tidings__launcher_process *launcher) {
    launcher->sweeping = true;
    launcher->next_pid = launcher->pid;
    launcher->sweep_parts = TIDINGS__PID_LIMIT / PIDS_AT_ONCE;
}

int tidings__orphans_kill(tidings__launcher_process *launcher, bool each_pid) {
    // First, because a sweep takes so long that the successors have other pids after it.
    const int chased = launcher->last_orphan ? (int)chase(launcher) : 0;
    launcher->last_orphan = 0;
    int met = sweep_proc(launcher);
    each_pid |= met < 0;
    met = chased + (met < 0 ? 0 : met);
    return met == 0 && each_pid ? sweep_pids(launcher) : met;
}
