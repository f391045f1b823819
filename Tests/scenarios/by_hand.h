// Shared words set by hand, to what a poster leaves behind that was killed or stopped.
#ifndef BY_HAND_H
#define BY_HAND_H

#include "center/center.h"
#include "peer.h"

// As if `owner` (the lower half of W) had claimed the next position and done no more. Its position.
uint64_t claim_by(tidings_center *center, uint64_t owner);
// A whole record at a claimed position, as the one before it, up to but without its commit.
void write_record(tidings_center *center, uint64_t position);
void commit_at(tidings_center *center, uint64_t position);
// What reclaiming does to the claims of this participant.
void claims_of_the_dead(tidings__segment *s, uint32_t participant);

#endif
