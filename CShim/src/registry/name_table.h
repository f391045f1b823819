// The table of names that somebody looks at: found by hash, added and taken out without a lock. README.md, "Names and
// who must be woken".
#ifndef TIDINGS__NAME_TABLE_H
#define TIDINGS__NAME_TABLE_H

#include "platform/atomics.h"
#include "segment/segment.h"

// What a name entry stands for: a name, a name with a subject (subject NULL: any), or all names that begin so.
typedef struct tidings__key {
    const char *name, *subject;
    uint32_t name_length, subject_length;
    uint64_t hash;
    bool prefix;
} tidings__key;

void tidings__key_make(tidings__key *key, const char *name, size_t name_length, const char *subject,
                       size_t subject_length);

// The entry at an index a peer named, or NULL if there can't be one.
tidings__name *tidings__name_asked(tidings__segment *s, uint32_t index);
static inline tidings__name *tidings__name_at(tidings__segment *s, uint32_t index) {
    if (__builtin_expect(index != TIDINGS__NAME_NONE && index < tidings__relaxed(&s->names_known), 1))
        return &s->names[index];
    return tidings__name_asked(s, index);
}

// The chain that an entry is in: of its hash, or of all prefixes.
static inline _Atomic uint64_t *tidings__name_chain(const tidings__segment *s, uint64_t hash, bool prefix) {
    return prefix ? &s->names[TIDINGS__NAME_ALL].next : &s->buckets[hash & (s->shape.buckets - 1)];
}

// Does it stand for this?
bool tidings__name_same(const tidings__name *name, const tidings__key *key);

// How many observers look at it.
static inline uint32_t tidings__name_members(const tidings__name *name) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < TIDINGS__MAP_WORDS; i++)
        count += (uint32_t)__builtin_popcountll(tidings__acquire(&name->members[i]));
    return count;
}

// Which words of `members` to look at: one bit each. Set before the member is.
static inline uint32_t tidings__member_words(const tidings__name *name) {
    return tidings__acquire(&name->wake_group) & ((1u << TIDINGS__MAP_WORDS) - 1);
}
// Is there any? One line of the entry answers for most that have none.
static inline bool tidings__name_observed(const tidings__name *name) {
    for (uint32_t words = tidings__member_words(name); words; words &= words - 1)
        if (tidings__acquire(&name->members[__builtin_ctz(words)])) return true;
    return false;
}

// The entry's index, TIDINGS__NAME_NONE if nobody looks at this name.
uint32_t tidings__name_find(tidings__segment *s, const tidings__key *key);

// Finds or adds the entry and makes `observer` a member of it. Moves G on.
#define TIDINGS__TO_RETAIN UINT32_MAX       // nobody's, but a retained record is to come
#define TIDINGS__TO_COUNT (UINT32_MAX - 1)  // nobody's, but its records are to be counted
int tidings__name_join(tidings__segment *s, uint32_t participant, const tidings__key *key, uint32_t observer,
                       uint32_t *index);
// For who has claimed a position for a record that needs its entry: will this one, joined before the claim, be there
// when the record is evicted? False: it is going, or serves another name already.
bool tidings__name_stays(tidings__segment *s, uint32_t index, const tidings__key *key);
// Of an entry that the record at this position names, whose text has been read: was it that record's name? Once the
// position has been evicted the entry may serve another.
bool tidings__name_was(const tidings__segment *s, uint32_t index, uint64_t position);
int tidings__name_join_all(tidings__segment *s, uint32_t observer);
void tidings__name_leave(tidings__segment *s, uint32_t index, uint32_t observer);

// Entries below this may be in use and have memory. A walk of the table ends here: no walk gives memory to entries that
// a peer only says are used.
uint32_t tidings__names_end(tidings__segment *s);
// In such a walk: asks for an entry some steps ahead. No prefetcher of a processor follows steps of eleven lines over
// pages, and without it each entry costs an access to memory.
static inline void tidings__name_ahead(const tidings__segment *s, uint32_t index) {
    __builtin_prefetch(&s->names[index + 16]);
}

// In one walk: takes these observers out of every entry, frees entries that dead participants were preparing, and
// finishes what they were taking out.
void tidings__name_reclaim(tidings__segment *s, const tidings__participant_set *dead,
                           const tidings__observer_set *observers);

// Is it being prepared or taken out, and by which participant?
bool tidings__name_half_way(const tidings__name *entry, uint64_t *participant);

// Takes this entry out, if no observer and no retained value needs it. The entry can serve another name once the ring
// holds no record of the old one. `*effort` is what the call may still look at: `tidings__name_budget` at its
// beginning.
bool tidings__name_take_out(tidings__segment *s, uint32_t participant, uint32_t index, uint64_t *effort);
uint64_t tidings__name_budget(const tidings__segment *s);

// Reads an entry's text into `name` and `subject` (256 bytes each, NUL-terminated; either may be NULL). False if there
// is none.
bool tidings__name_text(tidings__segment *s, uint32_t index, char *name, uint32_t *name_length, char *subject,
                        uint32_t *subject_length);

// The name futex that readers of a name sleep on.
static inline uint32_t tidings__name_futex_of(const tidings__key *key) {
    return (uint32_t)(key->hash >> 32) % TIDINGS__NAME_FUTEXES;
}

#endif
