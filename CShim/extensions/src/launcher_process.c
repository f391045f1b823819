// The launcher process. Declared and described in protocol.h. Async-signal-safe: the host's other threads may have held
// any lock when it was forked.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol.h"

typedef tidings__launcher_process launcher_process;
typedef tidings__extension extension;

#define SWEEP_DELAY_MAX 1000u  // milliseconds
#define ORPHANS_DELAY 50u      // milliseconds between sweeps for orphans that ended by themselves

// MARK: Beginning

// Descriptors 0 to 2 that are closed would be given to sockets and passed to extensions. A pipe without a writer reads
// as an empty file, where there is no /dev/null.
static void fill_standard(void) {
    for (int fd = 0; fd <= 2; fd++) {
        if (fd > 0 && fcntl(fd, F_GETFD) >= 0) continue;
        int null = open("/dev/null", O_RDWR | O_CLOEXEC), pipe[2];
        if (null < 0 && pipe2(pipe, O_CLOEXEC) == 0) {
            null = pipe[0];
            (void)close(pipe[1]);
        }
        // Without O_CLOEXEC: the extension inherits 1 and 2.
        if (null == fd) (void)fcntl(fd, F_SETFD, 0);
        if (null < 0 || null == fd) continue;
        (void)dup2(null, fd);
        (void)close(null);
    }
}

// Keeps descriptors 1 and 2 and those of the launcher, and closes all others. If the host had closed 1 or 2, those may
// be the library's.
static bool take_descriptors(launcher_process *launcher) {
    int *const own[] = {&launcher->requests, &launcher->ends, &launcher->host_pidfd};
    for (int i = 0; i < 3; i++) {
        if (*own[i] < 0) continue;  // a kernel without pidfds
        const int moved = fcntl(*own[i], F_DUPFD_CLOEXEC, 6);
        (void)close(*own[i]);
        if (moved < 0) return false;
        *own[i] = moved;
    }
    for (size_t i = 0; i < sizeof launcher->hosts / sizeof launcher->hosts[0]; i++) (void)close(launcher->hosts[i]);
    for (int i = 0; i < 3; i++) {
        if (*own[i] < 0) continue;
        if (dup3(*own[i], 3 + i, O_CLOEXEC) < 0) return false;
        *own[i] = 3 + i;
    }
    if (launcher->host_pidfd < 0) (void)close(5);
    tidings__close_from(6);
    fill_standard();
    return true;
}

static bool begin(launcher_process *launcher) {
    launcher->pid = getpid();
    // The host blocked all signals before the fork, and they stay blocked: only SIGKILL and SIGSTOP have an effect.
    // Extensions inherit the dispositions.
    struct sigaction normal = {.sa_handler = SIG_DFL};
    for (int signal = 1; signal < NSIG; signal++) (void)sigaction(signal, &normal, NULL);
    (void)prctl(PR_SET_NAME, "tidings-launch");
    // A session of its own: the terminal's SIGINT would end extensions before the host could stop them.
    if (setsid() < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) return false;
    if (!take_descriptors(launcher)) return false;
    (void)chdir("/");  // a directory in use can't be unmounted
    sigset_t children;
    (void)sigemptyset(&children);
    (void)sigaddset(&children, SIGCHLD);
    launcher->children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    return launcher->children >= 0 && getppid() == launcher->host;
}

// MARK: Ends of children

static extension *find(launcher_process *launcher, uint64_t id) {
    for (uint32_t i = 0; id && i < TIDINGS_LAUNCHER_EXTENSIONS_MAX; i++)
        if (launcher->extensions[i].id == id) return &launcher->extensions[i];
    return NULL;
}

static void kill_group(const extension *extension) {
    // First the group: one call signals all members, so none of them forks in between. Then the process itself, which
    // may not have made its group yet.
    (void)kill(-extension->pid, SIGKILL);
    (void)kill(extension->pid, SIGKILL);
}

// Begins a sweep anew. It is due at that time, or at the time of the present one if that is earlier.
static void begin_sweep(launcher_process *launcher, uint64_t at) {
    if (!launcher->sweeping || at < launcher->sweep_at) launcher->sweep_at = at;
    tidings__sweep_begin(launcher);
    launcher->sweep_delay = 0;
}

