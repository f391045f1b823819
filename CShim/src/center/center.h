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
    _Atomic uint32_t fork_epoch;  // of the process that joined; another one: a forked child, which joins anew. Written last in joining
    uint64_t poster;      // the cell word: uid, participant
    uint64_t pid;         // the cell word's upper half
    uint64_t instance;    // what describes us in our place
    bool in_creation_pid_namespace;            // TIDs of this process may stand in claims
    _Atomic bool listed;  // ends.c, as are the next lines
    _Atomic uint32_t window;  // of the clock, in which this process last asked whether the center goes on
    _Atomic uint32_t ended;   // 1: it doesn't
    _Atomic uint64_t doubted_at;  // the clock when the thread of platform/watch.c heard of a change of the file: observers ask before they sleep. 0: it didn't

    _Alignas(128) _Atomic uint64_t hint;  // where this process believes the frontier to be
    tidings__chunk_turns chunk_turns;

    // In an observable center: up to where this process has seen everything decided, and since when it has found that position claimed (0: not yet).
    _Atomic uint64_t watch, watched_since;
    // The value of each bell at which a reader of this process found fewer sleepers than it might wake.
    _Atomic uint32_t emptied[TIDINGS__NAME_FUTEXES];

    _Alignas(128) pthread_mutex_t lock;  // joining after a fork; never held while posting
    struct tidings_center *next;         // list of open centers, for forked children

    // ends.c
    _Atomic(struct tidings_center *) next_watched;
    _Atomic(struct tidings_observer *) observers;
    _Atomic uint64_t asked_at;
    _Atomic uint32_t watched_epoch;  // of the process whose thread watches the file; 0: none
    int32_t watch_number;
    int32_t directory_watch;  // where observers wait for a successor; 0: nobody does
    uint32_t directory_epoch;  // of the process whose watch that is
    dev_t directory_device;  // the center's name lies there; inode 0: unknown
    ino_t directory_inode;
};

struct tidings_publisher {
    struct tidings_center *center;
    // The name resolved: valid while `resolved_at` equals G. Written by whoever finds it stale; `resolved_at` is BUSY meanwhile.
    _Atomic uint64_t resolved_at;
    _Atomic uint64_t resolved;  // 23…0 entry of the name, 55…32 entry of name and subject, 62: somebody looks at how it begins, 63: at all names
    tidings__key key;           // of the name
    tidings__key key_subject;   // of name and subject; subject NULL: none
    uint64_t poster;            // the cell word without the participant's half: lengths of subject and name
    uint32_t name_words, subject_words;
    uint64_t inline_limit;             // payloads smaller than this go the straight way: there is room for them in a cell, and nothing to be asked first
    uint64_t text[];            // name, subject, each padded to 8: as they lie in a body; and 8 more, as a text is moved by sixteens
};

// A post option of our own: with TIDINGS_POST_RETAIN, there is no value any more.
#define TIDINGS__POST_CLEAR 0x80u

#define TIDINGS__RESOLVED_AT_BUSY UINT64_MAX
#define TIDINGS__RESOLVED_AT_NEVER (UINT64_MAX - 1)  // no G yet
#define TIDINGS__RESOLVED_ALL (UINT64_C(1) << 63)
#define TIDINGS__RESOLVED_PREFIX (UINT64_C(1) << 62)
static inline uint32_t tidings__resolved_subject(uint64_t resolved) { return (uint32_t)(resolved >> 32) & 0xffffff; }

typedef struct tidings__opening {
    const char *name;
    const tidings_configuration *configuration;
} tidings__opening;

// Gets a segment by `find`, and joins it.
int tidings__center_begin(int (*find)(const void *context, tidings__segment *segment), const void *context, const char *name, tidings_center **center);

// Descriptors on their way to a peer, for as long as sending them takes. A child that is forked meanwhile would keep the peer's locks as long as it lives, so it closes them.
typedef struct tidings__descriptor_set {
    int descriptors[3], count;
    struct tidings__descriptor_set *next;
} tidings__descriptor_set;
int tidings__descriptor_set_pack(tidings__descriptor_set *descriptor_set, const tidings__segment *segment, bool writable);  // on failure there is none
void tidings__descriptor_set_close(tidings__descriptor_set *descriptor_set);

// For what can't be done by who opened a center for reading alone. -EACCES; `what` goes on after "can't".
int tidings__center_read_only(const tidings_center *center, const char *what);

// Joins if this is a forked child's first use. 0 or the error of joining.
int tidings__center_rejoin(tidings_center *center);
static inline int tidings__center_check(tidings_center *center, const tidings__thread *thread) {
    if (__builtin_expect(center->fork_epoch == thread->fork_epoch, 1)) return 0;
    return tidings__center_rejoin(center);
}

// Is our place still ours? Whoever closes the descriptor behind our back takes our lock, and with it the proof that we live. Asked before anything that belongs to the place
// (an observer's entry, memberships) is written: it may be another's, who lives.
static inline bool tidings__has_place(const tidings_center *center) {
    const tidings__segment *s = &center->segment;
    return __builtin_expect(!s->writable || tidings__acquire(&s->participants[center->participant].instance) == center->instance, 1);
}
// 0, -EBADF with the line written.
int tidings__center_place(const tidings_center *center);

// Who claims: this thread by its TID, where the kernel will tell of its death; otherwise this participant. A post from a signal handler on top of
// a post, or of one of glibc's robust mutex operations, is of the second kind: the kernel remembers one pending word a thread, and it is in use.
static inline uint32_t tidings__owner(const tidings_center *center, const tidings__thread *thread) {
    if (center->in_creation_pid_namespace && thread->pending != NULL && thread->inside == 1 && *(volatile uintptr_t *)thread->pending == 0) return thread->tid;
    return (uint32_t)TIDINGS__W_FOREIGN | center->participant;
}

