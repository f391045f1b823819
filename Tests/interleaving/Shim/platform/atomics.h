// Found before the core's own: what it asks of the processor by hand goes through the machine too. All else the
// compiler shows us (processor.c).
#ifndef SCHEDULES_ATOMICS_H
#define SCHEDULES_ATOMICS_H

#define tidings__cas_pair tidings__cas_pair_by_hand
#include_next "platform/atomics.h"
#undef tidings__cas_pair

void machine_pair(_Atomic uint64_t *pair);

static inline bool tidings__cas_pair(_Atomic uint64_t *pair, uint64_t expected0, uint64_t expected1, uint64_t desired0,
                                     uint64_t desired1) {
    machine_pair(pair);
    return tidings__cas_pair_by_hand(pair, expected0, expected1, desired0, desired1);
}

#endif
