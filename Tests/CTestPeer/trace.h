// A way through a section, recorded once, so that the next victim gets to any place on it in a few stops instead of thousands of single steps.
#ifndef TRACE_H
#define TRACE_H

#include "peer.h"

typedef struct path {
    uint64_t length;            // in instructions
    uint64_t *addresses;        // of each
    uint32_t *from, *passes;    // for each: where to set a breakpoint before it, and how often to pass there; the rest is single steps
    uint32_t *moments;          // the places worth stopping at: all, or, of a long path, of each loop the first three times round and the last
    uint64_t count;             // of these
} path;

// What is left of a section, to its end (or `or_sleep`: to where it is about to wait on a futex).
path path_along(pid_t pid, bool or_sleep);
void path_end(path *path);
// As `step`, along that path. False: the victim went another way, and is who knows where (at the section's end, most likely).
bool step_along(pid_t pid, const path *path, uint64_t most, bool or_sleep);
// Lets it run until it is inside its first wait on a futex, not asleep yet.
void run_into_sleep(pid_t pid);

#endif
