// Memory for a payload that does not fit a cell.
#ifndef TIDINGS__PAYLOAD_CHUNK_H
#define TIDINGS__PAYLOAD_CHUNK_H

#include "center/center.h"

// Takes a chunk of at least `size` bytes. If none is free, evicts positions and reclaims dead participants. 0, or an
// error, with an error line. `deadline` as in `tidings__held_back`.
int tidings__take_chunk(tidings_center *center, uint64_t size, uint64_t deadline, uint32_t *chunk);

#endif
