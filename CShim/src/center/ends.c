// Detects the end of a center, informs the observers and posters of this process, and watches the center's file and
// directory.
#include "center/ends.h"

#include <errno.h>
#include <string.h>

#include "platform/clock.h"
#include "platform/directory.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/futex.h"
#include "platform/watch.h"

// Guards the lists below, each center's list of observers, and the watches. A list changes by one store of a pointer,
// so a forked child finds a valid list. No thread waits while it holds the lock: see design/5-access.md.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(tidings_center *) watched;  // centers that have had an observer

int tidings__end_fail(const tidings_center *center, const char *what) {
    return tidings__fail(
        ESTALE,
        "can't %s center \"%s\": it was removed, or %s was deleted or replaced; open it again to go on in a new one",
        what, center->segment.name, center->segment.path);
}

static bool directory_status(const tidings_center *center, struct stat *status) {
    char directory[TIDINGS__PATH_SIZE];
    tidings__segment_directory(&center->segment, directory);
    // Follows a symbolic link: a mount changes the directory that the link leads to, and not the link.
    return tidings__directory_status(directory, status) == 0;
}

void tidings__end_begin(tidings_center *center) {
    struct stat directory;
    if (center->segment.sealed || !directory_status(center, &directory)) return;
    center->directory_device = directory.st_dev;
    center->directory_inode = directory.st_ino;
}

// True if the center's path leads to another file or to none. Checked only in the directory in which the center was
// opened: after chroot, or in another mount namespace, the path says nothing.
static bool path_lost(const tidings_center *center) {
    const tidings__segment *s = &center->segment;
    struct stat file, directory;
    const int error = tidings__path_status(s->path, &file);
    if (error == 0 ? file.st_dev == s->device && file.st_ino == s->inode : error != -ENOENT) return false;
    return center->directory_inode != 0 && directory_status(center, &directory) &&
           directory.st_dev == center->directory_device && directory.st_ino == center->directory_inode;
}

bool tidings__end_look(tidings_center *center) {
    tidings__segment *s = &center->segment;
    if (tidings__end_known(center)) return true;
    if (s->sealed) return false;
    struct stat file;
    // Invariant A9: a file without a link never gets a name again, so the end is final. All processes that have it open
    // can be informed at once.
    const bool nameless = tidings__file_status(s->fd, &file) == 0 && file.st_dev == s->device &&
                          file.st_ino == s->inode && file.st_nlink == 0;
    if (!nameless && !path_lost(center)) return false;
    if (nameless && s->writable) tidings__set_relaxed(&s->header->removed.word, 1);
    // Invariant A10: a lost path is noted here only. Invariant A11: never taken back. Release: a thread that reads this
    // and then checks the ring finds all that was posted before.
    tidings__set_release(&center->ended, 1);
    tidings__set_relaxed(&center->window, 0);  // each post checks from now on
    return true;
}

int tidings__end_ask(tidings_center *center, const tidings__thread *thread) {
    if (!tidings__end_known(center)) tidings__set_relaxed(&center->window, thread->window);
    const int saved = errno;
    const bool over = tidings__end_look(center);
    errno = saved;
    if (over)
        // Another thread may have noted the end before this thread noted its window.
        tidings__set_relaxed(&center->window, 0);
    return over ? tidings__end_fail(center, "post to") : 0;
}

void tidings__end_look_seldom(tidings_center *center) {
    const uint64_t now = tidings__monotonic_ns();
    uint64_t last = tidings__relaxed(&center->asked_at);
    if (now - last < TIDINGS__END_ASK_NS || !tidings__cas(&center->asked_at, &last, now)) return;
    (void)tidings__end_look(center);
}

// MARK: Waking the observers of this process

void tidings__nudge(tidings__sleeper *sleeper) {
#ifdef MUTANT_INTERRUPT_WITHOUT_NEW_VALUE  // Found by: interleaving interrupting
    tidings__futex_wake(&sleeper->own_futex, 2);
    return;
#endif
    tidings__fetch_add(&sleeper->own_futex, 1);
    tidings__futex_wake(&sleeper->own_futex, 2);
    if (!sleeper->doorbell) return;
#ifdef MUTANT_NUDGED_HELPER_STAYS_ON_DOORBELL  // Found by: interleaving polling_and_waiting
    return;
#endif
    // Without FUTEX_WAITV an observer sleeps on its doorbell alone. With it, a descriptor's helper that its own futex
    // woke stays among the doorbell's sleepers until it runs, and a poster's wake-up could be spent on it. Adds 2,
    // because bit 0 is the asleep flag.
    tidings__fetch_add(sleeper->doorbell, 2);
    tidings__futex_wake(sleeper->doorbell, 2);
}

static void nudge_all(tidings_center *center) {
    for (tidings__sleeper *each = tidings__relaxed(&center->sleepers); each; each = tidings__relaxed(&each->next))
        if (each->fork_epoch == tidings__relaxed(&tidings__fork_epoch)) tidings__nudge(each);
}

// Called on the thread of platform/watch.c. A center that did not change may have the same watch number: one check too
// many costs a system call.
//
// This thread has no descriptor of the center, and the kernel reports an unlinked file before its path leads nowhere.
// So it asks nothing: it notes the change as a doubt, and nudges each observer. The observers check by the center's
// descriptor, without the lock.
static void changed(int32_t watch) {
    pthread_mutex_lock(&lock);
    for (tidings_center *center = tidings__relaxed(&watched); center;
         center = tidings__relaxed(&center->next_watched)) {
        if (watch != INT32_MIN && center->watch_number != watch && center->directory_watch != watch) continue;
        tidings__set_release(&center->doubted_at, tidings__monotonic_ns() | 1);
        nudge_all(center);
    }
    pthread_mutex_unlock(&lock);
}