// Waits for all children that have ended. False: the launcher has no child left.
static bool reap(launcher_process *launcher) {
    for (;;) {
        siginfo_t information = {0};
        if (waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) {
            if (errno == EINTR) continue;
            return errno != ECHILD;
        }
        const pid_t pid = information.si_pid;
        if (pid == 0) return true;
        extension *entry = NULL;
        for (uint32_t i = 0; i < TIDINGS_LAUNCHER_EXTENSIONS_MAX && !entry; i++) {
            extension *candidate = &launcher->extensions[i];
            if (candidate->id && candidate->alive && candidate->pid == pid) entry = candidate;
        }
        if (entry) {
            // Before the process is waited for: its pid names the group until then.
            kill_group(entry);
            entry->alive = false;
            begin_sweep(launcher, 0);
        } else if (!tidings__is_found(launcher, pid)) {
            // The orphan may have forked, and its child may end before a sweep reaches it. So each end of an orphan
            // begins a sweep, even if the last sweep found no process.
            // Not too often: an extension that lives can give orphans away without end.
            launcher->last_orphan = pid;
            begin_sweep(launcher, launcher->swept_at + ORPHANS_DELAY);
        }
        int status = 0;
        (void)waitpid(pid, &status, __WALL);
        tidings__forget(launcher, pid);
        if (entry) entry->status = status;
    }
}

// Reports the ends that are due. True: the socket is full, and one is left.
static bool report_ends(launcher_process *launcher) {
    for (uint32_t i = 0; i < TIDINGS_LAUNCHER_EXTENSIONS_MAX; i++) {
        extension *entry = &launcher->extensions[i];
        if (!entry->id || entry->alive || (!entry->known && !entry->unwanted)) continue;
        if (!entry->unwanted) {
            const tidings__end end = {.id = entry->id, .pid = entry->pid, .status = entry->status};
            const int error = tidings__message_send(launcher->ends, &end, sizeof end, NULL, 0);
            if (error == -EAGAIN) return true;
        }
        memset(entry, 0, sizeof *entry);
    }
    return false;
}

// The host has ended or closed the launcher.
static _Noreturn void end(launcher_process *launcher) {
    int met = 0;
    tidings__sweep_begin(launcher);
    for (uint32_t delay = 1;; delay = delay * 2 < SWEEP_DELAY_MAX ? delay * 2 : SWEEP_DELAY_MAX) {
        for (uint32_t i = 0; i < TIDINGS_LAUNCHER_EXTENSIONS_MAX; i++)
            if (launcher->extensions[i].id && launcher->extensions[i].alive) kill_group(&launcher->extensions[i]);
        if (!reap(launcher)) _exit(0);
        // If /proc shows no child for some time, and the kernel knows one, /proc hides it.
        met = tidings__orphans_kill(launcher, met < 0 || (met == 0 && delay > 64));
        if (!reap(launcher)) _exit(0);
        // A child that ends wakes the launcher. The delay is for processes that become children without a signal.
        struct pollfd children = {.fd = launcher->children, .events = POLLIN};
        struct signalfd_siginfo information;
        if (poll(&children, 1, met < 0 ? 0 : (int)delay) > 0)
            (void)!read(launcher->children, &information, sizeof information);
    }
}

// MARK: Requests

// Returns 0 or a positive errno; then all is as before. `*outcome`: the read end of the pipe.
static int start(launcher_process *launcher, uint64_t size, const int descriptors[3], tidings__reply *reply,
                 int *outcome) {
    extension *entry = NULL;
    for (uint32_t i = 0; i < TIDINGS_LAUNCHER_EXTENSIONS_MAX && !entry; i++)
        if (!launcher->extensions[i].id) entry = &launcher->extensions[i];
    if (!entry) return EUSERS;
    int failures[2];
    if (pipe2(failures, O_CLOEXEC) < 0) return errno;
    // Without the fork handlers of the host's libraries: they may need locks that the host's threads held.
    const pid_t pid = _Fork();
    if (pid == 0) tidings__extension_run(launcher, size, descriptors, failures[1]);
    const int error = pid < 0 ? errno : 0;
    (void)close(failures[1]);
    if (error) {
        (void)close(failures[0]);
        return error;
    }
    *entry = (extension){.id = ++launcher->last_id, .pid = pid, .alive = true};
    *outcome = failures[0];
    reply->id = entry->id;
    reply->pid = pid;
    return 0;
}

