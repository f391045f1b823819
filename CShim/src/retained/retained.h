// The newest retained notification of each name: in the ring, or moved from there to its name's entry by eviction.
// README.md, "Large payloads".
#ifndef TIDINGS__RETAINED_H
#define TIDINGS__RETAINED_H

#include "center/center.h"

// Moves the retained record at `position` (valid, being evicted) to its name entry, if it is the newest. Idempotent.
void tidings__retained_promote(tidings__segment *s, uint64_t position);

// Finds the newest retained record of a name from `from` on and before `limit`: its position and chunk. False: there is
// none.
bool tidings__retained_find(tidings__segment *s, uint32_t entry, uint64_t from, uint64_t limit, uint64_t *position,
                            uint32_t *chunk, tidings__record *record);

// What an entry's word says is kept in it, and where that was posted. False: nothing.
bool tidings__retained_in(const tidings__segment *s, uint64_t retained, uint64_t *position, uint32_t *chunk);

// A retained chunk whose name entry points elsewhere is free; finds those. How many.
uint32_t tidings__reclaim_retained(tidings_center *center);

#endif
