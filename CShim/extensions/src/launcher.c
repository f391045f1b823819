// The host's side of the launcher. Declared and described in tidings_launcher.h.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol.h"
#include "wait.h"

struct tidings_launcher {
    pid_t host, pid;
    int requests, ends, pidfd, interruption;
    pthread_mutex_t exchange;  // held from a request to its reply
    bool broken;               // the launcher has ended, or was killed because it did not answer
};

#define SECOND INT64_C(1000000000)
#define ANSWER_TRIES 60           // a second each; the launcher answers in microseconds, but it may have no processor
#define LOADING_NS (30 * SECOND)  // a slow file system
#define END_TRIES 600             // 100 ms each, as tidings_launcher_close promises

// Waits until the descriptor has something to read or its end, or the launcher has ended. 0 or -ETIMEDOUT.
static int await(const tidings_launcher *launcher, int descriptor, int64_t timeout_ns) {
    struct pollfd watched[] = {{.fd = descriptor, .events = POLLIN}, {.fd = launcher->pidfd, .events = POLLIN}};
    return tidings__wait_ready(watched, 2, timeout_ns);
}

static void signal_launcher(const tidings_launcher *launcher, int signal) {
    if (launcher->pidfd >= 0)
        (void)tidings__pidfd_signal(launcher->pidfd, signal);
    else
        (void)kill(launcher->pid, signal);
}

// Waits for the launcher's answer: 0 or -ETIMEDOUT. An extension may have stopped the launcher, so it is continued each
// second.
static int await_answer(const tidings_launcher *launcher) {
    for (int tries = 1;; tries++) {
        const int error = await(launcher, launcher->requests, SECOND);
        if (error != -ETIMEDOUT || tries == ANSWER_TRIES) return error;
        signal_launcher(launcher, SIGCONT);
    }
}

// MARK: Opening

int tidings_launcher_open(tidings_launcher **result) {
    *result = NULL;
    int requests[2] = {-1, -1}, ends[2] = {-1, -1}, error = 0;
    tidings_launcher *launcher = calloc(1, sizeof *launcher);
    // The launcher has no heap: what it needs is made before the fork.
    tidings__launcher_process *process = calloc(1, sizeof *process);
    void *found = mmap(NULL, TIDINGS__PID_LIMIT / 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!launcher || !process || found == MAP_FAILED) {
        error = ENOMEM;
        goto failed;
    }
    *launcher = (tidings_launcher){.host = getpid(), .requests = -1, .ends = -1, .pidfd = -1, .interruption = -1};
    (void)pthread_mutex_init(&launcher->exchange, NULL);
    launcher->interruption = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (launcher->interruption < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, requests) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        error = errno;
        goto failed;
    }
    *process = (tidings__launcher_process){.host = launcher->host,
                                           .requests = requests[1],
                                           .ends = ends[1],
                                           .host_pidfd = tidings__pidfd_open(launcher->host),
                                           .hosts = {requests[0], ends[0], launcher->interruption},
                                           .found = found};
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    launcher->pid = fork();
    if (launcher->pid == 0) tidings__launcher_run(process);
    error = launcher->pid < 0 ? errno : 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (process->host_pidfd >= 0) (void)close(process->host_pidfd);
    if (error) goto failed;
    launcher->pidfd = tidings__pidfd_open(launcher->pid);
    launcher->requests = requests[0];
    launcher->ends = ends[0];
    requests[0] = ends[0] = -1;
    *result = launcher;
    launcher = NULL;
failed:
    if (launcher && launcher->interruption >= 0) (void)close(launcher->interruption);
    for (int i = 0; i < 2; i++) {
        if (requests[i] >= 0) (void)close(requests[i]);
        if (ends[i] >= 0) (void)close(ends[i]);
    }
    if (found != MAP_FAILED) (void)munmap(found, TIDINGS__PID_LIMIT / 8);
    free(process);
    free(launcher);
    return -error;
}

