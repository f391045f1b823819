// An observer's private state: its cursor, its subscriptions, and an account of each. All of it lies in this process's
// own memory.
#ifndef TIDINGS__OBSERVER_H
#define TIDINGS__OBSERVER_H

#include "center/ends.h"
#include "eviction/pending_claim.h"
#include "platform/barrier.h"
#include "registry/prefixes.h"

// A retained value that a subscription has still to deliver.
typedef struct tidings__listed_value {
    uint64_t position;
    uint32_t entry;
} tidings__listed_value;

// One subscription. While it is in a table, only the thread in `tidings_next` writes it; before and afterwards, the
// thread that adds or removes it.
typedef struct tidings__subscription {
    uint32_t id, entry;  // `entry`: the name entry; for a reader, `tidings__reader_number` of the key
    uint64_t since;      // first position that is delivered as it is posted; earlier positions are history
    // Records of the entry before max(cursor, since). Counted from the entry's beginning, like the entry's tally.
    uint64_t passed;
    // The tally has been taken over up to this position: records before it that were not delivered count as missed
    // already.
    uint64_t accounted;
    uint64_t missed;    // still to be reported
    uint64_t told;      // total reported as missed so far; `bound_missed` in missed.c limits it
    uint64_t *history;  // positions before `since` that are still to be delivered
    size_t history_count;
    _Atomic size_t history_next;
    // Once the subscription is in a table, only the thread in `tidings_next` uses these three.
    _Atomic bool fresh;             // no call of `tidings__advance` has used it yet
    _Atomic bool retained;          // a retained value is to be delivered first
    tidings__listed_value *listed;  // the retained values, in posting order
    uint32_t listed_count, listed_next;
    uint64_t *unfinished;  // ascending: posts before `since` that were unfinished when the values were listed
    uint32_t unfinished_count;
    uint32_t name_length, subject_length;
    bool with_subject, prefix;
    bool many;             // covers more than one name: a prefix, or all names
    char *name, *subject;  // NUL-terminated, stored after this struct; the name is padded to whole words
    struct tidings__subscription *next_removed;
    // For a reader: the entry of its name at the last lookup, and `birth`, which identifies that use of the entry.
    tidings__key key;
    uint32_t resolved, name_futex;
    uint32_t present;  // the entry of its name at the last walk along all names
    uint64_t birth;
    uint64_t replayed;  // passed up to this position, although the cursor went back for newer subscriptions
    uint64_t settled;   // `passed` and `missed` include all skipped positions before this one
} tidings__subscription;

// The history that is still to be delivered: whether there is any, its first position, and the step to the next one.
// Relaxed: one thread at a time uses it.
static inline bool tidings__history_left(const tidings__subscription *subscription) {
    return tidings__relaxed(&subscription->history_next) < subscription->history_count;
}
static inline uint64_t tidings__history_at(const tidings__subscription *subscription) {
    return subscription->history[tidings__relaxed(&subscription->history_next)];
}
static inline void tidings__history_step(tidings__subscription *subscription) {
    tidings__set_relaxed(&subscription->history_next, tidings__relaxed(&subscription->history_next) + 1);
}

// The subscriptions, indexed by entry. A change replaces the whole table (`tidings__table_swap`). The user of a table
// may use it only while `in_next` is 1.
typedef struct tidings__table {
    uint32_t count, map_mask;
    bool all;               // a subscription to all names exists
    bool many;              // a subscription to all names or to a prefix exists
    _Atomic bool fresh;     // a subscription is new; the thread in `tidings_next` clears this
    uint32_t fresh_from;    // no subscription before this index is new
    uint32_t name_futexes;  // of all subscribed names, one bit each
    // Upper bound of the subscriptions with history or a retained value to deliver. The thread in `tidings_next` sets
    // it to 0 when it finds none, while another thread may make the next table.
    _Atomic uint32_t special;
    // One allocation with capacity `room`: the subscriptions, grouped by entry. After it follows an open-addressing
    // map: entry → index of its first subscription + 1. If there is room, a table made by adding a subscription to a
    // new entry shares this allocation with the old table. The added subscription lies beyond the old table's `count`.
    uint32_t room;
    tidings__subscription **of;
    _Atomic uint32_t *map;
    // What `tidings__take_plain` found last: an entry, and its only subscription. NAME_NONE: nothing.
    uint32_t recent_entry;
    tidings__subscription *recent;
    tidings__prefix_order prefixes;     // of the prefix subscriptions, each prefix once
    tidings__ordered_prefix ordered[];  // its memory; never shared with another table
} tidings__table;

