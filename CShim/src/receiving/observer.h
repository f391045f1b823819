// An observer's own side: a cursor, the names it looks at, and its account of each. Nothing here is shared with other
// processes.
#ifndef TIDINGS__OBSERVER_H
#define TIDINGS__OBSERVER_H

#include "center/ends.h"
#include "eviction/pending_claim.h"
#include "platform/barrier.h"

// A kept value that who looks at many names is still to get.
typedef struct tidings__kept {
    uint64_t position;
    uint32_t entry;
} tidings__kept;

// One thing looked at. Written by the thread in `tidings_next`, except before it is in a table.
typedef struct tidings__subscription {
    uint32_t id, entry;  // a reader's entry is `tidings__reader_number` of its key
    uint64_t since;      // the first position it gets as it is posted; what lies before is history
    uint64_t
        passed;  // records of the entry before max(cursor, since), counted from the entry's beginning like its tally
    uint64_t accounted;  // up to here the tally has been taken over: what is read before it was told as missed already
    uint64_t missed;     // to be told
    uint64_t told;       // as missed so far, all together: never more than there are positions before the cursor
    uint64_t *history;   // positions before `since` it still wants
    size_t history_count;
    _Atomic size_t history_next;
    // These three are the thread's in `tidings_next`; atomic because whoever makes a new table has a look at them.
    _Atomic bool fresh;     // not looked for yet
    _Atomic bool retained;  // a retained record is to be delivered first
    tidings__kept *kept;    // which, of many names; in the order they were posted in
    uint32_t kept_count, kept_next;
    uint32_t name_length, subject_length;
    bool with_subject, prefix;
    bool many;             // looks at more names than one: by prefix, or at all
    char *name, *subject;  // NUL-terminated, after this struct; the name padded to whole words
    struct tidings__subscription *next_removed;
    // A reader's: the entry that its name had when last seen, and which use of that entry it was.
    tidings__key key;
    uint32_t resolved, name_futex;
    uint64_t birth;
    uint64_t replayed;  // before this it has been passed, though the cursor went back for others
    uint64_t settled;   // of what was left behind, all before this is in `passed` and `missed`
} tidings__subscription;

// What is looked at, by entry. Replaced as a whole (`tidings__table_swap`); readers only look it up between in_next = 1
// and 0.
typedef struct tidings__table {
    uint32_t count, map_mask;
    bool all;               // somebody looks at all names
    bool many;              // that, or by prefix
    _Atomic bool fresh;     // some interest is; the thread in `tidings_next` takes it back
    uint32_t fresh_from;    // none before this index is
    uint32_t name_futexes;  // those of all names looked at, one bit each
    uint32_t special;       // how many still have history or a retained record to deliver, at most
    // One allocation, with room for `room`: interests, those of one entry together; then entry → index of its first
    // interest + 1, by open addressing. A table that came of another by adding an interest of a new entry has these in
    // common with it: what was added lies beyond the other's `count`.
    uint32_t room;
    tidings__subscription **of;
    _Atomic uint32_t *map;
    uint32_t prefix_count;
    tidings__subscription *prefixes[];  // those that look by prefix, once more: this table's alone
} tidings__table;

// Positions that a reader has left behind undecided, at most. Each is a poster that is stopped, or a post that was
// never finished and that nobody has met yet who may write.
#define TIDINGS__SKIPPED_MAX 32

// One of them, and whom it was left behind for: interests from after `older` up to `youngest`. Those that came later,
// and go back, may pass it once more.
typedef struct tidings__skipped {
    uint64_t position;
    uint32_t older, youngest;
} tidings__skipped;

// Is this interest still to be given what it matches at this position?
static inline bool tidings__due(const tidings__subscription *subscription, uint64_t position) {
    return (int64_t)(position - subscription->since) >= 0 && (int64_t)(position - subscription->accounted) >= 0 &&
           (int64_t)(position - subscription->replayed) >= 0;
}

struct tidings_observer {
    tidings_center *center;
    tidings__sleeper sleeper;  // what the end of the center wakes
    uint32_t index, flags, fork_epoch;
    // The cursor: the next position to look at. The thread in `tidings_next` owns it (before the first call: whoever
    // sets up).
    uint64_t cursor;
    uint64_t published, woken;  // what posters know of it, and where they were last woken (lossless only)
    uint32_t chunks_taken;      // since then
    bool lossless, telling;
    uint32_t telling_at;   // index in the table of who was told last what it missed
    bool without_memory;   // for the payload that was just to be copied
    _Atomic bool started;  // `tidings_next` has been called: no more history
    tidings__pending_claim stuck;
    uint64_t dry_at;  // where the cursor was when there last was nothing