bool tidings__end_doubted(tidings_center *center) {
    // If the end is known already, this takes no lock: a signal handler may get here.
    if (tidings__end_known(center)) return true;
    uint64_t doubted = tidings__acquire(&center->doubted_at);
    if (doubted) {
        // If the file has another name, the kernel reports the change before the path leads nowhere, and reports
        // nothing more. So the doubt lasts TIDINGS__END_ASK_NS, and until then no observer of this process sleeps
        // longer than that.
        // Signed: `doubted` may be 1 ns ahead.
        if ((int64_t)(tidings__monotonic_ns() - doubted) >= TIDINGS__END_ASK_NS)
            tidings__cas(&center->doubted_at, &doubted, 0);
        if (tidings__end_look(center)) {
            // Wakes the other observers of this process: one may sleep without limit, because it checked after the
            // doubt had ended.
            pthread_mutex_lock(&lock);
            nudge_all(center);
            pthread_mutex_unlock(&lock);
        }
    } else if (!tidings__end_watched(center)) {
        tidings__end_look_seldom(center);
    }
    return tidings__end_known(center);
}

static bool has_watch(const tidings_center *center) {
    return tidings__relaxed(&center->watched_epoch) == tidings__relaxed(&tidings__fork_epoch);
}

bool tidings__end_watched(const tidings_center *center) {
    return center->segment.sealed || (has_watch(center) && tidings__watch_runs());
}

static void in_forked_child(void) {
    pthread_mutex_init(&lock, NULL);  // another thread of the parent may have held it
    // That thread may have put a center into the list and not set its `listed` yet. The opposite cannot happen: see
    // `tidings__end_watch`.
    tidings_center *center = tidings__relaxed(&watched);
    for (; center; center = tidings__relaxed(&center->next_watched)) tidings__set_relaxed(&center->listed, true);
}

// Call with the lock held.
static void watch(tidings_center *center) {
    const int fd = tidings__segment_descriptor(&center->segment);
    const int32_t number = fd < 0 ? fd : tidings__watch_add(fd, center->segment.path, changed);
    if (number < 0) return;
    center->watch_number = number;
    tidings__set_relaxed(&center->watched_epoch, tidings__relaxed(&tidings__fork_epoch));
}

void tidings__end_watch(tidings_center *center, tidings__sleeper *sleeper) {
    tidings__at_fork_child(in_forked_child);
    pthread_mutex_lock(&lock);
    tidings__set_relaxed(&sleeper->next, tidings__relaxed(&center->sleepers));
    tidings__set_release(&center->sleepers, sleeper);
    if (!tidings__relaxed(&center->listed)) {
        tidings__set_relaxed(&center->next_watched, tidings__relaxed(&watched));
        tidings__set_release(&watched, center);
        // Release: if a child that is forked here sees `listed`, it also finds the center in the list.
        tidings__set_release(&center->listed, true);
    }
    if (!center->segment.sealed && !has_watch(center)) watch(center);
    pthread_mutex_unlock(&lock);
    // Until then, the program could close the descriptor that a new thread is about to take.
    (void)tidings__watch_runs();
}

void tidings__end_unwatch(tidings_center *center, tidings__sleeper *sleeper) {
    pthread_mutex_lock(&lock);
    for (_Atomic(tidings__sleeper *) *link = &center->sleepers; tidings__relaxed(link);
         link = &tidings__relaxed(link)->next) {
        if (tidings__relaxed(link) == sleeper) {
            tidings__set_relaxed(link, tidings__relaxed(&sleeper->next));
            break;
        }
    }
    pthread_mutex_unlock(&lock);
}

// Call with the lock held.
static void unwatch_directory(tidings_center *center) {
    // A forked child inherits its parent's number, which is another watch here, or none.
    if (center->directory_watch == 0 || center->directory_epoch != tidings__relaxed(&tidings__fork_epoch)) return;
    for (const tidings_center *other = tidings__relaxed(&watched); other;
         other = tidings__relaxed(&other->next_watched))
        if (other != center && other->directory_watch == center->directory_watch) return;
    tidings__watch_remove(center->directory_watch);
}

void tidings__end_forget(tidings_center *center) {
    if (!tidings__acquire(&center->listed)) return;
    pthread_mutex_lock(&lock);
    unwatch_directory(center);
    bool shared = false;
    for (_Atomic(tidings_center *) *link = &watched; tidings__relaxed(link);) {
        tidings_center *other = tidings__relaxed(link);
        if (other == center) {
            tidings__set_relaxed(link, tidings__relaxed(&center->next_watched));
            continue;
        }
        shared |= other->watch_number == center->watch_number && has_watch(other);
        link = &other->next_watched;
    }
    if (!shared && has_watch(center)) tidings__watch_remove(center->watch_number);
    pthread_mutex_unlock(&lock);
}

int32_t tidings__end_watch_directory(tidings_center *center, const char *directory) {
    pthread_mutex_lock(&lock);
    const int32_t number = tidings__watch_add_directory(directory, changed);
    if (number > 0) {
        center->directory_watch = number;
        center->directory_epoch = tidings__relaxed(&tidings__fork_epoch);
    }
    pthread_mutex_unlock(&lock);
    return number < 0 || tidings__watch_runs() ? number : -ENOSYS;
}
