// A publisher: a name (and subject) prepared for posting.
#ifndef TIDINGS__PUBLISHER_H
#define TIDINGS__PUBLISHER_H

#include "center/center.h"

struct tidings_publisher {
    struct tidings_center *center;
    // The name resolved: valid while `resolved_at` equals G. Written by whoever finds it stale; `resolved_at` is BUSY
    // meanwhile.
    _Atomic uint64_t resolved_at;
    _Atomic uint64_t resolved;  // 23…0 entry of the name, 55…32 entry of name and subject, 62: somebody looks at how it
                                // begins, 63: at all names
    tidings__key key;          // of the name
    tidings__key key_subject;  // of name and subject; subject NULL: none
    uint64_t poster;           // the cell word without the participant's half: lengths of subject and name
    uint32_t name_words, subject_words;
    uint64_t inline_limit;  // payloads smaller than this go the straight way: there is room for them in a cell, and
                            // nothing to be asked first
    uint64_t
        text[];  // name, subject, each padded to 8: as they lie in a body; and 8 more, as a text is moved by sixteens
};

// A post option of our own: with TIDINGS_POST_RETAIN, there is no value any more.
#define TIDINGS__POST_CLEAR 0x80u

#define TIDINGS__RESOLVED_AT_BUSY UINT64_MAX
#define TIDINGS__RESOLVED_AT_NEVER (UINT64_MAX - 1)  // no G yet
#define TIDINGS__RESOLVED_ALL (UINT64_C(1) << 63)
#define TIDINGS__RESOLVED_PREFIX (UINT64_C(1) << 62)
static inline uint32_t tidings__resolved_subject(uint64_t resolved) { return (uint32_t)(resolved >> 32) & 0xffffff; }

// Has this name (and subject) an entry that stays? In a center that others may read each posted name has, so that
// readers, who can't add one, can count what they miss.
bool tidings__publisher_registered(tidings_publisher *publisher, uint64_t resolved);
// Gives it one. Not within a claim. `prepare`: if it has none, as far as is known; so that a claim is seldom given up
// for it.
int tidings__publisher_register(tidings_publisher *publisher);
int tidings__publisher_prepare(tidings_publisher *publisher);
// Rings the bell of readers who look at the topic's name.
void tidings__publisher_wake_readers(const tidings_publisher *publisher);

// After a claim: what this topic's name stands for, as of now.
uint64_t tidings__resolve(tidings_publisher *publisher, uint64_t generation);
static inline uint64_t tidings__resolved(tidings_publisher *publisher) {
    uint64_t generation = tidings__acquire(&publisher->center->segment.header->generation.word);
    if (__builtin_expect(tidings__acquire(&publisher->resolved_at) == generation, 1)) {
        uint64_t resolved = tidings__relaxed(&publisher->resolved);
        // Acquire fence: `resolved` was read before this second look, and whoever changes it makes `resolved_at` BUSY
        // first.
        tidings__fence_acquire();
        if (__builtin_expect(tidings__relaxed(&publisher->resolved_at) == generation, 1)) return resolved;
    }
    return tidings__resolve(publisher, generation);
}

// Its name, as words.
static inline const _Atomic uint64_t *tidings__publisher_name(const tidings_publisher *publisher) {
    return (const _Atomic uint64_t *)(const void *)publisher->text;
}

// Posts what is in a chunk already: payload first, name and subject are added. The chunk is used up, also on failure.
// NO_CHUNK: nothing, to clear a kept value.
#define TIDINGS__NO_CHUNK UINT32_MAX
int tidings__post_chunk(tidings_publisher *publisher, uint32_t chunk, size_t size, const tidings_post_options *options,
                        uint64_t *sequence);

// For a topic with a subject, where a value is to be kept or read. -EINVAL with the line written.
int tidings__state_subject(const tidings_publisher *publisher);

static inline size_t tidings__text_size(const tidings_publisher *publisher) {
    return 8 * (size_t)(publisher->name_words + publisher->subject_words);
}

// Does a cell take the body: the payload, rounded up to 8, and name and subject, as much as is written of them?
static inline bool tidings__fits_cell(const tidings_publisher *publisher, size_t size) {
    return size <= TIDINGS__BODY_SIZE &&
           tidings__round8(size) + tidings__round16(tidings__text_size(publisher)) <= TIDINGS__BODY_SIZE;
}

#endif
