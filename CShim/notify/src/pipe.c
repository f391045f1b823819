// Tokens that are written to a pipe. If a pipe is full, no thread waits and no token is lost: the worker writes each
// waiting token once, when there is room.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "worker.h"

static notify__pipe *pipes;  // under notify__lock
static bool parents;         // the pipes are the parent's; this forked child has not yet closed its copies

// Whether the descriptor is still the pipe's reading end: the program may have closed it and opened another file.
static bool is_ours(const notify__pipe *pipe) {
    struct stat now;
    return fstat(pipe->reader, &now) == 0 && S_ISFIFO(now.st_mode) && (uint64_t)now.st_dev == pipe->device &&
           (uint64_t)now.st_ino == pipe->inode;
}

static notify__pipe *find(int reader) {
    notify__pipe *pipe = pipes;
    while (pipe && (pipe->reader != reader || pipe->writer < 0 || !is_ours(pipe))) pipe = pipe->next;
    return pipe;
}

static notify__pipe *make(void) {
    notify__pipe *pipe = calloc(1, sizeof *pipe);
    int ends[2];
    struct stat status;
    if (!pipe || pipe2(ends, O_CLOEXEC) != 0) {
        free(pipe);
        return NULL;
    }
    // Only the writing end is non-blocking: the two ends have separate flags.
    if (fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0 || fstat(ends[0], &status) != 0) {
        close(ends[0]);
        close(ends[1]);
        free(pipe);
        return NULL;
    }
    *pipe = (notify__pipe){
        .reader = ends[0], .writer = ends[1], .device = status.st_dev, .inode = status.st_ino, .next = pipes};
    pipes = pipe;
    return pipe;
}

// True: written, or the pipe has no reader any more. SIGPIPE is blocked meanwhile: the program may have closed the
// reading end, and a thread that resumes a token or renews a domain may have the signal unblocked.
static bool written(const notify__pipe *pipe, const notify__token *token) {
    const uint32_t bytes = htonl(atomic_load_explicit(&token->number, memory_order_relaxed));
    sigset_t signal, before, pending;
    sigemptyset(&signal);
    sigaddset(&signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signal, &before);
    // The dispatcher and the worker have every signal blocked, and keep it pending.
    const bool restores = !sigismember(&before, SIGPIPE);
    const bool was_pending = restores && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE);
    ssize_t count;
    do count = write(pipe->writer, &bytes, sizeof bytes);
    while (count < 0 && errno == EINTR);
    const int error = errno;
    if (restores) {
        // Takes the signal of this write, and none that was pending before.
        if (count < 0 && error == EPIPE && !was_pending) sigtimedwait(&signal, NULL, &(struct timespec){0});
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return count == sizeof bytes || error != EAGAIN;
}

// In constant time, as a hundred thousand tokens may wait for a full pipe.
static void wait_ends(notify__pipe *pipe, notify__token *token) {
    if (token->previous_waiting)
        token->previous_waiting->next_waiting = token->next_waiting;
    else
        pipe->waiting = token->next_waiting;
    if (token->next_waiting)
        token->next_waiting->previous_waiting = token->previous_waiting;
    else
        pipe->waiting_last = token->previous_waiting;
    token->next_waiting = token->previous_waiting = NULL;
    token->full = false;
}

void notify__pipe_write(notify__token *token) {
    notify__pipe *pipe = token->pipe;
    if (token->full || pipe->writer < 0) return;
    // If tokens wait already, this one goes to the end of the list.
    if (!pipe->waiting && written(pipe, token)) return;
    token->full = true;
    token->next_waiting = NULL;
    token->previous_waiting = pipe->waiting_last;
    if (pipe->waiting_last)
        pipe->waiting_last->next_waiting = token;
    else
        pipe->waiting = token;
    pipe->waiting_last = token;
    notify__worker_wake();
}

void notify__pipe_leave(notify__token *token) {
    notify__pipe *pipe = token->pipe;
    // In a forked child notify__pipes_forget has emptied the list, so a token may be `full` without being in it.
    if (token->full && pipe->waiting) wait_ends(pipe, token);
    if (--pipe->tokens > 0) return;
    for (notify__pipe **link = &pipes; *link; link = &(*link)->next) {
        if (*link != pipe) continue;
        *link = pipe->next;
        break;
    }
    if (is_ours(pipe)) close(pipe->reader);
    if (pipe->writer >= 0) close(pipe->writer);
    free(pipe);
}

void notify__pipes_forked(void) { parents = true; }

void notify__pipes_forget(void) {
    if (!parents) return;
    parents = false;
    // The parent's tokens write nothing in the child. Without the child's copies, a reader sees the end of the pipe
    // when the parent ends.
    for (notify__pipe *pipe = pipes; pipe; pipe = pipe->next) {
        close(pipe->writer);
        pipe->writer = -1;
        pipe->waiting = pipe->waiting_last = NULL;
    }
}

uint32_t notify__pipes_full(struct pollfd *polls, uint32_t most) {
    uint32_t count = 0;
    for (const notify__pipe *pipe = pipes; pipe; pipe = pipe->next) {
        if (!pipe->waiting || pipe->writer < 0) continue;
        if (count < most) polls[count] = (struct pollfd){.fd = pipe->writer, .events = POLLOUT};
        count++;
    }
    return count;
}

void notify__pipes_flush(void) {
    notify__pipes_forget();  // the worker of a forked child: the tokens that wait are its parent's to write
    for (notify__pipe *pipe = pipes; pipe; pipe = pipe->next) {
        while (pipe->waiting && pipe->writer >= 0 && written(pipe, pipe->waiting)) wait_ends(pipe, pipe->waiting);
    }
}

uint32_t notify_register_file_descriptor(const char *name, int *notify_fd, int flags, int *out_token) {
    if (!out_token)
        return notify__fail(NOTIFY_STATUS_INVALID_TOKEN,
                            "can't register: out_token is NULL; pass the address of an int");
    *out_token = NOTIFY_TOKEN_INVALID;
    if (!notify_fd)
        return notify__fail(NOTIFY_STATUS_INVALID_FILE,
                            "can't register a descriptor: notify_fd is NULL; pass the address of an int");
    if (flags & ~NOTIFY_REUSE)
        return notify__fail(NOTIFY_STATUS_INVALID_REQUEST,
                            "can't register a descriptor with flags %#x: pass 0 or NOTIFY_REUSE", (unsigned)flags);
    // Count the token before registering it, so that another thread's cancel does not close the pipe meanwhile.
    notify__lock_begin();
    // Before a forked child makes its first pipe: later, this call would close that pipe too.
    notify__pipes_forget();
    notify__pipe *pipe = flags & NOTIFY_REUSE ? find(*notify_fd) : make();
    const int failed = errno;
    if (pipe) pipe->tokens++;
    const int reader = pipe ? pipe->reader : -1;
    notify__lock_end();
    if (!pipe && flags & NOTIFY_REUSE)
        return notify__fail(NOTIFY_STATUS_INVALID_FILE,
                            "can't register with descriptor %d: no earlier registration has it; leave NOTIFY_REUSE out",
                            *notify_fd);
    if (!pipe)
        return notify__fail(NOTIFY_STATUS_FAILED, "can't make a pipe: %s; close some descriptors", strerror(failed));
    notify__token like = {.pipe = pipe};
    const uint32_t status = notify__register(name, out_token, &like);
    if (status == NOTIFY_STATUS_OK) {
        *notify_fd = reader;  // not from the pipe: another thread may have canceled the token already
        return status;
    }
    notify__lock_begin();
    notify__pipe_leave(&like);
    notify__lock_end();
    return status;
}