static int act(launcher_process *launcher, const tidings__request *request) {
    extension *entry = find(launcher, request->id);
    if (!entry) return ESRCH;
    switch (request->kind) {
        case TIDINGS__REQUEST_CONFIRM: entry->known = true; return 0;
        case TIDINGS__REQUEST_DISCARD:
            entry->unwanted = true;
            if (entry->alive) kill_group(entry);
            return 0;
        case TIDINGS__REQUEST_KILL:
            if (!entry->alive) return ESRCH;
            kill_group(entry);
            return 0;
        case TIDINGS__REQUEST_SIGNAL:
            if (!entry->alive) return ESRCH;
            if (kill(-entry->pid, request->signal) == 0) return 0;
            // It has left its group, or not made it yet.
            return errno == ESRCH && kill(entry->pid, request->signal) == 0 ? 0 : errno;
        default: return EINVAL;
    }
}

// False: the host has ended.
static bool serve(launcher_process *launcher) {
    tidings__request request;
    int descriptors[3], count;
    const int got = tidings__message_receive(launcher->requests, &request, sizeof request, descriptors, 3, &count);
    if (got == -EAGAIN) return true;
    if (got == 0) return false;
    tidings__reply reply = {0};
    int outcome = -1;
    if (got < 0)
        reply.error = -got;
    else if (request.kind != TIDINGS__REQUEST_START)
        reply.error = act(launcher, &request);
    else
        reply.error = count == 3 ? start(launcher, request.size, descriptors, &reply, &outcome) : EINVAL;
    while (count > 0) (void)close(descriptors[--count]);
    const int error = tidings__message_send(launcher->requests, &reply, sizeof reply, &outcome, outcome >= 0);
    if (outcome >= 0) (void)close(outcome);
    return error == 0;
}

void tidings__launcher_run(launcher_process *launcher) {
    if (!begin(launcher)) _exit(1);
    for (;;) {
        bool full = report_ends(launcher);
        struct pollfd watched[] = {
            {.fd = launcher->requests, .events = POLLIN},
            {.fd = launcher->ends, .events = (short)(full ? POLLOUT : 0)},
            {.fd = launcher->host_pidfd, .events = POLLIN},
            {.fd = launcher->children, .events = POLLIN},
        };
        const uint64_t now = tidings__milliseconds();
        const int left = launcher->sweep_at > now ? (int)(launcher->sweep_at - now) : 0;
        const int ready = poll(watched, 4, launcher->sweeping ? left : -1);
        if (ready < 0 && errno != EINTR) end(launcher);
        // The socket's end is the host's `exec` or close. A child that the host forked may hold the host's end open, so
        // the launcher also watches the process.
        if (watched[2].revents || watched[1].revents & (POLLHUP | POLLERR)) end(launcher);
        if (watched[0].revents && !serve(launcher)) end(launcher);
        if (watched[3].revents) {
            struct signalfd_siginfo information;
            (void)!read(launcher->children, &information, sizeof information);
            (void)reap(launcher);
        }
        if (!launcher->sweeping || tidings__milliseconds() < launcher->sweep_at) continue;
        const int met = tidings__orphans_kill(launcher, false);
        launcher->sweeping = met != 0;
        launcher->sweep_delay = met < 0 ? 0 : launcher->sweep_delay * 2 + 1;
        if (launcher->sweep_delay > SWEEP_DELAY_MAX) launcher->sweep_delay = SWEEP_DELAY_MAX;
        launcher->swept_at = tidings__milliseconds();
        launcher->sweep_at = launcher->swept_at + launcher->sweep_delay;
        (void)reap(launcher);
    }
}
