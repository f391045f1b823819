// The newest retained record of each name: in the ring, or moved by eviction to its name entry. design/4-names.md.
#ifndef TIDINGS__RETAINED_H
#define TIDINGS__RETAINED_H

#include "center/center.h"

// Moves the retained record at `position` (valid, being evicted) to its name entry, if it is the newest. Idempotent.
void tidings__retained_promote(tidings__segment *s, uint64_t position);

// Finds the newest retained record of a name at or after `from` and before `limit`: its position, chunk and header.
// False: there is none, or the newest one clears the value, or peers replaced it during each of the searches.
bool tidings__retained_find(tidings__segment *s, uint32_t entry, uint64_t from, uint64_t limit, uint64_t *position,
                            uint32_t *chunk, tidings__record *record);

// Decodes the retained word of an entry: the chunk of the value, and the position of its record. False: no value.
bool tidings__retained_in(const tidings__segment *s, uint64_t retained, uint64_t *position, uint32_t *chunk);

// Frees each retained chunk that its name entry does not name any more. Returns how many.
uint32_t tidings__reclaim_retained(tidings_center *center);

#endif