// Evicts until `position` can be claimed. 0; -EAGAIN: a lossless observer still needs what would go (`*holder`, its observer index).
int tidings__make_room(tidings_center *center, uint64_t position, uint32_t *holder);
// Finds or adds a name's entry (see name_table.h). If the table is full of names that only the ring still knows, history makes room for them.
int tidings__join_name(tidings_center *center, const tidings__key *key, uint32_t observer, uint32_t *entry);

// Evicts everything before `end` (which must be decided), to free chunks.
int tidings__evict_to(tidings_center *center, uint64_t end, uint32_t *holder);
// Finishes an eviction that somebody began.
void tidings__evict_finish(tidings_center *center);

// A lossless observer holds us back: waits for it, or for its death, within the deadline (monotonic ns; 0: not at all; UINT64_MAX: without end).
// 0: try again. -EAGAIN, -ETIMEDOUT with the line written. `*passed`, 0 at first: how many dead ones this post has
// passed by.
int tidings__held_back(tidings_center *center, uint32_t holder, uint64_t deadline, uint32_t *passed);

// Frees whatever dead participants held. Call with the locks of their entries held.
void tidings__reclaim_orphans(tidings__segment *s, const tidings__participant_set *dead);
// Reclaims what all dead participants left, in one walk of each table; how many there were.
int tidings__reclaim_dead(tidings_center *center);
// A retained chunk whose name entry points elsewhere is free; finds those. How many.
uint32_t tidings__reclaim_retained(tidings_center *center);

// Has this name (and subject) an entry that stays? In a center that others may read each posted name has, so that readers, who can't add one, can count what they miss.
bool tidings__publisher_registered(tidings_publisher *publisher, uint64_t resolved);
// Gives it one. Not within a claim. `prepare`: if it has none, as far as is known; so that a claim is seldom given up for it.
int tidings__publisher_register(tidings_publisher *publisher);
int tidings__publisher_prepare(tidings_publisher *publisher);
// Rings the bell of readers who look at the topic's name.
void tidings__publisher_wake_readers(const tidings_publisher *publisher);
static inline uint32_t tidings__name_futex_of(const tidings__key *key) { return (uint32_t)(key->hash >> 32) % TIDINGS__NAME_FUTEXES; }

// How long this claim may stay uncommitted before it is revoked, in nanoseconds.
uint64_t tidings__revoke_timeout(tidings__segment *s, uint64_t position);

// After a claim: what this topic's name stands for, as of now.
uint64_t tidings__resolve(tidings_publisher *publisher, uint64_t generation);
static inline uint64_t tidings__resolved(tidings_publisher *publisher) {
    uint64_t generation = tidings__acquire(&publisher->center->segment.header->generation.word);
    if (__builtin_expect(tidings__acquire(&publisher->resolved_at) == generation, 1)) {
        uint64_t resolved = tidings__relaxed(&publisher->resolved);
        // Acquire fence: `resolved` was read before this second look, and whoever changes it makes `resolved_at` BUSY first.
        tidings__fence_acquire();
        if (__builtin_expect(tidings__relaxed(&publisher->resolved_at) == generation, 1)) return resolved;
    }
    return tidings__resolve(publisher, generation);
}

// Its name, as words.
static inline const _Atomic uint64_t *tidings__publisher_name(const tidings_publisher *publisher) { return (const _Atomic uint64_t *)(const void *)publisher->text; }

// Takes a chunk, evicting and tidying as needed.
int tidings__take_chunk(tidings_center *center, uint64_t size, uint64_t deadline, uint32_t *chunk);
// Posts what is in a chunk already: payload first, name and subject are added. The chunk is used up, also on failure. NO_CHUNK: nothing, to clear a kept value.
#define TIDINGS__NO_CHUNK UINT32_MAX
int tidings__post_chunk(tidings_publisher *publisher, uint32_t chunk, size_t size, const tidings_post_options *options, uint64_t *sequence);

// The name of the record at a position, in words padded with 0: where it lies, or, if that is a chunk, in `copy`. NULL: there can't be one (a hostile record), or it is gone;
// `*length` NAME_UNREADABLE: there is one, but this process can't read it (its program closed the center's file).
#define TIDINGS__NAME_UNREADABLE UINT32_MAX
// To be trusted only if the position is found not to have been evicted, or its slot used again, after it was used.
#define TIDINGS__NAME_WORDS ((TIDINGS_NAME_MAX + 7u) / 8u)
const _Atomic uint64_t *tidings__record_name(tidings__segment *s, uint64_t position, _Atomic uint64_t copy[TIDINGS__NAME_WORDS], uint32_t *length);

// For a topic with a subject, where a value is to be kept or read. -EINVAL with the line written.
int tidings__state_subject(const tidings_publisher *publisher);

uint64_t tidings__deadline(const tidings_post_options *options);
static inline size_t tidings__text_size(const tidings_publisher *publisher) {
    return 8 * (size_t)(publisher->name_words + publisher->subject_words);
}
// Does a cell take the body: the payload, rounded up to 8, and name and subject, as much as is written of them?
static inline bool tidings__fits_cell(const tidings_publisher *publisher, size_t size) {
    return size <= TIDINGS__BODY_SIZE && tidings__round8(size) + tidings__round16(tidings__text_size(publisher)) <= TIDINGS__BODY_SIZE;
}

#endif