// The most claimed positions that a reader skips before they are final. At each one, a poster is stopped, or a post was
// never finished and no participant has revoked it yet.
#define TIDINGS__SKIPPED_MAX 32

// A skipped position, and the subscriptions that skipped it: ids above `older`, up to `youngest`. A newer subscription
// can move the cursor back, and the reader may then skip the position again.
typedef struct tidings__skipped {
    uint64_t position;
    uint32_t older, youngest;
} tidings__skipped;

// True if the subscription is still to be given a matching record at this position.
static inline bool tidings__due(const tidings__subscription *subscription, uint64_t position) {
    return (int64_t)(position - subscription->since) >= 0 && (int64_t)(position - subscription->accounted) >= 0 &&
           (int64_t)(position - subscription->replayed) >= 0;
}

typedef struct tidings__observer_kind tidings__observer_kind;

// Memory for one payload of a plain record, and for all that one call of `tidings_next_many` takes.
#define TIDINGS__PLAIN_SIZE ((TIDINGS__BODY_SIZE + 15u) & ~15u)
#define TIDINGS__BATCH_SIZE ((size_t)TIDINGS_NEXT_MANY_MAX * TIDINGS__PLAIN_SIZE)

struct tidings_observer {
    tidings_center *center;
    const tidings__observer_kind *kind;  // member or reader: kind.h
    tidings__sleeper sleeper;            // woken when the center ends
    uint32_t index, flags, fork_epoch;
    // The cursor: the next position to check. The thread in `tidings_next` owns it; before the first call, the thread
    // that sets the observer up owns it.
    uint64_t cursor;
    // The cursor as other processes know it. Lossless only: its value when waiting posters were last woken.
    uint64_t published, woken;
    uint64_t publish_at;    // the cursor from which on it is published again; UINT64_MAX: never
    uint64_t take_at;       // the same for a delivery, where a lossless observer also counts chunks: 0 for it
    uint64_t reported;      // missed notifications, of all subscriptions
    uint32_t publish_step;  // the cursor is published after so many positions; 0: never
    uint32_t chunks_taken;  // since posters were last informed of a taken chunk
    bool lossless;
    bool telling;          // a subscription may have losses to be reported
    uint64_t visited;      // how many subscriptions `tidings__account_lap` has visited in this call
    bool lapped;           // a lap is not accounted for yet, so a match changes no subscription
    bool matches;          // `kind` has a `match` of its own; here because each record needs to know
    bool plain;            // nothing is due but records: the next delivery may be taken by `tidings__take_plain`
    uint32_t telling_at;   // table index of the subscription whose losses were last reported
    bool without_memory;   // the payload to be copied last found no memory
    _Atomic bool started;  // `tidings_next` has been called: no history can be added
    tidings__pending_claim pending_claim;
    uint64_t dry_at;        // cursor when the ring last had nothing more
    uint64_t history_from;  // no subscription has history before this position

    _Atomic(tidings__table *) table;
    // Removed subscriptions that the last delivery may still point to. The next call of `tidings_next` frees them.
    _Atomic(tidings__subscription *) removed;
    _Atomic uint32_t in_next;      // 1 while the thread in `tidings_next` uses the table
    _Atomic uint32_t interrupted;  // 1: the next wait ends

