// The victim's process, as harm.c starts it.
#ifndef VICTIM_H
#define VICTIM_H

#include "harm.h"

// Said before there is one; it inherits this.
extern struct victim {
    bool forks;                      // a second thread of its does, when told so
    bool on_used;                    // its center has been in use for years
    pipe_pair onward, child_onward;  // it settles, and then ends; its thread forks
    pid_t judge;
} victim;

void suffers(void);

#endif