void tidings_launcher_close(tidings_launcher *launcher) {
    if (!launcher) return;
    (void)close(launcher->requests);
    (void)close(launcher->ends);
    if (launcher->host == getpid()) {
        struct pollfd watched = {.fd = launcher->pidfd, .events = POLLIN};
        for (int tries = 0; waitpid(launcher->pid, NULL, WNOHANG) == 0; tries++) {
            if (tries == END_TRIES) signal_launcher(launcher, SIGKILL);
            // An extension may have stopped it.
            signal_launcher(launcher, SIGCONT);
            (void)tidings__wait_ready(&watched, 1, SECOND / 10);
        }
    }
    if (launcher->pidfd >= 0) (void)close(launcher->pidfd);
    (void)close(launcher->interruption);
    (void)pthread_mutex_destroy(&launcher->exchange);
    free(launcher);
}

// MARK: Requests

// Sends a request and waits for its reply. 0, the launcher's error, or -EPIPE, -ETIMEDOUT: the launcher is lost.
// `outcome` (or NULL): the pipe of a start.
static int exchange(tidings_launcher *launcher, const tidings__request *request, const int *descriptors, int count,
                    tidings__reply *reply, int *outcome) {
    if (launcher->host != getpid()) return -ECHILD;
    (void)pthread_mutex_lock(&launcher->exchange);
    int error = launcher->broken
                    ? -EPIPE
                    : tidings__message_send(launcher->requests, request, sizeof *request, descriptors, count);
    if (error == 0) error = await_answer(launcher);
    int came = 0, received = -1;
    if (error == 0) {
        const int got = tidings__message_receive(launcher->requests, reply, sizeof *reply, &received, 1, &came);
        // EAGAIN: the launcher ended without a reply.
        error = got > 0 ? 0 : got == 0 || got == -EAGAIN || got == -ECONNRESET ? -EPIPE : got;
    } else if (error == -ECONNRESET) {
        error = -EPIPE;
    }
    if (error == -ETIMEDOUT || error == -EPIPE) {
        // Its reply would be taken for that of the next request.
        launcher->broken = true;
        signal_launcher(launcher, SIGKILL);
    }
    (void)pthread_mutex_unlock(&launcher->exchange);
    if (outcome) *outcome = came ? received : -1;
    return error ? error : -reply->error;
}

static int request(tidings_launcher *launcher, uint32_t kind, uint64_t id, int signal) {
    tidings__reply reply;
    return exchange(launcher, &(tidings__request){.kind = kind, .id = id, .signal = signal}, NULL, 0, &reply, NULL);
}

int tidings_launcher_signal(tidings_launcher *launcher, uint64_t id, int signal) {
    return request(launcher, TIDINGS__REQUEST_SIGNAL, id, signal);
}

int tidings_launcher_kill(tidings_launcher *launcher, uint64_t id) {
    return request(launcher, TIDINGS__REQUEST_KILL, id, 0);
}

// MARK: Starting

extern char **environ;

// Grows as tables and texts are added. A failure is remembered, so that one check at the end is enough.
typedef struct builder {
    char *bytes;
    size_t size, capacity;
    int error;
} builder;

// Room for `size` bytes, aligned to 8. Returns its offset.
static uint64_t reserve(builder *to, size_t size) {
    const size_t at = to->size, rounded = (size + 7) & ~(size_t)7;
    if (!to->error && (rounded < size || rounded > TIDINGS_LAUNCH_BYTES_MAX - at)) to->error = E2BIG;
    if (to->error) return 0;
    if (at + rounded > to->capacity) {
        const size_t capacity = (at + rounded) * 2;
        char *bytes = realloc(to->bytes, capacity);
        if (!bytes) {
            to->error = ENOMEM;
            return 0;
        }
        to->bytes = bytes;
        to->capacity = capacity;
    }
    memset(to->bytes + at, 0, rounded);
    to->size = at + rounded;
    return at;
}

static uint64_t add(builder *to, const char *text) {
    const size_t length = strlen(text) + 1;
    const uint64_t at = reserve(to, length);
    if (!to->error) memcpy(to->bytes + at, text, length);
    return at;
}

static void set(builder *to, uint64_t at, uint64_t value) {
    if (!to->error) memcpy(to->bytes + at, &value, sizeof value);
}

