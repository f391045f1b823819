// Where each part of a center lies in its file. The geometry is a pure function of the shape.
#ifndef TIDINGS__GEOMETRY_H
#define TIDINGS__GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout.h"
#include "tidings.h"

#define TIDINGS__NAMES_STEP 256u  // name entries that get memory at a time: 44 pages exactly
// A chunk holds a header, then payload, name and subject, each rounded up to 8 bytes, and sections. On top of header
// and payload it needs at most this many bytes.
#define TIDINGS__CHUNK_OVERHEAD (528u + TIDINGS_SECTIONS_MAX)

#define TIDINGS__CHUNKS_MAX (512u + 256u + 64u + 32u + 16u + 512u)  // of all sizes, whatever the maximum payload

// The chunks of one size in bytes. Their numbers are `first` to `first + count - 1`. They lie one after the other, from
// byte `offset` of the file on.
typedef struct tidings__class {
    uint64_t offset;
    uint64_t size;
    uint32_t count;
    uint32_t first;
} tidings__class;

typedef struct tidings__geometry {
    uint64_t participants, observers, buckets, chunk_words, cells, names;  // offsets in the file
    uint64_t presence, holds, chunks, calls, call_bodies;                  // likewise; these get memory on demand
    uint64_t base_size;  // bytes reserved at creation: whole pages, up to and including the first `names_first` names
    uint64_t file_size;
    tidings__class classes[TIDINGS__CLASSES];  // by size, smallest first
    uint32_t class_count, chunk_count, call_count;
} tidings__geometry;

// Makes the shape for a configuration (NULL: all defaults), with defaults filled in. -EINVAL with an error line that
// names the field.
int tidings__shape_from(const tidings_configuration *configuration, tidings__shape *shape);

// True if a shape read from a file is within the bounds that all other code relies on. Then no offset overflows, and no
// number is too large for its field.
bool tidings__shape_valid(const tidings__shape *shape);

void tidings__geometry_of(const tidings__shape *shape, tidings__geometry *geometry);

// A hash of the sizes of the shared structs and of the numbers from which the geometry follows. If two builds differ in
// these, each refuses the other's centers.
uint32_t tidings__layout_stamp(void);

#endif
