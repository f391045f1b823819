/// The launcher: a small process that starts the extensions of a host and ends them with it. For the Swift target
/// `TidingsExtensions`; no promise to other programs.
///
/// `tidings_launcher_open` forks the launcher and runs no other program in it. The launcher is the parent of all
/// extensions. It has no threads and no heap, closes every descriptor of the host but 1 and 2, and blocks all signals.
///
/// # What ends what
///
/// - The host ends or calls `exec`: the launcher kills (SIGKILL) all extensions with all their descendants, and ends.
/// - The launcher ends: each extension receives SIGKILL (PR_SET_PDEATHSIG). The launcher was killed then. Descendants
///   of extensions may live on, because no process looks for them any more.
/// - An extension ends: the launcher kills its descendants. An extension is the process that `tidings_launcher_start`
///   started; a wrapper script that ends before its program ends the program too.
///
/// An extension is a child subreaper (PR_SET_CHILD_SUBREAPER): orphans among its descendants become its children, also
/// after a double fork with `setsid`. Orphans of an extension that ended become the launcher's children. A child of the
/// launcher that is no extension is killed. So a descendant can leave its process group and session, and not its host.
///
/// The launcher finds descendants through /proc. Where /proc is missing, shows another pid namespace or hides
/// processes, it asks the kernel for each possible pid whether it is a child of the launcher. Descendants that left
/// their process group then live for some seconds at most.
///
/// # What the launcher keeps
///
/// Its memory is a copy of the host's at the time of `tidings_launcher_open`. Pages are shared until the host writes to
/// them; then the launcher keeps the old ones. A host with much memory opens the launcher early. The launcher also
/// keeps mappings of open centers, which it never uses; it is no participant of them, because it closes their
/// descriptors. Extensions have the umask, priority, credentials, namespaces and resource limits that the host had at
/// that time. Their oom_score_adj is 300 more than the host's, at most 1000: if the machine has no memory left, the
/// kernel ends an extension before a host of the same size.
///
/// # Conventions
///
/// Functions return 0 or a negative `errno`. Any thread may call `start`, `signal` and `kill`; one thread at a time
/// calls `next`. In a forked child of the host, `start`, `signal`, `kill` and `next` return -ECHILD.
#ifndef TIDINGS_LAUNCHER_H
#define TIDINGS_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Extensions of one launcher that run, or whose end `tidings_launcher_next` has not returned.
#define TIDINGS_LAUNCHER_EXTENSIONS_MAX 1024
/// Bytes of all texts of one start: arguments, environment and paths, with their pointers.
#define TIDINGS_LAUNCH_BYTES_MAX (4u << 20)
#define TIDINGS_LAUNCH_PATHS_MAX 1024  ///< paths of one sandbox

typedef struct tidings_launcher tidings_launcher;

/// Forks the launcher process. Runs the fork handlers of the host (`pthread_atfork`).
///
/// -EAGAIN, -ENOMEM, -EMFILE, -ENFILE: as the kernel reports them.
/// Bound: the kernel copies the host's page tables: about 10 ms for each GiB that the host uses. Never waits.
int tidings_launcher_open(tidings_launcher **launcher);

/// Kills all extensions and their descendants, and waits until they and the launcher have ended. NULL is ignored. No
/// other call may be running or follow. Ends of extensions are not reported any more. In a forked child it only
/// frees.
/// Bound: constant. Waits for the kernel to end the processes, milliseconds as a rule and 60 s at most. Then it kills
/// the launcher, and a descendant that the kernel could not end yet may live on.
void tidings_launcher_close(tidings_launcher *launcher);

/// A path that a sandboxed extension may use, with everything below it.
typedef struct tidings_launch_path {
    const char *path;
    /// False: read files, list directories, run programs. True: also write, create, rename and remove; no device files.
    bool writable;
} tidings_launch_path;