    uint32_t spin_ns;  // TIDINGS__SPIN_ADAPTIVE, TIDINGS__SPIN_FOREVER, or nanoseconds
    uint64_t last_wait_ns;

    // The copy of a record: payload, name, subject, sections. Usually the observer's own memory, of `capacity` bytes.
    // If `lent` is set, `allocate` gave the memory for one payload, and the observer never frees it. `capacity` is then
    // 0, so that the next copy takes other memory.
    uint8_t *buffer;
    size_t capacity;
    bool lent;
    uint64_t sections_room;  // of a record with sections: bytes copied behind its text
    size_t lent_from;        // payloads of at least this many bytes use memory of `allocate`; SIZE_MAX: none
    tidings_allocate allocate;
    void *allocate_context;
    // The payload in the center that the latest delivery points to, and its hold: entry `hold_entry` of this
    // participant's row. NULL: the payload was copied.
    const uint8_t *in_place;
    size_t in_place_from;  // smaller payloads are copied; SIZE_MAX: all
    uint64_t hold;
    uint32_t hold_entry;
    uint8_t *batch;  // payloads of `tidings_next_many`, made at its first call
    uint32_t *matched_ids;
    tidings__subscription **matched;
    uint32_t matched_capacity;
    char name[TIDINGS_NAME_MAX + 1], subject[TIDINGS_SUBJECT_MAX + 1];

    struct tidings__descriptor *descriptor;

    // Value of the own futex before the last announcement. Only this process changes that futex (`tidings__nudge`).
    _Atomic uint32_t own_heard;
    // The wake groups it sleeps in: bits 63…32 the name's entry, bits 31…0 its `wake_group` before the last
    // announcement. 0: none.
    _Atomic uint64_t group_waits[TIDINGS__GROUP_WAITS];

    // For a reader (reader.h): the values of the name futexes read before sleeping.
    _Atomic uint32_t heard_name_futexes, heard[TIDINGS__NAME_FUTEXES];
    const tidings__table *looking_up;  // the names of this table are looked up (`entry_of`). NULL: one name
    uint64_t chains_until;  // then it walks along the table of names: 0: not determined yet, UINT64_MAX: done
    uint32_t moved;         // how many entries had another name after that walk
    uint32_t skipped_count;
    uint32_t youngest;  // highest subscription id of any table used so far
    tidings__skipped skipped[TIDINGS__SKIPPED_MAX];

    pthread_mutex_t lock;  // serializes adding and removing; `tidings_next` takes it in its first call alone
    uint32_t next_id;
};

// observer.c. Fails in a forked child: 0, or -ECHILD with an error line.
int tidings__observer_of_parent(const tidings_observer *observer);
static inline int tidings__observer_own(const tidings_observer *observer) {
    return __builtin_expect(observer->fork_epoch == tidings__relaxed(&tidings__fork_epoch), 1)
               ? 0
               : tidings__observer_of_parent(observer);
}

#define TIDINGS__SPIN_ADAPTIVE (UINT32_MAX - 1)
#define TIDINGS__SPIN_FOREVER UINT32_MAX

// table.c
tidings__table *tidings__table_empty(void);
void tidings__table_free(tidings__table *table);
tidings__table *tidings__table_with(const tidings__table *old, tidings__subscription *more);
// Finds the subscriptions with these `count` ids, which ascend; at least one. Returns how many there are. `selected`
// receives them in the table's order, and has room for `count`.
uint32_t tidings__table_select(const tidings__table *table, const uint32_t *ids, uint32_t count,
                               tidings__subscription **selected);
