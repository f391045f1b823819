// How observers and posters learn that their center has ended: README.md, "End of a center".
#ifndef TIDINGS__ENDS_H
#define TIDINGS__ENDS_H

#include "center/center.h"

// An observer of this process, as the end of its center sees it. Lists of sleepers change by one store of a pointer.
typedef struct tidings__sleeper {
    _Atomic(struct tidings__sleeper *) next;  // of the same center
    uint32_t fork_epoch;         // a forked child has its parent's sleepers in its lists, and wakes none of them
    _Atomic uint32_t *doorbell;  // NULL: a reader, which has none
    _Atomic uint32_t own_futex;  // counted up by this process alone
} tidings__sleeper;
// Makes it look again.
void tidings__nudge(tidings__sleeper *sleeper);

// A process where the kernel refuses to watch files asks for itself, at most this often.
#define TIDINGS__END_ASK_NS 500000000

// Has it ended, as far as this process knows? Two loads.
static inline bool tidings__end_known(const tidings_center *center) {
    return (tidings__relaxed(&center->segment.header->removed.word) | tidings__relaxed(&center->ended)) != 0;
}
// -ESTALE with the line written; `what` goes on after "can't".
int tidings__end_fail(const tidings_center *center, const char *what);

// Notes where the center's name lies, so that the path can be trusted later. When opened.
void tidings__end_begin(tidings_center *center);
// Asks the kernel. True: it has ended. No locks. Async-signal-safe.
bool tidings__end_look(tidings_center *center);

// As `tidings__end_known`; asks the kernel first if this process's thread has heard of a change of the file. Before an
// observer sleeps.
bool tidings__end_doubted(tidings_center *center);

// From now on the observer is nudged when its center ends. Then this process watches the file, if the kernel lets it.
void tidings__end_watch(tidings_center *center, tidings__sleeper *sleeper);
void tidings__end_unwatch(tidings_center *center, tidings__sleeper *sleeper);
// The handle is about to go.
void tidings__end_forget(tidings_center *center);

// Does this process's thread watch the file? Otherwise sleeps end early, and the sleeper asks.
bool tidings__end_watched(const tidings_center *center);
// As `tidings__end_look`, but at most twice a second for all callers of the process together.
void tidings__end_look_seldom(tidings_center *center);

// Posts look when their clock has come to another window of 2^28 ns (0.27 s).
static inline bool tidings__end_due(const tidings_center *center, const tidings__thread *thread) {
    return (tidings__relaxed(&center->segment.header->removed.word) |
            (thread->window ^ tidings__relaxed(&center->window))) != 0;
}
// Slow path of `tidings__end_due`: 0 or -ESTALE with the line written.
int tidings__end_ask(tidings_center *center, const tidings__thread *thread) __attribute__((noinline, cold));

// Watches the directory of the center's file for this process's observers. Returns the number of the watch, or an error
// below 1.
int32_t tidings__end_watch_directory(tidings_center *center, const char *directory);

#endif
