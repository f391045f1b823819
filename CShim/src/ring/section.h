// Sections of a record: blocks of typed bytes behind payload, name and subject (trace context, origin).
// design/9-format.md.
//
// An area is one word, {31…0 bytes after it, 63…32 reserved}, and the sections. A section is one word,
// {15…0 type, 47…16 bytes, 63…48 reserved}, and its bytes, padded to a multiple of 8. Readers pass over unknown types.
#ifndef TIDINGS__SECTION_H
#define TIDINGS__SECTION_H

#include "ring/record.h"
#include "tidings.h"

static inline bool tidings__sections_given(const tidings_post_options *options) {
    return options && options->flags & TIDINGS_POST_SECTIONS && options->section_count > 0;
}

// The flags of a post that are about its sections.
#define TIDINGS__POST_OF_SECTIONS (TIDINGS_POST_SECTIONS | TIDINGS_POST_SECTIONS_REQUIRED)

// Of a post with sections: whether it may go without them if there is no memory.
static inline bool tidings__sections_optional(const tidings_post_options *options) {
#ifdef MUTANT_REQUIRED_SECTIONS_LEFT_OUT  // Found by: fault-injection sections_make_no_post_fail_for_lack_of_memory
    return options;
#endif
    return !(options->flags & TIDINGS_POST_SECTIONS_REQUIRED);
}

// Bytes of the area for a post with these options, which have sections. -EINVAL, -EMSGSIZE with an error line.
int tidings__sections_measure(const tidings_post_options *options, uint64_t *size);
// The same. `options` may be NULL, and may have no sections: 0 bytes.
static inline int tidings__sections_size(const tidings_post_options *options, uint64_t *size) {
    *size = 0;
    return __builtin_expect(tidings__sections_given(options), 0) ? tidings__sections_measure(options, size) : 0;
}

// The flags of a record with the sections of these options.
static inline uint8_t tidings__sections_flags(const tidings_post_options *options) {
    if (!tidings__sections_given(options)) return 0;
    return TIDINGS__RECORD_SECTIONS | (TIDINGS__RESERVED ? TIDINGS__RECORD_RESERVED : 0);
}

// Writes the area of `tidings__sections_size` bytes. To a cell's body, or to a chunk.
void tidings__sections_write(_Atomic uint64_t *to, const tidings_post_options *options);

// Bytes of the area that begins with this word; 0: no area begins so.
static inline uint64_t tidings__sections_bytes(uint64_t first) {
    const uint64_t bytes = 8 + (first & UINT32_MAX);
    return bytes % 8 == 0 && bytes <= TIDINGS_SECTIONS_MAX ? bytes : 0;
}

#endif
