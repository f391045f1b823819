// Names of bytes of the storage, for machine.c, words.c and trace.c.
#ifndef STORAGE_H
#define STORAGE_H

#include "machine.h"

typedef struct mapping {
    uint8_t *base;
    uint64_t length;
} mapping;

// The center, and what only writers see of it, if there is such: by handle. A byte goes by its place in the first.
extern mapping mappings[HANDLES], writers_files[HANDLES];
extern uint8_t *arena;  // the core's heap

void *pages(size_t size);  // zeros, and not put back
bool in_writers_file(uintptr_t canonical);

void storage_boot(void);
void storage_map(const tidings_center *center);  // one more handle's

// words.c
void words_boot(void);
bool words_touch(uintptr_t canonical, uint32_t who, bool writes);  // true: it is shared

// trace.c
void trace(const fiber *f, const char *what, uintptr_t canonical, uint32_t size);

#endif
