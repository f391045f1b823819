// The messages between the host and its launcher, and the calls that glibc 2.36 or its headers lack.
//
// Two SOCK_SEQPACKET sockets. On one the host sends a request and waits for its reply, one at a time. On the other the
// launcher reports ends of extensions. Both processes run the same code, so the messages need no version.
#ifndef TIDINGS__PROTOCOL_H
#define TIDINGS__PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidings_launcher.h"

enum {
    TIDINGS__REQUEST_START,    // three descriptors come with it: launch memory, current directory, input
    TIDINGS__REQUEST_CONFIRM,  // the host knows the extension: report its end
    TIDINGS__REQUEST_DISCARD,  // the host does not know it: kill it, and don't report its end
    TIDINGS__REQUEST_SIGNAL,
    TIDINGS__REQUEST_KILL,
};

typedef struct tidings__request {
    uint32_t kind;
    int32_t signal;
    uint64_t id;
    uint64_t size;  // of the launch memory
} tidings__request;

typedef struct tidings__reply {
    int32_t error;  // 0 or a positive errno
    // The reply to TIDINGS__REQUEST_START carries the read end of a pipe. If the pipe ends without bytes, the
    // executable runs; otherwise it holds a tidings__failure. The launcher makes the pipe, so that no other child of
    // the host can hold its write end open.
    int32_t pid;
    uint64_t id;
} tidings__reply;

typedef struct tidings__end {
    uint64_t id;
    int32_t pid;
    int32_t status;  // as waitpid has it
} tidings__end;

// What a new process writes into that pipe.
typedef struct tidings__failure {
    uint32_t step;   // TIDINGS__STEP_…
    uint32_t index;  // of the path, for TIDINGS__STEP_ALLOW
    int32_t error;   // a positive errno
} tidings__failure;

enum {
    TIDINGS__STEP_RUN,
    TIDINGS__STEP_PREPARE,
    TIDINGS__STEP_ENTER,
    TIDINGS__STEP_ALLOW,
    TIDINGS__STEP_SANDBOX,
    TIDINGS__STEP_PRIVILEGES,
    TIDINGS__STEP_NETWORK,
    TIDINGS__STEP_MEMORY,
    TIDINGS__STEP_CPU,
    TIDINGS__STEP_FILES,
};

// The launch memory: this header, then tables and texts. It is a memfd that the new process maps. Each offset counts
// from the header; 0 is none. A table is a row of offsets that ends with 0. The new process turns the offsets of a
// table into pointers, in its own copy.
typedef struct tidings__launch_memory {
    uint64_t executable, directory;
    uint64_t arguments, environment;  // tables
    uint64_t paths;                   // a row of tidings__launch_memory_path
    uint64_t oom_score;               // what to write into oom_score_adj
    uint64_t memory, cpu_seconds;
    uint32_t path_count, open_files;
    bool sandbox, no_network;
} tidings__launch_memory;

typedef struct tidings__launch_memory_path {
    uint64_t path;
    uint64_t writable;
} tidings__launch_memory_path;

_Static_assert(sizeof(char *) == sizeof(uint64_t), "an offset becomes a pointer in place");

// MARK: System calls

int tidings__pidfd_open(pid_t pid);                // a descriptor, close-on-exec, or -1
int tidings__pidfd_signal(int pidfd, int signal);  // 0 or -1
void tidings__close_from(unsigned first);          // closes all descriptors from `first` on
// Sends a message of these bytes and descriptors; no SIGPIPE. 0 or a negative errno.
int tidings__message_send(int socket, const void *bytes, size_t length, const int *descriptors, int count);
// Takes a message of exactly `length` bytes. Its descriptors are close-on-exec; the number that came is in `*count`, at
// most `room`. Returns 1, 0 at the socket's end, or a negative errno; then no descriptor is left open.
int tidings__message_receive(int socket, void *bytes, size_t length, int *descriptors, int room, int *count);

// MARK: The launcher process. Async-signal-safe.

typedef struct tidings__extension {
    uint64_t id;  // 0: the entry is free
    pid_t pid;
    int status;     // once it has ended
    bool alive;     // it has not been waited for
    bool known;     // the host has confirmed it
    bool unwanted;  // the host has discarded it
} tidings__extension;

typedef struct tidings__launcher_process {
    pid_t pid, host;
    int requests, ends, host_pidfd, children;  // `children`: a signalfd for SIGCHLD
    int hosts[3];                              // the host's own, which the launcher closes
    uint64_t last_id;
    pid_t last_orphan;     // an orphan that ended before the launcher found it, since the last sweep; or 0
    bool sweeping;         // the launcher may have children that are no extensions
    pid_t next_pid;        // without /proc: where this sweep continues
    uint32_t sweep_parts;  // without /proc: how often it continues
    uint32_t sweep_delay;  // milliseconds between this sweep and the next one
    uint64_t sweep_at;     // when it begins, and when the last one ended: in milliseconds of CLOCK_MONOTONIC
    uint64_t swept_at;
    uint64_t *found;  // a bit for each pid: an orphan or its descendant that was found in this sweep
    tidings__extension extensions[TIDINGS_LAUNCHER_EXTENSIONS_MAX];
} tidings__launcher_process;

#define TIDINGS__PID_LIMIT (1 << 22)  // PID_MAX_LIMIT of the kernel

// Runs in the forked process. All descriptors but `children`, `host` and `found` are set; everything else is 0.
_Noreturn void tidings__launcher_run(tidings__launcher_process *launcher);
// Runs in a forked process of the launcher: becomes the extension, or writes the failure and exits.
_Noreturn void tidings__extension_run(const tidings__launcher_process *launcher, uint64_t size,
                                      const int descriptors[3], int failures);
// Begins a sweep: the launcher may have children that are no extensions.
void tidings__sweep_begin(tidings__launcher_process *launcher);
// Sends SIGKILL to each child of the launcher that is no extension, and to its descendants. Returns how many it found
// alive, or -1: it has looked at a part of the pids and found none; call it again at once. `each_pid`: asks for each
// possible pid too, because /proc may hide processes.
int tidings__orphans_kill(tidings__launcher_process *launcher, bool each_pid);
bool tidings__is_extension(const tidings__launcher_process *launcher, pid_t pid);  // and alive
// True if this sweep has met the process alive.
bool tidings__is_found(const tidings__launcher_process *launcher, pid_t pid);
void tidings__forget(tidings__launcher_process *launcher, pid_t pid);
uint64_t tidings__milliseconds(void);

// Applies the sandbox to this process. Paths are opened first, while the current directory is the host's. 0 or a
// positive errno, and the failed step.
int tidings__sandbox_open(const tidings__launch_memory *launch, int *ruleset, tidings__failure *failure);
int tidings__sandbox_enter(const tidings__launch_memory *launch, int ruleset, tidings__failure *failure);

#endif
