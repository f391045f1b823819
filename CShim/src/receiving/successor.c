// Waits for the successor: the center that is created at an ended center's path.
#include <errno.h>

#include "platform/clock.h"
#include "platform/error.h"
#include "platform/file.h"
#include "platform/futex.h"
#include "receiving/observer.h"

// True if another file is now at the center's path.
static bool has_successor(const tidings_center *center) {
    const tidings__segment *s = &center->segment;
    struct stat file;
    return tidings__path_status(s->path, &file) == 0 && (file.st_dev != s->device || file.st_ino != s->inode);
}

int tidings_observer_await_successor(tidings_observer *o, int64_t timeout_ns) {
    tidings_center *center = o->center;
    if (o->fork_epoch != tidings__thread_self()->fork_epoch)
        return tidings__fail(
            ECHILD, "can't wait for a successor of center \"%s\" in a forked child; open the center anew there",
            center->segment.name);
    if (center->segment.sealed)
        return tidings__fail(
            EINVAL, "can't wait for a successor of center \"%s\": a sealed center has none; ask its sender for another",
            center->segment.name);
    char directory[TIDINGS__PATH_SIZE];
    tidings__segment_directory(&center->segment, directory);
    const uint64_t begun = tidings__monotonic_ns();
    for (;;) {
        if (tidings__relaxed(&o->interrupted) && tidings__fetch_and(&o->interrupted, 0)) return -EINTR;
        const uint32_t heard = tidings__acquire(&o->sleeper.own_futex);
        const int32_t number = tidings__end_watch_directory(center, directory);
        if (has_successor(center)) return 0;
        if (tidings__relaxed(&o->interrupted)) continue;
        const uint64_t waited = tidings__monotonic_ns() - begun;
        if (timeout_ns >= 0 && waited >= (uint64_t)timeout_ns) return -ETIMEDOUT;
        int64_t step = timeout_ns < 0 ? -1 : timeout_ns - (int64_t)waited;
        // If there is no watch, as when the directory is gone too, check the path twice a second.
        if (number <= 0 && (step < 0 || step > TIDINGS__END_ASK_NS)) step = TIDINGS__END_ASK_NS;
        tidings__futex_wait((_Atomic uint32_t *)&o->sleeper.own_futex, heard, step);
    }
}
