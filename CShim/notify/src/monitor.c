// Files that a token follows. A watch of the directory reports that the file appears or disappears. A watch of the file
// reports what is written.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

#define COALESCED_MS 100
#define CHANGES                                                                                                        \
    (IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_CREATE | IN_DELETE | IN_MOVED_FROM |  \
     IN_MOVED_TO)

typedef struct notify__monitor {
    notify__token *token;
    int file, directory;  // watches; -1: none
    int flags;            // NOTIFY_FILE_…: the events that are delivered to the token
    int64_t due;          // milliseconds; 0: nothing has changed
    struct stat last;     // the file as of the last event; all 0: it was not there
    struct notify__monitor *next;
    const char *name;  // within path
    char path[];
} notify__monitor;

static int inotify = -1;
static notify__monitor *monitors;  // under notify__lock

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// inotify has one watch for each file, so monitors may share it: remove it only if no other monitor uses it.
static void unwatch(int watch) {
    for (const notify__monitor *m = monitors; m; m = m->next)
        if (m->file == watch || m->directory == watch) return;
    if (watch >= 0) inotify_rm_watch(inotify, watch);
}

static void watch_file(notify__monitor *m) {
    const int before = m->file;
    m->file = inotify_add_watch(inotify, m->path, CHANGES | IN_MASK_ADD);
    if (before != m->file) unwatch(before);
}

static bool watch_directory(notify__monitor *m) {
    char directory[PATH_MAX];
    const size_t length = m->name > m->path ? (size_t)(m->name - m->path) : 0;
    if (length >= sizeof directory) return false;
    memcpy(directory, m->path, length);
    strcpy(directory + length, length == 0 ? "." : "");
    m->directory = inotify_add_watch(inotify, directory, CHANGES | IN_MASK_ADD | IN_ONLYDIR);
    return m->directory >= 0;
}

int notify__monitors_descriptor(void) { return monitors ? inotify : -1; }

// inotify does not report whether a file grew, or which of its times changed. The attributes do.
static int changed_attributes(notify__monitor *m) {
    struct stat now;
    const struct stat last = m->last;
    if (stat(m->path, &now) != 0) memset(&now, 0, sizeof now);
    m->last = now;
    if (now.st_ino == 0 || now.st_ino != last.st_ino || now.st_dev != last.st_dev) return 0;
    int flags = 0;
    if (now.st_size > last.st_size) flags |= NOTIFY_FILE_EXTEND;
    if (now.st_nlink != last.st_nlink) flags |= NOTIFY_FILE_LINK;
    if (memcmp(&now.st_mtim, &last.st_mtim, sizeof now.st_mtim) != 0) flags |= NOTIFY_FILE_MTIME | NOTIFY_FILE_ATTRIB;
    if (memcmp(&now.st_ctim, &last.st_ctim, sizeof now.st_ctim) != 0) flags |= NOTIFY_FILE_CTIME | NOTIFY_FILE_ATTRIB;
    return flags;
}

static int flags_of(notify__monitor *m, uint32_t mask, bool here, bool itself) {
    int flags = changed_attributes(m);
    if (mask & IN_MODIFY) flags |= NOTIFY_FILE_WRITE;
    if (mask & IN_ATTRIB) flags |= NOTIFY_FILE_ATTRIB;
    if (mask & (IN_DELETE_SELF | (here ? IN_DELETE : 0))) flags |= NOTIFY_FILE_DELETE;
    if (mask & (IN_MOVE_SELF | (here ? IN_MOVED_FROM : 0))) flags |= NOTIFY_FILE_DELETE | NOTIFY_FILE_RENAME;
    if (here && mask & (IN_CREATE | IN_MOVED_TO)) flags |= NOTIFY_FILE_CREATE;
    // The file is a directory: a change of its entries counts as a write.
    if (itself && mask & (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)) flags |= NOTIFY_FILE_WRITE;
    if (mask & IN_UNMOUNT) flags |= NOTIFY_FILE_DELETE | NOTIFY_FILE_REVOKE;
    return flags;
}

static void changed(const struct inotify_event *event) {
    for (notify__monitor *m = monitors; m; m = m->next) {
        const bool here = m->directory == event->wd && event->len > 0 && strcmp(event->name, m->name) == 0;
        const bool itself = m->file == event->wd;
        // The queue overflowed, and events were lost: any file may have changed.
        const bool lost = event->mask & IN_Q_OVERFLOW;
        if (itself && event->mask & IN_IGNORED) m->file = -1;
        if (!here && !lost && (!itself || event->mask & IN_IGNORED)) continue;
        if (here && event->mask & (IN_CREATE | IN_MOVED_TO)) watch_file(m);
        const int flags = flags_of(m, event->mask, here, itself);
        if (m->flags != NOTIFY_FILE_ALL && !lost && !(flags & m->flags)) continue;
        if (m->due == 0) m->due = now_ms() + COALESCED_MS;
    }
}

