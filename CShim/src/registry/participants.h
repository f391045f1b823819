// Participants, and whether they are alive. A participant is a lock on a byte of the file; its entry only describes it.
// design/5-access.md.
#ifndef TIDINGS__PARTICIPANTS_H
#define TIDINGS__PARTICIPANTS_H

#include "platform/atomics.h"
#include "segment/segment.h"

// Takes the lock of a free participant entry. `*orphans` says whether the entry still describes a dead participant:
// reclaim what it left, then describe. -EUSERS with an error line: all entries are taken.
int tidings__participant_take(tidings__segment *s, uint32_t *index, bool *orphans);
// Describes this process in its entry. Returns the instance number.
uint64_t tidings__participant_describe(tidings__segment *s, uint32_t index);
// Leaves: clears the description first, then drops the lock.
void tidings__participant_leave(tidings__segment *s, uint32_t index);

// True if the entry describes a dead participant. Makes a system call if the entry describes a participant that is not
// declared dead. A participant also declares the death in the entry. From then on no process waits for it, whichever
// process reclaims it, and however long that takes.
bool tidings__participant_dead(const tidings__segment *s, uint32_t index, uint32_t own);

#endif