// The table without these subscriptions, which are in the table's order. NULL: no memory.
tidings__table *tidings__table_without(const tidings__table *old, tidings__subscription *const *gone, uint32_t count);
// Installs a new table, waits until the old one is unused, and frees it. The new table must derive from the old one.
void tidings__table_swap(tidings_observer *observer, tidings__table *table);
// First map slot to search for an entry (the caller masks it).
static inline uint32_t tidings__table_slot(uint32_t entry) {
    const uint32_t spread = entry * 0x9e3779b1u;
    return spread ^ spread >> 15;
}
static inline const _Atomic uint64_t *tidings__subscription_name(const tidings__subscription *subscription) {
    return (const _Atomic uint64_t *)(const void *)subscription->name;
}
// The subscriptions of an entry: `*count` of them.
static inline tidings__subscription *const *tidings__table_find(const tidings__table *t, uint32_t entry,
                                                                uint32_t *count) {
    *count = 0;
    if (t->count == 0) return NULL;
    for (uint32_t slot = tidings__table_slot(entry);; slot++) {
        uint32_t first = tidings__acquire(&t->map[slot & t->map_mask]);
        // Beyond `count`: a newer table that shares this map is being built. The slot was empty for this table, so the
        // search ends here.
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

// copy.c
#define TIDINGS__BUFFER_LEAST 1024u  // more than the longest name and subject together need
// Allocates the buffer that suffices for an observer without payloads. False: no memory.
bool tidings__buffer_begin(tidings_observer *observer);
// Frees the observer's own memory. Lent memory stays with its owner.
void tidings__buffer_free(tidings_observer *observer);
// Copies a record's body. False: its lengths are impossible (a hostile record), its chunk was reused, or there is no
// memory.
bool tidings__record_copy(tidings_observer *observer, uint64_t position, const tidings__record *record);
// Copies the record's text, whether it lies in cell, chunk or name entry, to observer->name and ->subject. Call after
// tidings__record_copy. False: the name entry is unreadable, or serves another name by now.
bool tidings__record_text(tidings_observer *observer, const tidings__record *record, uint64_t position,
                          uint32_t *name_length, uint32_t *subject_length);

// place.c
// Holds the chunk of the record at `position` instead of copying its payload: sets `in_place`. False: the payload has
// to be copied.
bool tidings__place_take(tidings_observer *observer, uint64_t position, uint32_t chunk);
// Releases what the latest delivery points to. The caller has checked `in_place`.
void tidings__place_release(tidings_observer *observer);
static inline void tidings__place_leave(tidings_observer *observer) {
    if (__builtin_expect(observer->in_place != NULL, 0)) tidings__place_release(observer);
}

// read.c
// IN_FLIGHT: the position at the cursor is claimed, and not committed yet.
enum { TIDINGS__NOTHING = 0, TIDINGS__DELIVERED = 1, TIDINGS__IN_FLIGHT = 2 };
// Advances the cursor, to `limit` at most, until there is something to deliver.
int tidings__advance(tidings_observer *observer, tidings__table *table, uint64_t limit, tidings_delivery *delivery);
// Delivers the record at the cursor if it is a *plain* one: committed, of an entry with one subscription, without
// subject and flags, whole in its cell. Otherwise returns false, and `tidings__advance` decides. Only if
// `observer->plain`.
bool tidings__take_plain(tidings_observer *observer, tidings__table *table, tidings_delivery *delivery);
// The same, for as many as are there, up to `count`. Returns how many. `observer->batch` has memory for each.
size_t tidings__take_more(tidings_observer *observer, tidings__table *table, tidings_delivery *deliveries,
                          size_t count);

// Before and after (NULL) a thread in `tidings_next` looks up the names of all subscriptions. Only for a reader does it
// make a difference (`entry_of` of reader.c).
static inline void tidings__look_up_all(tidings_observer *o, const tidings__table *t) {
    o->looking_up = t;
    o->chains_until = 0;
    o->moved = 0;
}

// missed.c
// Adds to `missed` the records that the entry's tally has counted and this subscription has not passed.
void tidings__account(const tidings__segment *segment, tidings__subscription *subscription, uint32_t entry);
// The slot of the cursor is in use by a later lap. Continues at the oldest position, and returns how many positions it
// has passed over. 0: EV contradicts the lap.
uint64_t tidings__leave_lap(tidings_observer *observer);
// Counts the records of these positions as missed for each subscription, exactly. After several laps one visit is
// enough, if no record in between was for a subscription. `was`: the cursor before the first lap. `gone`: how many
// positions the laps have passed over.
void tidings__account_lap(tidings_observer *observer, const tidings__table *table, uint64_t was, uint64_t gone);
// Delivers the losses of one subscription. False: no subscription has missed anything.
bool tidings__tell_missed(tidings_observer *observer, const tidings__table *table, tidings_delivery *delivery);

// describe.c
// Sets name and subject in `delivery` as they were posted. False: the name entry is unreadable, or serves another
// name by now.
bool tidings__describe_text(tidings_observer *observer, const tidings__record *record, uint64_t position,
                            tidings_delivery *delivery);

// retained_list.c
// Determines the retained values to deliver first: those before `since` that the history does not list. False: no
// memory.
bool tidings__values_begin(tidings_observer *observer, tidings__subscription *subscription);
// The entry of the subscription's name without a subject; TIDINGS__NAME_NONE: none.
uint32_t tidings__name_entry_of(const tidings_observer *observer, const tidings__subscription *subscription);
// Delivers the next retained value: TIDINGS__DELIVERED, with `delivery` set; -ENOMEM; TIDINGS__NOTHING: no subscription
// has one left.
int tidings__values_deliver(tidings_observer *observer, const tidings__table *table, tidings_delivery *delivery);

// wait.c
// The table stays valid between these two calls. If this process is registered for the barrier, no processor fence is
// needed here: `tidings__table_swap` executes the barrier.
static inline tidings__table *tidings__table_use(tidings_observer *observer) {
    tidings__set_relaxed(&observer->in_next, 1);
    tidings__fence_compiler();
    if (!tidings__barrier_registered()) tidings__fence_full();
    return tidings__acquire(&observer->table);
}
static inline void tidings__table_leave(tidings_observer *observer) { tidings__set_release(&observer->in_next, 0); }

// `tidings__advance` between `tidings__table_use` and `tidings__table_leave`.
int tidings__look_for(tidings_observer *observer, uint64_t limit, tidings_delivery *delivery);
// Call before any sleep: announces it, then checks all positions up to the frontier. NOTHING: the caller may call
// `tidings__sleep` with the doorbell's value `*announced`. A position beyond that frontier was claimed after the
// announcement, so its poster wakes this observer. Checking no further means that a busy poster of other names keeps no
// observer awake. The caller withdraws the announcement.
int tidings__announce(tidings_observer *observer, uint32_t *announced, tidings_delivery *delivery);
// True if a word that the observer sleeps on has changed since the announcement.
// `tidings__sleep` returns after such a change, after the timeout, or without a reason.
bool tidings__rung(const tidings_observer *observer, uint32_t announced);
void tidings__sleep(tidings_observer *observer, uint32_t announced, int64_t timeout_ns);
void tidings__withdraw(tidings_observer *observer);
// If `wake`, also wakes posters that wait for room, however little there is. Otherwise posters are woken when a quarter
// of the ring is free. Waiting posters check by themselves every millisecond.
void tidings__publish_cursor(tidings_observer *observer, bool wake);
// Publishes the cursor of an observer that has not begun, or was moved.
void tidings__cursor_begin(tidings_observer *observer);

// descriptor.c
int tidings__descriptor_arm(tidings_observer *observer, tidings_delivery *delivery);
void tidings__descriptor_disarm(tidings_observer *observer);
void tidings__descriptor_close(tidings_observer *observer);
int tidings__descriptor_number(const tidings_observer *observer);  // only if the observer has one

#endif
