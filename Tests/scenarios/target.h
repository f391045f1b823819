// The target's process, as faults.c starts it.
#ifndef TARGET_H
#define TARGET_H

#include "faults.h"

// Set before there is a target, which inherits it.
extern struct target {
    bool forks;                      // a second thread of its does, when told so
    bool on_used;                    // its center has been in use for years
    pipe_pair onward, child_onward;  // it settles, and then ends; its thread forks
    pid_t checker;
} target;

void suffers(void);

#endif
