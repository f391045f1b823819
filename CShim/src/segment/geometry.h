// Where everything lies: a pure function of the shape.
#ifndef TIDINGS__GEOMETRY_H
#define TIDINGS__GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout.h"
#include "tidings.h"

#define TIDINGS__NAMES_STEP 256u  // names get memory by this many: 44 pages exactly
// A chunk holds its payload, its name and its subject, each rounded up to 8: so this much more than the payload at
// most.
#define TIDINGS__CHUNK_OVERHEAD 528u

// Chunks of one size: numbers `first` to `first + count - 1`, one after the other from `offset` on.
typedef struct tidings__class {
    uint64_t offset;
    uint64_t size;
    uint32_t count;
    uint32_t first;
} tidings__class;

typedef struct tidings__geometry {
    uint64_t participants, observers, buckets, chunk_words, cells, names, chunks;  // offsets in the file
    uint64_t base_size;  // bytes reserved at birth: up to and including the first `names_first` names, whole pages
    uint64_t file_size;
    tidings__class classes[TIDINGS__CLASSES];  // by size, smallest first
    uint32_t class_count, chunk_count;
} tidings__geometry;

// The shape that a configuration (NULL: the default) asks for, defaults filled in. -EINVAL with an error line that
// names the field.
int tidings__shape_from(const tidings_configuration *configuration, tidings__shape *shape);

// Whether a shape read from a file lies within the bounds that everything else relies on: no offset overflows, no
// number is too large for its field.
bool tidings__shape_valid(const tidings__shape *shape);

void tidings__geometry_of(const tidings__shape *shape, tidings__geometry *geometry);

// Stands for the sizes of all shared structs and the rule by which geometry follows from shape: two builds that
// disagree refuse each other's centers.
uint32_t tidings__layout_stamp(void);

#endif