static uint64_t add_table(builder *to, const char *const *texts) {
    size_t count = 0;
    while (texts[count]) count++;
    const uint64_t table = reserve(to, (count + 1) * sizeof(uint64_t));
    for (size_t i = 0; i < count && !to->error; i++) set(to, table + i * sizeof(uint64_t), add(to, texts[i]));
    return table;
}

// Where the extension gets another directory, a relative path of its executable is made absolute.
static uint64_t add_executable(builder *to, const tidings_launch *launch) {
    if (launch->executable[0] == '/' || !launch->directory) return add(to, launch->executable);
    char *directory = getcwd(NULL, 0);
    if (!directory) {
        to->error = errno;
        return 0;
    }
    const size_t length = strlen(directory), rest = strlen(launch->executable) + 1;
    const uint64_t at = reserve(to, length + 1 + rest);
    if (!to->error) {
        memcpy(to->bytes + at, directory, length);
        to->bytes[at + length] = '/';
        memcpy(to->bytes + at + length + 1, launch->executable, rest);
    }
    free(directory);
    return at;
}

// If the machine has no memory left, the kernel is to end an extension before its host. 300 counts as 30 % of the
// machine's memory; browsers give it to the processes that they can start again.
static uint64_t add_oom_score(builder *to) {
    char text[16] = "0";
    const int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, text, sizeof text - 1);
        (void)close(fd);
    }
    const int score = atoi(text) + 300;
    (void)snprintf(text, sizeof text, "%d", score < 1000 ? score : 1000);
    return add(to, text);
}

static void build(builder *to, const tidings_launch *launch) {
    (void)reserve(to, sizeof(tidings__launch_memory));
    tidings__launch_memory header = {
        .executable = add_executable(to, launch),
        .directory = launch->directory ? add(to, launch->directory) : 0,
        .arguments = add_table(to, launch->arguments),
        .environment = add_table(to, launch->environment ? launch->environment : (const char *const *)environ),
        .oom_score = add_oom_score(to),
        .memory = launch->memory,
        .cpu_seconds = launch->cpu_seconds,
        .path_count = launch->path_count,
        .open_files = launch->open_files,
        .sandbox = launch->sandbox,
        .no_network = launch->no_network,
    };
    header.paths = reserve(to, launch->path_count * sizeof(tidings__launch_memory_path));
    for (uint32_t i = 0; i < launch->path_count && !to->error; i++) {
        const uint64_t at = header.paths + i * sizeof(tidings__launch_memory_path);
        set(to, at, add(to, launch->paths[i].path));
        set(to, at + sizeof(uint64_t), launch->paths[i].writable);
    }
    if (!to->error) memcpy(to->bytes, &header, sizeof header);
}

// A descriptor of memory with these bytes, or a negative errno.
static int memory_of(const builder *built) {
    const int fd = memfd_create("tidings-launch", MFD_CLOEXEC);
    if (fd < 0) return -errno;
    for (size_t done = 0; done < built->size;) {
        const ssize_t written = write(fd, built->bytes + done, built->size - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            const int error = written < 0 ? errno : EIO;
            (void)close(fd);
            return -error;
        }
        done += (size_t)written;
    }
    return fd;
}

static const char *const steps[] = {
    [TIDINGS__STEP_RUN] = "run",
    [TIDINGS__STEP_PREPARE] = "make a process for",
    [TIDINGS__STEP_ENTER] = "enter the directory",
    [TIDINGS__STEP_ALLOW] = "allow in the sandbox",
    [TIDINGS__STEP_SANDBOX] = "sandbox",
    [TIDINGS__STEP_PRIVILEGES] = "forbid new privileges to",
    [TIDINGS__STEP_NETWORK] = "refuse the network to",
    [TIDINGS__STEP_MEMORY] = "limit the memory of",
    [TIDINGS__STEP_CPU] = "limit the processor time of",
    [TIDINGS__STEP_FILES] = "limit the open files of",
};

static void name(tidings_launch_failure *result, const tidings_launch *launch, const tidings__failure *failure) {
    result->step = steps[failure->step];
    result->path = failure->step == TIDINGS__STEP_ALLOW   ? launch->paths[failure->index].path
                   : failure->step == TIDINGS__STEP_ENTER ? (launch->directory ? launch->directory : ".")
                                                          : launch->executable;
}

