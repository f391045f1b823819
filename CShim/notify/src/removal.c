// Detects the removal of centers. A post or a set state fails in a removed center, and so detects it. A process that
// only listens detects it with NOTIFY_OPT_REGEN alone: its worker watches the file by inotify, and continues in the
// successor.
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "worker.h"

static int inotify = -1;  // all under notify__lock
static bool doubtful;     // a center may be gone

static const char *path_of(const notify__domain *domain) {
    return tidings_path(atomic_load_explicit(&domain->center, memory_order_relaxed));
}

// Checks by the center's own descriptor: the kernel reports an unlinked file before its path leads nowhere.
static bool is_gone(const notify__domain *domain) {
    return domain->kind != NOTIFY__SELF &&
           tidings_ended(atomic_load_explicit(&domain->center, memory_order_relaxed)) != 0;
}

static void watch(notify__domain *domain, const char *path, uint32_t events) {
    const int before = domain->watch;
    domain->watch = inotify_add_watch(inotify, path, events);
    if (before < 0) return;
    for (const notify__domain *other = notify__domains; other; other = other->next)
        if (other->watch == before) return;
    inotify_rm_watch(inotify, before);
}

void notify__removal_watch(notify__domain *domain) {
    if (domain->kind == NOTIFY__SELF || !atomic_load_explicit(&notify__regenerating, memory_order_relaxed)) return;
    if (inotify < 0) inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (inotify < 0) return;
    // IN_ATTRIB: if a file loses its name while it is open, that is a change of its attributes.
    watch(domain, path_of(domain), IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF);
    doubtful = true;
    notify__worker_wake();
}

int notify__removals_descriptor(void) { return inotify; }

void notify__removals_read(void) {
    char events[4096];
    // One read for each turn of the worker: events may come faster than they are read.
    if (inotify >= 0 && read(inotify, events, sizeof events) > 0) doubtful = true;
}

void notify__removals_look(void) {
    if (!doubtful) return;
    // A renewal sets it again, and wakes the worker for another turn. No loop here: a peer may remove each new center,
    // and other threads wait for the lock.
    doubtful = false;
    for (notify__domain *domain = notify__domains; domain; domain = domain->next) {
        if (!is_gone(domain) || notify__domain_renew(domain, true) == NOTIFY_STATUS_OK) continue;
        if (!is_gone(domain)) continue;  // there is a successor, and the renewal is unfinished
        // There is no successor yet: its owner, another user, has to create it, and any new file in the directory may
        // be it. Or the old center is being deleted at this moment.
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s", path_of(domain));
        watch(domain, dirname(path), IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE);
        (void)notify__domain_renew(domain, true);  // the successor may have come before the watch
    }
}

void notify__removals_forked(void) {
    if (inotify >= 0) close(inotify);
    inotify = -1;
    for (notify__domain *domain = notify__domains; domain; domain = domain->next) domain->watch = -1;
}
