// Processes of a rival, and its directory: none outlives side 0, however it ends.
#ifndef RIVAL_PROCESS_H
#define RIVAL_PROCESS_H

#include <sys/types.h>

/// First thing: makes the directory, and sees to it that it goes.
void rival_begin(void);
/// fork, where the child dies with its parent, and the parent ends if the child does.
pid_t rival_fork(void);
/// Ends all processes and waits until nothing is left.
void rival_end(void);

#endif
