// Eviction: counts the records of the ring's oldest positions, and frees their slots and chunks. design/2-eviction.md.
#ifndef TIDINGS__EVICT_H
#define TIDINGS__EVICT_H

#include "center/center.h"

// What the evictions of one post have done so far; 0 at first. It bounds them if a hostile peer undoes them.
typedef struct tidings__effort {
    uint64_t reached, length;  // E as the last eviction found it, and the length of its range
    uint64_t wasted;           // positions that were examined, and that E did not pass
    uint64_t begun;            // its thread's processor time at the second of `rounds`; 0: not yet
    uint32_t rounds;           // evictions after which it still had no room
    uint32_t passed;           // the dead or closed lossless observers that were found, and after which it went on
} tidings__effort;

// Counts a round that made room which others have used. True: there were more than `most`, and they took 5 ms of
// processor time.
bool tidings__effort_over(tidings__effort *effort, uint32_t most);

// Evicts until `position` can be claimed. Returns 0; -EAGAIN if a lossless observer (`*holder`, its observer index)
// still needs a record that would go; or an error, with an error line.
int tidings__make_room(tidings_center *center, uint64_t position, tidings__effort *effort, uint32_t *holder);

// Evicts all positions before `end`, to free chunks and name entries. `end` must not be beyond the frontier. Returns as
// above.
int tidings__evict_to(tidings_center *center, uint64_t end, tidings__effort *effort, uint32_t *holder);
// Finishes an eviction that is under way.
void tidings__evict_finish(tidings_center *center);

#endif
