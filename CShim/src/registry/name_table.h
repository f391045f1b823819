// The name table: one entry for each observed or retained name or prefix (in an observable center, for each posted
// name). Entries are found by hash, and added and taken out without a lock. design/4-names.md.
#ifndef TIDINGS__NAME_TABLE_H
#define TIDINGS__NAME_TABLE_H

#include "platform/atomics.h"
#include "segment/segment.h"

// What a name entry stands for: a name, a name with a subject (subject NULL: any subject), or all names with a prefix.
typedef struct tidings__key {
    const char *name, *subject;
    uint32_t name_length, subject_length;
    uint64_t hash;
    bool prefix;
} tidings__key;

void tidings__key_make(tidings__key *key, const char *name, size_t name_length, const char *subject,
                       size_t subject_length);

// The entry at an index that a peer may have written, or NULL if no entry with memory has this index.
// `tidings__name_asked`: the slow path, which asks the file.
tidings__name *tidings__name_asked(tidings__segment *s, uint32_t index);
static inline tidings__name *tidings__name_at(tidings__segment *s, uint32_t index) {
    if (__builtin_expect(index != TIDINGS__NAME_NONE && index < tidings__relaxed(&s->names_known), 1))
        return &s->names[index];
    return tidings__name_asked(s, index);
}

// The most entries in one chain (invariant N10). In a full table a chain has 16 on average. Names that were chosen for
// their hash make it longer, and a damaged table may make it endless: each walk ends here.
#define TIDINGS__CHAIN_MAX 4096u
// The chain that an entry is in: that of its hash, or that of all prefixes.
static inline _Atomic uint64_t *tidings__name_chain(const tidings__segment *s, uint64_t hash, bool prefix) {
    return prefix ? &s->names[TIDINGS__NAME_ALL].next : &s->buckets[hash & (s->shape.buckets - 1)];
}

// True if the entry stands for this key.
bool tidings__name_same(const tidings__name *name, const tidings__key *key);

// How many observers are members of the entry.
static inline uint32_t tidings__name_members(const tidings__name *name) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++)
        count += (uint32_t)__builtin_popcountll(tidings__acquire(&name->members[i]));
    return count;
}

// Which words of `members` may be other than 0, one bit each. A member's bit here is set before its bit in `members`.
static inline uint32_t tidings__member_words(const tidings__name *name) {
    return tidings__acquire(&name->wake_group) & ((1u << TIDINGS__MAP_WORDS) - 1);
}
// True if the entry has a member. For most entries without one, this takes one cache line.
static inline bool tidings__name_observed(const tidings__name *name) {
    for (uint32_t words = tidings__member_words(name); words; words &= words - 1)
        if (tidings__acquire(&name->members[__builtin_ctz(words)])) return true;
    return false;
}

// The index of the entry for this key, or TIDINGS__NAME_NONE if there is none.
uint32_t tidings__name_find(tidings__segment *s, const tidings__key *key);
// The same. `*generation`: the entry's, from before its text was compared. While it stays, the entry serves this name.
uint32_t tidings__name_find_now(tidings__segment *s, const tidings__key *key, uint64_t *generation);
bool tidings__name_still(const tidings__segment *s, uint32_t index, uint64_t generation);
static inline uint64_t tidings__name_generation(const tidings__name *name) {
    return tidings__acquire(&name->state) >> 20;
}

// Finds or adds the entry, and makes `observer` a member of it. Increments G. Returns 0 with `*index`, or an error with
// the line written (-ENOSPC: the table is full).
#define TIDINGS__TO_RETAIN UINT32_MAX       // in place of an observer: a retained record will follow
#define TIDINGS__TO_COUNT (UINT32_MAX - 1)  // in place of an observer: the name's records shall be counted
int tidings__name_join(tidings__segment *s, uint32_t participant, const tidings__key *key, uint32_t observer,
                       uint32_t *index);
