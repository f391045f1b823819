// The payload of a notice of presence: CBOR, so that each reader of CBOR can read it.
#ifndef TIDINGS__PRESENCE_NOTICE_H
#define TIDINGS__PRESENCE_NOTICE_H

#include <stddef.h>
#include <stdint.h>

#include "tidings.h"

// A notice fits a cell together with its name. So it needs no memory that could be missing when a participant dies.
#define TIDINGS__NOTICE_MAX 184u

// Writes the notice, except `participant`: the record's header has it. A text ends before its first byte that is not
// UTF-8. Returns the notice's size.
size_t tidings__notice_write(const tidings_presence *presence, uint8_t bytes[TIDINGS__NOTICE_MAX]);
// Reads such a notice: false if the bytes are anything else.
bool tidings__notice_read(const uint8_t *bytes, size_t size, tidings_presence *presence);

#endif
