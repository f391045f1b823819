// A publisher: a name (and subject) prepared for posting.
#ifndef TIDINGS__PUBLISHER_H
#define TIDINGS__PUBLISHER_H

#include "center/center.h"

struct tidings_publisher {
    struct tidings_center *center;
    // The G for which `resolved` is valid. A thread that finds it stale writes both words; meanwhile `resolved_at` is
    // BUSY.
    _Atomic uint64_t resolved_at;
    // Bits 23…0: entry of the name; 55…32: entry of name and subject; 62: a prefix of the name has members; 63: the
    // entry of all names may have members.
    _Atomic uint64_t resolved;
    tidings__key key;          // the name
    tidings__key key_subject;  // name and subject; without a subject, `subject` is NULL
    // The cell's poster word without uid and participant: the lengths of subject and name.
    uint64_t poster;
    uint32_t name_words, subject_words;
    // Payloads of fewer bytes take the fast path: they fit a cell, and no further check is needed. 0: all posts take
    // the slow path.
    uint64_t inline_limit;
    // Name, then subject, each padded to a multiple of 8 bytes, as in a cell's body. 8 bytes follow, because texts are
    // copied in steps of 16 bytes.
    uint64_t text[];
};

// Internal post option: with TIDINGS_POST_RETAIN, clears the retained value.
#define TIDINGS__POST_CLEAR 0x80u

// Mask for the poster word of a record whose name is in a name entry.
#define TIDINGS__WITHOUT_NAME (~(UINT64_C(0xff) << 56))

#define TIDINGS__RESOLVED_AT_BUSY UINT64_MAX
#define TIDINGS__RESOLVED_AT_NEVER (UINT64_MAX - 1)  // no G yet
#define TIDINGS__RESOLVED_ALL (UINT64_C(1) << 63)
#define TIDINGS__RESOLVED_PREFIX (UINT64_C(1) << 62)
// No mask is needed: the bits 31…24 of `resolved` are 0.
static inline uint32_t tidings__resolved_name(uint64_t resolved) { return (uint32_t)resolved; }
static inline uint32_t tidings__resolved_subject(uint64_t resolved) { return tidings__route_name_subject(resolved); }

// True for TIDINGS_PRESENCE_NAME.
bool tidings__name_reserved(const char *name, size_t length);
// As `tidings_publisher_place`, also for the reserved name. `memory` has TIDINGS_PUBLISHER_SIZE_MAX bytes. Texts must
// have been checked.
void tidings__publisher_prepare_at(void *memory, tidings_center *center, const char *name, size_t name_length,
                                   const char *subject, size_t subject_length);

// True if the name (and name with subject) has an entry that stays. In an observable center each posted name has one:
// readers cannot add entries, and without one nothing would count the records that they miss.
bool tidings__publisher_registered(tidings_publisher *publisher, uint64_t resolved);
// `register` adds the missing entries; not to be called within a claim. `prepare` does so only if the last known result
// has none, so that a claim is rarely abandoned for a missing entry.
int tidings__publisher_register(tidings_publisher *publisher);
int tidings__publisher_prepare(tidings_publisher *publisher);
// Wakes readers that sleep on the name futex of the publisher's name.
void tidings__publisher_wake_readers(const tidings_publisher *publisher);

// Resolves the publisher's name to entries and flags, as of now. Call after the claim.
uint64_t tidings__resolve(tidings_publisher *publisher, uint64_t generation);
static inline uint64_t tidings__resolved(tidings_publisher *publisher) {
    uint64_t generation = tidings__acquire(&publisher->center->segment.header->generation.word);
    if (__builtin_expect(tidings__acquire(&publisher->resolved_at) == generation, 1)) {
        uint64_t resolved = tidings__relaxed(&publisher->resolved);
        // Acquire fence: `resolved` is read before this second load of `resolved_at`. A thread that changes `resolved`
        // sets `resolved_at` to BUSY first, so the relaxed load of `resolved` is checked here.
        tidings__fence_acquire();
        if (__builtin_expect(tidings__relaxed(&publisher->resolved_at) == generation, 1)) return resolved;
    }
    return tidings__resolve(publisher, generation);
}

// The publisher's name as words.
static inline const _Atomic uint64_t *tidings__publisher_name(const tidings_publisher *publisher) {
    return (const _Atomic uint64_t *)(const void *)publisher->text;
}

// Posts a payload that is already in a chunk with memory for all of the record; appends name, subject and sections. The
// chunk is consumed, also on failure.
// TIDINGS__NO_CHUNK: no payload, to clear a retained value.
#define TIDINGS__NO_CHUNK UINT32_MAX
int tidings__post_chunk(tidings_publisher *publisher, uint32_t chunk, size_t size, const tidings_post_options *options,
                        uint64_t *sequence);

// Error of setting or reading a retained value through a publisher with a subject. Returns -EINVAL with an error line.
int tidings__state_subject(const tidings_publisher *publisher);

static inline size_t tidings__text_size(const tidings_publisher *publisher) {
    return 8 * (size_t)(publisher->name_words + publisher->subject_words);
}

// True if payload (rounded up to 8 bytes), name and subject (padded, together rounded up to 16) fit a cell's body.
static inline bool tidings__fits_cell(const tidings_publisher *publisher, size_t size) {
    return size <= TIDINGS__BODY_SIZE &&
           tidings__round8(size) + tidings__round16(tidings__text_size(publisher)) <= TIDINGS__BODY_SIZE;
}

#endif
