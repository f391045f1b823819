// The name under which a record was posted, for observers of many names and for eviction.
#ifndef TIDINGS__RECORD_NAME_H
#define TIDINGS__RECORD_NAME_H

#include "center/center.h"

// The name of the record at `position`, in words padded with 0. Points to where the name lies, or, if that is a chunk,
// to `copy`. NULL: the record has no valid name (a hostile record), or it is gone. NULL with `*length`
// TIDINGS__NAME_UNREADABLE: there is a name, but this process cannot read it (its program closed the center's file).
#define TIDINGS__NAME_UNREADABLE UINT32_MAX
// After using the name, the caller must check that it was still this record's: EV has not moved past the position, or
// `tidings__slot_valid_after_copy` and `tidings__name_was` hold.
#define TIDINGS__NAME_WORDS ((TIDINGS_NAME_MAX + 7u) / 8u)
const _Atomic uint64_t *tidings__record_name(tidings__segment *s, uint64_t position,
                                             _Atomic uint64_t copy[TIDINGS__NAME_WORDS], uint32_t *length);

#endif