    _Atomic(tidings__table *) table;
    // Interests that were removed, but that the last delivery may still point to: freed by the next call of
    // `tidings_next`.
    _Atomic(tidings__subscription *) removed;
    _Atomic uint32_t in_next;      // 1 while the table is in use
    _Atomic uint32_t interrupted;  // 1: the next wait ends

    uint32_t spin_ns;  // UINT32_MAX - 1: adaptive
    uint64_t last_wait_ns;

    // The copy of a record: payload, name, subject. The observer's own memory, of `capacity` bytes; or, if `lent`,
    // memory that `allocate` gave for one payload (`capacity` is 0, so the next copy takes other memory). The observer
    // never frees that.
    uint8_t *buffer;
    size_t capacity;
    bool lent;
    size_t lent_from;  // payloads of this many bytes or more go to memory of `allocate`; SIZE_MAX: none
    tidings_allocate allocate;
    void *allocate_context;
    uint32_t *matched_ids;
    tidings__subscription **matched;
    uint32_t matched_capacity;
    char name[TIDINGS_NAME_MAX + 1], subject[TIDINGS_SUBJECT_MAX + 1];

    struct tidings__descriptor *descriptor;  // descriptor.c

    // Rung by this process alone (`tidings__nudge`), and what was heard of it before the last announcement.
    _Atomic uint32_t own_heard;
    // The crowds it sleeps in: 63…32 the name's entry, 31…0 its `crowd` before the last announcement. 0: none.
    _Atomic uint64_t group_waits[TIDINGS__GROUP_WAITS];

    // A reader's (reader.h): what was heard of the bells before sleeping.
    bool reader;
    _Atomic uint32_t heard_name_futexes, heard[TIDINGS__NAME_FUTEXES];
    uint32_t skipped_count;
    uint32_t youngest;  // interest in the table that was looked at last
    tidings__skipped skipped[TIDINGS__SKIPPED_MAX];

    pthread_mutex_t lock;  // adding and removing; never held by `tidings_next`
    uint32_t next_id;
};

#define TIDINGS__SPIN_ADAPTIVE (UINT32_MAX - 1)
#define TIDINGS__SPIN_FOREVER UINT32_MAX

// table.c
tidings__table *tidings__table_empty(void);
void tidings__table_free(tidings__table *table);
tidings__table *tidings__table_with(const tidings__table *old, tidings__subscription *more);
tidings__table *tidings__table_without(const tidings__table *old, uint32_t id, tidings__subscription **gone);
// Puts a new table in place and returns when nobody uses the old one, which it frees. The new one must come of it.
void tidings__table_swap(tidings_observer *observer, tidings__table *table);
// Where the search for an entry begins in the map (to be masked).
static inline uint32_t tidings__table_slot(uint32_t entry) {
    const uint32_t spread = entry * 0x9e3779b1u;
    return spread ^ spread >> 15;
}
static inline const _Atomic uint64_t *tidings__subscription_name(const tidings__subscription *subscription) {
    return (const _Atomic uint64_t *)(const void *)subscription->name;
}
// The interests of an entry: `*count` of them.
static inline tidings__subscription *const *tidings__table_find(const tidings__table *t, uint32_t entry,
                                                                uint32_t *count) {
    *count = 0;
    if (t->count == 0) return NULL;
    for (uint32_t slot = tidings__table_slot(entry);; slot++) {
        uint32_t first = tidings__acquire(&t->map[slot & t->map_mask]);
        // Beyond: somebody is just adding it. When it was free, what is here could not be further on.
        if (first == 0 || first > t->count) return NULL;
        if (t->of[first - 1]->entry != entry) continue;
        uint32_t last = first;
        while (last < t->count && t->of[last]->entry == entry) last++;
        *count = last - (first - 1);
        return &t->of[first - 1];
    }
}

void tidings__subscription_free(tidings__subscription *subscription);
void tidings__subscription_retire(tidings_observer *observer, tidings__subscription *subscription);
void tidings__subscriptions_free(tidings_observer *observer);

