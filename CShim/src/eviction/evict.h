// Eviction: how the ring's past ends. README.md, "Eviction".
#ifndef TIDINGS__EVICT_H
#define TIDINGS__EVICT_H

#include "center/center.h"

// Evicts until `position` can be claimed. 0; -EAGAIN: a lossless observer still needs what would go (`*holder`, its
// observer index).
int tidings__make_room(tidings_center *center, uint64_t position, uint32_t *holder);

// Evicts everything before `end` (which must be decided), to free chunks.
int tidings__evict_to(tidings_center *center, uint64_t end, uint32_t *holder);
// Finishes an eviction that somebody began.
void tidings__evict_finish(tidings_center *center);

#endif
