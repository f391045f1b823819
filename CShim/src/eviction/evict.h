// Eviction: counts the records of the ring's oldest positions, and frees their slots and chunks. design/2-eviction.md.
#ifndef TIDINGS__EVICT_H
#define TIDINGS__EVICT_H

#include "center/center.h"

// Evicts until `position` can be claimed. Returns 0; -EAGAIN if a lossless observer (`*holder`, its observer index)
// still needs a record that would go; or an error, with an error line.
int tidings__make_room(tidings_center *center, uint64_t position, uint32_t *holder);

// Evicts all positions before `end`, to free chunks and name entries. `end` must not be beyond the frontier. Returns as
// above.
int tidings__evict_to(tidings_center *center, uint64_t end, uint32_t *holder);
// Finishes an eviction that is under way.
void tidings__evict_finish(tidings_center *center);

#endif