// One read for each turn of the worker: events may come faster than they are read, and the turn ends with the
// deliveries and gives the lock to other threads.
void notify__monitors_read(void) {
    _Alignas(struct inotify_event) char events[16384];
    const ssize_t size = inotify >= 0 ? read(inotify, events, sizeof events) : 0;
    for (const char *at = events; at < events + size;) {
        const struct inotify_event *event = (const struct inotify_event *)at;
        changed(event);
        at += sizeof *event + event->len;
    }
}

int64_t notify__monitors_due(void) {
    int64_t least = -1, now = monitors ? now_ms() : 0;
    for (notify__monitor *m = monitors; m; m = m->next) {
        if (m->due != 0 && m->due <= now) {
            m->due = 0;
            atomic_store_explicit(&m->token->checked, NOTIFY__UNCHECKED, memory_order_relaxed);
            notify__deliver(m->token);
        }
        if (m->due != 0 && (least < 0 || m->due - now < least)) least = m->due - now;
    }
    return least;
}

void notify__monitor_end(notify__token *token) {
    notify__monitor *m = token->monitor;
    if (!m) return;
    token->monitor = NULL;
    for (notify__monitor **link = &monitors; *link; link = &(*link)->next) {
        if (*link != m) continue;
        *link = m->next;
        break;
    }
    unwatch(m->file);
    unwatch(m->directory);
    free(m);
}

// A child's tokens follow no file until the child asks for it. The parent's monitors remain the parent's.
void notify__monitors_forked(void) {
    if (inotify >= 0) close(inotify);
    inotify = -1;
    while (monitors) {
        notify__monitor *m = monitors;
        monitors = m->next;
        m->token->monitor = NULL;
        free(m);
    }
}

static uint32_t begin(notify__token *token, const char *path, int flags) {
    const size_t length = strlen(path);
    if (length == 0 || length >= PATH_MAX)
        return notify__fail(NOTIFY_STATUS_INVALID_FILE, "can't follow a file: its path has %zu bytes; pass 1 to %d",
                            length, PATH_MAX - 1);
    if (inotify < 0) inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (inotify < 0)
        return notify__fail(NOTIFY_STATUS_FAILED, "can't follow \"%s\": inotify says %s; close some descriptors", path,
                            strerror(errno));
    notify__monitor *m = calloc(1, sizeof *m + length + 1);
    if (!m) return notify__fail_memory("follow a file");
    memcpy(m->path, path, length + 1);
    const char *slash = strrchr(m->path, '/');
    m->name = slash ? slash + 1 : m->path;
    m->token = token;
    m->flags = flags;
    m->file = -1;
    if (!watch_directory(m)) {
        const int failed = errno;
        free(m);
        return notify__fail(NOTIFY_STATUS_INVALID_FILE,
                            "can't follow \"%s\": its directory says %s; pass a path whose directory is there", path,
                            strerror(failed));
    }
    m->next = monitors;
    monitors = m;
    token->monitor = m;
    watch_file(m);
    (void)changed_attributes(m);
    notify__worker_wake();
    return NOTIFY_STATUS_OK;
}

uint32_t notify_monitor_file(int number, char *path, int flags) {
    if (atomic_load_explicit(&notify__disabled, memory_order_relaxed)) return notify__fail_disabled("follow a file");
    // As in Apple's library: 0 stands for all events, and bits that name no event are ignored.
    if (flags == 0) flags = NOTIFY_FILE_ALL;
    if (!(flags & NOTIFY_FILE_ALL))
        return notify__fail(NOTIFY_STATUS_INVALID_REQUEST,
                            "can't follow a file with flags %#x: they name no event; pass 0, or some of NOTIFY_FILE_…",
                            (unsigned)flags);
    flags &= NOTIFY_FILE_ALL;
    notify__lock_begin();
    notify__token *token = notify__token_of(number);
    uint32_t status = token ? NOTIFY_STATUS_OK : notify__fail_token("follow a file with", number);
    if (token) notify__monitor_end(token);
    if (token && path) status = begin(token, path, flags);
    notify__lock_end();
    return status;
}
