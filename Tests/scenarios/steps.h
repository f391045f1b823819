// What the scenarios of single steps have in common.
#ifndef STEPS_H
#define STEPS_H

#include "peer.h"

#define KILLS 24  // how many a scenario tries, if it isn't asked for all

// What the traced child does. Everything it needs is made before its section.
typedef struct act {
    size_t size;
    uint8_t flags;
    bool full;  // the ring: it has to evict first
} act;

extern act what;
extern _Atomic uint32_t *returned;  // shared: the section's work is done
extern uint8_t payload[4096];       // of `posts_once`

void posts_once(void);
uint64_t length_of(void (*body)(void));  // in instructions, of its section
// After all that, no orphans: only the scenario's own observers, and chunks that may still be in use.
void nothing_is_left(tidings_center *center, tidings_publisher *publisher, uint32_t observers, uint32_t chunks);

#endif
