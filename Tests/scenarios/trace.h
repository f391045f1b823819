// A path through a section, recorded once. The next target gets to any place on it in a few stops instead of thousands
// of single steps.
#ifndef TRACE_H
#define TRACE_H

#include "peer.h"

typedef struct path {
    uint64_t length;          // in instructions
    uint64_t *addresses;      // of each
    uint32_t *from, *passes;  // for each: where to set a breakpoint before it, and how often to pass there; the rest is
                              // single steps
    uint32_t *moments;  // the places worth stopping at: all, or, of a long path, of each loop the first three times
                        // round and the last
    uint64_t count;     // of these
} path;

// Unless all moments are asked for: so many instructions are recorded, from any of the section's system calls on.
#define PATH_WINDOW 6000u

// The next `most` instructions of a section, or to its end.
path path_along(pid_t pid, uint64_t most);
void path_end(path *path);
// As `step`, along that path. False: the target went another way, and stands at an unknown place (most likely at the
// section's end).
bool step_along(pid_t pid, const path *path, uint64_t most);
// Lets it make up to `most` system calls of its section; how many.
uint32_t make_calls(pid_t pid, uint32_t most);
// Lets it run until it is inside its first wait on a futex, not asleep yet.
void run_into_sleep(pid_t pid);

#endif
