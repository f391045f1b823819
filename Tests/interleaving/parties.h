// Participants of scenes of presence and of requests, and the fibers that are their guards.
#ifndef PARTIES_H
#define PARTIES_H

#include "stage.h"

tidings_center *party(void);
// As `tidings_announce` does, without a thread. `life`: the value of its life words.
void become_present(tidings_center *center, uint32_t life);
// The fiber's death marks the life words of this participant.
void watch_life(fiber *f, const tidings_center *center);
fiber *add_guard(const char *who);
void end_guards(void);

#endif
