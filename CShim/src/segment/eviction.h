// The eviction word EV: E, the first position that is not evicted, and the range that is being evicted. The layers ring
// and registry do not include each other and both read EV, so it is here.
#ifndef TIDINGS__EVICTION_H
#define TIDINGS__EVICTION_H

#include "platform/atomics.h"
#include "segment/segment.h"

static inline uint64_t tidings__ev_start(uint64_t ev) { return ev >> TIDINGS__EV_START_SHIFT; }
// Number of positions that are being evicted; 0: no eviction is under way.
static inline uint32_t tidings__ev_length(uint64_t ev) {
    return ev & TIDINGS__EV_EVICTING ? (uint32_t)(ev & TIDINGS__EV_LOW_MASK) : 0;
}
static inline uint64_t tidings__ev_idle(uint64_t start, uint64_t tag) {
    return start << TIDINGS__EV_START_SHIFT | (tag & TIDINGS__EV_LOW_MASK);
}
static inline uint64_t tidings__ev_evicting(uint64_t start, uint32_t length) {
    return start << TIDINGS__EV_START_SHIFT | TIDINGS__EV_EVICTING | length;
}

// E: the first position that has not been evicted.
static inline uint64_t tidings__oldest(const tidings__segment *s) {
    return tidings__ev_start(tidings__acquire(&s->header->eviction.word));
}

#endif
