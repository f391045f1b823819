// Memory for a payload that no cell has room for.
#ifndef TIDINGS__PAYLOAD_CHUNK_H
#define TIDINGS__PAYLOAD_CHUNK_H

#include "center/center.h"

// Takes a chunk, evicting and tidying as needed.
int tidings__take_chunk(tidings_center *center, uint64_t size, uint64_t deadline, uint32_t *chunk);

#endif
