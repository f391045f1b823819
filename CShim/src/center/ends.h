// How observers and posters learn that their center has ended. design/5-access.md.
#ifndef TIDINGS__ENDS_H
#define TIDINGS__ENDS_H

#include "center/center.h"

// What ends.c needs to wake an observer of this process. Lists of sleepers change by one store of a pointer.
typedef struct tidings__sleeper {
    _Atomic(struct tidings__sleeper *) next;  // of the same center
    uint32_t fork_epoch;         // a forked child has its parent's sleepers in its lists, and wakes none of them
    _Atomic uint32_t *doorbell;  // NULL: a reader, which has none
    _Atomic uint32_t own_futex;  // counted up by this process alone
} tidings__sleeper;
// Wakes the observer, so that it checks again for the end of its center.
void tidings__nudge(tidings__sleeper *sleeper);

// The time between two checks by a process in which the kernel refuses to watch files, in ns.
#define TIDINGS__END_ASK_NS 500000000

// True if the center has ended, as far as this process knows. Two loads.
static inline bool tidings__end_known(const tidings_center *center) {
    return (tidings__relaxed(&center->segment.header->removed.word) | tidings__relaxed(&center->ended)) != 0;
}
// Fails because the center has ended. Returns -ESTALE with the line written; `what` continues "can't".
int tidings__end_fail(const tidings_center *center, const char *what);

// Notes the directory of the center's name, so that the path can be trusted later. Called when the center is opened.
void tidings__end_begin(tidings_center *center);
// Asks the kernel. True: the center has ended. No locks. Async-signal-safe.
bool tidings__end_look(tidings_center *center);

// As `tidings__end_known`; but asks the kernel first if this process's thread has lately heard of a change of the file,
// or twice a second if no thread watches the file. Called before an observer sleeps, and where it finds nothing.
bool tidings__end_doubted(tidings_center *center);

// Puts the observer into the list of those that are nudged at the center's end. Then watches the file, if the kernel
// allows it.
void tidings__end_watch(tidings_center *center, tidings__sleeper *sleeper);
void tidings__end_unwatch(tidings_center *center, tidings__sleeper *sleeper);
// Called before the handle is freed: takes the center out of the list, and removes its watches.
void tidings__end_forget(tidings_center *center);

// True if this process's thread watches the file, or the center is sealed. Otherwise observers sleep for a short time
// only, and then check the file.
bool tidings__end_watched(const tidings_center *center);
// As `tidings__end_look`, but at most twice a second for all callers of the process together.
void tidings__end_look_seldom(tidings_center *center);

// True if a post must check for the end. It must if the clock has come to another window of 2^28 ns (0.27 s), or if the
// end is known.
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
