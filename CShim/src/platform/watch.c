// The thread that reads file changes from inotify. It has a descriptor table of its own, because a program may close
// descriptors that are not its own. Another file then gets the number, and a thread that shared the table would read
// from that file. The thread's own table holds one descriptor, which no other thread can close.
#include "platform/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/atomics.h"
#include "platform/event.h"
#include "platform/file.h"
#include "platform/futex.h"
#include "platform/process.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define CLOSE_RANGE_UNSHARE_ 2u

#define EVENTS (IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
#define DIRECTORY_EVENTS (IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
// Marks the inotify descriptor as ours, because all anonymous inodes share one inode number. The mark is a signal
// number (F_SETSIG), which has no other effect without O_ASYNC.
#define MARK 61

enum { NONE, STARTING, RUNNING, REFUSED };

// The thread sanitizer ends a forked child that starts a thread, if its parent had several threads.
#if defined(__SANITIZE_THREAD__)
#define FORKED REFUSED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FORKED REFUSED
#endif
#endif
#ifndef FORKED
#define FORKED NONE
#endif

static int inotify = -1;        // the program's copy, used to add and remove watches; the caller's lock guards it
static _Atomic uint32_t state;  // futex: `tidings__watch_runs` waits while STARTING
static void (*_Atomic on_change)(int32_t watch);

static bool is_ours(int fd) { return fd >= 0 && fcntl(fd, F_GETSIG) == MARK; }

// Ends STARTING.
static void settle(uint32_t outcome) {
    tidings__set_release(&state, outcome);
    tidings__futex_wake(&state, INT32_MAX);
}

static void *body(void *argument) {
    const unsigned fd = (unsigned)(intptr_t)argument;
    // The first call unshares the table. The thread then closes its copies of the program's descriptors at once, so
    // that pipes and sockets end when the program closes them. No thread waits for that: a close may wait for a file
    // server.
    const bool own_table = syscall(SYS_close_range, fd + 1, ~0u, CLOSE_RANGE_UNSHARE_) == 0 && is_ours((int)fd);
    settle(own_table ? RUNNING : REFUSED);
    if (own_table) (void)syscall(SYS_close_range, 0, fd - 1, 0u);
    _Alignas(struct inotify_event) char events[4096];
    while (own_table) {
        const ssize_t size = read((int)fd, events, sizeof events);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) break;
        void (*changed)(int32_t) = tidings__acquire(&on_change);
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const void *)&events[at];
            at += (ssize_t)sizeof *event + event->len;
            if (event->mask & IN_IGNORED) continue;  // a watch was removed
            changed(event->mask & IN_Q_OVERFLOW ? INT32_MIN : event->wd);
        }
    }
    return NULL;
}

// The child has no such thread, and its parent's descriptor is of no use to it.
static void in_forked_child(void) {
    if (is_ours(inotify)) (void)close(inotify);
    inotify = -1;
    tidings__set_relaxed(&state, FORKED);
}

static int start(void) {
    tidings__at_fork_child(in_forked_child);
    // Closes nothing. A kernel that refuses this call refuses the thread a table of its own, always.
    if (syscall(SYS_close_range, ~0u, ~0u, 0u) != 0) {
        tidings__set_relaxed(&state, REFUSED);
        return -ENOSYS;
    }
    int fd = inotify_init1(IN_CLOEXEC);
    fd = fd < 0 ? -errno : tidings__above_standard(fd);
    if (fd < 0) return fd;
    int error = fcntl(fd, F_SETSIG, MARK) < 0 ? errno : 0;
    inotify = fd;
    tidings__set_relaxed(&state, STARTING);
    pthread_t thread;
    if (!error) error = tidings__thread_start(&thread, body, (void *)(intptr_t)fd, 0);
    if (!error) {
        (void)pthread_detach(thread);
        return 0;
    }
    (void)close(fd);
    inotify = -1;
    // A process may have room for a descriptor or a thread later.
    settle(NONE);
    return -error;
}

bool tidings__watch_runs(void) {
    while (tidings__acquire(&state) == STARTING) tidings__futex_wait(&state, STARTING, -1);
    return tidings__acquire(&state) == RUNNING;
}

static int32_t ready(void (*changed)(int32_t)) {
    tidings__set_release(&on_change, changed);
    int32_t result = tidings__acquire(&state) == REFUSED ? -ENOSYS : 0;
    if (tidings__acquire(&state) == NONE) result = start();
    // The program has closed the descriptor, and its number may belong to another file. Existing watches stay.
    if (result == 0 && !is_ours(inotify)) result = -EBADF;
    return result;
}

int32_t tidings__watch_add_directory(const char *path, void (*changed)(int32_t)) {
    const int saved = errno;
    int32_t result = ready(changed);
    if (result == 0) {
        result = inotify_add_watch(inotify, path, DIRECTORY_EVENTS);
        if (result < 0) result = -errno;
    }
    errno = saved;
    return result;
}

int32_t tidings__watch_add(int fd, const char *path, void (*changed)(int32_t)) {
    const int saved = errno;
    int32_t result = ready(changed);
    if (result == 0) {
        char descriptor[32];
        (void)snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", fd);
        result = inotify_add_watch(inotify, descriptor, EVENTS);
        if (result < 0 && tidings__file_same(fd, path))
            result = inotify_add_watch(inotify, path, EVENTS | IN_DONT_FOLLOW);
        if (result < 0) result = -errno;
    }
    errno = saved;
    return result;
}

void tidings__watch_remove(int32_t watch) {
    const int saved = errno;
    if (is_ours(inotify)) (void)inotify_rm_watch(inotify, watch);
    errno = saved;
}
