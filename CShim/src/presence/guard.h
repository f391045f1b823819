// The guard: the thread of a handle that watches other participants. design/6-presence.md.
#ifndef TIDINGS__PRESENCE_GUARD_H
#define TIDINGS__PRESENCE_GUARD_H

#include "center/center.h"
#include "platform/robust.h"
#include "registry/presence.h"

// The guard of one announcement of one handle. It lives in memory of the process, until its thread has ended.
typedef struct tidings__guard {
    tidings__robust *robust;
    tidings_center *center;
    pthread_t thread;
    _Atomic uint32_t state;  // futex: TIDINGS__GUARD_…
    uint32_t life;           // the value of its life words
    int error;               // why it is REFUSED
    uint32_t fork_epoch;     // of the process that started it
    uint32_t process;        // pid of that process: a child without fork handlers has another one
    uint64_t present;        // the report's value in PRESENT or, if `watching`, in WATCHING
    bool watching;           // it watches, and is not announced
    // Of the thread. `ended`: the center has ended, or this participant is dead to its peers, so there is nothing left
    // to watch. `told`: the value of `center->untold` for which servers were told. `tell_at`: when to try that again
    // (ns); 0: at once.
    bool ended;
    uint32_t told;
    uint64_t tell_at, tell_wait;
    struct tidings__guard *next;
} tidings__guard;

#define TIDINGS__GUARD_STARTING 0u
#define TIDINGS__GUARD_REFUSED 1u
#define TIDINGS__GUARD_READY 2u    // the kernel will mark its death
#define TIDINGS__GUARD_WATCHES 3u  // it watches the participants that follow it
#define TIDINGS__GUARD_ENDS 4u

// Starts the thread, and waits until its death would be noticed. 0 or a negative errno.
int tidings__guard_start(tidings__guard *guard, tidings_center *center);
// Lets the thread watch.
void tidings__guard_watch(tidings__guard *guard);
// What the thread does, until it is to end.
void tidings__guard_run(tidings__guard *guard);
// Ends the thread, and waits for its end. The kernel reads the robust list then, so the guard is freed after that.
void tidings__guard_stop(tidings__guard *guard);

// Moves the guard's announcement to its end, as far as that goes without waiting. Its thread goes on to watch. False: a
// notice was held back, for example. The rest is left to the participants that watch this one, as if it had died.
bool tidings__announcement_end(tidings_center *center, const tidings__guard *guard);

// Replaces the guard's TID in its life words, and wakes the guards that sleep on them: they read the table again.
void tidings__guard_set_life(const tidings__guard *guard, uint32_t life);
#define TIDINGS__LIFE_WAKES 2

// Wakes the guards of the two living participants before entry `index`, so that they read the table again. Call after
// the entry has become visible (invariant P5).
void tidings__guard_poke(tidings__segment *s, uint32_t index);

#endif
