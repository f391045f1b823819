// Who takes part, and whether they live. A participant is a lock on a byte of the file; the entry only describes it.
// README.md, "Life".
#ifndef TIDINGS__PARTICIPANTS_H
#define TIDINGS__PARTICIPANTS_H

#include "platform/atomics.h"
#include "segment/segment.h"

// Takes the lock of a place nobody holds. `*remains` says whether a dead participant is still described there: tidy up
// after it, then describe. -EUSERS: all taken.
int tidings__participant_take(tidings__segment *s, uint32_t *index, bool *orphans);
// Describes this process in its place. Returns the instance number.
uint64_t tidings__participant_describe(tidings__segment *s, uint32_t index);
// Leaves: the description first, then the lock.
void tidings__participant_leave(tidings__segment *s, uint32_t index);

// Is somebody described there who is dead? A system call if anybody is described. Who can write declares it too, so
// that all stop counting on the dead one at once, whoever comes to tidy up after it, and however long that takes.
bool tidings__participant_dead(const tidings__segment *s, uint32_t index, uint32_t own);

#endif