// read.c
#define TIDINGS__BUFFER_LEAST 1024u  // more than the longest name and subject
// Takes the buffer that an observer without payloads gets by with. False: no memory.
bool tidings__buffer_begin(tidings_observer *observer);
// Gives the observer's own memory back. Memory that was lent stays its owner's.
void tidings__buffer_free(tidings_observer *observer);
enum { TIDINGS__NOTHING = 0, TIDINGS__DELIVERED = 1, TIDINGS__IN_FLIGHT = 2 };
// Goes on from the cursor to `limit` at most, until there is something to deliver.
int tidings__advance(tidings_observer *observer, tidings__table *table, uint64_t limit, tidings_delivery *delivery);
// Tells as missed what the entry's tally has counted and this interest has not passed.
void tidings__account(const tidings__segment *segment, tidings__subscription *subscription, uint32_t entry);
// The same with its text, as it was posted, in `delivery`. False: the name's entry has gone.
bool tidings__describe_text(tidings_observer *observer, const tidings__record *record, uint64_t position,
                            tidings_delivery *delivery);
// The rest of it, with TIDINGS_DELIVERY_…, for the first of the interests in `matched`.
void tidings__describe(tidings_observer *observer, const tidings__record *record, uint64_t position, uint32_t flags,
                       tidings_delivery *delivery);
// Copies a record's body. False: its lengths can't be (a hostile record), it is gone, or there is no memory.
bool tidings__record_copy(tidings_observer *observer, uint64_t position, const tidings__record *record);
// The record's text, whether in cell, chunk or name entry, into observer->name and ->subject. After
// tidings__record_copy.
bool tidings__record_text(tidings_observer *observer, const tidings__record *record, uint32_t *name_length,
                          uint32_t *subject_length);

// kept.c
// What an interest is to be given first, of what lies before `since` and isn't in its history. False: no memory.
bool tidings__kept_begin(tidings_observer *observer, tidings__subscription *subscription);
// The next of it: TIDINGS__DELIVERED, described; -ENOMEM; TIDINGS__NOTHING: no more of any interest.
int tidings__kept_deliver(tidings_observer *observer, const tidings__table *table, tidings_delivery *delivery);

// wait.c
// Between these two the table may be used: it stays. No fence for the processor where the other half
// (`tidings__table_swap`) has the barrier.
static inline tidings__table *tidings__table_use(tidings_observer *observer) {
    tidings__set_relaxed(&observer->in_next, 1);
    tidings__fence_compiler();
    if (!tidings__barrier_registered()) tidings__fence_full();
    return tidings__acquire(&observer->table);
}
static inline void tidings__table_leave(tidings_observer *observer) { tidings__set_release(&observer->in_next, 0); }

// Is a record with this topic word one of the entry (NAME_ALL: of any)?
static inline bool tidings__route_includes(uint64_t route, uint32_t entry) {
    return entry != TIDINGS__NAME_NONE && (entry == TIDINGS__NAME_ALL || ((uint32_t)route & 0xffffff) == entry ||
                                           ((uint32_t)(route >> 32) & 0xffffff) == entry);
}

// `tidings__advance` as a user of the table.
int tidings__look_for(tidings_observer *observer, uint64_t limit, tidings_delivery *delivery);
// Before any sleep: announces it, then looks up to the frontier. NOTHING: may sleep on the doorbell's value
// `*announced`. What is claimed beyond that frontier was claimed after the announcement and rings, so a chatty
// neighbour keeps nobody awake. The caller withdraws the announcement.
int tidings__announce(tidings_observer *observer, uint32_t *announced, tidings_delivery *delivery);
// As announced: has it been rung, or nudged? Sleeps until it is, or for nothing for a while.
bool tidings__rung(const tidings_observer *observer, uint32_t announced);
void tidings__sleep(tidings_observer *observer, uint32_t announced, int64_t timeout_ns);
void tidings__withdraw(tidings_observer *observer);
// `wake`: also posters that wait for room, however little there is. Otherwise they are woken when a quarter of the ring
// is free; they look by themselves every millisecond.
void tidings__publish_cursor(tidings_observer *observer, bool wake);

// descriptor.c
int tidings__descriptor_arm(tidings_observer *observer, tidings_delivery *delivery);
void tidings__descriptor_disarm(tidings_observer *observer);
void tidings__descriptor_close(tidings_observer *observer);
int tidings__descriptor_number(const tidings_observer *observer);  // for who has one

#endif