/// What to start, and how. Relative paths count from the host's current directory.
typedef struct tidings_launch {
    const char *executable;          ///< a path; no search in PATH
    const char *const *arguments;    ///< NULL-terminated, with argument 0
    const char *const *environment;  ///< NULL-terminated; NULL: the host's
    const char *directory;           ///< the extension's current directory; NULL: the host's
    int input;             ///< becomes descriptor 0; the caller keeps its own. All others but 1 and 2 are closed
    uint64_t memory;       ///< bytes of address space (RLIMIT_AS); 0: no limit
    uint64_t cpu_seconds;  ///< seconds of processor time: then SIGXCPU, and SIGKILL a second later; 0: no limit
    uint32_t open_files;   ///< the first descriptor number that can't be had; 0: no limit of its own
    /// Landlock: no file but those of `paths`, which must also hold the executable, its interpreter and its libraries.
    /// From ABI 6 on (Linux 6.12), no signals to processes that are not descendants.
    bool sandbox;
    /// A system call filter: no sockets but Unix ones, no io_uring, no system calls of another architecture (32-bit
    /// programs are killed). Landlock adds TCP from ABI 4 on (Linux 6.7), abstract Unix sockets from ABI 6 on. A socket
    /// that a peer passes over a Unix socket works.
    bool no_network;
    const tidings_launch_path *paths;
    uint32_t path_count;
} tidings_launch;

/// The failed step, for an error line: "can't", `step`, `path`, and the text of the errno.
typedef struct tidings_launch_failure {
    const char *step;  ///< a static text, as "run" or "limit the memory of"
    const char *path;  ///< a text of `tidings_launch`: the executable, the directory or a path
} tidings_launch_failure;

/// Starts an extension. Returns when the executable runs (0), or a step failed; then no process is left. `id` is for
/// the calls below and for events. No two extensions of a launcher have one id. Each extension has no_new_privs: a
/// set-user-ID program gives it nothing. It has a session and process group of its own, default signal dispositions and
/// no blocked signal.
///
/// An extension that ends at once may be reported by `tidings_launcher_next` in another thread before this call returns
/// in its own.
///
/// - -ENOENT, -EACCES, -ENOEXEC, …: as `execve` and the other calls report them; `failure` names the step.
/// - -EOPNOTSUPP, -ENOSYS: the kernel can't enforce a limit that was asked for.
/// - -EINVAL: there is no executable, no argument 0, or no input.
/// - -E2BIG: more than TIDINGS_LAUNCH_BYTES_MAX or TIDINGS_LAUNCH_PATHS_MAX, or more than the kernel takes.
/// - -EUSERS: there are TIDINGS_LAUNCHER_EXTENSIONS_MAX extensions.
/// - -EPIPE: the launcher has ended. -ETIMEDOUT: it did not answer in 60 s and was killed, or the executable was not
///   loaded in 30 s. A launcher that was stopped is continued each second.
///
/// Bound: copy of the texts; the kernel copies the launcher's page tables. Waits milliseconds as a rule, 150 s at
/// most (60 s for the launcher's answer, 30 s for the executable, 60 s to confirm or discard it): not for a cooperative
/// thread.
int tidings_launcher_start(tidings_launcher *launcher, const tidings_launch *launch, uint64_t *id, int32_t *pid,
                           tidings_launch_failure *failure);

/// Sends a signal to the extension's process group. Descendants that left the group do not receive it.
///
/// -ESRCH: the extension has ended. -EINVAL: there is no such signal. -EPIPE, -ETIMEDOUT: as `start`.
/// Bound: constant. Waits for the launcher's answer, 60 s at most.
int tidings_launcher_signal(tidings_launcher *launcher, uint64_t id, int signal);

/// Sends SIGKILL to the extension, and to all of its descendants as soon as it has ended. `tidings_launcher_next`
/// reports its end. Fails as `tidings_launcher_signal`.
/// Bound: constant. Waits for the launcher's answer, 60 s at most.
int tidings_launcher_kill(tidings_launcher *launcher, uint64_t id);

typedef struct tidings_launch_event {
    uint64_t id;
    int32_t pid;
    bool signaled;
    int32_t code;  ///< the exit status, or the signal if `signaled`
} tidings_launch_event;

/// Waits for the end of an extension. Reports each end once. A negative timeout has no end.
///
/// -ETIMEDOUT; -EINTR: `tidings_launcher_interrupt`; -EPIPE: the launcher has ended, and all extensions with it.
/// Bound: constant. Waits up to `timeout_ns`.
int tidings_launcher_next(tidings_launcher *launcher, int64_t timeout_ns, tidings_launch_event *event);

/// Makes the running or the next wait of `tidings_launcher_next` return -EINTR, once. Async-signal-safe.
/// Bound: constant. Never waits.
void tidings_launcher_interrupt(tidings_launcher *launcher);

#ifdef __cplusplus
}
#endif

#endif
