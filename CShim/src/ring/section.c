// Writes the sections of a record, and finds one in the copy of an area.
#include "ring/section.h"

#include <errno.h>

#include "platform/error.h"

#define LATER_TYPE 0x7fffu  // of TIDINGS__TEST_MINOR: a section that version 1.0 does not know
#define LATER_BYTES 5u
#define LATER_SIZE (TIDINGS__RESERVED ? 16u : 0u)

int tidings__sections_measure(const tidings_post_options *options, uint64_t *size) {
    *size = 8 + LATER_SIZE;
    for (size_t i = 0; i < options->section_count; i++) {
        const tidings_section *section = &options->sections[i];
        if (section->type < TIDINGS_SECTION_TRACEPARENT || section->type > TIDINGS_SECTION_ORIGIN)
            return tidings__fail(EINVAL, "can't post a section of type %u: use a type of TIDINGS_SECTION_…",
                                 section->type);
        if (section->size > TIDINGS_SECTIONS_MAX - *size ||
            (*size += 8 + tidings__round8(section->size)) > TIDINGS_SECTIONS_MAX)
            return tidings__fail(EMSGSIZE,
                                 "can't post sections of more than %u bytes, with 8 bytes for each and 8 for all; "
                                 "shorten or leave out some",
                                 TIDINGS_SECTIONS_MAX);
    }
    return 0;
}

// Returns the first word after the section.
static _Atomic uint64_t *write(_Atomic uint64_t *to, uint16_t type, const void *bytes, size_t size) {
    tidings__set_relaxed(to, type | (uint64_t)size << 16 | TIDINGS__RESERVED << 48);
    // The padding after the section's bytes is undefined, as the padding after a payload is.
    if (size) tidings__body_write(to + 1, bytes, size);
    return to + 1 + tidings__round8(size) / 8;
}

void tidings__sections_write(_Atomic uint64_t *to, const tidings_post_options *options) {
    _Atomic uint64_t *at = to + 1;
    if (LATER_SIZE) at = write(at, LATER_TYPE, "later", LATER_BYTES);
    for (size_t i = 0; i < options->section_count; i++)
        at = write(at, options->sections[i].type, options->sections[i].bytes, options->sections[i].size);
    tidings__set_relaxed(to, (uint64_t)(at - to - 1) * 8 | TIDINGS__RESERVED << 32);
}

const void *tidings_delivery_section(const tidings_delivery *delivery, uint16_t type, size_t *size) {
    *size = 0;
    if (!(delivery->flags & TIDINGS_DELIVERY_SECTIONS)) return NULL;
    // Invariant F6.
    const uint8_t *at = delivery->sections;
    for (size_t left = delivery->sections_size; left >= 8;) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        const uint64_t bytes = word >> 16 & UINT32_MAX, whole = 8 + tidings__round8(bytes);
#ifndef MUTANT_SECTION_SIZE_UNCHECKED  // Found by: fuzz image
        if (whole > left) return NULL;
#endif
        if ((uint16_t)word == type) {
            *size = bytes;
            return at + 8;
        }
#ifdef MUTANT_UNKNOWN_SECTION_ENDS_AREA  // Found by: compatibility
        if ((uint16_t)word > TIDINGS_SECTION_ORIGIN) return NULL;
#endif
        at += whole;
        left -= whole;
    }
    return NULL;
}
