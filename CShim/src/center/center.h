// The handles behind tidings.h, and the declarations that the files of center/ share.
#ifndef TIDINGS__CENTER_H
#define TIDINGS__CENTER_H

#include <pthread.h>

#include "platform/thread.h"
#include "registry/prefixes.h"
#include "ring/chunk.h"
#include "ring/claim.h"
#include "ring/record.h"
#include "segment/segment.h"
#include "tidings.h"

// Descriptors that a child forked meanwhile must close: those on their way to a peer, and that of a center which is
// being created. A child that kept them would keep the peer's locks, or the file's memory, for as long as it lives.
typedef struct tidings__descriptor_set {
    int descriptors[3], count;
    struct tidings__descriptor_set *next;
} tidings__descriptor_set;

struct tidings_center {
    tidings__segment segment;
    // What every post reads. Written only when the process joins.
    uint32_t participant;
    // The fork epoch of the process that joined. In a forked child the epoch differs, and the child joins anew. Written
    // last when joining.
    _Atomic uint32_t fork_epoch;
    uint64_t poster;                 // the cell's poster word: uid and participant
    uint64_t pid;                    // the upper half of the cell's size_pid word
    uint64_t instance;               // the instance number that our participant entry has as long as it is ours
    bool in_creation_pid_namespace;  // TIDs of this process may stand in claims
    _Atomic bool listed;             // used by ends.c, as are the next three
    _Atomic uint32_t window;  // the clock's window in which this process last checked whether the center has ended
    _Atomic uint32_t ended;   // 1: the center has ended
    // When the thread of platform/watch.c last heard of a change of the file (monotonic ns). For half a second from
    // then on, observers that find nothing check the file. 0: there is no doubt.
    _Atomic uint64_t doubted_at;

    _Alignas(128) _Atomic uint64_t hint;  // where this process believes the frontier to be
    tidings__chunk_turns chunk_turns;
    _Atomic uint32_t holding;  // a bit for each entry of this participant's row of holds that is in use

    // In an observable center: up to where this process has seen all positions decided, and since when it has found
    // that position claimed (monotonic ns; 0: not yet).
    _Atomic uint64_t watch, watched_since;
    // For each name futex, the value at which a wake-up by this process found fewer sleepers than it may wake.
    _Atomic uint32_t emptied[TIDINGS__NAME_FUTEXES];

    // One thread at a time joins after a fork, or reclaims. A post waits for it only in a forked child's first use.
    _Alignas(128) pthread_mutex_t lock;
    struct tidings_center *next;  // the list of open centers, for forked children
    // For the layer presence. `leave`, if it is set, ends the announcement before the handle closes. `presence_lock`:
    // one thread at a time announces or withdraws.
    pthread_mutex_t presence_lock;
    struct tidings__guard *guard;
    void (*leave)(struct tidings_center *center);
    _Atomic uint32_t requesting;       // servers and callers of this handle; they need the guard
    _Atomic uint32_t untold;           // futex: cancelled calls whose servers could not be told; the guard tells them
    _Atomic uint32_t leaves;           // 1: the announcement ends; from then on no thread posts or claims calls
    _Atomic uint32_t writing;          // threads that write requests or replies, for which an exit waits
    tidings__descriptor_set creating;  // its descriptor, while the kernel gives it memory

    // The remaining members are for ends.c.
    _Atomic(struct tidings_center *) next_watched;
    _Atomic(struct tidings__sleeper *) sleepers;  // the center's observers in this process, newest first
    // When `tidings__end_look_seldom` last checked (monotonic ns).
    _Atomic uint64_t asked_at;
    _Atomic uint32_t watched_epoch;  // fork epoch of the process whose thread watches the file; 0: none
    int32_t watch_number;            // the watch of the center's file
    int32_t directory_watch;         // the watch that observers use to wait for a successor; 0: none
    uint32_t directory_epoch;        // fork epoch of the process that made directory_watch
    dev_t directory_device;          // the directory that holds the center's name; inode 0: unknown
    ino_t directory_inode;
    // Those that threads of this process use when they evict, and which are in use now. Last, so that a new handle is
    // zeroed up to here.
    _Atomic uint32_t orders_taken;
    tidings__chain_order orders[TIDINGS__CHAIN_ORDERS];
};

typedef struct tidings__opening {
    const char *name;
    const tidings_configuration *configuration;
} tidings__opening;

// Gets a segment by `find`, and joins it. `name` is for the error line. 0, or an error with the line written.
int tidings__center_begin(int (*find)(const void *context, tidings__segment *segment), const void *context,
                          const char *name, tidings_center **center);

int tidings__descriptor_set_pack(tidings__descriptor_set *descriptor_set, const tidings__segment *segment,
                                 bool writable);  // on failure it has no descriptors and needs no close
void tidings__descriptor_set_close(tidings__descriptor_set *descriptor_set);

// Fails for an operation that a center opened for reading alone does not allow. Returns -EACCES with the line written;
// `what` continues "can't".
int tidings__center_read_only(const tidings_center *center, const char *what);

// Joins if this is a forked child's first use. Returns 0 or the error of joining.
int tidings__center_rejoin(tidings_center *center);
// True if this process has joined: false in a forked child that has not used the center yet. Acquire: pairs with the
// store that ends joining, in another thread.
static inline bool tidings__center_joined(const tidings_center *center, const tidings__thread *thread) {
    return tidings__acquire(&center->fork_epoch) == thread->fork_epoch;
}
static inline int tidings__center_check(tidings_center *center, const tidings__thread *thread) {
    if (__builtin_expect(tidings__center_joined(center, thread), 1)) return 0;
    return tidings__center_rejoin(center);
}

// True if our participant entry is still ours. If the program closes the descriptor of our lock, another process can
// take the lock, and with it the entry. Checked before any write to what belongs to the entry (an observer's entry,
// memberships): these may belong to another participant, which is alive.
static inline bool tidings__has_place(const tidings_center *center) {
    const tidings__segment *s = &center->segment;
    return __builtin_expect(
        !s->writable || tidings__acquire(&s->participants[center->participant].instance) == center->instance, 1);
}
// The same: 0, or -EBADF with the line written.
int tidings__center_place(const tidings_center *center);

// The owner of a claim: this thread by its TID if the kernel will mark its death; otherwise this participant. If a
// signal handler interrupts a post, or one of glibc's robust mutex operations, its post uses the participant. The
// kernel remembers one pending word per thread, and that word is in use.
static inline uint32_t tidings__owner(const tidings_center *center, const tidings__thread *thread) {
    if (center->in_creation_pid_namespace && thread->pending != NULL && thread->inside == 1 &&
        *(volatile uintptr_t *)thread->pending == 0)
        return thread->tid;
    return (uint32_t)TIDINGS__W_FOREIGN | center->participant;
}

// Frees all that dead participants held. Call with the locks of their entries held.
void tidings__reclaim_orphans(tidings__segment *s, const tidings__participant_set *dead);
// Reclaims all dead participants, in one walk of each table. Returns how many there were.
int tidings__reclaim_dead(tidings_center *center);

#endif