// Waits until the new process runs the executable (0), or a step failed (its negative errno).
static int await_outcome(const tidings_launcher *launcher, int outcome, tidings__failure *failure) {
    const int error = await(launcher, outcome, LOADING_NS);
    if (error) return error;
    // The launcher may have ended instead. Its end is the new process's.
    struct pollfd pipe = {.fd = outcome, .events = POLLIN};
    if (tidings__wait_ready(&pipe, 1, 0)) return -EPIPE;
    ssize_t got;
    do got = read(outcome, failure, sizeof *failure);
    while (got < 0 && errno == EINTR);
    if (got == sizeof *failure) return -failure->error;
    return got == 0 ? 0 : got < 0 ? -errno : -EIO;
}

int tidings_launcher_start(tidings_launcher *launcher, const tidings_launch *launch, uint64_t *id, int32_t *pid,
                           tidings_launch_failure *result) {
    *id = 0;
    *pid = 0;
    tidings__failure failure = {.step = TIDINGS__STEP_RUN};
    *result = (tidings_launch_failure){.step = steps[TIDINGS__STEP_RUN], .path = launch->executable};
    if (!launch->executable || !launch->arguments || !launch->arguments[0] || launch->input < 0) return -EINVAL;
    if (launcher->host != getpid()) return -ECHILD;
    if (launch->path_count > TIDINGS_LAUNCH_PATHS_MAX) return -E2BIG;

    builder built = {0};
    build(&built, launch);
    const int memory = built.error ? -built.error : memory_of(&built);
    const uint64_t size = built.size;
    free(built.bytes);
    if (memory < 0) return memory;
    const int directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        const int error = errno;
        (void)close(memory);
        return -error;
    }
    const int descriptors[] = {memory, directory, launch->input};
    tidings__reply reply = {0};
    int outcome = -1;
    failure.step = TIDINGS__STEP_PREPARE;
    int error = exchange(launcher, &(tidings__request){.kind = TIDINGS__REQUEST_START, .size = size}, descriptors, 3,
                         &reply, &outcome);
    (void)close(memory);
    (void)close(directory);
    if (error == 0 && outcome < 0) error = -EMFILE;
    if (error == 0) error = await_outcome(launcher, outcome, &failure);
    if (outcome >= 0) (void)close(outcome);
    if (error == 0) error = request(launcher, TIDINGS__REQUEST_CONFIRM, reply.id, 0);
    if (error == 0) {
        *id = reply.id;
        *pid = reply.pid;
        return 0;
    }
    if (reply.id) (void)request(launcher, TIDINGS__REQUEST_DISCARD, reply.id, 0);
    name(result, launch, &failure);
    return error;
}

// MARK: Ends

int tidings_launcher_next(tidings_launcher *launcher, int64_t timeout_ns, tidings_launch_event *event) {
    if (launcher->host != getpid()) return -ECHILD;
    struct pollfd watched[] = {{.fd = launcher->ends, .events = POLLIN},
                               {.fd = launcher->pidfd, .events = POLLIN},
                               {.fd = launcher->interruption, .events = POLLIN}};
    const int late = tidings__wait_ready(watched, 3, timeout_ns);
    if (late) return late;
    uint64_t count;
    if (watched[2].revents && read(launcher->interruption, &count, sizeof count) == sizeof count) return -EINTR;
    tidings__end end;
    int none;
    // If the launcher has ended, what it sent is there, and then the socket's end or nothing.
    if (tidings__message_receive(launcher->ends, &end, sizeof end, NULL, 0, &none) <= 0) return -EPIPE;
    const bool signaled = WIFSIGNALED(end.status);
    *event = (tidings_launch_event){.id = end.id,
                                    .pid = end.pid,
                                    .signaled = signaled,
                                    .code = signaled ? WTERMSIG(end.status) : WEXITSTATUS(end.status)};
    return 0;
}

void tidings_launcher_interrupt(tidings_launcher *launcher) {
    const int saved = errno;
    const uint64_t one = 1;
    (void)!write(launcher->interruption, &one, sizeof one);
    errno = saved;
}
