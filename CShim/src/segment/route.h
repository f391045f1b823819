// The route word of a record: which name entries the record belongs to, its flags and its format. The layers ring and
// registry do not include each other and both read route words, so it is here.
#ifndef TIDINGS__ROUTE_H
#define TIDINGS__ROUTE_H

#include "segment/position.h"

// Number of a name entry in a route word: bits 23…0 the name's, bits 55…32 that of name and subject.
#define TIDINGS__ROUTE_ENTRY_MASK UINT64_C(0xffffff)
#define TIDINGS__ROUTE_ENTRIES (TIDINGS__ROUTE_ENTRY_MASK << 32 | TIDINGS__ROUTE_ENTRY_MASK)

static inline uint64_t tidings__route_word(uint32_t name, uint32_t name_subject, uint8_t flags, uint8_t format) {
    return (uint64_t)name | (uint64_t)flags << 24 | (uint64_t)name_subject << 32 | (uint64_t)format << 56;
}
static inline uint32_t tidings__route_name(uint64_t route) { return (uint32_t)(route & TIDINGS__ROUTE_ENTRY_MASK); }
static inline uint32_t tidings__route_name_subject(uint64_t route) {
    return (uint32_t)(route >> 32 & TIDINGS__ROUTE_ENTRY_MASK);
}
static inline uint8_t tidings__route_flags(uint64_t route) { return (uint8_t)(route >> 24); }
static inline uint8_t tidings__route_format(uint64_t route) { return (uint8_t)(route >> 56); }

// The route word in a cell. Relaxed: ordered after the acquire load of C by which the caller learned that the record is
// committed. The word counts only if `tidings__slot_valid_after_copy` is true afterwards, or if EV excludes that the
// slot was reused.
static inline uint64_t tidings__route(const tidings__cell *cell) { return tidings__relaxed(&cell->route); }

// True if a record with this route word belongs to the entry (NAME_ALL: always).
static inline bool tidings__route_includes(uint64_t route, uint32_t entry) {
    return entry != TIDINGS__NAME_NONE && (entry == TIDINGS__NAME_ALL || tidings__route_name(route) == entry ||
                                           tidings__route_name_subject(route) == entry);
}

#endif
