// The handles behind tidings.h, and what the files of this folder need of each other.
#ifndef TIDINGS__CENTER_H
#define TIDINGS__CENTER_H

#include <pthread.h>

#include "platform/thread.h"
#include "registry/name_table.h"
#include "ring/chunk.h"
#include "ring/claim.h"
#include "ring/record.h"
#include "segment/segment.h"
#include "tidings.h"

struct tidings_center {
    tidings__segment segment;
    // What every post reads; written when joining only.
    uint32_t participant;
    _Atomic uint32_t fork_epoch;  // of the process that joined; another one: a forked child, which joins anew. Written
                                  // last in joining
    uint64_t poster;              // the cell word: uid, participant
    uint64_t pid;                 // the cell word's upper half
    uint64_t instance;            // what describes us in our place
    bool in_creation_pid_namespace;  // TIDs of this process may stand in claims
    _Atomic bool listed;             // ends.c, as are the next lines
    _Atomic uint32_t window;         // of the clock, in which this process last asked whether the center goes on
    _Atomic uint32_t ended;          // 1: it doesn't
    _Atomic uint64_t doubted_at;     // the clock when the thread of platform/watch.c heard of a change of the file:
                                     // observers ask before they sleep. 0: it didn't

    _Alignas(128) _Atomic uint64_t hint;  // where this process believes the frontier to be
    tidings__chunk_turns chunk_turns;

    // In an observable center: up to where this process has seen everything decided, and since when it has found that
    // position claimed (0: not yet).
    _Atomic uint64_t watch, watched_since;
    // The value of each bell at which a reader of this process found fewer sleepers than it might wake.
    _Atomic uint32_t emptied[TIDINGS__NAME_FUTEXES];

    _Alignas(128) pthread_mutex_t lock;  // joining after a fork; never held while posting
    struct tidings_center *next;         // list of open centers, for forked children

    // ends.c
    _Atomic(struct tidings_center *) next_watched;
    _Atomic(struct tidings__sleeper *) sleepers;  // the center's observers in this process, newest first
    _Atomic uint64_t asked_at;
    _Atomic uint32_t watched_epoch;  // of the process whose thread watches the file; 0: none
    int32_t watch_number;
    int32_t directory_watch;   // where observers wait for a successor; 0: nobody does
    uint32_t directory_epoch;  // of the process whose watch that is
    dev_t directory_device;    // the center's name lies there; inode 0: unknown
    ino_t directory_inode;
};

typedef struct tidings__opening {
    const char *name;
    const tidings_configuration *configuration;
} tidings__opening;

// Gets a segment by `find`, and joins it.
int tidings__center_begin(int (*find)(const void *context, tidings__segment *segment), const void *context,
                          const char *name, tidings_center **center);

// Descriptors on their way to a peer, for as long as sending them takes. A child that is forked meanwhile would keep
// the peer's locks as long as it lives, so it closes them.
typedef struct tidings__descriptor_set {
    int descriptors[3], count;
    struct tidings__descriptor_set *next;
} tidings__descriptor_set;
int tidings__descriptor_set_pack(tidings__descriptor_set *descriptor_set, const tidings__segment *segment,
                                 bool writable);  // on failure there is none
void tidings__descriptor_set_close(tidings__descriptor_set *descriptor_set);

// For what can't be done by who opened a center for reading alone. -EACCES; `what` goes on after "can't".
int tidings__center_read_only(const tidings_center *center, const char *what);

// Joins if this is a forked child's first use. 0 or the error of joining.
int tidings__center_rejoin(tidings_center *center);
static inline int tidings__center_check(tidings_center *center, const tidings__thread *thread) {
    if (__builtin_expect(center->fork_epoch == thread->fork_epoch, 1)) return 0;
    return tidings__center_rejoin(center);
}

// Is our place still ours? Whoever closes the descriptor behind our back takes our lock, and with it the proof that we
// live. Asked before anything that belongs to the place (an observer's entry, memberships) is written: it may be
// another's, who lives.
static inline bool tidings__has_place(const tidings_center *center) {
    const tidings__segment *s = &center->segment;
    return __builtin_expect(
        !s->writable || tidings__acquire(&s->participants[center->participant].instance) == center->instance, 1);
}
// 0, -EBADF with the line written.
int tidings__center_place(const tidings_center *center);

// Who claims: this thread by its TID, where the kernel will tell of its death; otherwise this participant. A post from
// a signal handler on top of a post, or of one of glibc's robust mutex operations, is of the second kind: the kernel
// remembers one pending word a thread, and it is in use.
static inline uint32_t tidings__owner(const tidings_center *center, const tidings__thread *thread) {
    if (center->in_creation_pid_namespace && thread->pending != NULL && thread->inside == 1 &&
        *(volatile uintptr_t *)thread->pending == 0)
        return thread->tid;
    return (uint32_t)TIDINGS__W_FOREIGN | center->participant;
}

// Frees whatever dead participants held. Call with the locks of their entries held.
void tidings__reclaim_orphans(tidings__segment *s, const tidings__participant_set *dead);
// Reclaims what all dead participants left, in one walk of each table; how many there were.
int tidings__reclaim_dead(tidings_center *center);

#endif
