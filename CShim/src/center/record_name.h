// The name under which a record was posted, for observers of many names.
#ifndef TIDINGS__RECORD_NAME_H
#define TIDINGS__RECORD_NAME_H

#include "center/center.h"

// The name of the record at a position, in words padded with 0: where it lies, or, if that is a chunk, in `copy`. NULL:
// there can't be one (a hostile record), or it is gone;
// `*length` NAME_UNREADABLE: there is one, but this process can't read it (its program closed the center's file).
#define TIDINGS__NAME_UNREADABLE UINT32_MAX
// To be trusted only if the position is found not to have been evicted, or its slot used again, after it was used.
#define TIDINGS__NAME_WORDS ((TIDINGS_NAME_MAX + 7u) / 8u)
const _Atomic uint64_t *tidings__record_name(tidings__segment *s, uint64_t position,
                                             _Atomic uint64_t copy[TIDINGS__NAME_WORDS], uint32_t *length);

#endif