// For a poster that has claimed a position for a record that needs this entry, which it joined before the claim. True
// if the entry will still serve this name when the record is evicted. False: it is being taken out, or serves another
// name.
bool tidings__name_stays(tidings__segment *s, uint32_t index, const tidings__key *key);
// True if entry `index`, which the record at `position` names, still held that record's name. Call after reading the
// entry's text: once the position has been evicted, the entry may serve another name. Until then an entry that was
// taken out keeps its text.
bool tidings__name_was(const tidings__segment *s, uint32_t index, uint64_t position);
int tidings__name_join_all(tidings__segment *s, uint32_t observer);
void tidings__name_leave(tidings__segment *s, uint32_t index, uint32_t observer);

// Entries below this may be in use, and have memory. A walk of the table ends here, so a peer's word cannot make a walk
// reserve memory for unused entries.
uint32_t tidings__names_end(tidings__segment *s);
// Call at each entry of such a walk, which ends before `end`. Prefetches the first three lines of an entry some steps
// ahead, up to its members: hardware prefetchers do not follow steps of eleven lines across pages, and without a
// prefetch each entry costs an access to memory, or three if a peer has set all bits of `wake_group`.
//
// The processor drops a prefetch from a page that the process has not mapped yet. The kernel maps this many bytes at
// each page fault (its default, `fault_around_bytes`). So this function causes the next page fault before the
// prefetches that need it. A walk of a full table that the process has not touched yet then takes 4.4 ms instead of 7.
#define TIDINGS__FAULT_AROUND 65536u
static inline void tidings__name_ahead(const tidings__segment *s, uint32_t index, uint32_t end) {
    const tidings__name *ahead = &s->names[index + 16];
    __builtin_prefetch(ahead);
    __builtin_prefetch(&ahead->members[0]);
    __builtin_prefetch(&ahead->members[TIDINGS__MAP_WORDS / 2]);
    const uint32_t far = index + TIDINGS__FAULT_AROUND / sizeof(tidings__name) + 1;
    const uintptr_t before = (uintptr_t)&s->names[far - 1], at = (uintptr_t)&s->names[far];
    if (far < end && (before ^ at) >= TIDINGS__FAULT_AROUND)
        (void)tidings__relaxed((const volatile _Atomic uint64_t *)&s->names[far].state);
}

// In one walk of the table, clears these observers' member bits. An entry that a dead participant was preparing becomes
// free. One that it was taking out becomes linked again, or, if it was already gone, is taken out to the end. Call with
// the locks of the dead participants' entries held.
void tidings__name_reclaim(tidings__segment *s, const tidings__participant_set *dead,
                           const tidings__observer_set *observers);

// True if the entry is being prepared or taken out. `*participant`: the participant that does so.
bool tidings__name_half_way(const tidings__name *entry, uint64_t *participant);

// Takes this entry out, if no observer and no retained value needs it. The entry can serve another name once the ring
// holds no record of the old one. `*budget` is the budget that is left: `tidings__name_budget` at the beginning of a
// call.
bool tidings__name_take_out(tidings__segment *s, uint32_t participant, uint32_t index, uint64_t *budget);
uint64_t tidings__name_budget(const tidings__segment *s);

// Reads an entry's text into `name` and `subject` (256 bytes each, NUL-terminated; either may be NULL). False if the
// entry has no text.
bool tidings__name_text(tidings__segment *s, uint32_t index, char *name, uint32_t *name_length, char *subject,
                        uint32_t *subject_length);
// Reads the name of entry `index` into `name` (256 bytes, NUL-terminated), as the record at `position` means it. The
// entry may have been taken out since. False: it may serve another name, or is damaged.
bool tidings__name_text_at(tidings__segment *s, uint32_t index, uint64_t position, char *name, uint32_t *name_length);

// The index of the name futex that readers of a name sleep on.
static inline uint32_t tidings__name_futex_of(const tidings__key *key) {
    return (uint32_t)(key->hash >> 32) % TIDINGS__NAME_FUTEXES;
}

#endif
